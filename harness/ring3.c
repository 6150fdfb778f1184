/* SPDX-License-Identifier: BSD-2-Clause */
/* Building the ring-3 program of the machine layer's checks, and noting its traps. */
#include "harness/ring3.h"

#include "hw/regs.h"
#include "hw/string.h"
#include "hw/user.h"

static bool leave(struct trap_frame *frame, void *arg)
{
    (void)arg;
    user_leave(frame, 1);
}

static bool map(struct ring3 *r, uint64_t linear, const uint8_t *page, unsigned flags)
{
    return page && paging_map(&r->space, linear, (uint64_t)page, flags | PAGE_PRESENT);
}

bool ring3_open(struct ring3 *r)
{
    memset(r, 0, sizeof(*r));
    r->previous_cr3 = paging_current();
    r->previous_exit = trap_set(VECTOR_SYSCALL_INT, leave, NULL);
    if (!paging_space_create(&r->space)) {
        ring3_close(r);
        return false;
    }
    r->code = page_alloc();
    r->data = page_alloc();
    r->stack = page_alloc();
    if (!map(r, RING3_CODE, r->code, PAGE_USER) ||
        !map(r, RING3_DATA, r->data, PAGE_USER | PAGE_WRITE | PAGE_NX) ||
        !map(r, RING3_STACK_TOP - PAGE_BYTES, r->stack, PAGE_USER | PAGE_WRITE | PAGE_NX)) {
        ring3_close(r);
        return false;
    }
    memcpy(r->code, ring3_code_start, (size_t)(ring3_code_end - ring3_code_start));
    paging_load(r->space.cr3);
    return true;
}

void ring3_close(struct ring3 *r)
{
    uint8_t *const pages[] = {r->code, r->data, r->stack};

    paging_load(r->previous_cr3);
    trap_set(VECTOR_SYSCALL_INT, r->previous_exit.handler, r->previous_exit.arg);
    paging_space_destroy(&r->space);
    for (unsigned i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
        if (pages[i])
            page_free(pages[i]);
}

uint64_t ring3_address(const uint8_t *label)
{
    return RING3_CODE + (uint64_t)(label - ring3_code_start);
}

struct trap_frame ring3_frame(const uint8_t *label, bool interrupts)
{
    struct trap_frame frame;

    user_frame_init(&frame, ring3_address(label), RING3_STACK_TOP, interrupts);
    frame.rdi = RING3_DATA;
    return frame;
}

bool trap_note(struct trap_frame *frame, void *arg)
{
    struct trap_seen *seen = arg;

    seen->count++;
    seen->frame = *frame;
    seen->at = (uint64_t)frame;
    seen->cr2 = cr2_read();
    seen->dr6 = dr6_read();
    if (seen->resume_at)
        frame->rip = seen->resume_at;
    return true;
}
