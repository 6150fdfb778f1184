/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Performance counters: what an overflow does.
 *
 * Claim: SDM Vol. 3, "Architectural Performance Monitoring", "Local Vector Table", "Freezing
 *   LBR and Performance Counters on PMI". The event that brings a counter to 0 sets its bit in
 *   the global status, which stays until software clears it; with INT set it requests the
 *   interrupt of the LVT performance entry, which then masks itself.
 * How: the number of instructions that a workload has in ring 3 is known from the oracle, so
 *   that a counter is set to overflow with the last of them, or one later. Interrupts come as
 *   NMIs or are kept waiting.
 * Wrong if: the counter counts what the oracle does not see: the checks of pmc.count come
 * first.
 */
#define CHECK_GROUP "75 pmc.overflow"
#include "harness/fixture/counting.h"
#include "harness/fixture/pmi_log.h"
#include "harness/fixture/witness.h"
#include "hw/apic.h"
#include "hw/cpuid.h"
#include "hw/msr.h"

#define BIT(counter) (1ull << (counter))

static const struct workload *workload(struct run *run)
{
    return trace_find(run, "call.nested");
}

/* Instructions that the workload has in ring 3. */
static uint64_t length(struct run *run)
{
    struct oracle oracle = witness_follow(run, workload(run), 0);

    return oracle.instructions;
}

/* One counter for instructions in ring 3, due after so many of them. */
static void arm(struct run *run, struct counting *c, unsigned counter, uint64_t events,
                unsigned flags)
{
    counting_open(run, c);
    counting_add(c, counter, PMC_INSTRUCTIONS, PMC_USR | flags);
    counting_until(c, counter, events);
}

CHECK("pmc.overflow.moment", MUST, "PMC-06", NEED_PMC)
{
    static const unsigned counters[] = {0, PMC_FIXED};
    uint64_t last = length(run);
    struct counting c;

    for (unsigned i = 0; i < 2; i++) {
        arm(run, &c, counters[i], last, 0);
        counting_workload(&c, workload(run), 3, NULL);
        EXPECT_EQ(run, counting_read(&c, counters[i]), 0, "counter after its last event");
        EXPECT_EQ(run, counting_status(&c), BIT(counters[i]), "status after the last event");
        run_deferred_now(run);
        arm(run, &c, counters[i], last + 1, 0);
        counting_workload(&c, workload(run), 3, NULL);
        EXPECT_EQ(run, counting_read(&c, counters[i]), pmc_mask(&c.pmc, counters[i]),
                  "counter one event before");
        EXPECT_EQ(run, counting_status(&c), 0, "status one event before");
        run_deferred_now(run);
    }
}

/* Each counter has a bit of its own, and the others stay clear. */
CHECK("pmc.overflow.own_bit", MUST, "PMC-06", NEED_PMC)
{
    struct counting c;
    unsigned tried = 0;

    counting_open(run, &c);
    for (unsigned counter = 0; pmc_exists(&c.pmc, counter); counter++)
        counting_add(&c, counter, PMC_INSTRUCTIONS, PMC_USR);
    for (unsigned counter = 0; pmc_exists(&c.pmc, counter); counter++) {
        counting_until(&c, counter, 5);
        counting_workload(&c, workload(run), 3, NULL);
        EXPECT_EQ(run, counting_status(&c), BIT(counter),
                  "status after that counter's overflow");
        counting_clear_status(&c);
        tried++;
    }
    EXPECT(run, tried > 0, "there is no general counter");
    /* Fixed counters 1 and 2 count cycles: more of them than rounds of the loop. */
    for (unsigned counter = PMC_FIXED; counter < PMC_FIXED + 3; counter++) {
        struct guest_run r = {.argument = 300};

        counting_remove_all(&c);
        if (!pmc_exists(&c.pmc, counter))
            continue;
        counting_add(&c, counter, PMC_INSTRUCTIONS, PMC_RINGS);
        counting_until(&c, counter, 5);
        counting_workload(&c, trace_find(run, "bench.loop"), 3, &r);
        EXPECT_EQ(run, counting_status(&c), BIT(counter), "status after a fixed overflow");
        EXPECT_EQ(run, pmc_status_clear(BIT(counter)), 0, "vector of clearing its bit");
        EXPECT_EQ(run, counting_status(&c), 0, "status after clearing it");
    }
}

/* The bit stays while the counter goes on, goes when it is cleared, and nothing else does. */
CHECK("pmc.overflow.clear", MUST, "PMC-06", NEED_PMC)
{
    struct counting c;

    counting_open(run, &c);
    counting_add(&c, 0, PMC_INSTRUCTIONS, PMC_USR);
    counting_add(&c, 1, PMC_INSTRUCTIONS, PMC_USR);
    counting_until(&c, 0, 3);
    counting_until(&c, 1, 4);
    counting_workload(&c, workload(run), 3, NULL);
    EXPECT_EQ(run, counting_status(&c), BIT(0) | BIT(1), "status after two overflows");
    counting_workload(&c, workload(run), 3, NULL);
    EXPECT_EQ(run, counting_status(&c), BIT(0) | BIT(1), "status a run later");
    EXPECT_EQ(run, pmc_status_clear(0), 0, "vector of a write that clears nothing");
    EXPECT_EQ(run, counting_status(&c), BIT(0) | BIT(1), "status after clearing nothing");
    EXPECT_EQ(run, pmc_status_clear(BIT(0)), 0, "vector of a write that clears one bit");
    EXPECT_EQ(run, counting_status(&c), BIT(1), "status after clearing one of two");
    counting_workload(&c, workload(run), 3, NULL);
    EXPECT_EQ(run, counting_status(&c), BIT(1), "status after a run without an overflow");
    pmc_status_clear(BIT(1));
    EXPECT_EQ(run, counting_status(&c), 0, "status after clearing the other");
}

CHECK("pmc.overflow.status_read_only", MUST, "PMC-06", NEED_PMC)
{
    struct counting c;
    int vector;

    counting_open(run, &c);
    vector = msr_write_try(MSR_IA32_PERF_GLOBAL_STATUS, BIT(0));
    EXPECT(run, vector == 0 || vector == VECTOR_GP, "WRMSR raised vector %d", vector);
    EXPECT_EQ(run, counting_status(&c), 0, "status after software wrote to it");
    run_observe(run, "pmc.status-write", vector ? "gp" : "ignore");
}

/* --- the interrupt */

CHECK("pmc.overflow.interrupt", MUST, "PMC-07 INT-03", NEED_PMC)
{
    static const unsigned counters[] = {0, PMC_FIXED};

    for (unsigned i = 0; i < 2; i++) {
        struct counting_pmi pmi = {.keeps_mask = true};
        struct counting c;

        arm(run, &c, counters[i], 5, PMC_INT);
        counting_listen(&c, &pmi, LVT_DELIVERY_NMI);
        counting_workload(&c, workload(run), 3, NULL);
        EXPECT_EQ(run, pmi.count, 1, "interrupts of one overflow");
        EXPECT_EQ(run, pmi.status, BIT(counters[i]), "status in the handler");
        EXPECT(run, pmi.lvt & LVT_MASKED, "the mask bit is clear in the handler");
        /* It may come some instructions late: the workload is short. */
        run_observe(run, "pmc.pmi-ring", "%lu", pmi.cs & 3);
        run_deferred_now(run);
    }
}

/* Fixed delivery waits for IF, in the IRR, and then comes once. */
CHECK("pmc.overflow.fixed_delivery", MUST, "PMC-07 INT-01", NEED_PMC)
{
    struct counting_pmi pmi = {0};
    struct counting c;

    arm(run, &c, 0, 5, PMC_INT);
    counting_listen(&c, &pmi, LVT_DELIVERY_FIXED | VECTOR_PMI);
    counting_workload(&c, workload(run), 3, NULL);
    EXPECT(run, apic_irr_test(VECTOR_PMI), "the request is not in the IRR");
    EXPECT_EQ(run, pmi.count, 0, "interrupts with IF clear");
    pmi_swallow();
    EXPECT_EQ(run, pmi.count, 1, "interrupts once IF was set");
}

CHECK("pmc.overflow.unasked", MUST, "PMC-07", NEED_PMC)
{
    static const unsigned counters[] = {0, PMC_FIXED};

    for (unsigned i = 0; i < 2; i++)
        for (unsigned masked = 0; masked < 2; masked++) {
            struct counting_pmi pmi = {0};
            struct counting c;

            arm(run, &c, counters[i], 5, masked ? PMC_INT : 0);
            counting_listen(&c, &pmi, LVT_DELIVERY_NMI | (masked ? LVT_MASKED : 0));
            counting_workload(&c, workload(run), 3, NULL);
            EXPECT_EQ(run, pmi.count, 0,
                      masked ? "interrupts through a masked entry" : "interrupts without INT");
            EXPECT_EQ(run, counting_status(&c), BIT(counters[i]), "status");
            run_deferred_now(run);
        }
}

/*
 * The handler moves the counter on from where it is, so that no event is lost: each period
 * gives one interrupt, however late.
 */
CHECK("pmc.overflow.periods", MUST, "PMC-07 PMC-06 INT-03", NEED_PMC)
{
    const unsigned rounds = 1500, period = 1000; /* no interrupt is later than a period */
    struct counting_pmi pmi = {.period = period};
    struct guest_run r = {.argument = rounds};
    struct counting c;

    arm(run, &c, 0, period, PMC_INT);
    counting_listen(&c, &pmi, LVT_DELIVERY_NMI);
    counting_workload(&c, trace_find(run, "bench.loop"), 3, &r);
    EXPECT_EQ(run, pmi.count, 2 * rounds / period, "interrupts for that many periods");
    run_observe(run, "pmc.skid", "%lu", pmi.value);
}

/* Two counters due at the same instruction: one interrupt, and the status names both. */
CHECK("pmc.overflow.together", MUST, "PMC-06 PMC-07", NEED_PMC)
{
    struct counting_pmi pmi = {0};
    struct counting c;

    arm(run, &c, 0, 7, PMC_INT);
    counting_add(&c, PMC_FIXED, PMC_INSTRUCTIONS, PMC_USR | PMC_INT);
    counting_until(&c, PMC_FIXED, 7);
    counting_listen(&c, &pmi, LVT_DELIVERY_NMI);
    counting_workload(&c, workload(run), 3, NULL);
    EXPECT_EQ(run, pmi.count, 1, "interrupts");
    EXPECT_EQ(run, pmi.status, BIT(0) | BIT(PMC_FIXED), "status in the handler");
}

/* --- what it freezes */

CHECK("pmc.overflow.freeze", MUST, "INT-11", NEED_PMC)
{
    for (unsigned freeze = 0; freeze < 2; freeze++) {
        struct counting_pmi pmi = {.keeps_mask = true, .counter = PMC_FIXED};
        struct counting c;

        arm(run, &c, 0, 5, PMC_INT);
        counting_add(&c, PMC_FIXED, PMC_INSTRUCTIONS, PMC_RINGS);
        if (freeze)
            counting_freeze(&c);
        counting_listen(&c, &pmi, LVT_DELIVERY_NMI);
        counting_workload(&c, workload(run), 3, NULL);
        EXPECT_EQ(run, pmi.count, 1, "interrupts");
        if (!freeze)
            EXPECT(run, pmi.later > pmi.value && pmi.control == c.enable,
                   "counters stand still though nothing froze them");
        else
            EXPECT_EQ(run, pmi.later, pmi.value, "the other counter, a moment later");
        if (freeze && cpu_perfmon_version() >= PERFMON_FROZEN_BY_STATUS)
            EXPECT(run, pmi.status & GLOBAL_STATUS_CTR_FRZ, "CTR_FRZ is clear");
        else if (freeze)
            EXPECT_EQ(run, pmi.control, 0, "IA32_PERF_GLOBAL_CTRL in the handler");
        run_deferred_now(run);
    }
}
