/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The workloads themselves, untraced.
 *
 * Claim: every workload runs to its RET in each ring it is made for, takes the events it is
 *   made to take and no other, and computes what it should.
 * Source: SDM Vol. 3, "Interrupt and Exception Reference".
 * How: runs each one plainly and counts what its handlers saw.
 * Wrong if: an event is made pending and the local APIC is slower than the bounded wait for
 *   it; the workload then reports that it was not interrupted.
 */
#define CHECK_GROUP "08 guest"
#include "harness/check/check.h"

#include "guest/run.h"
#include "harness/fixture/trace.h"
#include "hw/apic.h"

#define ARGUMENT 12

static bool interrupted(const struct workload *w)
{
    return (w->flags & WORKLOAD_INTERRUPTS) != 0;
}

static void run_all(struct run *run, unsigned ring)
{
    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);
        struct guest_run r = {
            .workload = w, .ring = ring, .argument = ARGUMENT, .interrupts = interrupted(w)};

        if (!workload_possible(w, ring) || (w->flags & WORKLOAD_TRACED))
            continue;
        EXPECT(run, guest_run(trace_guest(run), &r) == GUEST_RETURNED,
               "%s: end %u, vector %lu at %lx", w->name, r.end, r.frame.vector, r.frame.rip);
        EXPECT(run, !(w->flags & WORKLOAD_FAULTS) == !r.faults, "%s: %u faults", w->name,
               r.faults);
        EXPECT(run, interrupted(w) == (r.interrupts_taken > 0), "%s: %u interrupts", w->name,
               r.interrupts_taken);
    }
}

CHECK("guest.run.ring3", SOFTWARE, "", NEED_NOTHING)
{
    run_all(run, 3);
}

CHECK("guest.run.ring0", SOFTWARE, "", NEED_NOTHING)
{
    run_all(run, 0);
}

/* Values that a wrong turn would change; the tests on the host know the same ones. */
CHECK("guest.run.results", SOFTWARE, "", NEED_NOTHING)
{
    static const struct {
        const char *name;
        uint64_t argument, result;
    } known[] = {
        {"recursion.fib", 15, 610}, {"program.sort", 77, 1}, {"jcc.not_taken.rel8", 0, 16},
        {"int80.row", 0, 6},        {"pf.repeat", 0, 0},     {"pf.read_only", 0, 1},
    };

    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        for (unsigned ring = 0; ring <= 3; ring += 3) {
            struct guest_run r = {.workload = trace_find(run, known[i].name),
                                  .ring = ring,
                                  .argument = known[i].argument};

            guest_run(trace_guest(run), &r);
            EXPECT_EQ(run, r.result, known[i].result, known[i].name);
        }
}

/* A workload that nothing resumes, and one that never ends, come back as what they are. */
CHECK("guest.run.ends", SOFTWARE, "", NEED_NOTHING)
{
    struct workload astray = *trace_find(run, "bench.loop");
    struct guest_run r = {.workload = &astray, .ring = 3};

    astray.entry = (int32_t)(__guest_end - __guest_start) - 1; /* padding: INT3, r15 = 0 */
    EXPECT_EQ(run, guest_run(trace_guest(run), &r), GUEST_FAULTED, "end of a stray run");
    EXPECT_EQ(run, r.frame.vector, VECTOR_BP, "its vector");
    r = (struct guest_run){.workload = trace_find(run, "bench.loop"),
                           .ring = 3,
                           .argument = UINT64_MAX / 2,
                           .interrupts = true,
                           .budget_ticks = 1000};
    EXPECT_EQ(run, guest_run(trace_guest(run), &r), GUEST_BUDGET, "end of an endless run");
    EXPECT_EQ(run, r.frame.vector, VECTOR_TIMER, "its vector");
    EXPECT(run, !apic_irr_test(VECTOR_TIMER) && !apic_irr_test(VECTOR_TEST),
           "an interrupt is left pending");
}
