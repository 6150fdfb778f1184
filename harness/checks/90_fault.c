/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores of the Debug Store that fault. The last group: nobody promises that a processor
 * survives them.
 *
 * Claim: none that binds. SDM Vol. 3, "Intel SGX Interactions with Debug Store", speaks of
 *   faults that are reported at once while the record, or a part of it, is lost; published
 *   errata about RF in such a fault's frame show that ordinary faults are reported, too.
 * How: ring 3 is traced with BTS_OFF_OS, so that the handler's own branches store nothing;
 *   a page of the buffer, or the area, is not there or read-only when the trace comes to it.
 *   The handler writes down what it finds and mends the page. Whatever happens: an index that
 *   moved past a record that was not stored, a second fault, or a byte elsewhere is wrong.
 * Wrong if: the entry to the handler is stored in spite of BTS_OFF_OS; then it faults again,
 *   for ever. On a processor that does so the journal names this check.
 */
#define CHECK_GROUP "90 bts.fault"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/msr.h"
#include "hw/overlay.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/string.h"

#define RECORD    sizeof(struct bts_record)
#define GOOD_PAGE (PAGE_PRESENT | PAGE_WRITE | PAGE_NX | PAGE_ACCESSED | PAGE_DIRTY)
#define LOOPS     400 /* two pages and more */

#define PF_PRESENT 1u
#define PF_WRITE   2u
#define PF_USER    4u

struct faults {
    struct trap_slot before;
    struct trace *t;
    uint64_t page; /* the one that was taken away */
    unsigned count;
    uint64_t cr2, error, rip, rflags, index; /* of the first */
    struct bts_record first_half;            /* at the index, as far as it is mapped */
};

/* What lies before the missing page shows whether a part of the record was stored. */
static void note_border(struct faults *f)
{
    uint64_t last = f->t->base + 167 * RECORD;

    if (last < f->page && f->page < f->t->end)
        memcpy(&f->first_half, (void *)(uintptr_t)last, 16);
}

static bool on_fault(struct trap_frame *frame, void *arg)
{
    struct faults *f = arg;
    uint64_t cr2 = cr2_read();

    if (cr2 - f->page >= PAGE_BYTES)
        return f->before.handler && f->before.handler(frame, f->before.arg);
    if (f->count++ == 0) {
        f->cr2 = cr2;
        f->error = frame->error;
        f->rip = frame->rip;
        f->rflags = frame->rflags;
        note_border(f);
    }
    paging_protect(paging_kernel_space(), f->page, GOOD_PAGE);
    if (f->count == 1)
        f->index = f->t->area->bts_index;
    return true;
}

static void close_faults(void *arg)
{
    struct faults *f = arg;

    trap_set(VECTOR_PF, f->before.handler, f->before.arg);
    paging_protect(paging_kernel_space(), f->page, GOOD_PAGE);
}

/* The loop in ring 3 while page has these flags. The trace's own set-up comes before. */
static void run_faulting(struct run *run, struct faults *f, struct trace *t, uint64_t page,
                         unsigned flags)
{
    struct guest_run r = {
        .workload = trace_find(run, "bench.loop"), .ring = 3, .argument = LOOPS};
    struct guest_call call = guest_prepare(trace_guest(run), &r);
    enum ds_error error;
    uint64_t returned = 0;

    memset(f, 0, sizeof(*f));
    f->t = t;
    f->page = page;
    f->before = trap_set(VECTOR_PF, on_fault, f);
    run_defer(run, close_faults, f);
    t->argument = LOOPS;
    NEED(run, broker_set_ds_area(t->area) == DS_OK, "the area is refused");
    paging_protect(paging_kernel_space(), page, flags);
    error = broker_bracket(BROKER_BTS, t->bts.debugctl, call.fn, call.arg, &returned);
    if (!f->count)
        note_border(f);
    paging_protect(paging_kernel_space(), page, GOOD_PAGE);
    guest_finish(trace_guest(run), &r, returned);
    NEED(run, error == DS_OK && r.end == GUEST_RETURNED, "the loop did not return");
}

/* What every outcome has in common, and the words for this one. */
static bool judge(struct run *run, struct faults *f, const char *what)
{
    struct guest_place place = guest_place(trace_guest(run), 3, LOOPS);

    if (f->count == 0) {
        run_held(run);
        return false;
    }
    EXPECT(run, f->count <= 2, "%s: %u faults, though the first mended the page", what,
           f->count);
    EXPECT(run, f->error & PF_WRITE || f->page == (uint64_t)(uintptr_t)f->t->area,
           "%s: error code %lx is no write", what, f->error);
    /* A second one is the handler's entry, stored in spite of the filter. */
    EXPECT(run, f->count == 2 || (f->rip >= place.low && f->rip < place.high),
           "%s: saved RIP %lx", what, f->rip);
    return true;
}

static const char *where(const struct faults *f)
{
    size_t count;
    const struct expected_edge *e =
        trace_expected(f->t->run, trace_find(f->t->run, "bench.loop"), 3, LOOPS, &count);

    for (size_t i = 1; i < count; i++)
        if (e[i].kind != EDGE_SYSCALL && (f->rip == e[i].from || f->rip == e[i].to))
            return f->rip == e[i].from ? "branch" : "target";
    return "elsewhere";
}

static void observe_fault(struct run *run, const struct faults *f)
{
    run_observe(run, "bts.fault-rip", "%s", where(f));
    run_observe(run, "bts.fault-error", "%lx", f->error);
    run_observe(run, "bts.fault-rf", f->rflags & RFLAGS_RF ? "set" : "clear");
}

/* Record 168 is the first on the second page. */
static void open_buffer(struct run *run, struct trace *t, unsigned offset)
{
    trace_open(run, t,
               &(struct trace_setup){.records = 600, .base_offset = offset, .off_os = true});
    trace_guest(run);
}

CHECK("bts.fault.not_present", CHARACTERISE, "MEM-04", NEED_BTS | NEED_DS_CPL)
{
    struct faults f;
    struct trace t;
    uint64_t second;

    open_buffer(run, &t, 64);
    second = t.window + PAGE_BYTES;
    run_faulting(run, &f, &t, second, GOOD_PAGE & ~(unsigned)PAGE_PRESENT);
    if (judge(run, &f, "not present")) {
        EXPECT_EQ(run, f.cr2, second, "CR2");
        EXPECT_EQ(run, f.error & PF_PRESENT, 0, "bit 0 of the error code");
        EXPECT(run, f.index == second || f.index == second + RECORD, "the index is %lx",
               f.index);
        run_observe(run, "bts.fault-index", f.index == second ? "kept" : "advanced");
        observe_fault(run, &f);
    } else {
        EXPECT_EQ(run, t.area->bts_index, second, "the index, with no record stored behind it");
    }
    run_observe(run, "bts.area-fault", f.count ? "deliver" : "skip");
    trace_expect_untouched(&t, "after a fault in the buffer");
}

CHECK("bts.fault.read_only", CHARACTERISE, "MEM-04", NEED_BTS | NEED_DS_CPL)
{
    struct faults f;
    struct trace t;
    uint64_t second;

    open_buffer(run, &t, 64);
    second = t.window + PAGE_BYTES;
    run_faulting(run, &f, &t, second, GOOD_PAGE & ~(unsigned)PAGE_WRITE);
    if (judge(run, &f, "read-only"))
        EXPECT_EQ(run, f.error & (PF_PRESENT | PF_WRITE), PF_PRESENT | PF_WRITE, "error code");
    else
        EXPECT(run, bts_slot_empty((struct bts_record *)(uintptr_t)second),
               "a record was stored through a read-only mapping");
    run_observe(run, "bts.area-fault.read-only", f.count ? "deliver" : "skip");
}

CHECK("bts.fault.area_not_present", CHARACTERISE, "MEM-04", NEED_BTS | NEED_DS_CPL)
{
    struct faults f;
    struct trace t;

    open_buffer(run, &t, 64);
    run_faulting(run, &f, &t, (uint64_t)(uintptr_t)t.area, GOOD_PAGE & ~(unsigned)PAGE_PRESENT);
    if (!judge(run, &f, "area"))
        EXPECT_EQ(run, t.area->bts_index, t.base, "the index, read and written nowhere");
    run_observe(run, "bts.area-fault.area", f.count ? "deliver" : "skip");
    trace_expect_untouched(&t, "after a fault in the area");
}

/* Offset 72: record 167 has 16 bytes on the page that is there and 8 on the one that is not. */
CHECK("bts.fault.straddling", CHARACTERISE, "BUF-15 MEM-04", NEED_BTS | NEED_DS_CPL)
{
    struct faults f;
    struct trace t;
    uint64_t border;
    struct bts_record empty;

    open_buffer(run, &t, 72);
    memcpy(&empty, (void *)(uintptr_t)t.base, sizeof(empty));
    border = t.base + 167 * RECORD;
    run_faulting(run, &f, &t, t.window + PAGE_BYTES, GOOD_PAGE & ~(unsigned)PAGE_PRESENT);
    if (judge(run, &f, "straddling"))
        EXPECT_EQ(run, f.cr2, t.window + PAGE_BYTES, "CR2, where the page begins");
    else
        EXPECT_EQ(run, t.area->bts_index, border, "the index, at the record that has no room");
    run_observe(run, "bts.partial-record",
                f.first_half.from == empty.from ? "none" : "first-half");
}

/* --- no area at all */

struct null_page {
    struct trap_slot before;
    struct guest *guest;
    unsigned faults;
};

static bool on_null(struct trap_frame *frame, void *arg)
{
    struct null_page *null = arg;

    if (cr2_read() >= PAGE_BYTES)
        return null->before.handler && null->before.handler(frame, null->before.arg);
    null->faults++;
    broker_raw_write_debugctl(0);
    return true;
}

static void close_null(void *arg)
{
    struct null_page *null = arg;

    broker_raw_write_debugctl(0);
    broker_resync();
    trap_set(VECTOR_PF, null->before.handler, null->before.arg);
    paging_load(paging_kernel_space()->cr3);
    overlay_free(&null->guest->space);
}

static uint64_t sum_of_first_page(void)
{
    const volatile uint64_t *words;
    uint64_t sum = 0;

    __asm__("xor %k0, %k0" : "=r"(words)); /* C knows no object there */
    for (size_t i = 0; i < PAGE_BYTES / 8; i++)
        sum = (sum << 7 | sum >> 57) + words[i];
    return sum;
}

/*
 * IA32_DS_AREA = 0 and nothing mapped there, or the words that happen to lie there would be
 * taken for a buffer's address.
 */
CHECK("bts.fault.no_area", CHARACTERISE, "DCTL-10", NEED_BTS | NEED_DS_CPL)
{
    struct guest_run r = {
        .workload = trace_find(run, "bench.loop"), .ring = 3, .argument = LOOPS};
    struct null_page null = {.guest = trace_guest(run)};
    struct guest_call call = guest_prepare(null.guest, &r);
    uint64_t sum = sum_of_first_page(), returned, set = 0;
    int vector;

    null.before = trap_set(VECTOR_PF, on_null, &null);
    run_defer(run, close_null, &null);
    NEED(run, overlay_unmap(&null.guest->space, 0), "the page pool is empty");
    NEED(run, broker_raw_write_ds_area(0) == 0, "DS_AREA cannot be cleared");
    vector = broker_raw_write_debugctl(DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTS_OFF_OS);
    broker_raw_read_debugctl(&set);
    returned = call.fn(call.arg);
    broker_raw_write_debugctl(0);
    guest_finish(null.guest, &r, returned);
    run_deferred_now(run);
    EXPECT(run, r.end == GUEST_RETURNED, "the loop did not return");
    EXPECT(run, vector == 0 || (vector == VECTOR_GP && set == 0), "vector %d, register %lx",
           vector, set);
    EXPECT(run, null.faults <= 1, "%u faults, though the first turned the trace off",
           null.faults);
    EXPECT_EQ(run, sum_of_first_page(), sum, "sum of the first page, which was not mapped");
    run_observe(run, "bts.no-area", vector ? "gp" : null.faults ? "fault" : "nothing");
}
