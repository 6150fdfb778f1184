/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nested paging: guest-physical is physical, but for a few pages.
 *
 * Writes to the page of the local APIC leave the guest, because one of them starts another
 * processor. What the model itself consists of is not the guest's: it finds nothing there, and
 * what it writes is lost. One set of tables serves all processors.
 * Source: APM Vol. 2, "Nested Paging".
 */
#include "hw/model/host/stay.h"
#include "hw/model/processor/insns.h"

#define PAGE_BYTES    4096ull
#define GIB           (1ull << 30)
#define LARGE_PAGE    (2ull << 20)
#define SPARE_TABLES  12 /* for devices far above RAM, found when the guest touches them */
#define ENTRY_PRESENT 0x1ull
#define ENTRY_WRITE   0x2ull
#define ENTRY_LARGE   0x80ull
/* Present, user (which all guest accesses count as), accessed, dirty. */
#define ENTRY_READ    0x65ull
#define ENTRY_ALL     (ENTRY_READ | ENTRY_WRITE)
#define ENTRY_ADDRESS 0x000FFFFFFFFFF000ull
#define EXIT_WRITE    0x2ull /* of EXITINFO1 */

static uint64_t *root; /* NULL: guests without a second level */
static uint8_t *next_table, *tables_end, *nothing;
static uint32_t taking; /* a lock: two processors may find the same device at once */

uint64_t nested_pages(uint64_t top_of_ram, size_t kept, uint64_t kept_bytes)
{
    uint64_t gib = (top_of_ram + GIB - 1) / GIB;
    gib = gib < 4 ? 4 : gib;
    /* The top, one for each 512 GiB and each GiB; ranges of pages; the page of nothing. */
    return 1 + (gib + 511) / 512 + gib + 1 + 2 * (kept + 1) + kept_bytes / LARGE_PAGE +
           SPARE_TABLES + 1;
}

static uint64_t *take_table(void)
{
    uint8_t *table = next_table;

    if (table == tables_end)
        machine_panic(NULL, "no page is left for nested page tables", (uintptr_t)tables_end);
    next_table += PAGE_BYTES;
    return (uint64_t *)table;
}

/* The table below an entry; a large page becomes a table of smaller ones first. */
static uint64_t *below(uint64_t *entry, uint64_t page_bytes)
{
    if (*entry & ENTRY_PRESENT && !(*entry & ENTRY_LARGE))
        return (uint64_t *)(uintptr_t)(*entry & ENTRY_ADDRESS);
    uint64_t *table = take_table();
    uint64_t large = page_bytes > PAGE_BYTES ? ENTRY_LARGE : 0;
    if (*entry & ENTRY_LARGE)
        for (uint64_t i = 0; i < 512; i++)
            table[i] = ((*entry & ~ENTRY_LARGE) + i * page_bytes) | large;
    *entry = (uintptr_t)table | ENTRY_ALL;
    return table;
}

static uint64_t *large_entry(uint64_t address)
{
    uint64_t *table = below(&root[address >> 39 & 511], GIB);

    return &below(&table[address >> 30 & 511], LARGE_PAGE)[address >> 21 & 511];
}

static uint64_t *small_entry(uint64_t address)
{
    return &below(large_entry(address), PAGE_BYTES)[address >> 12 & 511];
}

static void map_gib(uint64_t address)
{
    uint64_t *entry = large_entry(address & ~(GIB - 1));

    for (uint64_t i = 0; i < 512; i++)
        if (!(entry[i] & ENTRY_PRESENT))
            entry[i] = ((address & ~(GIB - 1)) + i * LARGE_PAGE) | ENTRY_ALL | ENTRY_LARGE;
}

void nested_build(void *pages, uint64_t count, uint64_t top_of_ram)
{
    next_table = pages;
    tables_end = next_table + count * PAGE_BYTES;
    nothing = (uint8_t *)take_table();
    root = take_table();
    for (uint64_t at = 0; at < top_of_ram || at < 4 * GIB; at += GIB)
        map_gib(at);
    *small_entry(APIC_PAGE) &= ~ENTRY_WRITE;
}

void nested_hide(uint64_t start, uint64_t bytes)
{
    for (uint64_t at = start; at < start + bytes; at += PAGE_BYTES)
        *small_entry(at) = (uintptr_t)nothing | ENTRY_ALL;
}

void nested_read_only(uint64_t start, uint64_t bytes)
{
    for (uint64_t at = start; at < start + bytes; at += PAGE_BYTES)
        *small_entry(at) &= ~ENTRY_WRITE;
}

void nested_use(struct model_cpu *cpu)
{
    if (!root)
        return;
    cpu->vmcb->control.nested_paging = 1;
    cpu->vmcb->control.nested_cr3 = (uintptr_t)root;
    /* With nested paging the guest's PAT lies in the VMCB. */
    cpu->vmcb->save.pat = read_msr(MSR_PAT);
}

static void lock(void)
{
    while (__atomic_exchange_n(&taking, 1, __ATOMIC_ACQUIRE))
        __asm__ volatile("pause");
}

static void unlock(void)
{
    __atomic_store_n(&taking, 0, __ATOMIC_RELEASE);
}

void nested_exit(struct model_cpu *cpu)
{
    uint64_t address = cpu->vmcb->control.exit_info2;
    bool writes = cpu->vmcb->control.exit_info1 & EXIT_WRITE;

    if (writes && (address & ~(PAGE_BYTES - 1)) == APIC_PAGE) {
        apic_page_write(cpu, address);
        return;
    }
    lock();
    if (*large_entry(address) & ENTRY_PRESENT)
        nested_hide(address & ~(PAGE_BYTES - 1), 1); /* a write to the model's code */
    else
        map_gib(address);
    unlock();
    cpu->vmcb->control.tlb_control = 1;
}
