/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paging: what hw/paging.c maps is what the processor sees.
 *
 * Claim: a #PF is repaired and the instruction restarted; user, write and execute permission
 *   hold at both rings; the walk agrees with the processor, accessed and dirty bits included;
 *   spaces share the kernel's windows and nothing else.
 * Source: SDM Vol. 3, "Page-Fault Exceptions", "Accessed and Dirty Flags".
 * How: error code, CR2 and RIP of each fault against what the access was; values read through
 *   a second mapping of the same frame.
 * Wrong if: a TLB entry outlives a change of its mapping, which is a failure to be seen here.
 */
#define CHECK_GROUP "00 hw"
#include "harness/check/check.h"
#include "harness/fixture/ring3.h"

#include "hw/cpuid.h"
#include "hw/regs.h"
#include "hw/user.h"

/* Error code bits of #PF. */
#define PF_PRESENT 1u
#define PF_WRITE   2u
#define PF_USER    4u
#define PF_FETCH   16u

struct repair {
    struct trap_seen seen;
    struct ring3 *r;
    void *page;
};

static bool map_missing_page(struct trap_frame *frame, void *arg)
{
    struct repair *repair = arg;

    trap_note(frame, &repair->seen);
    return repair->seen.count == 1 &&
           paging_map(&repair->r->space, repair->seen.cr2 & ~(PAGE_BYTES - 1),
                      (uint64_t)repair->page, PAGE_PRESENT | PAGE_WRITE | PAGE_USER);
}

CHECK("hw.paging.restart", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_frame frame = ring3_frame(ring3_store, false);
    struct ring3 r;
    struct repair repair = {.r = &r};
    struct trap_slot before;

    NEED(run, ring3_open(&r), "page pool empty");
    repair.page = page_alloc();
    frame.rdi = RING3_HOLE + 0x128;
    frame.rax = 0x5EED5EED5EED5EEDull;
    before = trap_set(VECTOR_PF, map_missing_page, &repair);
    user_run(&frame);
    trap_set(VECTOR_PF, before.handler, before.arg);
    EXPECT_EQ(run, repair.seen.count, 1, "page faults");
    EXPECT_EQ(run, repair.seen.frame.error, PF_WRITE | PF_USER, "error code");
    EXPECT_EQ(run, repair.seen.frame.rip, ring3_address(ring3_store), "RIP");
    EXPECT_EQ(run, repair.seen.cr2, RING3_HOLE + 0x128, "CR2");
    EXPECT_EQ(run, frame.rbx, frame.rax, "the value read back");
    if (repair.page) {
        EXPECT_EQ(run, *(uint64_t *)((uint8_t *)repair.page + 0x128), frame.rax,
                  "the value in the frame");
        page_free(repair.page);
    }
    ring3_close(&r);
}

/* One ring-3 access that must fault with this error code. */
static void expect_denied(struct run *run, const uint8_t *label, uint64_t address,
                          uint64_t error, const char *what)
{
    struct trap_seen seen = {.resume_at = ring3_address(ring3_exit)};
    struct trap_slot before = trap_set(VECTOR_PF, trap_note, &seen);
    struct trap_frame frame = ring3_frame(label, false);

    frame.rdi = address;
    user_run(&frame);
    trap_set(VECTOR_PF, before.handler, before.arg);
    if (EXPECT(run, seen.count == 1, "no fault: %s", what)) {
        EXPECT_EQ(run, seen.frame.error, error, what);
        EXPECT_EQ(run, seen.cr2, address, what);
    }
}

CHECK("hw.paging.user_permissions", SOFTWARE, "", NEED_NOTHING)
{
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    expect_denied(run, ring3_load, RING3_HOLE, PF_USER, "read of a missing page");
    expect_denied(run, ring3_store, RING3_CODE, PF_USER | PF_WRITE | PF_PRESENT,
                  "write to a read-only page");
    expect_denied(run, ring3_load, (uint64_t)r.data, PF_USER | PF_PRESENT,
                  "read of a supervisor page");
    if (cpu_has_nx())
        expect_denied(run, ring3_jump, RING3_DATA, PF_USER | PF_PRESENT | PF_FETCH,
                      "execution of a no-execute page");
    paging_protect(&r.space, RING3_DATA, PAGE_PRESENT | PAGE_USER);
    expect_denied(run, ring3_store, RING3_DATA, PF_USER | PF_WRITE | PF_PRESENT,
                  "write to a page made read-only");
    paging_protect(&r.space, RING3_DATA, PAGE_USER);
    expect_denied(run, ring3_load, RING3_DATA, PF_USER, "read of a page made not present");
    ring3_close(&r);
}

static bool note_and_unwind(struct trap_frame *frame, void *seen)
{
    trap_note(frame, seen);
    hw_unwind(VECTOR_PF);
}

static uint64_t store_byte(void *address)
{
    *(volatile uint8_t *)address = 1;
    return 0;
}

/* CR0.WP: ring 0 obeys read-only pages too, and an unmapped page is a fault, not silence. */
CHECK("hw.paging.kernel_permissions", SOFTWARE, "", NEED_NOTHING)
{
    struct address_space *kernel = paging_kernel_space();
    uint64_t address = KERNEL_WINDOW + WINDOW_BYTES - PAGE_BYTES;
    struct trap_seen seen = {0};
    struct trap_slot before = trap_set(VECTOR_PF, note_and_unwind, &seen);
    void *page = page_alloc();

    NEED(run, page && paging_map(kernel, address, (uint64_t)page, PAGE_PRESENT),
         "page pool empty");
    EXPECT_EQ(run, hw_try(store_byte, (void *)address, NULL), VECTOR_PF, "a read-only page");
    EXPECT_EQ(run, seen.frame.error, PF_WRITE | PF_PRESENT, "its error code");
    paging_protect(kernel, address, PAGE_PRESENT | PAGE_WRITE);
    EXPECT_EQ(run, hw_try(store_byte, (void *)address, NULL), 0, "a writable page");
    paging_unmap(kernel, address);
    EXPECT_EQ(run, hw_try(store_byte, (void *)address, NULL), VECTOR_PF, "a missing page");
    EXPECT_EQ(run, seen.frame.error, PF_WRITE, "its error code");
    EXPECT_EQ(run, seen.cr2, address, "CR2");
    trap_set(VECTOR_PF, before.handler, before.arg);
    page_free(page);
}

/* The processor sets accessed and dirty bits by itself: it and the walk read one table. */
CHECK("hw.paging.walk", SOFTWARE, "", NEED_NOTHING)
{
    struct address_space *kernel = paging_kernel_space();
    uint64_t low = KERNEL_WINDOW + 0x5000, high = HIGH_WINDOW + 0x9000;
    unsigned rights = PAGE_PRESENT | PAGE_WRITE, touched = PAGE_ACCESSED | PAGE_DIRTY;
    uint64_t *page = page_alloc();
    struct paging_walk walk;

    NEED(run,
         page && paging_map(kernel, low, (uint64_t)page, rights) &&
             paging_map(kernel, high, (uint64_t)page, rights),
         "page pool empty");
    EXPECT(run, paging_walk(cr3_read(), low + 8, &walk), "the walk finds nothing");
    EXPECT_EQ(run, walk.phys, (uint64_t)page + 8, "physical address");
    EXPECT_EQ(run, walk.bytes, PAGE_BYTES, "page size");
    EXPECT_EQ(run, walk.flags, rights, "flags before the access");
    *(volatile uint64_t *)(low + 8) = 0xA5A5;
    EXPECT_EQ(run, *(volatile uint64_t *)(high + 8), 0xA5A5, "through the upper half");
    paging_walk(cr3_read(), low, &walk);
    EXPECT_EQ(run, walk.flags & touched, touched, "accessed and dirty after a write");
    paging_walk(cr3_read(), high, &walk);
    EXPECT_EQ(run, walk.flags & touched, PAGE_ACCESSED, "accessed after a read");
    EXPECT(run, paging_walk(cr3_read(), (uint64_t)page, &walk) && walk.phys == (uint64_t)page,
           "identity map");
    EXPECT(run, walk.bytes > PAGE_BYTES && !(walk.flags & PAGE_USER), "identity map's kind");
    EXPECT(run, !paging_walk(cr3_read(), 1ull << 62, &walk), "a non-canonical walk succeeded");
    paging_unmap(kernel, low);
    paging_unmap(kernel, high);
    page_free(page);
}

CHECK("hw.paging.spaces", SOFTWARE, "", NEED_NOTHING)
{
    size_t free_before = page_free_count();
    struct ring3 first, second;
    struct paging_walk a, b;

    NEED(run, ring3_open(&first), "page pool empty");
    NEED(run, ring3_open(&second), "page pool empty");
    EXPECT(run,
           paging_walk(first.space.cr3, RING3_DATA, &a) &&
               paging_walk(second.space.cr3, RING3_DATA, &b) && a.phys != b.phys,
           "two spaces share a user page");
    EXPECT(run, !paging_walk(paging_kernel_space()->cr3, RING3_DATA, &a),
           "the kernel's own space has user pages");
    EXPECT(run, !paging_map(paging_kernel_space(), RING3_DATA, 0, PAGE_PRESENT),
           "the kernel's own space accepts user pages");
    EXPECT(run, !paging_map(&first.space, 0x1000, 0, PAGE_PRESENT),
           "the identity map can be changed");
    ring3_close(&second);
    ring3_close(&first);
    EXPECT_EQ(run, page_free_count(), free_before, "free pages afterwards");
}
