/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Page tables: their pool, the walk, and building address spaces. Every table lies in
 * identity-mapped memory, so an entry's address is also a pointer.
 */
#include "hw/paging.h"

#include "hw/cpuid.h"
#include "hw/lock.h"
#include "hw/regs.h"
#include "hw/string.h"

#define ENTRY_ADDRESS   0x000FFFFFFFFFF000ull
#define ENTRY_LARGE     (1ull << 7) /* PS, in a PDPT or PD entry */
#define ENTRY_LARGE_PAT (1ull << 12)
#define ENTRY_NX        (1ull << 63)
#define ENTRIES         512u
#define LEAF_FLAGS                                                                             \
    (PAGE_PRESENT | PAGE_WRITE | PAGE_USER | PAGE_WRITE_THROUGH | PAGE_CACHE_DISABLE |         \
     PAGE_ACCESSED | PAGE_DIRTY | PAGE_PAT)

/* Levels count from the leaf: 1 = PT ... 5 = PML5. */
#define LEVEL_BYTES(level) (PAGE_BYTES << 9 * ((level)-1))
#define FOUR_GIB           (1ull << 32)

static struct {
    struct lock lock;  /* of the free pages */
    void **first_free; /* each free page begins with the address of the next */
    size_t free_pages;
    uint64_t nx; /* ENTRY_NX where the processor has it */
    struct address_space kernel;
} state;

#ifdef WAYMARK_HOST
unsigned paging_host_levels = 4;
#endif

static unsigned levels(void)
{
#ifdef WAYMARK_HOST
    return paging_host_levels;
#else
    return cr4_read() & CR4_LA57 ? 5 : 4;
#endif
}

static void flush(uint64_t linear)
{
#ifdef WAYMARK_HOST
    (void)linear;
#else
    __asm__ volatile("invlpg (%0)" : : "r"(linear) : "memory");
#endif
}

void *page_alloc(void)
{
    void **page;
    irqflags_t flags;

    if (!lock_take(&state.lock, &flags))
        return NULL;
    page = state.first_free;
    if (page)
        state.free_pages--, state.first_free = *page;
    lock_release(&state.lock, flags);
    return page ? memset(page, 0, PAGE_BYTES) : NULL;
}

void page_free(void *page)
{
    irqflags_t flags;

    if (!lock_take(&state.lock, &flags))
        return; /* lost, rather than in two hands */
    *(void **)page = state.first_free;
    state.first_free = page;
    state.free_pages++;
    lock_release(&state.lock, flags);
}

size_t page_free_count(void)
{
    return state.free_pages;
}

static uint64_t *table_of(uint64_t entry)
{
    return (uint64_t *)(entry & ENTRY_ADDRESS);
}

static unsigned index_of(uint64_t linear, unsigned level)
{
    return linear / LEVEL_BYTES(level) % ENTRIES;
}

static bool canonical(uint64_t linear, unsigned top_level)
{
    unsigned unused = 64 - (12 + 9 * top_level);

    return (uint64_t)((int64_t)(linear << unused) >> unused) == linear;
}

bool paging_walk(uint64_t cr3, uint64_t linear, struct paging_walk *out)
{
    unsigned level = levels();
    unsigned both = PAGE_WRITE | PAGE_USER, any = 0;
    uint64_t entry = cr3;

    *out = (struct paging_walk){0, 0, 0};
    if (!canonical(linear, level))
        return false;
    for (;; level--) {
        entry = table_of(entry)[index_of(linear, level)];
        out->bytes = LEVEL_BYTES(level);
        if (!(entry & PAGE_PRESENT))
            return false;
        both &= entry;
        any |= entry & ENTRY_NX ? PAGE_NX : 0;
        if (level == 1 || (level <= 3 && (entry & ENTRY_LARGE)))
            break;
    }
    out->phys = (entry & ENTRY_ADDRESS & ~(out->bytes - 1)) | (linear & (out->bytes - 1));
    out->flags = (entry & LEAF_FLAGS & ~(uint64_t)(PAGE_WRITE | PAGE_USER)) | both | any;
    if (level > 1) { /* bit 7 said "large page"; PAT has moved */
        out->flags &= ~(unsigned)PAGE_PAT;
        out->flags |= entry & ENTRY_LARGE_PAT ? PAGE_PAT : 0;
    }
    return true;
}

size_t paging_read(uint64_t linear, void *to, size_t count)
{
    struct paging_walk walk;
    size_t done = 0;

    while (done < count && paging_walk(paging_current(), linear + done, &walk)) {
        size_t room = PAGE_BYTES - ((linear + done) & (PAGE_BYTES - 1));
        size_t part = room < count - done ? room : count - done;

        memcpy((uint8_t *)to + done, (const void *)(uintptr_t)(linear + done), part);
        done += part;
    }
    return done;
}

static bool in_window(uint64_t linear, uint64_t window)
{
    return linear - window < WINDOW_BYTES;
}

/*
 * The entry for linear at the given level; create adds missing tables on the way, which permit
 * all that their window may hold. NULL: a table is missing, or a large page in the way.
 */
static uint64_t *entry_at(uint64_t cr3, uint64_t linear, unsigned target, bool create)
{
    bool kernel_only = linear < USER_WINDOW || in_window(linear, KERNEL_WINDOW);
    uint64_t *table = table_of(cr3);

    for (unsigned level = levels(); level > target; level--) {
        uint64_t *entry = &table[index_of(linear, level)];

        if (!(*entry & PAGE_PRESENT)) {
            void *page = create ? page_alloc() : NULL;

            if (!page)
                return NULL;
            *entry = (uint64_t)page | PAGE_PRESENT | PAGE_WRITE | (kernel_only ? 0 : PAGE_USER);
        } else if (level <= 3 && (*entry & ENTRY_LARGE)) {
            return NULL;
        }
        table = table_of(*entry);
    }
    return &table[index_of(linear, target)];
}

/*
 * Identity map. At least 4 GiB, so that device registers below it are reached; their memory
 * type comes from the MTRRs. 1 GiB pages only above, where no MTRR boundary cuts them.
 */
static bool map_identity(uint64_t cr3, uint64_t top_of_ram)
{
    uint64_t top = top_of_ram > FOUR_GIB ? top_of_ram : FOUR_GIB;
    uint64_t flags = PAGE_PRESENT | PAGE_WRITE | PAGE_ACCESSED | PAGE_DIRTY | ENTRY_LARGE;
    unsigned high_level = cpu_has_1gib_pages() ? 3 : 2;

    for (uint64_t phys = 0; phys < top;) {
        unsigned level = phys < FOUR_GIB ? 2 : high_level;
        uint64_t *entry = entry_at(cr3, phys, level, true);

        if (!entry)
            return false;
        *entry = phys | flags;
        phys += LEVEL_BYTES(level);
    }
    return true;
}

bool paging_init(void *pool, size_t bytes, uint64_t top_of_ram)
{
    uint8_t *base = pool;
    uint64_t *top;

    state.first_free = NULL;
    state.free_pages = 0;
    state.nx = cpu_has_nx() ? ENTRY_NX : 0;
    for (size_t offset = bytes & ~(PAGE_BYTES - 1); offset > 0; offset -= PAGE_BYTES)
        page_free(base + offset - PAGE_BYTES);
    top = page_alloc();
    state.kernel.cr3 = (uint64_t)top;
    /* The windows' upper tables exist from the start: new spaces copy the entries to them. */
    return top && top_of_ram <= USER_WINDOW && map_identity(state.kernel.cr3, top_of_ram) &&
           entry_at(state.kernel.cr3, KERNEL_WINDOW, 2, true) &&
           entry_at(state.kernel.cr3, HIGH_WINDOW, 2, true);
}

struct address_space *paging_kernel_space(void)
{
    return &state.kernel;
}

/* A space owns its top table, with 5 levels the PML4 below slot 0, and the user subtree. */
bool paging_space_create(struct address_space *space)
{
    const uint64_t *kernel = table_of(state.kernel.cr3);
    uint64_t *top = page_alloc(), *pml4;

    space->cr3 = 0;
    if (!top)
        return false;
    memcpy(top, kernel, PAGE_BYTES);
    if (levels() == 5) {
        pml4 = page_alloc();
        if (!pml4) {
            page_free(top);
            return false;
        }
        memcpy(pml4, table_of(kernel[0]), PAGE_BYTES);
        top[0] = (uint64_t)pml4 | PAGE_PRESENT | PAGE_WRITE | PAGE_USER;
    }
    space->cr3 = (uint64_t)top;
    return true;
}

/* Frees the tables under an entry of the given level, not the pages they map. */
static void free_tables(uint64_t entry, unsigned level)
{
    if (!(entry & PAGE_PRESENT) || level == 1)
        return;
    for (unsigned i = 0; i < ENTRIES; i++)
        free_tables(table_of(entry)[i], level - 1);
    page_free(table_of(entry));
}

void paging_space_destroy(struct address_space *space)
{
    uint64_t *top = table_of(space->cr3);
    uint64_t *user;

    if (!space->cr3 || space->cr3 == state.kernel.cr3)
        return;
    user = entry_at(space->cr3, USER_WINDOW, 4, false);
    free_tables(*user, 4);
    if (levels() == 5)
        page_free(table_of(top[0]));
    page_free(top);
    space->cr3 = 0;
}

static bool may_map(const struct address_space *space, uint64_t linear)
{
    if (in_window(linear, USER_WINDOW))
        return space->cr3 != state.kernel.cr3;
    return in_window(linear, KERNEL_WINDOW) || in_window(linear, HIGH_WINDOW);
}

static void set_entry(uint64_t *entry, uint64_t linear, uint64_t phys, unsigned flags)
{
    *entry = (phys & ENTRY_ADDRESS) | (flags & LEAF_FLAGS) | (flags & PAGE_NX ? state.nx : 0);
    flush(linear);
}

bool paging_map(struct address_space *space, uint64_t linear, uint64_t phys, unsigned flags)
{
    uint64_t *entry = may_map(space, linear) ? entry_at(space->cr3, linear, 1, true) : NULL;

    if (!entry)
        return false;
    set_entry(entry, linear, phys, flags);
    return true;
}

/* An entry that was never mapped, or was unmapped, is zero. */
static uint64_t *mapped_entry(const struct address_space *space, uint64_t linear)
{
    uint64_t *entry = may_map(space, linear) ? entry_at(space->cr3, linear, 1, false) : NULL;

    return entry && *entry ? entry : NULL;
}

bool paging_protect(struct address_space *space, uint64_t linear, unsigned flags)
{
    uint64_t *entry = mapped_entry(space, linear);

    if (!entry)
        return false;
    set_entry(entry, linear, *entry, flags);
    return true;
}

/* Gives the page table back that held linear's entry, once it holds no other. */
static void free_empty_table(uint64_t cr3, uint64_t linear)
{
    uint64_t *upper = entry_at(cr3, linear, 2, false);
    const uint64_t *table = table_of(*upper);

    for (unsigned i = 0; i < ENTRIES; i++)
        if (table[i])
            return;
    *upper = 0;
    page_free(table_of((uint64_t)table));
}

bool paging_unmap(struct address_space *space, uint64_t linear)
{
    uint64_t *entry = mapped_entry(space, linear);

    if (!entry)
        return false;
    *entry = 0;
    free_empty_table(space->cr3, linear);
    flush(linear); /* also empties the paging-structure caches, which knew the table */
    return true;
}

#define LEVEL_PML4 4

void paging_join(struct address_space *space, uint64_t linear)
{
    uint64_t *first = entry_at(space->cr3, linear, LEVEL_PML4, false);
    uint64_t own = *first, shared = *entry_at(state.kernel.cr3, linear, LEVEL_PML4, false);

    *first = shared;
    for (unsigned level = LEVEL_PML4; level > 1 && table_of(own) != table_of(shared); level--) {
        uint64_t *table = table_of(own);

        own = table[index_of(linear, level - 1)];
        shared = table_of(shared)[index_of(linear, level - 1)];
        page_free(table);
    }
    flush(linear);
}

/*
 * Tables of the space's own on the way to the entry of level `last`, each entry above it with
 * `rights` added. NULL, and all as before, when pages run out.
 */
static uint64_t *own_way(struct address_space *space, uint64_t linear, unsigned last,
                         uint64_t rights)
{
    uint64_t *entry = entry_at(space->cr3, linear, LEVEL_PML4, false);

    for (unsigned level = LEVEL_PML4; level > last; level--) {
        uint64_t *table = page_alloc();

        if (!table) {
            paging_join(space, linear);
            return NULL;
        }
        memcpy(table, table_of(*entry), PAGE_BYTES);
        *entry = (uint64_t)table | (*entry & ~ENTRY_ADDRESS) | rights;
        entry = &table[index_of(linear, level - 1)];
    }
    return entry;
}

bool paging_split(struct address_space *space, uint64_t linear)
{
    if (space->cr3 == state.kernel.cr3 || !in_window(linear, KERNEL_WINDOW) ||
        !mapped_entry(space, linear) || !own_way(space, linear, 1, 0))
        return false;
    flush(linear);
    return true;
}

bool paging_grant_user(struct address_space *space, uint64_t linear)
{
    uint64_t *entry;

    if (space->cr3 == state.kernel.cr3 || linear >= FOUR_GIB)
        return false;
    entry = own_way(space, linear, 2, PAGE_USER);
    if (!entry)
        return false;
    *entry |= PAGE_USER;
    flush(linear);
    return true;
}
