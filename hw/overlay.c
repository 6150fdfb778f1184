/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying tables on the way to a page, and giving them back. */
#include "hw/overlay.h"

#include "hw/cpuid.h"
#include "hw/string.h"

#define ENTRY_ADDRESS 0x000FFFFFFFFFF000ull
#define ENTRY_LARGE   (1ull << 7)
/* Ignored by the processor: the table, or the page, below belongs to this space alone. */
#define ENTRY_OWN          (1ull << 9)
#define ENTRY_NX           (1ull << 63)
#define ENTRIES            512u
#define LEVEL_PML4         4
#define LEVEL_SHIFT(level) (12 + 9 * ((level)-1))
#define LOWER_HALF         (1ull << 47)
/* The levels above permit everything, and the page restricts. */
#define TABLE_FLAGS (PAGE_PRESENT | PAGE_WRITE | PAGE_USER | ENTRY_OWN)

static uint64_t *table_of(uint64_t entry)
{
    return (uint64_t *)(entry & ENTRY_ADDRESS);
}

/* What the entry at this level said, as a table of its own one level below. */
static bool make_own(uint64_t *entry, unsigned level)
{
    uint64_t *table = page_alloc();
    uint64_t old = *entry, piece = 1ull << LEVEL_SHIFT(level - 1);

    if (!table)
        return false;
    if ((old & PAGE_PRESENT) && !(old & ENTRY_LARGE))
        memcpy(table, table_of(old), PAGE_BYTES);
    else if (old & PAGE_PRESENT)
        /* Pages of 4 KiB have no such bit: there it would be PAT. */
        for (unsigned i = 0; i < ENTRIES; i++)
            table[i] = (old & ~(level == 2 ? ENTRY_LARGE : 0)) + i * piece;
    *entry = (uint64_t)table | TABLE_FLAGS;
    return true;
}

static uint64_t *entry_anywhere(struct address_space *space, uint64_t linear)
{
    uint64_t *table = table_of(space->cr3);

    if (space == paging_kernel_space())
        return NULL;
    for (unsigned level = LEVEL_PML4; level > 1; level--) {
        uint64_t *entry = &table[linear >> LEVEL_SHIFT(level) & (ENTRIES - 1)];

        if (!(*entry & ENTRY_OWN) && !make_own(entry, level))
            return NULL;
        table = table_of(*entry);
    }
    return &table[linear >> LEVEL_SHIFT(1) & (ENTRIES - 1)];
}

static uint64_t *entry_of(struct address_space *space, uint64_t linear)
{
    return linear < LOWER_HALF ? entry_anywhere(space, linear) : NULL;
}

static void flush(uint64_t linear)
{
#ifdef WAYMARK_HOST
    (void)linear;
#else
    __asm__ volatile("invlpg (%0)" : : "r"(linear) : "memory");
#endif
}

static bool map_at(uint64_t *entry, uint64_t linear, uint64_t phys, unsigned flags)
{
    if (!entry)
        return false;
    *entry = (phys & ENTRY_ADDRESS) | (flags & 0xFFF & ~(unsigned)PAGE_PAT) | ENTRY_OWN |
             (flags & PAGE_NX && cpu_has_nx() ? ENTRY_NX : 0);
    flush(linear);
    return true;
}

bool overlay_map(struct address_space *space, uint64_t linear, uint64_t phys, unsigned flags)
{
    return map_at(entry_of(space, linear), linear, phys, flags);
}

bool overlay_map_last(struct address_space *space, uint64_t phys, unsigned flags)
{
    return map_at(entry_anywhere(space, OVERLAY_LAST_PAGE), OVERLAY_LAST_PAGE, phys, flags);
}

bool overlay_unmap(struct address_space *space, uint64_t linear)
{
    uint64_t *entry = entry_of(space, linear);

    if (!entry)
        return false;
    *entry = 0;
    flush(linear);
    return true;
}

/*
 * The entry of the page, NULL where this space has no table of its own; *level is then the one
 * above which there is none.
 */
static const uint64_t *own_entry(const struct address_space *space, uint64_t linear,
                                 unsigned *level)
{
    const uint64_t *table = table_of(space->cr3);

    for (*level = LEVEL_PML4; *level > 1; (*level)--) {
        uint64_t entry = table[linear >> LEVEL_SHIFT(*level) & (ENTRIES - 1)];

        if (!(entry & PAGE_PRESENT) || !(entry & ENTRY_OWN))
            return NULL;
        table = table_of(entry);
    }
    return &table[linear >> LEVEL_SHIFT(1) & (ENTRIES - 1)];
}

void *overlay_page(const struct address_space *space, uint64_t linear, unsigned *flags)
{
    unsigned level;
    const uint64_t *entry = linear < LOWER_HALF ? own_entry(space, linear, &level) : NULL;

    if (!entry || !(*entry & ENTRY_OWN))
        return NULL;
    if (flags)
        *flags = (*entry & 0xFFF & ~ENTRY_OWN) | (*entry & ENTRY_NX ? PAGE_NX : 0);
    return table_of(*entry);
}

uint64_t overlay_next(const struct address_space *space, uint64_t linear, uint64_t end)
{
    while (linear < end) {
        unsigned level;
        const uint64_t *entry = own_entry(space, linear, &level);

        if (entry && (*entry & ENTRY_OWN))
            return linear;
        linear = (linear | ((1ull << LEVEL_SHIFT(level)) - 1)) + 1;
    }
    return end;
}

static void free_own(uint64_t *table, unsigned level)
{
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (!(table[i] & PAGE_PRESENT) || !(table[i] & ENTRY_OWN))
            continue;
        if (level > 2)
            free_own(table_of(table[i]), level - 1);
        page_free(table_of(table[i]));
        table[i] = 0;
    }
}

void overlay_free(struct address_space *space)
{
    free_own(table_of(space->cr3), LEVEL_PML4);
}
