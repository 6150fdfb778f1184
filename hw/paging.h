/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 4-level page tables: identity map of RAM for the kernel, two windows with 4 KiB pages on
 * demand, and a walk. Source: SDM Vol. 3, "4-Level Paging and 5-Level Paging".
 *
 * Linear map
 *   0 .. top of RAM             identity, supervisor, writable, 2 MiB pages (as firmware has
 * it) USER_WINDOW                 ring-3 code, data, stacks: 4 KiB pages, one subtree per space
 *   KERNEL_WINDOW               supervisor 4 KiB pages for DS areas, buffers and guards
 *   HIGH_WINDOW                 upper canonical half, for sign-extended addresses
 */
#ifndef HW_PAGING_H
#define HW_PAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096ull

#define USER_WINDOW   0x0000400000000000ull /* PML4 slot 128 */
#define KERNEL_WINDOW 0x0000500000000000ull /* PML4 slot 160 */
#define HIGH_WINDOW   0xFFFF900000000000ull /* PML4 slot 288 */
#define WINDOW_BYTES  (1ull << 30)

enum page_flags {
    PAGE_PRESENT = 1u << 0,
    PAGE_WRITE = 1u << 1,
    PAGE_USER = 1u << 2,
    PAGE_WRITE_THROUGH = 1u << 3,
    PAGE_CACHE_DISABLE = 1u << 4,
    PAGE_ACCESSED = 1u << 5,
    PAGE_DIRTY = 1u << 6,
    PAGE_PAT = 1u << 7,
    PAGE_NX = 1u << 31, /* bit 63 of the entry */
};

struct paging_walk {
    uint64_t phys;  /* physical address of the byte */
    unsigned flags; /* effective: WRITE and USER only if every level has them, NX if any has */
    uint64_t bytes; /* size of the mapping that was hit: 4 KiB, 2 MiB, 1 GiB; or of the hole */
};

/*
 * Walks the tables under cr3. False when some level is not present: phys and flags are then
 * zero, and nothing is present in the aligned range of `bytes` around the address.
 */
bool paging_walk(uint64_t cr3, uint64_t linear, struct paging_walk *out);

/*
 * Copies from linear addresses of the current tables, up to the first page that is not there.
 * Returns how many bytes were copied, at most count.
 */
size_t paging_read(uint64_t linear, void *to, size_t count);

struct address_space {
    uint64_t cr3;
};

/*
 * Gives hw its page pool (identity-mapped, page-aligned) for tables and test pages. Called once
 * before the first take-over, by one processor. False when it is too small for the kernel's own
 * tables (one page per GiB of RAM, at least 4, and ten more) or RAM reaches the windows. The
 * tables follow CR4.LA57 as it is now.
 */
bool paging_init(void *pool, size_t bytes, uint64_t top_of_ram);
/* One zeroed page from the pool (identity address = physical), NULL when it is empty. */
void *page_alloc(void);
void page_free(void *page);
size_t page_free_count(void);

/* The kernel's own space: identity and both kernel windows, no user pages. */
struct address_space *paging_kernel_space(void);
/* A new space sharing the identity map and the kernel windows; false when the pool is empty. */
bool paging_space_create(struct address_space *space);
void paging_space_destroy(struct address_space *space);

/*
 * Maps, changes or removes one 4 KiB page inside a window; flags are page_flags (PAGE_PRESENT
 * may be left out: the entry then keeps the frame but is not present). Flushes the TLB entry of
 * this processor; others keep theirs. paging_unmap gives an empty page table back to the pool.
 * False when linear lies outside the windows or a table page is missing. Exact A/D bits given
 * in flags are stored as given.
 */
bool paging_map(struct address_space *space, uint64_t linear, uint64_t phys, unsigned flags);
bool paging_protect(struct address_space *space, uint64_t linear, unsigned flags);
bool paging_unmap(struct address_space *space, uint64_t linear);

/*
 * Gives the space tables of its own on the way to a page of the kernel window, which all spaces
 * share until then: paging_map and its kin then change this space alone. Once per space at a
 * time; paging_join must come before paging_space_destroy. False: the pool is empty, or the
 * page was never mapped.
 */
bool paging_split(struct address_space *space, uint64_t linear);
void paging_join(struct address_space *space, uint64_t linear);

/*
 * Opens the large page of the identity map that holds linear (below 4 GiB) to ring 3, in this
 * space alone; paging_join ends that. Once per space at a time. False: the pool is empty.
 */
bool paging_grant_user(struct address_space *space, uint64_t linear);

static inline void paging_load(uint64_t cr3);
static inline uint64_t paging_current(void);

#ifndef WAYMARK_HOST
static inline void paging_load(uint64_t cr3)
{
    __asm__ volatile("mov %0, %%cr3" : : "r"(cr3) : "memory");
}
static inline uint64_t paging_current(void)
{
    uint64_t cr3;

    __asm__ volatile("mov %%cr3, %0" : "=r"(cr3));
    return cr3;
}
#else
uint64_t fake_cr3(void);
static inline void paging_load(uint64_t cr3)
{
    (void)cr3;
}
static inline uint64_t paging_current(void)
{
    return fake_cr3();
}
#endif

#endif
