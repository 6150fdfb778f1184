/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The view of the guest region below 1 MiB, for code that is not 64-bit: a copy, since there it
 * is the physical address that must be low. Code, data and stack segment begin at the region,
 * so that an offset in it is an offset in each of them.
 *
 *   code (a copy) | data page | stack page
 */
#include "guest/low_view.h"

#include "guest/abi.h"
#include "guest/region.h"
#include "hw/low_memory.h"
#include "hw/string.h"
#include "hw/tables.h"
#include "hw/user.h"

static uint32_t code_bytes(void)
{
    return (uint32_t)(__guest_end - __guest_start);
}

uint32_t low_data(void)
{
    return code_bytes();
}

uint32_t low_stack(void)
{
    return code_bytes() + 2 * (uint32_t)PAGE_BYTES;
}

void low_reset(const struct guest *g, uint64_t argument)
{
    uint8_t *data = low_memory() + low_data();

    memcpy(low_memory(), __guest_start, code_bytes());
    memset(data, 0, 2 * PAGE_BYTES);
    memcpy(data + DATA_ARGUMENT, &argument, sizeof(argument));
    memcpy(data + DATA_LOADED, &g->low.base, sizeof(g->low.base));
    memcpy(data + DATA_KERNEL, &g->kernel.base, sizeof(g->kernel.base));
}

bool guest_open_low(struct guest *g)
{
    uint64_t base = (uint64_t)low_memory();

    if (g->low.base)
        return true;
    if (!base || !paging_grant_user(&g->space, base))
        return false;
    g->low = (struct guest_place){
        .base = base,
        .low = base,
        .high = base + low_stack(),
        .data = base + low_data(),
        .kernel = g->kernel.base,
    };
    tables_set_low((uint32_t)base);
    return true;
}

void low_close(struct guest *g)
{
    if (!g->low.base)
        return;
    /* A workload may have left these in DS and ES. */
    __asm__ volatile("mov %0, %%ds\n\tmov %0, %%es" : : "r"(SELECTOR_KERNEL_SS));
    tables_set_low(0);
    paging_join(&g->space, g->low.base);
    g->low.base = 0;
}

void low_frame(const struct guest_run *run, struct trap_frame *frame)
{
    user_frame_init(frame, (uint64_t)(int64_t)run->workload->entry, low_stack(),
                    run->interrupts);
    frame->cs = SELECTOR_LOW_CS;
    frame->ss = SELECTOR_LOW_SS;
    frame->rdi = low_data();
}
