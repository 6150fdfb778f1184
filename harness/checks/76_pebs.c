/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PEBS: counters, buffer and area.
 *
 * Claim: SDM Vol. 3, "Processor Event Based Sampling (PEBS)", "DS Save Area", "64 Bit Format of
 *   the DS Save Area". An overflow of an enabled counter arms it; the next event writes a
 *   record at the index, moves the index by one record and reloads the counter from its reset
 *   field.
 * How: instructions in ring 3 are the event, so that the number of records is known from the
 *   oracle's count: none after one period, one after one event more. Buffer and area lie
 *   between canaries.
 * Wrong if: a processor takes several events to arm itself, as the manual lets it: that is
 *   measured first, and a check that needs the very next event is skipped then.
 */
#define CHECK_GROUP "76 pebs.buffer"
#include "harness/check/capability.h"
#include "harness/fixture/hidden_feature.h"
#include "harness/fixture/sampling.h"
#include "hw/cpuid.h"
#include "hw/string.h"

#define BIT(counter) (1ull << (counter))
#define PERIOD       10

/* --- enumeration */

/* What the manual gives each format; the adaptive one is here with its registers. */
static const unsigned record_bytes[] = {0x90, 0xB0, 0xC0, 0xC8, 0x20 + 0x90};

CHECK("pebs.enum.format", MUST, "ENUM-09 PEBS-04", NEED_PEBS)
{
    struct sampling s;
    unsigned code;

    sampling_open_one(run, &s, &(struct sampling_setup){0}, PERIOD);
    code = s.counting.pmc.pebs_format;
    if (code >= sizeof(record_bytes) / sizeof(record_bytes[0])) {
        run_skip(run, "record format %u is later than these checks", code);
        return;
    }
    /* Room for one record, not for two; without the time to arm, were there none. */
    sampling_loop(&s, 6 + s.late / 2);
    NEED(run, sampling_records(sampling_loop_length(run, 6), PERIOD) == 1,
         "the loop has another length");
    EXPECT_EQ(run, s.index - s.base, record_bytes[code], "bytes that the index moved by");
    run_observe(run, "pebs.format", "%u, %u bytes, %s", code, record_bytes[code],
                s.counting.pmc.pebs_trap ? "trap" : "fault");
}

/*
 * Every format in turn, where a stand-in can change it: the size that the index moves by, the
 * registers as the oracle saw them.
 */
CHECK("pebs.enum.formats", MUST, "ENUM-09 PEBS-07", NEED_PEBS)
{
    static const char *const names[] = {"0", "1", "2", "3", "4"};
    const struct workload *w = trace_find(run, "call.register");
    struct sampled_steps steps;
    struct sampling s;

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!gate_pebs(run, names[i])) {
            run_skip(run, "only a stand-in processor can change its record format");
            return;
        }
        steps = sampling_steps(run, w, 0);
        sampling_open(run, &s, &(struct sampling_setup){0});
        EXPECT_EQ(run, s.counting.pmc.pebs_format, i, "format in IA32_PERF_CAPABILITIES");
        sampling_need_exact(&s);
        sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 2, 2);
        sampling_workload(&s, w, 3, NULL);
        EXPECT_EQ(run, s.index - s.base, steps.instructions / 3 * record_bytes[i],
                  "bytes that the index moved by");
        sampling_expect_untouched(&s, "after records of another format");
        sampling_drop_last(&s); /* may be the SYSCALL that leaves, which is no step */
        sampling_match(&s, w, &steps);
        run_deferred_now(run);
    }
}

CHECK("pebs.enum.unavailable", MUST, "ENUM-02 ENUM-11", NEED_PMC)
{
    uint64_t misc = 0, enable = 0;
    bool said;
    int vector;

    gate_pebs(run, "off"); /* a stand-in can be without it for once */
    said =
        msr_read_try(MSR_IA32_MISC_ENABLE, &misc) == 0 && misc & MISC_ENABLE_PEBS_UNAVAILABLE;
    vector = pmc_pebs_enable_read(&enable);
    EXPECT(run, vector == 0 || vector == VECTOR_GP, "RDMSR IA32_PEBS_ENABLE: vector %d",
           vector);
    enable = 0;
    if (said || !cpu_has_ds()) {
        for (unsigned bit = 0; bit < 64; bit++) {
            vector = pmc_pebs_enable_write(BIT(bit));
            pmc_pebs_enable_read(&enable);
            EXPECT(run, (vector == VECTOR_GP || vector == 0) && enable == 0,
                   "PEBS is unavailable: vector %d, and IA32_PEBS_ENABLE is %lx", vector,
                   enable);
            pmc_pebs_enable_write(0);
        }
    }
    run_observe(run, "pebs.available", said || !cpu_has_ds() ? "no" : "yes");
}

/* BTS and PEBS are two facilities: either may be there without the other. */
CHECK("pebs.enum.both_halves", CHARACTERISE, "ENUM-11", NEED_PMC)
{
    uint32_t have = capability()->have;

    run_observe(run, "pebs.halves", "%s%s", have & NEED_BTS ? "bts" : "no-bts",
                have & NEED_PEBS ? "+pebs" : "");
    EXPECT(run, cpu_has_ds() || !(have & (NEED_BTS | NEED_PEBS)), "a half without DS");
}

CHECK("pebs.enable.bits", MUST, "PEBS-10", NEED_PEBS)
{
    struct counting c;
    uint64_t back = 0;

    counting_open(run, &c);
    for (unsigned bit = 0; bit < 64; bit++) {
        bool counter = pmc_exists(&c.pmc, bit), general = bit < PMC_FIXED;
        bool load_latency = bit >= 32 && bit < 32 + PMC_GENERAL_MAX;
        int vector = pmc_pebs_enable_write(BIT(bit));

        EXPECT(run, vector == 0 || vector == VECTOR_GP, "bit %u: vector %d", bit, vector);
        pmc_pebs_enable_read(&back);
        EXPECT(run, back == (vector ? 0 : BIT(bit)), "bit %u: vector %d, and reads as %lx", bit,
               vector, back);
        pmc_pebs_enable_write(0);
        if (bit == 0 || (counter && c.pmc.pebs_baseline))
            EXPECT(run, vector == 0, "counter %u cannot sample", bit);
        /* 35:32 are load latency where they are no fixed counters; 60 upwards is later. */
        if (!counter && !load_latency && bit < 60)
            EXPECT(run, vector, "bit %u is taken and is no counter", bit);
        if (!general && counter && !c.pmc.pebs_baseline && !load_latency)
            EXPECT(run, vector, "a fixed counter samples without the baseline");
    }
}

/* --- records and the index */

CHECK("pebs.record.after_overflow", MUST, "PEBS-02", NEED_PEBS)
{
    uint64_t events = sampling_loop_length(run, 20);
    struct sampling s;

    /* The last event of the run overflows: armed, and no record. */
    sampling_open_one(run, &s, &(struct sampling_setup){0}, events);
    sampling_loop(&s, 20);
    EXPECT_EQ(run, sampling_count(&s), 0, "records of the event that overflows");
    sampling_expect_untouched(&s, "after the overflow alone");
    run_deferred_now(run);
    sampling_open_one(run, &s, &(struct sampling_setup){0}, events - 1);
    sampling_loop(&s, 20);
    sampling_expect_count(&s, 1, "records of the event after it");
    run_observe(run, "bts.pebs-arming", s.late ? "later" : "at-once");
    run_observe(run, "pebs.arming-events", "%u", s.late);
    sampling_expect_untouched(&s, "after one record");
}

CHECK("pebs.buffer.index_advances", MUST, "PEBS-04 PEBS-02", NEED_PEBS)
{
    struct sampling s;

    for (uint64_t rounds = 5; rounds < 120; rounds += 23) {
        uint64_t want = sampling_records(sampling_loop_length(run, rounds), PERIOD);

        sampling_open_one(run, &s, &(struct sampling_setup){0}, PERIOD);
        sampling_loop(&s, rounds);
        sampling_expect_count(&s, want, "records");
        EXPECT_EQ(run, (s.index - s.base) % s.record_bytes, 0, "bytes beyond whole records");
        EXPECT(run, s.late || s.index > s.base || !want, "the index stands still");
        for (size_t i = 0; i < sampling_count(&s); i++)
            EXPECT_EQ(run, sampling_record(&s, i).bytes, s.record_bytes, "bytes of a record");
        sampling_expect_untouched(&s, "after some records");
        run_deferred_now(run);
    }
}

/* Off is off: the counter overflows, and leaves a status bit and no record. */
CHECK("pebs.enable.off", MUST, "PEBS-10 PEBS-01", NEED_PEBS)
{
    struct sampling s;

    sampling_open_one(run, &s, &(struct sampling_setup){0}, PERIOD);
    s.enable = 0;
    sampling_loop(&s, 50);
    EXPECT_EQ(run, s.index, s.base, "index with IA32_PEBS_ENABLE clear");
    sampling_expect_untouched(&s, "with PEBS off");
    EXPECT_EQ(run, counting_status(&s.counting), BIT(0), "status");
}

/* --- the counter */

CHECK("pebs.reset.reload", MUST, "PEBS-03 LAY-03", NEED_PEBS)
{
    uint64_t events = sampling_loop_length(run, 20), last = 0;
    struct sampling s;

    for (uint64_t again = 1000; again < 5000; again += 1999) {
        sampling_open(run, &s, &(struct sampling_setup){0});
        sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, PERIOD, again);
        sampling_loop(&s, 20);
        last = counting_read(&s.counting, 0);
        if (!sampling_count(&s))
            sampling_need_exact(&s);
        EXPECT_EQ(run, sampling_count(&s), 1, "records");
        last = again - (pmc_mask(&s.counting.pmc, 0) + 1 - last);
        /*
         * The event that made the record is not counted again; nor are those before a late one.
         */
        EXPECT(run, last == events - PERIOD - 1 || (s.late && last < events - PERIOD - 1),
               "%lu events since the reload, %lu since the overflow's next", last,
               events - PERIOD - 1);
        EXPECT_EQ(run, counting_status(&s.counting) & ~BIT(0), 0, "status after the record");
        run_deferred_now(run);
    }
}

/* Counters that sample, each with its own field; the other fields are nobody's. */
CHECK("pebs.reset.own_fields", MUST, "LAY-03 PEBS-03", NEED_PEBS)
{
    uint64_t events = sampling_loop_length(run, 20);
    struct sampling s;

    for (unsigned counter = 0; counter < 4; counter++) {
        sampling_open(run, &s, &(struct sampling_setup){0});
        if (!pmc_exists(&s.counting.pmc, counter) ||
            (counter && pmc_pebs_enable_write(BIT(counter)) != 0)) {
            run_deferred_now(run);
            break;
        }
        pmc_pebs_enable_write(0);
        sampling_need_exact(&s);
        for (unsigned field = 0; field < 32; field++)
            s.trace.area->pebs_reset[field] = -(1000ull + field) & pmc_mask(&s.counting.pmc, 0);
        sampling_add(&s, counter, PMC_INSTRUCTIONS, PMC_USR, PERIOD, 1000 + counter);
        sampling_loop(&s, 20);
        EXPECT_EQ(run, sampling_count(&s), 1, "records");
        EXPECT_EQ(run,
                  pmc_mask(&s.counting.pmc, counter) + 1 - counting_read(&s.counting, counter) +
                      events - PERIOD - 1,
                  1000 + counter, "period, from that counter's field");
        sampling_expect_untouched(&s, "after a reload");
        run_deferred_now(run);
    }
    run_held(run);
}

/* Where fixed counters sample: behind eight general fields, or behind 32. */
CHECK("pebs.reset.fixed_field", CHARACTERISE, "LAY-04 LAY-05", NEED_PEBS)
{
    uint64_t events = sampling_loop_length(run, 20), period;
    struct sampling s;

    if (!capability()->pmc.pebs_baseline)
        gate_pebs(run, "4"); /* a stand-in can have it for once */
    sampling_open(run, &s, &(struct sampling_setup){0});
    if (!s.counting.pmc.pebs_baseline) {
        run_skip(run, "no fixed counter samples without the baseline");
        return;
    }
    sampling_need_exact(&s);
    sampling_add(&s, PMC_FIXED, PMC_INSTRUCTIONS, PMC_USR, PERIOD, 2000);
    for (unsigned field = 0; field < 32; field++)
        s.trace.area->pebs_reset[field] = -(1000ull + field) & pmc_mask(&s.counting.pmc, 0);
    s.trace.area->pebs_fixed_reset[0] = -(1000ull + 32) & pmc_mask(&s.counting.pmc, 0);
    memcpy(&s.before, s.trace.area, sizeof(s.before));
    sampling_loop(&s, 20);
    EXPECT_EQ(run, sampling_count(&s), 1, "records");
    period = pmc_mask(&s.counting.pmc, PMC_FIXED) + 1 - counting_read(&s.counting, PMC_FIXED) +
             events - PERIOD - 1 - 1000;
    run_observe(run, "bts.pebs-fixed-reset", "%lu", period);
    EXPECT(run, period == 8 || period == 32, "fixed counter 0 is reloaded from field %lu",
           period);
}

/*
 * The manual first gave the field 40 bits, then all of them with the excess ignored. A value
 * with bits in all three ranges, far from an overflow, shows which of them arrive.
 */
CHECK("pebs.reset.width", CHARACTERISE, "LAY-06", NEED_PEBS)
{
    const uint64_t low = 0x12345, high = 1ull << 47 | 1ull << 41, beyond = 1ull << 63;
    uint64_t loaded, events = sampling_loop_length(run, 20);
    struct sampling s;

    sampling_open_one(run, &s, &(struct sampling_setup){0}, PERIOD);
    sampling_need_exact(&s);
    s.trace.area->pebs_reset[0] = beyond | high | low;
    sampling_loop(&s, 20);
    EXPECT_EQ(run, sampling_count(&s), 1, "records");
    loaded = counting_read(&s.counting, 0) - (events - PERIOD - 1);
    run_observe(run, "bts.pebs-reset-bits",
                loaded == (high | low) ? "whole"
                : loaded == low        ? "40"
                                       : "others");
    EXPECT_EQ(run, loaded & 0xFFFFFFFFFF, low, "bits 39:0 of what was loaded");
}
