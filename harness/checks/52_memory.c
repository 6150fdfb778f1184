/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers in every kind of memory.
 *
 * Claim: SDM Vol. 3, "Setting Up the DS Save Area". The stores go through the linear address
 * map in force: the same frames under every CR3 lose nothing, and a page that was mapped
 * elsewhere is found where it is now. No memory type is excluded. Supervisor pages serve
 * whatever CR4 forbids the supervisor at user pages. Clear accessed and dirty bits, and data
 * breakpoints, are open.
 * How: one loop of known length; its records must lie, complete, in the frame that the map
 * names. Types are chosen by the page attribute table and flushed around the trace.
 * Wrong if: a frame is read through a cache that the trace went past: every change of type is
 * fenced by WBINVD on both sides.
 */
#define CHECK_GROUP "52 bts.memory"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/string.h"

#define RECORD      sizeof(struct bts_record)
#define PAGE_NORMAL (PAGE_PRESENT | PAGE_WRITE | PAGE_NX | PAGE_ACCESSED | PAGE_DIRTY)

static const struct bts_record *slot(uint64_t page, const struct trace *t, size_t i)
{
    return (const struct bts_record *)(uintptr_t)(page + (t->base & (PAGE_BYTES - 1))) + i;
}

static bool run_loop(struct trace *t, unsigned count)
{
    struct run *run = t->run;
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = count};
    struct guest_call call = guest_prepare(trace_guest(run), &r);
    enum ds_error error;

    t->argument = count;
    error = bts_bracket(&t->bts, call.fn, call.arg, NULL);
    guest_finish(trace_guest(run), &r, 0);
    return error == DS_OK;
}

static void loop(struct trace *t, unsigned count)
{
    NEED(t->run, run_loop(t, count), "the trace is refused");
}

static void protect(const struct trace *t, unsigned flags)
{
    paging_protect(paging_kernel_space(), t->window, flags);
}

CHECK("bts.memory.accessed_dirty", CHARACTERISE, "MEM-03", NEED_BTS)
{
    struct paging_walk walk;
    struct trace t;
    bool accessed, dirty, stored;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    protect(&t, PAGE_PRESENT | PAGE_WRITE | PAGE_NX);
    loop(&t, 4);
    NEED(run, paging_walk(paging_current(), t.window, &walk), "the buffer is not mapped");
    accessed = walk.flags & PAGE_ACCESSED;
    dirty = walk.flags & PAGE_DIRTY;
    stored = !bts_slot_empty(slot(t.window, &t, 0));
    EXPECT(run, accessed == dirty, "accessed is %u, dirty is %u", accessed, dirty);
    EXPECT(run, stored || t.area->bts_index == t.base,
           "the index moved, but nothing is stored");
    run_observe(run, "bts.accessed-bits", !stored ? "skip-record" : dirty ? "set" : "leave");
}

static void close_frame(void *arg)
{
    page_free(arg);
}

/* A frame of canaries that goes back to the pool with the check. */
static uint8_t *spare_frame(struct run *run)
{
    uint8_t *frame = page_alloc();

    NEED(run, frame, "the page pool is empty");
    run_defer(run, close_frame, frame);
    return (uint8_t *)memset(frame, CANARY_BYTE, PAGE_BYTES);
}

/* Between two traces the buffer gets another frame: no memory of the old one may be left. */
CHECK("bts.memory.remapped", MUST, "MEM-11 MEM-01", NEED_BTS)
{
    uint8_t *other = spare_frame(run);
    struct paging_walk walk;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    loop(&t, 8);
    EXPECT(run, !bts_slot_empty(slot(t.window, &t, 0)), "the first trace stored nothing");
    NEED(run, paging_walk(paging_current(), t.window, &walk), "the buffer is not mapped");
    paging_map(paging_kernel_space(), t.window, (uint64_t)(uintptr_t)other, PAGE_NORMAL);
    bts_clear(&t.bts);
    loop(&t, 8);
    EXPECT_EQ(run, slot((uint64_t)(uintptr_t)other, &t, 0)->from,
              (uint64_t)(uintptr_t)ds_bracket_call, "from of record 0 in the frame mapped now");
    paging_map(paging_kernel_space(), t.window, walk.phys, PAGE_NORMAL);
}

/* --- two address spaces */

struct switching {
    struct address_space space;
    uint64_t linear, back;
    bool split;
};

#define SWITCHED_RECORDS 20

static void close_switching(void *arg)
{
    struct switching *s = arg;

    if (s->split)
        paging_join(&s->space, s->linear);
    paging_space_destroy(&s->space);
}

static void open_switching(struct run *run, struct switching *s)
{
    *s = (struct switching){.back = paging_current()};
    NEED(run, paging_space_create(&s->space), "the page pool is empty");
    run_defer(run, close_switching, s);
}

/* Under the other CR3: one branch, taken SWITCHED_RECORDS times. */
static uint64_t other_tables(void *arg)
{
    const struct switching *s = arg;

    __asm__ volatile("mov %[other], %%cr3\n\t"
                     "1: dec %%ecx\n\t"
                     "jnz 1b\n\t"
                     "mov %[back], %%cr3"
                     :
                     : [other] "r"(s->space.cr3), [back] "r"(s->back),
                       "c"((uint64_t)SWITCHED_RECORDS + 1)
                     : "memory", "cc");
    return 0;
}

static void expect_switched(struct run *run, struct trace *t, struct switching *s)
{
    trace_call(t, other_tables, s);
    REQUIRE(run, t->count == SWITCHED_RECORDS + 2, "%zu records, want call, %u jumps, return",
            t->count, SWITCHED_RECORDS);
    for (size_t i = 2; i <= SWITCHED_RECORDS; i++)
        EXPECT(run,
               t->records[i].from == t->records[1].from && t->records[i].to == t->records[1].to,
               "record %zu is not the loop's", i);
    trace_expect_sane(t);
}

CHECK("bts.memory.same_frames", MUST, "MEM-11", NEED_BTS)
{
    struct switching s;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    open_switching(run, &s);
    expect_switched(run, &t, &s);
}

static void restore_cr4(void *arg)
{
    cr4_write(*(const uint64_t *)arg);
}

/* The same with process-context identifiers: translations of two contexts side by side. */
CHECK("bts.memory.process_contexts", MUST, "MEM-11", NEED_BTS)
{
    static uint64_t cr4;
    struct switching s;
    struct trace t;

    if (!cpu_has_pcid()) {
        run_skip(run, "CPUID does not enumerate PCID");
        return;
    }
    cr4 = cr4_read();
    trace_open(run, &t, &(struct trace_setup){.records = 64});
    open_switching(run, &s);
    run_defer(run, restore_cr4, &cr4);
    cr4_write(cr4 | CR4_PCIDE);
    s.space.cr3 |= 1; /* the context; bits 11:0 of CR3 are the other's, 0 */
    expect_switched(run, &t, &s);
    s.space.cr3 &= ~1ull;
}

/* The buffer's frame differs: where do the records of the other CR3 go? */
CHECK("bts.memory.other_frame", CHARACTERISE, "MEM-11", NEED_BTS)
{
    uint8_t *frame = spare_frame(run);
    struct switching s;
    struct trace t;
    bool here, there;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    open_switching(run, &s);
    s.linear = t.window;
    s.split = paging_split(&s.space, s.linear);
    NEED(run, s.split, "the page pool is empty");
    paging_map(&s.space, s.linear, (uint64_t)(uintptr_t)frame, PAGE_NORMAL);
    NEED(run, bts_bracket(&t.bts, other_tables, &s, NULL) == DS_OK, "the trace is refused");
    here = !bts_slot_empty(slot(t.window, &t, 4));
    there = *(const uint8_t *)slot((uint64_t)(uintptr_t)frame, &t, 4) != CANARY_BYTE;
    EXPECT(run, here != there, "record 4 is in %s", here ? "both frames" : "neither frame");
    /* All of the loop goes where that one went; what lies before and behind does not. */
    for (size_t i = 1; i <= SWITCHED_RECORDS; i++)
        EXPECT(run, bts_slot_empty(slot(t.window, &t, i)) == there,
               "record %zu is not where record 4 is", i);
    EXPECT(run, !bts_slot_empty(slot(t.window, &t, 0)), "record 0 is not in the first frame");
    EXPECT(run, !bts_slot_empty(slot(t.window, &t, SWITCHED_RECORDS + 1)),
           "the record behind the switch back is not in the first frame");
    run_observe(run, "bts.cr3-switch", there ? "in-force" : "at-enable");
}

/* --- memory types */

static const struct {
    uint8_t code;
    const char *name;
} types[] = {
    {PAT_WB, "WB"}, {PAT_WT, "WT"}, {PAT_UC_MINUS, "UC-"}, {PAT_UC, "UC"}, {PAT_WC, "WC"}};

#define PAT_ENTRY(pat, i) ((uint8_t)((pat) >> 8 * (i)))
#define PAT_LAST          7u

static void restore_pat(void *arg)
{
    cache_flush();
    msr_write_try(MSR_IA32_PAT, *(const uint64_t *)arg);
    cache_flush();
}

/* Page flags that select a type; the last entry is lent to types that have none. */
static unsigned flags_for(uint64_t pat, uint8_t type)
{
    unsigned i = 0;

    while (i < PAT_LAST && PAT_ENTRY(pat, i) != type)
        i++;
    if (PAT_ENTRY(pat, i) != type)
        msr_write_try(MSR_IA32_PAT,
                      (pat & ~(0xFFull << 8 * PAT_LAST)) | (uint64_t)type << 8 * PAT_LAST);
    return PAGE_NORMAL | (i & 1 ? PAGE_WRITE_THROUGH : 0) | (i & 2 ? PAGE_CACHE_DISABLE : 0) |
           (i & 4 ? PAGE_PAT : 0);
}

static void set_pages(const struct trace *t, unsigned flags)
{
    cache_flush();
    protect(t, flags);
    paging_protect(paging_kernel_space(), (uint64_t)(uintptr_t)t->area, flags);
    cache_flush();
}

CHECK("bts.memory.types", MUST, "MEM-07", NEED_BTS)
{
    static uint64_t pat;

    NEED(run, msr_read_try(MSR_IA32_PAT, &pat) == 0, "there is no IA32_PAT");
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct trace t;
        bool ran;

        run_defer(run, restore_pat, &pat);
        trace_open(run, &t, &(struct trace_setup){.records = 64});
        set_pages(&t, flags_for(pat, types[i].code));
        ran = run_loop(&t, 20);
        set_pages(&t, PAGE_NORMAL);
        NEED(run, ran, "the trace is refused");
        trace_collect(&t);
        if (!trace_expect_workload(&t, trace_find(run, "bench.loop"), 0, NULL))
            run_detail(run, "in a buffer of type %s", types[i].name);
        run_deferred_now(run);
    }
}

/* --- what CR0 and CR4 forbid */

CHECK("bts.memory.smep_smap", MUST, "MEM-05", NEED_BTS | NEED_DS_CPL)
{
    const struct workload *w = trace_find(run, "call.nested");
    struct guest_run r = {.workload = w, .ring = 3};
    struct guest_call call;
    struct trace t;
    static uint64_t cr4;
    uint64_t returned = 0;

    cr4 = cr4_read();
    if (!cpu_has_smep() && !cpu_has_smap()) {
        run_skip(run, "CPUID enumerates neither SMEP nor SMAP");
        return;
    }
    trace_open(run, &t, &(struct trace_setup){.records = 256, .off_os = true});
    call = guest_prepare(trace_guest(run), &r);
    run_defer(run, restore_cr4, &cr4);
    cr4_write(cr4 | (cpu_has_smep() ? CR4_SMEP : 0) | (cpu_has_smap() ? CR4_SMAP : 0));
    NEED(run, bts_bracket(&t.bts, call.fn, call.arg, &returned) == DS_OK, "refused");
    cr4_write(cr4);
    guest_finish(trace_guest(run), &r, returned);
    NEED(run, r.end == GUEST_RETURNED, "%s did not return", w->name);
    trace_collect(&t);
    trace_expect_workload(&t, w, 3, NULL);
}

static void restore_cr0(void *arg)
{
    cr0_write(*(const uint64_t *)arg);
}

/* CR0.WP clear: the supervisor may write to read-only pages. May the trace? */
CHECK("bts.memory.write_protect_clear", CHARACTERISE, "MEM-05", NEED_BTS)
{
    struct trace t;
    static uint64_t cr0;
    bool stored;

    cr0 = cr0_read();
    trace_open(run, &t, &(struct trace_setup){.records = 64});
    trace_guest(run); /* opened now: not between the two writes of CR0 */
    run_defer(run, restore_cr0, &cr0);
    protect(&t, PAGE_NORMAL & ~(unsigned)PAGE_WRITE);
    cr0_write(cr0 & ~CR0_WP);
    loop(&t, 4);
    cr0_write(cr0);
    stored = !bts_slot_empty(slot(t.window, &t, 0));
    EXPECT(run, stored || t.area->bts_index == t.base,
           "the index moved, but nothing is stored");
    run_observe(run, "bts.read-only-wp-clear", stored ? "stored" : "lost");
}

/* --- a data breakpoint on the buffer */

struct watch {
    unsigned hits;
    uint64_t dr6;
};

static bool on_watch(struct trap_frame *frame, void *arg)
{
    struct watch *watch = arg;

    (void)frame;
    watch->hits++;
    watch->dr6 = dr6_read();
    dr6_write(watch->dr6 & ~(DR6_B0 | DR6_BS));
    broker_db_taken();
    return true;
}

static void close_watch(void *arg)
{
    const struct trap_slot *before = arg;

    dr7_write(DR7_FIXED);
    dr0_write(0);
    trap_set(VECTOR_DB, before->handler, before->arg);
}

CHECK("bts.memory.watched", CHARACTERISE, "MEM-13", NEED_BTS)
{
    static struct trap_slot before;
    struct watch watch = {0, 0};
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 256});
    trace_guest(run);
    before = trap_set(VECTOR_DB, on_watch, &watch);
    run_defer(run, close_watch, &before);
    dr0_write((uint64_t)(uintptr_t)slot(t.window, &t, 3));
    dr7_write(DR7_FIXED | DR7_G0 | DR7_WRITE_8_0);
    loop(&t, 10);
    dr7_write(DR7_FIXED);
    EXPECT(run, watch.hits <= 1 && (!watch.hits || watch.dr6 & DR6_B0),
           "%u debug exceptions, DR6 %lx", watch.hits, watch.dr6);
    run_observe(run, "bts.buffer-watch", watch.hits ? "db" : "none");
    trace_collect(&t);
    trace_expect_sources(&t);
    if (!watch.hits)
        trace_expect_workload(&t, trace_find(run, "bench.loop"), 0, NULL);
}
