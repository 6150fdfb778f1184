/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hw/paging.c on host memory: the walk against tables built by hand, and mapping against a
 * plain list of what was mapped. A pointer serves as the physical address.
 */
#include "harness/tests/fakes/unit.h"
#include "hw/irq.h"
#include "hw/paging.h"

extern unsigned paging_host_levels;
static bool has_nx = true, has_1gib = true;

bool cpu_has_nx(void);
bool cpu_has_nx(void)
{
    return has_nx;
}

bool cpu_has_1gib_pages(void);
bool cpu_has_1gib_pages(void)
{
    return has_1gib;
}

irqflags_t irq_save(void)
{
    return 0;
}

void irq_restore(irqflags_t flags)
{
    (void)flags;
}

static uint64_t current;

uint64_t fake_cr3(void)
{
    return current;
}

#define POOL_PAGES 400u
#define GIB        (1ull << 30)
static uint8_t *pool;

static void fresh_pool(unsigned levels, unsigned pages, uint64_t top, bool want)
{
    paging_host_levels = levels;
    memset(pool, 0xEE, POOL_PAGES * PAGE_BYTES);
    EXPECT(paging_init(pool, pages * PAGE_BYTES, top) == want);
}

/* --- the walk: entries written by hand, bits from the manual's tables */

#define P  0x001ull
#define W  0x002ull
#define U  0x004ull
#define A  0x020ull
#define D  0x040ull
#define PS 0x080ull
#define NX 0x8000000000000000ull

static uint64_t *table(void)
{
    uint64_t *t = page_alloc();

    EXPECT(t);
    return t;
}

/* One path of tables for linear 0x0000_1234_5678_9ABC, entry bits per level, leaf at `leaf`. */
struct path {
    uint64_t *at[6]; /* by level */
    uint64_t cr3;
};

static const uint64_t probe = 0x0000123456789ABCull;

static struct path build(unsigned leaf, const uint64_t bits[6], uint64_t frame)
{
    static const unsigned shift[6] = {0, 12, 21, 30, 39, 48};
    struct path path = {0};
    unsigned top = paging_host_levels;

    for (unsigned level = leaf; level <= top; level++)
        path.at[level] = table();
    for (unsigned level = top; level >= leaf; level--) {
        uint64_t target = level == leaf ? frame : (uint64_t)path.at[level - 1];

        path.at[level][probe >> shift[level] & 511] = target | bits[level];
    }
    path.cr3 = (uint64_t)path.at[top] | 0x18; /* PWT and PCD of CR3 are no address bits */
    return path;
}

static void walk_4kib(void)
{
    const uint64_t bits[6] = {0, P | W | U | A | D, P | W | U, P | W | U, P | W | U, P | W | U};
    struct paging_walk w;

    for (unsigned levels = 4; levels <= 5; levels++) {
        fresh_pool(levels, POOL_PAGES, GIB, true);
        struct path path = build(1, bits, 0xABCDE000);

        ASSERT(paging_walk(path.cr3, probe, &w));
        EXPECT_EQ(w.phys, 0xABCDEABC);
        EXPECT_EQ(w.bytes, 4096);
        EXPECT_EQ(w.flags, PAGE_PRESENT | PAGE_WRITE | PAGE_USER | PAGE_ACCESSED | PAGE_DIRTY);
        EXPECT(!paging_walk(path.cr3, probe + 4096, &w));
        EXPECT_EQ(w.phys, 0);
        EXPECT_EQ(w.bytes, 4096); /* of the hole */
        EXPECT(!paging_walk(path.cr3, probe | 1ull << 63, &w));
        EXPECT(!paging_walk(path.cr3, probe | 1ull << 47, &w));
    }
}

static void walk_large(void)
{
    const uint64_t pat = 1ull << 12;
    const uint64_t two_mib[6] = {0, 0, P | W | PS | pat, P | W, P | W, P | W};
    const uint64_t one_gib[6] = {0, 0, 0, P | W | PS, P | W, P | W};
    struct paging_walk w;

    fresh_pool(4, POOL_PAGES, GIB, true);
    ASSERT(paging_walk(build(2, two_mib, 0x40200000).cr3, probe, &w));
    EXPECT_EQ(w.phys, 0x40200000 + (probe & 0x1FFFFF));
    EXPECT_EQ(w.bytes, 2u << 20);
    EXPECT_EQ(w.flags, PAGE_PRESENT | PAGE_WRITE | PAGE_PAT);
    ASSERT(paging_walk(build(3, one_gib, 0x140000000).cr3, probe, &w));
    EXPECT_EQ(w.phys, 0x140000000 + (probe & 0x3FFFFFFF));
    EXPECT_EQ(w.bytes, 1u << 30);
    EXPECT_EQ(w.flags, PAGE_PRESENT | PAGE_WRITE);
}

/* A right counts only when every level grants it; NX counts when any level says it. */
static void walk_effective_rights(void)
{
    for (unsigned level = 1; level <= 5; level++) {
        const uint64_t all = P | W | U;
        uint64_t no_write[6], no_user[6], no_exec[6], missing[6];
        struct paging_walk w;

        for (unsigned i = 0; i < 6; i++) {
            no_write[i] = i == level ? all & ~W : all;
            no_user[i] = i == level ? all & ~U : all;
            no_exec[i] = i == level ? all | NX : all;
            missing[i] = i == level ? all & ~P : all;
        }
        fresh_pool(5, POOL_PAGES, GIB, true);
        ASSERT(paging_walk(build(1, no_write, 0x1000).cr3, probe, &w));
        EXPECT_EQ(w.flags, PAGE_PRESENT | PAGE_USER);
        ASSERT(paging_walk(build(1, no_user, 0x1000).cr3, probe, &w));
        EXPECT_EQ(w.flags, PAGE_PRESENT | PAGE_WRITE);
        ASSERT(paging_walk(build(1, no_exec, 0x1000).cr3, probe, &w));
        EXPECT_EQ(w.flags, PAGE_PRESENT | PAGE_WRITE | PAGE_USER | PAGE_NX);
        EXPECT(!paging_walk(build(1, missing, 0x1000).cr3, probe, &w));
    }
}

/* --- the pool */

static void pool_counts(void)
{
    void *first, *second;
    size_t start;

    fresh_pool(4, 40, 6 * GIB, true);
    start = page_free_count();
    first = page_alloc();
    second = page_alloc();
    EXPECT(first != second && ((uint64_t)first | (uint64_t)second) % PAGE_BYTES == 0);
    EXPECT_EQ(page_free_count(), start - 2);
    memset(first, 0x5A, PAGE_BYTES);
    page_free(first);
    EXPECT(page_alloc() == first);
    EXPECT(*(uint8_t *)first == 0 && memcmp(first, (uint8_t *)first + 1, PAGE_BYTES - 1) == 0);
    page_free(first);
    page_free(second);
    while (page_alloc())
        ;
    EXPECT_EQ(page_free_count(), 0);
}

/* Every pool too small for the tables is refused, and the first that suffices has none over. */
static void pool_too_small(void)
{
    unsigned pages = 0;

    has_1gib = false;
    do
        pages++;
    while (pages < POOL_PAGES && !paging_init(pool, pages * PAGE_BYTES, 8 * GIB));
    EXPECT_EQ(page_free_count(), 0);
    EXPECT_EQ(pages, 1 + 1 + 8 + 2 * 2); /* PML4, PDPT, a PD per GiB, PDPT and PD per window */
    has_1gib = true;
    EXPECT(!paging_init(pool, POOL_PAGES * PAGE_BYTES, USER_WINDOW + 1));
}

static void identity(void)
{
    static const uint64_t tops[] = {64ull << 20, 4 * GIB, 6 * GIB};
    struct paging_walk w;

    for (unsigned i = 0; i < 3; i++)
        for (unsigned gib = 0; gib < 2; gib++) {
            uint64_t top = tops[i] < 4 * GIB ? 4 * GIB : tops[i], cr3;

            has_1gib = gib;
            fresh_pool(4 + gib, POOL_PAGES, tops[i], true);
            cr3 = paging_kernel_space()->cr3;
            for (uint64_t at = 0x1000; at < top; at += 511ull << 12) {
                ASSERT(paging_walk(cr3, at, &w));
                ASSERT(w.phys == at && !(w.flags & PAGE_USER) && (w.flags & PAGE_WRITE));
                ASSERT(w.bytes == (at < 4 * GIB || !gib ? 2u << 20 : 1u << 30));
            }
            EXPECT(!paging_walk(cr3, top, &w));
        }
    has_1gib = true;
}

/* --- mapping, against a list */

#define SLOTS 64u
static uint64_t slot_address(unsigned slot)
{
    static const uint64_t windows[] = {USER_WINDOW, KERNEL_WINDOW, HIGH_WINDOW};

    /* Some share a page table, some a directory only; the last page of each window too. */
    return windows[slot % 3] +
           (slot < 6 ? WINDOW_BYTES - PAGE_BYTES : slot / 3 * 0x1000ull * (slot & 8 ? 513 : 1));
}

struct mapping {
    bool known;
    uint64_t phys;
    unsigned flags;
};

static bool agrees(const struct address_space *space, uint64_t linear, const struct mapping *m)
{
    struct paging_walk w;
    bool found = paging_walk(space->cr3, linear, &w);
    unsigned want = m->flags;

    if (linear - KERNEL_WINDOW < WINDOW_BYTES)
        want &= ~(unsigned)PAGE_USER; /* whatever the leaf says */
    if (!has_nx)
        want &= ~(unsigned)PAGE_NX;
    if (!m->known || !(m->flags & PAGE_PRESENT))
        return !found;
    return found && w.phys == m->phys && w.flags == want && w.bytes == PAGE_BYTES;
}

static void random_operations(unsigned levels, unsigned seed)
{
    struct mapping expected[SLOTS] = {{0}};
    struct address_space space;
    size_t free_at_start;

    fresh_pool(levels, POOL_PAGES, GIB, true);
    free_at_start = page_free_count();
    ASSERT(paging_space_create(&space));
    srand(seed);
    for (unsigned step = 0; step < 3000; step++) {
        unsigned slot = (unsigned)rand() % SLOTS;
        struct mapping *m = &expected[slot];
        uint64_t linear = slot_address(slot), phys = ((uint64_t)rand() << 12) + PAGE_BYTES;
        unsigned flags = (unsigned)rand() & 0xFF;

        flags |= rand() & 1 ? PAGE_NX : 0;
        for (unsigned twin = 0; twin < SLOTS; twin++) /* slots may name one address */
            if (slot_address(twin) == linear && twin < slot)
                m = &expected[twin];
        switch (rand() % 4) {
        case 0:
            ASSERT(paging_unmap(&space, linear) == m->known);
            m->known = false;
            break;
        case 1:
            ASSERT(paging_protect(&space, linear, flags) == m->known);
            m->flags = flags;
            break;
        default:
            ASSERT(paging_map(&space, linear, phys, flags));
            *m = (struct mapping){true, phys, flags};
        }
        ASSERT(agrees(&space, linear, m));
    }
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (paging_unmap(&space, slot_address(slot)))
            EXPECT(!paging_unmap(&space, slot_address(slot)));
    paging_space_destroy(&space);
    EXPECT_EQ(page_free_count(), free_at_start);
    EXPECT_EQ(space.cr3, 0);
}

static void mapping(void)
{
    for (unsigned seed = 1; seed <= 4; seed++)
        for (unsigned levels = 4; levels <= 5; levels++) {
            has_nx = seed & 1;
            random_operations(levels, seed);
        }
    has_nx = true;
}

static void spaces(void)
{
    struct address_space a, b, *kernel;
    struct paging_walk w;
    size_t start;

    for (unsigned levels = 4; levels <= 5; levels++) {
        fresh_pool(levels, POOL_PAGES, GIB, true);
        kernel = paging_kernel_space();
        start = page_free_count();
        ASSERT(paging_space_create(&a) && paging_space_create(&b));
        EXPECT(paging_map(&a, USER_WINDOW, 0x5000, PAGE_PRESENT | PAGE_USER));
        EXPECT(paging_walk(a.cr3, USER_WINDOW, &w));
        EXPECT(!paging_walk(b.cr3, USER_WINDOW, &w));
        EXPECT(!paging_walk(kernel->cr3, USER_WINDOW, &w));
        EXPECT(paging_map(kernel, KERNEL_WINDOW, 0x6000, PAGE_PRESENT));
        EXPECT(paging_map(&b, HIGH_WINDOW, 0x7000, PAGE_PRESENT));
        EXPECT(paging_walk(a.cr3, KERNEL_WINDOW, &w) && w.phys == 0x6000);
        EXPECT(paging_walk(kernel->cr3, HIGH_WINDOW, &w) && w.phys == 0x7000);
        EXPECT(!paging_map(kernel, USER_WINDOW, 0, PAGE_PRESENT));
        EXPECT(!paging_map(&a, 0x1000, 0, PAGE_PRESENT));
        EXPECT(!paging_map(&a, USER_WINDOW + WINDOW_BYTES, 0, PAGE_PRESENT));
        EXPECT(!paging_map(&a, USER_WINDOW - 1, 0, PAGE_PRESENT));
        paging_unmap(&a, KERNEL_WINDOW);
        paging_unmap(kernel, HIGH_WINDOW);
        paging_space_destroy(&a);
        paging_space_destroy(&b);
        paging_space_destroy(kernel); /* refused */
        EXPECT(paging_walk(kernel->cr3, 0x1000, &w));
        EXPECT_EQ(page_free_count(), start);
    }
}

/* A page of the kernel window that one space maps elsewhere, and what a full pool leaves. */
static void split(void)
{
    struct address_space space, *kernel;
    struct paging_walk w;

    for (unsigned levels = 4; levels <= 5; levels++)
        for (unsigned spare = 0; spare <= 3; spare++) {
            uint64_t at = KERNEL_WINDOW + 0x3000;
            size_t start;

            fresh_pool(levels, POOL_PAGES, GIB, true);
            kernel = paging_kernel_space();
            ASSERT(paging_space_create(&space));
            EXPECT(!paging_split(&space, at)); /* never mapped */
            EXPECT(paging_map(kernel, at, 0x5000, PAGE_PRESENT));
            EXPECT(paging_map(kernel, at + PAGE_BYTES, 0x6000, PAGE_PRESENT));
            EXPECT(!paging_split(kernel, at));
            while (page_free_count() > spare)
                page_alloc();
            start = page_free_count();
            EXPECT_EQ(paging_split(&space, at), spare == 3);
            if (spare == 3) {
                EXPECT(paging_map(&space, at, 0x9000, PAGE_PRESENT));
                EXPECT(paging_walk(space.cr3, at, &w) && w.phys == 0x9000);
                EXPECT(paging_walk(space.cr3, at + PAGE_BYTES, &w) && w.phys == 0x6000);
                EXPECT(paging_walk(kernel->cr3, at, &w) && w.phys == 0x5000);
                paging_join(&space, at);
            }
            EXPECT_EQ(page_free_count(), start);
            EXPECT(paging_walk(space.cr3, at, &w) && w.phys == 0x5000);
            paging_space_destroy(&space);
        }
}

/* An empty pool at any moment: refused, nothing lost. */
static void starvation(void)
{
    struct address_space space;

    for (unsigned levels = 4; levels <= 5; levels++)
        for (unsigned spare = 0; spare < 6; spare++) {
            size_t start;

            fresh_pool(levels, POOL_PAGES, GIB, true);
            while (page_free_count() > spare)
                page_alloc();
            start = page_free_count();
            if (paging_space_create(&space)) {
                bool mapped = paging_map(&space, USER_WINDOW, 0x1000, PAGE_PRESENT);

                EXPECT(mapped == (start >= levels)); /* top tables, then PDPT, PD, PT */
                paging_space_destroy(&space);
            } else {
                EXPECT(start < levels - 3u);
            }
            EXPECT_EQ(page_free_count(), start);
        }
}

/* Two pages of the host's own memory are mapped where they are, the third is not. */
static void read_stops(void)
{
    uint8_t *at = aligned_alloc(4 * PAGE_BYTES, 4 * PAGE_BYTES), got[3 * PAGE_BYTES] = {0};
    uint64_t linear = (uintptr_t)at, *level;

    fresh_pool(4, POOL_PAGES, GIB, true);
    level = table();
    current = (uintptr_t)level;
    for (unsigned shift = 39; shift > 12; shift -= 9) {
        uint64_t *next = table();

        level[linear >> shift & 511] = (uintptr_t)next | P | W | U;
        level = next;
    }
    level[linear >> 12 & 511] = linear | P;
    level[(linear >> 12 & 511) + 1] = (linear + PAGE_BYTES) | P;
    for (unsigned i = 0; i < 4 * PAGE_BYTES; i++)
        at[i] = (uint8_t)(i * 7 + (i >> 8));
    EXPECT_EQ(paging_read(linear + 100, got, 2 * PAGE_BYTES - 100), 2 * PAGE_BYTES - 100);
    EXPECT(memcmp(got, at + 100, 2 * PAGE_BYTES - 100) == 0);
    EXPECT_EQ(got[2 * PAGE_BYTES - 100], 0);
    EXPECT_EQ(paging_read(linear + 2 * PAGE_BYTES - 3, got, 15), 3);
    EXPECT(memcmp(got, at + 2 * PAGE_BYTES - 3, 3) == 0);
    EXPECT_EQ(paging_read(linear + 2 * PAGE_BYTES, got, 1), 0);
    EXPECT_EQ(paging_read(linear, got, 0), 0);
    free(at);
}

int main(void)
{
    pool = aligned_alloc(PAGE_BYTES, POOL_PAGES * PAGE_BYTES);
    RUN(walk_4kib);
    RUN(walk_large);
    RUN(walk_effective_rights);
    RUN(pool_counts);
    RUN(pool_too_small);
    RUN(identity);
    RUN(mapping);
    RUN(spaces);
    RUN(split);
    RUN(starvation);
    RUN(read_stops);
    free(pool);
    UNIT_END();
}
