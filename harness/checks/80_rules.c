/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules that the manual gives to software: the driver keeps them by refusing.
 *
 * Claim: SDM Vol. 3, "Setting Up the DS Save Area", "Setting Up the BTS Buffer", "Writing the
 * DS Interrupt Service Routine". Threshold on a record with room behind it, whole records,
 * aligned base, pages present and dirty, no code beside the buffer, the same frames in every
 * address space, an interrupt gate, an area before TR.
 * How: each rule is broken in the request; the driver must answer with the reason that fits,
 * and neither area nor registers may have changed. The nearest request that keeps the rule is
 * accepted.
 * Wrong if: another rule refuses first: the reason is compared, not the error alone.
 */
#define CHECK_GROUP "80 bts.rules"
#include "ds/broker.h"
#include "ds/refusal.h"
#include "harness/fixture/trace.h"
#include "hw/apic.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/string.h"

#define RECORD sizeof(struct bts_record)

static struct bts_config plain(const struct trace *t)
{
    return (struct bts_config){.base = t->base, .bytes = t->end - t->base};
}

static void expect_accepted(struct trace *t, const struct bts_config *config)
{
    struct bts bts = {0};
    const char *why = "";

    EXPECT(t->run, bts_setup(&bts, t->area, config, &why) == DS_OK, "refused: %s", why);
    memcpy(&t->before, t->area, sizeof(t->before));
}

static void expect_refused(struct trace *t, struct ds_area *area,
                           const struct bts_config *config, enum ds_refusal want)
{
    struct bts bts = {0};
    const char *why = "";
    enum ds_error error = bts_setup(&bts, area, config, &why);
    uint64_t debugctl = 0, ds_area = 0;

    EXPECT(t->run, error == ds_refusal_error(want) && strcmp(why, ds_refusal_reason(want)) == 0,
           "want '%s', the driver says '%s' (%s)", ds_refusal_reason(want), why,
           ds_strerror(error));
    EXPECT(t->run, memcmp(&t->before, t->area, sizeof(t->before)) == 0 && !bts.area,
           "the refused request changed the area");
    broker_raw_read_debugctl(&debugctl);
    broker_raw_read_ds_area(&ds_area);
    EXPECT(t->run, debugctl == 0 && ds_area == 0, "the refused request changed a register");
}

CHECK("bts.rules.threshold", SOFTWARE, "BUF-07", NEED_BTS)
{
    struct bts_config config;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    config = plain(&t);
    config.interrupt = true;
    for (config.threshold_records = 1; config.threshold_records < 64;
         config.threshold_records += 31) {
        expect_accepted(&t, &config);
        EXPECT_EQ(run, t.area->bts_threshold, t.base + config.threshold_records * RECORD,
                  "the threshold in the area");
    }
    config.threshold_records = 64; /* the maximum: no record is left for the skid */
    expect_refused(&t, t.area, &config, DS_REFUSED_THRESHOLD_OUTSIDE);
    config.threshold_records = 65;
    expect_refused(&t, t.area, &config, DS_REFUSED_THRESHOLD_OUTSIDE);
    config.threshold_records = 8;
    config.interrupt = false; /* clearing BTINT is not enough against an interrupt */
    expect_refused(&t, t.area, &config, DS_REFUSED_THRESHOLD_CIRCULAR);
}

/* Seen in the field: a record that crossed an odd end, written outside. */
CHECK("bts.rules.whole_records", SOFTWARE, "MEM-09", NEED_BTS)
{
    struct bts_config config;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    config = plain(&t);
    for (config.bytes = 2 * RECORD + 1; config.bytes < 3 * RECORD; config.bytes++)
        expect_refused(&t, t.area, &config, DS_REFUSED_NOT_WHOLE);
    config.bytes = RECORD;
    expect_refused(&t, t.area, &config, DS_REFUSED_TOO_SMALL);
    config.bytes = 2 * RECORD;
    expect_accepted(&t, &config);
}

CHECK("bts.rules.alignment", SOFTWARE, "MEM-08", NEED_BTS)
{
    struct bts_config config;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    config = plain(&t);
    config.bytes = 8 * RECORD;
    for (unsigned i = 0; i <= 4; i++, config.base++) {
        if (config.base % 4)
            expect_refused(&t, t.area, &config, DS_REFUSED_BASE_ALIGNMENT);
        else
            expect_accepted(&t, &config);
    }
    config = plain(&t);
    expect_refused(&t, (struct ds_area *)((uint8_t *)t.area + 4), &config,
                   DS_REFUSED_AREA_ALIGNMENT);
}

static void protect(uint64_t page, unsigned flags)
{
    paging_protect(paging_kernel_space(), page, flags | PAGE_NX);
}

/* The processor may take no fault on a store: seen in the field, and not only on old ones. */
CHECK("bts.rules.pages_ready", SOFTWARE, "MEM-03", NEED_BTS)
{
    const unsigned good = PAGE_PRESENT | PAGE_WRITE | PAGE_ACCESSED | PAGE_DIRTY;
    struct paging_walk walk;
    struct bts_config config;
    struct trace t;
    uint64_t second;

    trace_open(run, &t, &(struct trace_setup){.records = 300});
    config = plain(&t);
    second = t.window + PAGE_BYTES;
    protect(second, good & ~(unsigned)PAGE_PRESENT);
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_NOT_MAPPED);
    protect(second, good & ~(unsigned)PAGE_WRITE);
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_READ_ONLY);
    protect(second, good & ~(unsigned)(PAGE_ACCESSED | PAGE_DIRTY));
    expect_accepted(&t, &config); /* and made ready */
    EXPECT(run,
           paging_walk(paging_current(), second, &walk) && walk.flags & PAGE_ACCESSED &&
               walk.flags & PAGE_DIRTY,
           "accepted, but the accessed and dirty bits are clear");
    protect((uint64_t)(uintptr_t)t.area, good & ~(unsigned)PAGE_WRITE);
    expect_refused(&t, t.area, &config, DS_REFUSED_AREA_READ_ONLY);
    protect((uint64_t)(uintptr_t)t.area, good);
}

CHECK("bts.rules.addresses", SOFTWARE, "MEM-03 MEM-14", NEED_BTS)
{
    struct bts_config config;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    config = plain(&t);
    config.base = 1ull << 62;
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_NOT_CANONICAL);
    config.base = (1ull << (cpu_linear_bits() - 1)) - 2 * RECORD; /* the canonical edge */
    config.bytes = 4 * RECORD;
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_EDGE);
    config = plain(&t);
    config.base = (uint64_t)-8 * (int64_t)RECORD;
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_WRAPS);
    config.base = t.end + PAGE_BYTES * 4; /* beyond the guard page */
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_NOT_MAPPED);
    config.base = msr_read(MSR_IA32_APIC_BASE) & APIC_BASE_ADDRESS;
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_DEVICE);
    config.base = trace_guest(run)->data; /* ring 3 could write there */
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_USER);
    config.base = (uint64_t)(uintptr_t)t.area + sizeof(struct ds_area) - 8;
    expect_refused(&t, t.area, &config, DS_REFUSED_OVERLAP);
}

/* Each record would look like code that changes itself. */
CHECK("bts.rules.code_beside", SOFTWARE, "MEM-06", NEED_BTS)
{
    struct bts_config config;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    config = plain(&t);
    config.bytes = 4 * RECORD;
    config.base = (uint64_t)(uintptr_t)ds_bracket_call & ~(PAGE_BYTES - 1);
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_CODE);
    config.break_rules = true; /* not even then: the code would be overwritten */
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_CODE);
}

static void close_space(void *arg)
{
    paging_space_destroy(arg);
}

/* Seen in the field: two tables for a thread, and the buffer in one of them only. */
CHECK("bts.rules.address_spaces", SOFTWARE, "MEM-11", NEED_BTS)
{
    const unsigned good = PAGE_PRESENT | PAGE_WRITE | PAGE_NX | PAGE_ACCESSED | PAGE_DIRTY;
    static struct address_space space;
    struct paging_walk walk;
    struct bts_config config;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    config = plain(&t);
    config.tables = &space.cr3;
    config.table_count = 1;
    NEED(run, paging_space_create(&space), "the page pool is empty");
    run_defer(run, close_space, &space);
    expect_accepted(&t, &config); /* all tables share the kernel's windows */
    NEED(run, paging_split(&space, t.window) && paging_walk(paging_current(), t.window, &walk),
         "the page pool is empty");
    paging_map(&space, t.window, walk.phys, 0);
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_NOT_MAPPED);
    paging_map(&space, t.window, walk.phys, good & ~(unsigned)PAGE_DIRTY);
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_NOT_DIRTY);
    paging_map(&space, t.window, walk.phys + 4 * PAGE_BYTES, good);
    expect_refused(&t, t.area, &config, DS_REFUSED_BUFFER_ELSEWHERE);
    paging_map(&space, t.window, walk.phys, good);
    expect_accepted(&t, &config);
    paging_join(&space, t.window);
}

/* On a real machine TR with no area can end in a lock-up: nobody gets that far. */
CHECK("bts.rules.area_first", SOFTWARE, "DCTL-10", NEED_BTS)
{
    static const uint64_t wishes[] = {DEBUGCTL_TR | DEBUGCTL_BTS,
                                      DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT};
    struct trace t;
    uint64_t debugctl = 0;

    NEED(run, broker_set_ds_area(NULL) == DS_OK, "DS_AREA cannot be cleared");
    for (unsigned i = 0; i < 2; i++) {
        EXPECT(run, broker_set(BROKER_BTS, wishes[i]) == DS_EFAULT, "bits %lx are accepted",
               wishes[i]);
        broker_raw_read_debugctl(&debugctl);
        EXPECT_EQ(run, debugctl, 0, "IA32_DEBUGCTL after the refusal");
    }
    EXPECT(run, broker_set_ds_area((struct ds_area *)(uintptr_t)(1ull << 62)) == DS_EINVAL,
           "an area that is not canonical is accepted");
    trace_open(run, &t, &(struct trace_setup){.records = 64});
    NEED(run, bts_start(&t.bts) == DS_OK, "the trace does not start");
    EXPECT(run, broker_set_ds_area(NULL) == DS_EBUSY, "the area of a running trace is dropped");
    bts_stop(&t.bts);
}

static void ignore(void *context, const struct bts_record *records, size_t count)
{
    (void)records;
    *(size_t *)context += count;
}

CHECK("bts.rules.lvt_entry", SOFTWARE, "INT-04", NEED_BTS)
{
    static const uint32_t bad[] = {0,
                                   15,
                                   LVT_DELIVERY_SMI | VECTOR_PMI,
                                   LVT_MASKED | VECTOR_PMI,
                                   LVT_DELIVERY_NMI | LVT_DELIVERY_SMI,
                                   LVT_TIMER_PERIODIC | VECTOR_PMI};
    const uint8_t *gate = (const uint8_t *)trap_idt() + 16 * VECTOR_PMI;
    uint32_t before = apic_lvt_perf_read() & ~LVT_DELIVERY_STATUS;
    size_t drained = 0;
    struct trace t;
    struct pmi pmi;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    pmi = (struct pmi){.bts = &t.bts, .sink = ignore, .context = &drained};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        EXPECT(run, pmi_arm(&pmi, bad[i]) == DS_EINVAL, "entry %x is accepted", bad[i]);
        EXPECT_EQ(run, apic_lvt_perf_read() & ~LVT_DELIVERY_STATUS, before, "the LVT entry");
    }
    EXPECT(run, pmi_arm(&pmi, LVT_DELIVERY_FIXED | VECTOR_PMI) == DS_OK, "a good one is not");
    pmi_disarm(&pmi);
    /* Type 14, present: a trap gate would leave IF set, and the request would come for ever. */
    EXPECT_EQ(run, gate[5] & 0x8F, 0x8E, "present bit and type of the interrupt's gate");
    EXPECT(run, apic_mode() != APIC_OFF, "the local APIC is off");
}

/* Records that were drained must not come back as new ones. */
CHECK("bts.rules.drain_resets", SOFTWARE, "BUF-12", NEED_BTS)
{
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = 20};
    struct guest_call call = guest_prepare(trace_guest(run), &r);
    size_t first = 0, again = 0;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    NEED(run, bts_bracket(&t.bts, call.fn, call.arg, NULL) == DS_OK, "the trace is refused");
    guest_finish(trace_guest(run), &r, 0);
    EXPECT(run, bts_drain(&t.bts, ignore, &first, NULL) == DS_OK && first >= 20,
           "%zu records drained", first);
    EXPECT_EQ(run, t.area->bts_index, t.base, "the index after draining");
    EXPECT(run, bts_drain(&t.bts, ignore, &again, NULL) == DS_OK && again == 0,
           "%zu old records come back", again);
}

/*
 * Before a sleep state that loses context: off, with what was there kept; afterwards on again
 * as before. The loss itself is played by zeroing both registers behind the broker's back.
 */
CHECK("bts.rules.sleep", SOFTWARE, "RST-06", NEED_BTS)
{
    struct broker_state before;
    uint64_t debugctl = ~0ull, area = ~0ull, index;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 1024});
    NEED(run, bts_start(&t.bts) == DS_OK, "the trace does not start");
    broker_save(&before);
    EXPECT(run, before.debugctl & DEBUGCTL_TR, "TR is not part of what is kept");
    broker_hand_back();
    broker_raw_read_debugctl(&debugctl);
    broker_raw_read_ds_area(&area);
    EXPECT_EQ(run, debugctl & (DEBUGCTL_TR | DEBUGCTL_BTS), 0, "TR and BTS before the sleep");
    EXPECT_EQ(run, area, 0, "IA32_DS_AREA before the sleep");
    index = t.area->bts_index;
    broker_raw_write_debugctl(0);
    broker_raw_write_ds_area(0);
    EXPECT_EQ(run, t.area->bts_index, index, "the index while off");
    broker_restore(&before);
    broker_raw_read_debugctl(&debugctl);
    broker_raw_read_ds_area(&area);
    bts_stop(&t.bts);
    EXPECT_EQ(run, debugctl, before.debugctl, "IA32_DEBUGCTL after the sleep");
    EXPECT_EQ(run, area, (uint64_t)(uintptr_t)t.area, "IA32_DS_AREA after the sleep");
    EXPECT(run, t.area->bts_index > index, "nothing is recorded after the sleep");
    trace_collect(&t);
    trace_expect_sources(&t);
}
