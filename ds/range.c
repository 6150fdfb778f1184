/* SPDX-License-Identifier: BSD-2-Clause */
/* Examination of linear address ranges, by arithmetic and by a walk of the page tables. */
#include "ds/range.h"

#include "hw/cpuid.h"
#include "hw/image.h"
#include "hw/msr.h"
#include "hw/paging.h"

static bool canonical(uint64_t linear)
{
    unsigned spare = 64 - cpu_linear_bits();

    return (uint64_t)((int64_t)(linear << spare) >> spare) == linear;
}

enum range_fault range_place(const struct ds_layout *layout, uint64_t base, uint64_t bytes)
{
    uint64_t top = layout->field_bytes == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
    uint64_t end = base + bytes;

    if (base > top || !canonical(base))
        return RANGE_NOT_CANONICAL;
    /* One past the end must be representable: base + size == 2^64 would read as 0. */
    if (bytes > top - base)
        return RANGE_WRAPS;
    if (!canonical(end) || (base ^ end) >> 63)
        return RANGE_EDGE;
    return RANGE_GOOD;
}

static enum range_fault page_fault(const struct paging_walk *page, bool want_dirty)
{
    uint64_t apic = msr_read(MSR_IA32_APIC_BASE) & APIC_BASE_ADDRESS;
    uint64_t first = page->phys & ~(PAGE_BYTES - 1);

    if (page->flags & PAGE_USER)
        return RANGE_USER;
    if (!(page->flags & PAGE_WRITE))
        return RANGE_READ_ONLY;
    if (first == apic)
        return RANGE_DEVICE;
    if (image_has_code(first, PAGE_BYTES))
        return RANGE_CODE;
    if (want_dirty && (~page->flags & (PAGE_ACCESSED | PAGE_DIRTY)))
        return RANGE_NOT_DIRTY;
    return RANGE_GOOD;
}

enum range_fault range_pages(uint64_t cr3, uint64_t base, uint64_t bytes, bool want_dirty)
{
    uint64_t last = (base + bytes - 1) & ~(PAGE_BYTES - 1);

    /* By 4 KiB even inside larger pages: the device test is about one 4 KiB frame. */
    for (uint64_t linear = base & ~(PAGE_BYTES - 1);; linear += PAGE_BYTES) {
        struct paging_walk page;
        enum range_fault fault = RANGE_NOT_MAPPED;

        if (paging_walk(cr3, linear, &page))
            fault = page_fault(&page, want_dirty);
        if (fault != RANGE_GOOD)
            return fault;
        if (linear == last)
            return RANGE_GOOD;
    }
}

bool range_same_frames(uint64_t cr3, uint64_t other, uint64_t base, uint64_t bytes)
{
    uint64_t last = (base + bytes - 1) & ~(PAGE_BYTES - 1);

    for (uint64_t linear = base & ~(PAGE_BYTES - 1);; linear += PAGE_BYTES) {
        struct paging_walk one, two;

        if (!paging_walk(cr3, linear, &one) || !paging_walk(other, linear, &two) ||
            one.phys != two.phys)
            return false;
        if (linear == last)
            return true;
    }
}

void range_touch(uint64_t base, uint64_t bytes)
{
    uint64_t last = base + bytes - 1;

    for (uint64_t linear = base;;) {
        /* Locked, so that a PEBS half at work on the same page loses no update of its own. */
        __asm__ volatile("lock orb $0, %0" : "+m"(*(uint8_t *)(uintptr_t)linear) : : "cc");
        if ((linear | (PAGE_BYTES - 1)) >= (last | (PAGE_BYTES - 1)))
            return;
        linear = (linear | (PAGE_BYTES - 1)) + 1;
    }
}

bool range_overlap(uint64_t base, uint64_t bytes, uint64_t other, uint64_t other_bytes)
{
    return base < other + other_bytes && other < base + bytes;
}
