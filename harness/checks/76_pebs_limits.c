/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PEBS: the threshold, and the end of the buffer.
 *
 * Claim: SDM Vol. 3, "Processor Event Based Sampling (PEBS)", "Setting Up the PEBS Buffer",
 *   "Freezing LBR and Performance Counters on PMI". An index that reaches the threshold sets
 * bit 62 of the global status and requests the interrupt, which is a PMI for the freeze
 * controls. A record that would reach beyond the maximum, or an index out of bounds, writes
 * nothing and signals nothing.
 * How: as in pebs.record: the number of records is known from the oracle's count. Interrupts
 *   come as NMIs; canaries lie behind the maximum and in the rest of the buffer.
 * Wrong if: the processor needs several events to arm itself: what needs the very next event
 *   is skipped then.
 */
#define CHECK_GROUP "76 pebs.limits"
#include "harness/fixture/sampling.h"
#include "hw/apic.h"
#include "hw/string.h"

#define PERIOD 10

/* --- threshold and interrupt */

CHECK("pebs.pmi.threshold", MUST, "PEBS-05 INT-06 INT-03", NEED_PEBS)
{
    for (unsigned made = 2; made <= 4; made++) {
        struct counting_pmi pmi = {.keeps_mask = true};
        struct sampling s;
        uint64_t rounds = (made * (PERIOD + 1) + 2) / 2;

        sampling_open_one(run, &s, &(struct sampling_setup){.threshold_records = 3}, PERIOD);
        NEED(run, sampling_records(sampling_loop_length(run, rounds), PERIOD) == made,
             "the loop has another length");
        counting_listen(&s.counting, &pmi, LVT_DELIVERY_NMI);
        sampling_loop(&s, rounds);
        sampling_expect_count(&s, made, "records");
        EXPECT(run, pmi.count == (sampling_count(&s) >= 3),
               "threshold 3: %u interrupts after %zu records", pmi.count, sampling_count(&s));
        if (pmi.count) {
            EXPECT(run, pmi.lvt & LVT_MASKED, "the mask bit is clear in the handler");
            EXPECT(run, pmi.status & GLOBAL_STATUS_OVF_BUFFER, "bit 62 of the status is clear");
            /* The sampling counter itself may be due again by the time the handler runs. */
            EXPECT_EQ(run, pmi.status & 0xFFFFFFFEull, 0, "overflow bits of other counters");
        } else {
            /* The counter's own bit: it may be arming, or a record may leave it set. */
            EXPECT_EQ(run, counting_status(&s.counting) & ~1ull, 0,
                      "status below the threshold");
        }
        run_deferred_now(run);
    }
}

CHECK("pebs.pmi.threshold_beyond_maximum", MUST, "PEBS-05 PEBS-06", NEED_PEBS)
{
    struct counting_pmi pmi = {0};
    struct sampling s;

    sampling_open_one(run, &s, &(struct sampling_setup){.records = 4}, PERIOD);
    counting_listen(&s.counting, &pmi, LVT_DELIVERY_NMI);
    sampling_loop(&s, 100);
    EXPECT_EQ(run, pmi.count, 0, "interrupts with the threshold beyond the maximum");
    EXPECT(run, !(counting_status(&s.counting) & GLOBAL_STATUS_OVF_BUFFER), "bit 62 is set");
}

CHECK("pebs.pmi.masked_entry", MUST, "PEBS-05 INT-01", NEED_PEBS)
{
    struct counting_pmi pmi = {0};
    struct sampling s;

    sampling_open_one(run, &s, &(struct sampling_setup){.threshold_records = 1}, PERIOD);
    counting_listen(&s.counting, &pmi, LVT_MASKED | LVT_DELIVERY_NMI);
    sampling_loop(&s, 20);
    EXPECT_EQ(run, pmi.count, 0, "interrupts through a masked entry");
    EXPECT_EQ(run, counting_status(&s.counting) & GLOBAL_STATUS_OVF_BUFFER,
              GLOBAL_STATUS_OVF_BUFFER, "bit 62 of the status");
    EXPECT_EQ(run, pmc_status_clear(GLOBAL_STATUS_OVF_BUFFER), 0, "vector of clearing bit 62");
    EXPECT_EQ(run, counting_status(&s.counting) & ~1ull, 0,
              "status after clearing it, other than the counter's own");
}

CHECK("pebs.pmi.freeze", MUST, "INT-11", NEED_PEBS)
{
    struct counting_pmi pmi = {.keeps_mask = true, .keeps_status = true, .counter = PMC_FIXED};
    struct sampling s;

    sampling_open_one(run, &s, &(struct sampling_setup){.threshold_records = 1}, PERIOD);
    counting_add(&s.counting, PMC_FIXED, PMC_INSTRUCTIONS, PMC_RINGS);
    counting_freeze(&s.counting);
    counting_listen(&s.counting, &pmi, LVT_DELIVERY_NMI);
    sampling_loop(&s, 50);
    EXPECT_EQ(run, pmi.count, 1, "interrupts");
    EXPECT_EQ(run, pmi.later, pmi.value, "another counter, a moment later in the handler");
    /* The first, and what is made until the freeze acts: fewer than without one. */
    EXPECT(run,
           sampling_count(&s) >= 1 &&
               sampling_count(&s) < sampling_records(sampling_loop_length(run, 50), PERIOD),
           "%zu records, though the first froze the counters", sampling_count(&s));
    run_observe(run, "pebs.freeze-records", "%zu", sampling_count(&s));
}

/* --- the end of the buffer */

/* Nothing at or beyond the maximum, nobody told, however long it goes on. */
CHECK("pebs.buffer.full", MUST, "PEBS-06 PEBS-01", NEED_PEBS)
{
    struct sampling s;

    for (unsigned room = 1; room <= 4; room++) {
        struct counting_pmi pmi = {0};

        sampling_open_one(run, &s, &(struct sampling_setup){.records = room}, PERIOD);
        counting_listen(&s.counting, &pmi, LVT_DELIVERY_NMI);
        sampling_loop(&s, 100);
        EXPECT_EQ(run, s.index, s.base + room * s.record_bytes, "index of a full buffer");
        sampling_expect_untouched(&s, "with a full buffer");
        EXPECT_EQ(run, pmi.count, 0, "interrupts");
        run_deferred_now(run);
    }
}

CHECK("pebs.buffer.no_room", MUST, "PEBS-06", NEED_PEBS)
{
    struct sampling s;

    /* A record that would cross the maximum by a byte, by half, by all but one. */
    for (unsigned i = 0; i < 3; i++) {
        sampling_open_one(run, &s, &(struct sampling_setup){.records = 3}, PERIOD);
        s.trace.area->pebs_maximum -= i == 0   ? 1
                                      : i == 1 ? s.record_bytes / 2
                                               : s.record_bytes - 1;
        memcpy(&s.before, s.trace.area, sizeof(s.before));
        sampling_loop(&s, 100);
        EXPECT_EQ(run, sampling_count(&s), 2, "records with room for two and a part");
        sampling_expect_untouched(&s, "with a size that is no multiple of the record");
        run_deferred_now(run);
    }
}

/* An index before the base, or beyond the maximum, is out of bounds as well. */
CHECK("pebs.buffer.index_outside", MUST, "PEBS-01 PEBS-06", NEED_PEBS)
{
    struct sampling s;

    for (unsigned i = 0; i < 2; i++) {
        sampling_open_one(run, &s, &(struct sampling_setup){.records = 8}, PERIOD);
        if (i == 0)
            s.trace.area->pebs_base += 2 * s.record_bytes;
        else
            s.trace.area->pebs_maximum = s.base - s.record_bytes;
        memcpy(&s.before, s.trace.area, sizeof(s.before));
        sampling_loop(&s, 50);
        EXPECT_EQ(run, s.index, s.base,
                  i ? "index beyond the maximum" : "index below the base");
        sampling_expect_untouched(&s, "with the index out of bounds");
        run_deferred_now(run);
    }
}

/*
 * Does a counter without room for its record stay armed, so that room made later is used at
 * once, or does it count through another period?
 */
CHECK("pebs.buffer.after_full", CHARACTERISE, "PEBS-08", NEED_PEBS)
{
    struct sampling s;
    uint64_t left;

    sampling_open(run, &s, &(struct sampling_setup){.records = 1});
    sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, PERIOD, PERIOD);
    s.trace.area->pebs_index = s.end; /* full from the start */
    memcpy(&s.before, s.trace.area, sizeof(s.before));
    sampling_loop(&s, 20);
    EXPECT_EQ(run, s.index, s.end, "index of a full buffer");
    left = counting_read(&s.counting, 0);
    s.trace.area->pebs_index = s.base;
    memcpy(&s.before, s.trace.area, sizeof(s.before));
    sampling_loop(&s, 4);
    run_observe(run, "bts.pebs-full", sampling_count(&s) ? "retry" : "skip");
    run_observe(run, "pebs.full-counter", "%s", left < 1000 ? "goes on" : "reloaded");
}

/* --- the pages */

CHECK("pebs.buffer.pages", MUST, "MEM-01 MEM-05 PEBS-04", NEED_PEBS)
{
    struct sampled_steps steps = sampling_steps(run, sampling_loop_workload(run), 500);
    struct sampling s;

    /* Supervisor pages, and records that cross from one page to the next. */
    sampling_open_one(run, &s, &(struct sampling_setup){.records = 600}, 1);
    sampling_loop(&s, 500);
    sampling_expect_count(&s, sampling_records(steps.instructions, 1), "records");
    NEED(run, s.index - s.base > 2 * PAGE_BYTES, "the records cross no page");
    sampling_match(&s, sampling_loop_workload(run), &steps);
    sampling_expect_untouched(&s, "over several pages");
}
