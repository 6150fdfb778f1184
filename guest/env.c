/* SPDX-License-Identifier: BSD-2-Clause */
/* The two views of the guest region, and the state of their data pages. */
#include "guest/abi.h"
#include "guest/low_view.h"
#include "guest/region.h"
#include "hw/cpu.h"
#include "hw/msr.h"
#include "hw/string.h"
#include "hw/tables.h"

#define KERNEL_VIEW_BYTES (1ull << 20) /* for each processor */
/* A and D preset: the trace must not depend on who sets them first. */
#define CODE_FLAGS      (PAGE_PRESENT | PAGE_ACCESSED)
#define DATA_FLAGS      (PAGE_PRESENT | PAGE_WRITE | PAGE_ACCESSED | PAGE_DIRTY | PAGE_NX)
#define READ_ONLY_FLAGS (PAGE_PRESENT | PAGE_ACCESSED | PAGE_NX)

_Static_assert(GUEST_DATA_PAGES *PAGE_BYTES == DATA_NEVER,
               "the page after them is never there");

static uint64_t code_bytes(void)
{
    return (uint64_t)(__guest_end - __guest_start);
}

/* In both views: the user bit is the only difference. */
static bool map_data(struct guest *g, unsigned offset, unsigned flags)
{
    uint64_t phys = (uint64_t)g->pages[offset / PAGE_BYTES];

    return paging_map(&g->space, g->data + offset, phys, flags | PAGE_USER) &&
           paging_map(&g->space, g->kernel_data + offset, phys, flags);
}

void env_open_page(struct guest *g, unsigned offset)
{
    map_data(g, offset, DATA_FLAGS);
}

void env_reset(struct guest *g, uint64_t argument)
{
    uint64_t loaded = (uint64_t)__guest_start;

    for (unsigned i = 0; i < GUEST_DATA_PAGES; i++)
        memset(g->pages[i], 0, PAGE_BYTES);
    for (unsigned i = 0; i < GUEST_STACK_PAGES; i++)
        memset(g->stack[i], 0, PAGE_BYTES);
    memcpy(g->pages[0] + DATA_ARGUMENT, &argument, sizeof(argument));
    memcpy(g->pages[0] + DATA_LOADED, &loaded, sizeof(loaded));
    memcpy(g->pages[0] + DATA_KERNEL, &g->kernel.base, sizeof(g->kernel.base));
    map_data(g, 0, DATA_FLAGS);
    map_data(g, DATA_DEMAND, DATA_FLAGS & ~(unsigned)PAGE_PRESENT);
    map_data(g, DATA_READ_ONLY, READ_ONLY_FLAGS);
}

static bool take_pages(uint8_t **pages, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pages[i] = page_alloc();
        if (!pages[i])
            return false;
    }
    return true;
}

static void give_back(uint8_t **pages, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (pages[i])
            page_free(pages[i]);
}

uint64_t guest_made_base(void)
{
    return GUEST_USER_BASE + code_bytes() + DATA_BYTES + (2 + GUEST_STACK_PAGES) * PAGE_BYTES;
}

static struct guest_place view(uint64_t base, unsigned ring)
{
    uint64_t data = base + code_bytes();

    return (struct guest_place){
        .base = base,
        .low = base,
        .high = ring ? guest_made_base() + GUEST_MADE_PAGES * PAGE_BYTES : data + DATA_BYTES,
        .data = data,
        .kernel = GUEST_KERNEL_BASE + cpu_index() * KERNEL_VIEW_BYTES,
    };
}

static bool build_views(struct guest *g)
{
    for (uint64_t at = 0; at < code_bytes(); at += PAGE_BYTES) {
        uint64_t phys = (uint64_t)__guest_start + at;

        if (!paging_map(&g->space, g->user.base + at, phys, CODE_FLAGS | PAGE_USER) ||
            !paging_map(&g->space, g->kernel.base + at, phys, CODE_FLAGS))
            return false;
    }
    for (unsigned i = 0; i < GUEST_STACK_PAGES; i++)
        if (!paging_map(&g->space, g->stack_top - (GUEST_STACK_PAGES - i) * PAGE_BYTES,
                        (uint64_t)g->stack[i], DATA_FLAGS | PAGE_USER))
            return false;
    return map_data(g, 0, DATA_FLAGS) && map_data(g, DATA_DEMAND, DATA_FLAGS) &&
           map_data(g, DATA_READ_ONLY, DATA_FLAGS);
}

/* Where a call gate and SYSENTER lead: code of the region in the kernel's view. */
static void open_gates(struct guest *g)
{
    const struct cpu *cpu = cpu_this();

    tables_set_gate(g->kernel.base + (uint64_t)(guest_gate - __guest_start));
    for (unsigned i = 0; i < 3; i++)
        g->outer_fast[i] = msr_read(MSR_IA32_SYSENTER_CS + i);
    msr_write(MSR_IA32_SYSENTER_CS, SELECTOR_FAST_CS);
    msr_write(MSR_IA32_SYSENTER_ESP, cpu->tables->tss.rsp[0]);
    msr_write(MSR_IA32_SYSENTER_EIP, g->kernel.base + (uint64_t)(guest_fast - __guest_start));
}

static void close_gates(struct guest *g)
{
    tables_set_gate(0);
    for (unsigned i = 0; i < 3; i++)
        msr_write(MSR_IA32_SYSENTER_CS + i, g->outer_fast[i]);
}

bool guest_open(struct guest *g)
{
    memset(g, 0, sizeof(*g));
    g->outer_cr3 = paging_current();
    g->user = view(GUEST_USER_BASE, 3);
    g->kernel = view(GUEST_KERNEL_BASE + cpu_index() * KERNEL_VIEW_BYTES, 0);
    open_gates(g);
    g->data = g->user.data;
    g->kernel_data = g->kernel.data;
    g->stack_top = guest_made_base() - PAGE_BYTES;
    if (!paging_space_create(&g->space))
        return false;
    if (((uint64_t)__guest_start | code_bytes()) % PAGE_BYTES != 0 ||
        !take_pages(g->pages, GUEST_DATA_PAGES) || !take_pages(g->stack, GUEST_STACK_PAGES) ||
        !build_views(g)) {
        guest_close(g);
        return false;
    }
    paging_load(g->space.cr3);
    events_install(g);
    return true;
}

void guest_close(struct guest *g)
{
    events_remove(g);
    close_gates(g);
    low_close(g);
    paging_load(g->outer_cr3);
    /* The kernel view outlives the address space: its window is shared by all. */
    for (uint64_t at = g->kernel.low; at < g->kernel.high; at += PAGE_BYTES)
        paging_unmap(&g->space, at);
    paging_space_destroy(&g->space);
    give_back(g->pages, GUEST_DATA_PAGES);
    give_back(g->stack, GUEST_STACK_PAGES);
    give_back(g->made, GUEST_MADE_PAGES);
    memset(g, 0, sizeof(*g));
}

static bool map_made(struct guest *g)
{
    if (!take_pages(g->made, GUEST_MADE_PAGES))
        return false;
    for (unsigned i = 0; i < GUEST_MADE_PAGES; i++)
        if (!paging_map(&g->space, guest_made_base() + i * PAGE_BYTES, (uint64_t)g->made[i],
                        CODE_FLAGS | PAGE_USER))
            return false;
    return true;
}

bool guest_load(struct guest *g, const uint8_t *bytes, size_t offset, size_t count)
{
    if (!g->made[0] && !map_made(g))
        return false;
    for (; count > 0; offset++, count--)
        g->made[offset / PAGE_BYTES][offset % PAGE_BYTES] = *bytes++;
    return true;
}

const struct guest_place *guest_view(const struct guest *g, unsigned ring)
{
    if (ring == GUEST_COMPAT)
        return &g->low;
    return ring == 3 ? &g->user : &g->kernel;
}

struct guest_place guest_place(const struct guest *g, unsigned ring, uint64_t argument)
{
    struct guest_place place = *guest_view(g, ring);

    place.ring = ring & 3;
    place.argument = argument;
    if (ring) {
        place.caller = trap_iretq_address();
        place.back = place.base + (uint64_t)(guest_exit - __guest_start);
    }
    return place;
}
