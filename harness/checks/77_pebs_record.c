/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PEBS: what a record says.
 *
 * Claim: SDM Vol. 3, "Processor Event Based Sampling (PEBS)", "PEBS Record Format", "Adaptive
 *   PEBS"; Vol. 4, IA32_PERF_CAPABILITIES. A record holds flags, IP and all general registers
 *   of the instruction that the event after the overflow belongs to: of the one behind it where
 *   the trap bit is set. Later formats add the address of the instruction itself, the counters
 *   that the record is for, the time-stamp counter; the adaptive one holds what is asked for.
 * How: the oracle steps the same workload and writes down all registers after each step; each
 *   record must be a step, the next one a later step.
 * Wrong if: stepping shows in a register: only in PUSHF and R11, which these workloads leave
 *   alone, and in TF, which is not compared.
 */
#define CHECK_GROUP "77 pebs.record"
#include "harness/check/capability.h"
#include "harness/fixture/hidden_feature.h"
#include "harness/fixture/sampling.h"
#include "harness/fixture/witness.h"
#include "hw/regs.h"
#include "hw/string.h"

#define BIT(counter) (1ull << (counter))

/* A record for every second instruction of ring 3, of every workload. */
CHECK("pebs.record.steps", MUST, "PEBS-07 PEBS-02", NEED_PEBS)
{
    unsigned compared = 0;
    struct sampling s;

    sampling_open(run, &s, &(struct sampling_setup){.records = 200});
    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);
        struct sampled_steps steps;
        uint64_t records;

        if (!(w->flags & WORKLOAD_RING3) || !(w->flags & WORKLOAD_STEPPABLE) ||
            !w->edge_count || witness_leaves_out(run, w))
            continue;
        steps = sampling_steps(run, w, 0);
        if (!steps.whole)
            continue;
        records = steps.instructions / 2;
        sampling_restart(&s);
        sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 1, 1);
        sampling_workload(&s, w, 3, NULL);
        sampling_expect_count(&s, records < 200 ? records : 200, w->name);
        sampling_drop_last(&s); /* may be the SYSCALL that leaves, which is no step */
        sampling_match(&s, w, &steps);
        compared++;
    }
    EXPECT(run, compared >= 40, "only %u workloads were sampled", compared);
}

/*
 * Which instruction: the one right behind the overflow, by the number of its step. The IRETQ
 * that enters may be the first event.
 */
CHECK("pebs.record.distance", MUST, "PEBS-02 PEBS-07", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "call.register");
    struct sampled_steps list = sampling_steps(run, w, 0);
    const struct sampled_step *steps = list.steps;
    struct sampling s;

    NEED(run, list.count > 20, "the workload is too short");
    for (unsigned first = 1; first < 14; first += 6) {
        const struct sampled_step *step = &steps[first];
        struct pebs_sample sample;
        uint64_t address;

        sampling_open(run, &s, &(struct sampling_setup){.records = 2});
        if (counting_by_ring_after(&s.counting))
            step--;
        sampling_need_exact(&s);
        sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, first, 1000);
        sampling_workload(&s, w, 3, NULL);
        EXPECT_EQ(run, sampling_count(&s), 1, "records");
        sample = sampling_record(&s, 0);
        address =
            sample.valid & PEBS_EVENTING_IP || !s.counting.pmc.pebs_trap ? step->at : step->rip;
        EXPECT(run, pebs_sample_address(&sample) == address,
               "after %u instructions: the record is of %lx, the next instruction is at %lx",
               first, pebs_sample_address(&sample), address);
        run_deferred_now(run);
    }
}

/* The same registers in ring 0: the values are the code's own. */
CHECK("pebs.record.trap_bit", MUST, "PEBS-07 ENUM-08", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "jcc.taken.rel8");
    struct pebs_sample sample;
    struct sampling s;

    sampling_open(run, &s, &(struct sampling_setup){.records = 8});
    /* Branches, so that IP and the next instruction are far apart. */
    sampling_add(&s, 0, PMC_BRANCHES, PMC_USR, 1, 1);
    sampling_workload(&s, w, 3, NULL);
    REQUIRE(run, sampling_count(&s) > 2, "%zu records", sampling_count(&s));
    sample = sampling_record(&s, 1);
    run_observe(run, "bts.pebs-trap", s.counting.pmc.pebs_trap ? "trap" : "fault");
    if (!(sample.valid & PEBS_EVENTING_IP) || !(sample.valid & PEBS_IP)) {
        run_held(run);
        return;
    }
    EXPECT(run, (sample.ip != sample.eventing_ip) == s.counting.pmc.pebs_trap,
           "the trap bit is %u, IP is %lx and the eventing IP %lx", s.counting.pmc.pebs_trap,
           sample.ip, sample.eventing_ip);
}

/* Every sampled branch is one that the labels name, or falls through. */
CHECK("pebs.record.branches", MUST, "PEBS-07 PEBS-02 PMC-04", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "recursion.mutual");
    const struct expected_edge *edges;
    struct oracle oracle = witness_follow(run, w, 0);
    struct witness_counts counts = witness_counts(&oracle);
    struct sampling s;
    size_t count, at = 0;

    sampling_open(run, &s, &(struct sampling_setup){.records = 512});
    sampling_need_exact(&s);
    sampling_add(&s, 0, PMC_BRANCHES, PMC_USR, 1, 1);
    sampling_workload(&s, w, 3, NULL);
    EXPECT_EQ(run, sampling_count(&s), counts.branches / 2, "records of every second branch");
    edges = trace_expected(run, w, 3, 0, &count);
    for (size_t i = 0; i < sampling_count(&s); i++) {
        struct pebs_sample sample = sampling_record(&s, i);
        bool to = !(sample.valid & PEBS_EVENTING_IP) && s.counting.pmc.pebs_trap;

        /* One that falls through is in no list of edges. */
        for (size_t next = at; next < count; next++)
            if (pebs_sample_address(&sample) == (to ? edges[next].to : edges[next].from)) {
                at = next + 1;
                break;
            }
    }
    /* Half of what was taken, or of what fell through. */
    EXPECT(run, at > count / 2, "the samples end at edge %zu of %zu", at, count);
}

/*
 * A crossing instruction counts for the ring before or after it: it is the address on that side
 * that must be of the ring asked for, where the record has it.
 */
CHECK("pebs.record.rings", MUST, "PMC-05 PEBS-02", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "syscall.row");
    struct guest_place place;
    struct sampling s;

    for (unsigned user = 0; user < 2; user++) {
        bool after, trap;

        sampling_open(run, &s, &(struct sampling_setup){.records = 256});
        after = counting_by_ring_after(&s.counting);
        trap = s.counting.pmc.pebs_trap;
        sampling_add(&s, 0, PMC_INSTRUCTIONS, user ? PMC_USR : PMC_OS, 1, 1);
        sampling_workload(&s, w, 3, NULL);
        place = guest_place(trace_guest(run), 3, 0);
        EXPECT(run, sampling_count(&s) > (s.late ? 0 : 8), "%zu records", sampling_count(&s));
        for (size_t i = 0; i < sampling_count(&s); i++) {
            struct pebs_sample sample = sampling_record(&s, i);
            uint64_t address =
                after || !(sample.valid & PEBS_EVENTING_IP) ? sample.ip : sample.eventing_ip;
            bool guest = address >= place.low && address < place.high;
            bool known = after ? trap : !trap || sample.valid & PEBS_EVENTING_IP;

            EXPECT(run, !known || guest == user, "%s: record %zu is of %lx",
                   user ? "USR" : "OS", i, address);
        }
        run_deferred_now(run);
    }
}

/* --- what the later formats add */

/*
 * The counter's own overflow bit may outlast the record: handlers in the field meet it set.
 * Which it is must be the same for each counter.
 */
CHECK("pebs.record.applicable", CHARACTERISE, "ENUM-09 PEBS-09", NEED_PEBS)
{
    unsigned tried = 0, kept = 0;
    const struct workload *w = trace_find(run, "call.register");
    struct sampling s;

    for (unsigned counter = 0; counter < 4; counter++) {
        struct pebs_sample sample;
        uint64_t who;

        sampling_open(run, &s, &(struct sampling_setup){.records = 2});
        if (!pmc_exists(&s.counting.pmc, counter) || pmc_pebs_enable_write(BIT(counter)) != 0) {
            run_deferred_now(run);
            break;
        }
        pmc_pebs_enable_write(0);
        sampling_add(&s, counter, PMC_INSTRUCTIONS, PMC_USR, 5, 1000);
        sampling_workload(&s, w, 3, NULL);
        sample = sampling_record(&s, 0);
        /* The overflow's own bit, or that of the counter. */
        who = sample.valid & PEBS_STATUS ? sample.status : sample.applicable;
        if (sample.valid & (PEBS_STATUS | PEBS_APPLICABLE))
            EXPECT_EQ(run, who, BIT(counter), "counters that the record names");
        EXPECT_EQ(run, counting_status(&s.counting) & ~BIT(counter), 0,
                  "status after the record, other than the counter's");
        tried++;
        kept += counting_status(&s.counting) == BIT(counter);
        run_deferred_now(run);
    }
    EXPECT(run, tried && (kept == 0 || kept == tried), "the bit of %u of %u counters is kept",
           kept, tried);
    run_observe(run, "bts.pebs-status", kept ? "kept" : "cleared");
}

/*
 * Several counters, each with a period of its own: who made how many records? Where a record
 * holds the global status, a counter that has overflowed and waits for its event is named too.
 */
CHECK("pebs.record.several_counters", MUST, "PEBS-03 LAY-03 PEBS-07", NEED_PEBS)
{
    static const unsigned periods[] = {12, 16, 30};
    const struct workload *w = trace_find(run, "bench.loop");
    struct guest_run r = {.argument = 200};
    struct sampled_steps steps = sampling_steps(run, w, 200);
    unsigned made[3] = {0}, counters = 3;
    struct sampling s;
    bool status;

    sampling_open(run, &s, &(struct sampling_setup){.records = 256});
    sampling_need_exact(&s);
    if (pmc_pebs_enable_write(7) != 0)
        counters = 1;
    pmc_pebs_enable_write(0);
    for (unsigned i = 0; i < counters; i++)
        sampling_add(&s, i, PMC_INSTRUCTIONS, PMC_USR, periods[i], periods[i]);
    sampling_workload(&s, w, 3, &r);
    for (size_t i = 0; i < sampling_count(&s); i++) {
        struct pebs_sample sample = sampling_record(&s, i);
        uint64_t who = sample.valid & PEBS_STATUS ? sample.status : sample.applicable;

        for (unsigned c = 0; c < 3; c++)
            made[c] += who >> c & 1;
    }
    status = sampling_record(&s, 0).valid & PEBS_STATUS;
    if (!(sampling_record(&s, 0).valid & (PEBS_STATUS | PEBS_APPLICABLE)))
        made[0] = (unsigned)sampling_count(&s);
    for (unsigned i = 0; i < counters; i++) {
        uint64_t want = steps.instructions / (periods[i] + 1);

        EXPECT(run, made[i] == want || (status && made[i] > want),
               "%u records name counter %u, %lu are its own", made[i], i, want);
    }
    sampling_match(&s, w, &steps);
}

CHECK("pebs.record.clock", MUST, "ENUM-09", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "call.register");
    struct sampling s;
    uint64_t last = tsc_read();

    sampling_open(run, &s, &(struct sampling_setup){.records = 64});
    sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 1, 1);
    sampling_workload(&s, w, 3, NULL);
    EXPECT(run, sampling_count(&s) > 4, "%zu records", sampling_count(&s));
    for (size_t i = 0; i < sampling_count(&s); i++) {
        struct pebs_sample sample = sampling_record(&s, i);

        if (!(sample.valid & PEBS_TSC))
            break;
        EXPECT(run, sample.tsc >= last, "record %zu: %lx is before %lx", i, sample.tsc, last);
        last = sample.tsc;
    }
    EXPECT(run, tsc_read() >= last, "the last record is of a time to come");
}

/* An adaptive record has the groups that were asked for, and says so. */
CHECK("pebs.record.groups", MUST, "ENUM-09 PEBS-04", NEED_PEBS)
{
    static const struct {
        uint64_t groups;
        bool bare;
        unsigned bytes;
    } asked[] = {{0, true, 0x20},
                 {PEBS_GROUP_MEMORY, true, 0x40},
                 {0, false, 0xB0},
                 {PEBS_GROUP_MEMORY, false, 0xD0}};
    const struct workload *w = trace_find(run, "call.register");
    struct sampled_steps steps = sampling_steps(run, w, 0);

    for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        struct sampling_setup setup = {.groups = asked[i].groups, .bare = asked[i].bare};
        struct pebs_sample sample;
        struct sampling s;

        sampling_open(run, &s, &setup);
        if (!s.counting.pmc.pebs_baseline) {
            run_held(run); /* one size, which pebs.enum.format has looked at */
            return;
        }
        sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 3, 3);
        sampling_workload(&s, w, 3, NULL);
        sample = sampling_record(&s, 0);
        EXPECT_EQ(run, sample.bytes, asked[i].bytes, "size that the record says");
        EXPECT_EQ(run, !(sample.valid & PEBS_GPRS), asked[i].bare, "no registers");
        EXPECT_EQ(run, !(sample.valid & PEBS_MEMORY), !asked[i].groups, "no memory");
        sampling_match(&s, w, &steps);
        sampling_expect_untouched(&s, "after adaptive records");
        run_deferred_now(run);
    }
}

/*
 * A counter asks for the groups by a bit of its own control; without it the record is the basic
 * group alone. Where the bit is reserved every counter has them.
 */
CHECK("pebs.record.adaptive_bit", MUST, "ENUM-09", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "call.register");
    bool exists = false;

    if (!capability()->pmc.pebs_baseline)
        gate_pebs(run, "4");
    for (unsigned asks = 0; asks < 2; asks++) {
        struct pebs_sample sample;
        struct sampling s;
        size_t at = 0;

        sampling_open(run, &s, &(struct sampling_setup){0});
        if (!s.counting.pmc.pebs_baseline) {
            run_skip(run, "records are not adaptive here");
            return;
        }
        exists = pmc_program(0, PMC_INSTRUCTIONS, PMC_USR | PMC_ADAPTIVE) == 0;
        s.groups = asks ? s.groups : 0; /* what sampling_add asks for */
        sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 3, 1000);
        sampling_workload(&s, w, 3, NULL);
        REQUIRE(run,
                pebs_next(s.format, (const void *)(uintptr_t)s.base, s.index - s.base, &at,
                          &sample),
                "no record, or none that can be read");
        EXPECT_EQ(run, s.index - s.base, sample.bytes, "bytes that the index moved by");
        EXPECT(run, !(sample.valid & PEBS_GPRS) == (exists && !asks),
               "asked: %u, and the record has %u bytes", asks, sample.bytes);
        run_deferred_now(run);
        if (!capability()->pmc.pebs_baseline)
            gate_pebs(run, "4");
    }
    run_observe(run, "pebs.adaptive-bit", exists ? "exists" : "reserved");
}
