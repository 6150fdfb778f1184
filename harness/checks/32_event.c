/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exceptions and interrupts: one record each, from where and to where.
 *
 * Claim: SDM Vol. 3, "Last Branch Records", "Branch Trace Store (BTS)". An exception is
 *   recorded from the instruction that caused it, an interrupt from the return address that it
 *   pushes, both to the handler's first instruction; a branch that was taken before comes
 *   first, and a branch that faults is not taken.
 * How: workloads that cause each event at a label; the handler fixes the cause or resumes
 *   elsewhere. The kernel's own branches in between are passed over.
 * Wrong if: a handler is entered for another reason; its record then has another source.
 */
#define CHECK_GROUP "32 bts.event"
#include "harness/fixture/trace.h"
#include "hw/regs.h"

static void judge(struct run *run, unsigned ring, const char *name)
{
    const struct workload *w = trace_find(run, name);
    struct guest_run r = {.interrupts = (w->flags & WORKLOAD_INTERRUPTS) != 0};
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 8192});
    trace_workload(&t, w, ring, &r);
    if (!trace_expect_workload(&t, w, ring, NULL))
        run_detail(run, "in %s, ring %u", name, ring);
    run_deferred_now(run);
}

static void judge_both(struct run *run, const char *name)
{
    judge(run, 3, name);
    judge(run, 0, name);
}

CHECK("bts.event.ud", MUST, "GEN-06 GEN-01", NEED_BTS)
{
    judge_both(run, "fault.ud");
}

/* Tracing changes nothing for the program: CR2 belongs to page faults. */
CHECK("bts.event.cr2_kept", MUST, "GEN-06", NEED_BTS)
{
    static const char *const others[] = {"fault.ud",  "fault.de",      "fault.gp_address",
                                         "int3.once", "trap.step_jmp", "int80.once"};
    const uint64_t mark = 0x123456789000;

    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct trace t;

        trace_open(run, &t, &(struct trace_setup){.records = 1024});
        trace_guest(run);
        cr2_write(mark);
        trace_workload(&t, trace_find(run, others[i]), 3, NULL);
        EXPECT(run, cr2_read() == mark, "%s, no page fault, left %lx in CR2", others[i],
               cr2_read());
        run_deferred_now(run);
    }
}

CHECK("bts.event.de", MUST, "GEN-06", NEED_BTS)
{
    judge_both(run, "fault.de");
}

CHECK("bts.event.gp", MUST, "GEN-06 DCTL-03", NEED_BTS)
{
    judge(run, 3, "fault.gp_privileged");
    judge_both(run, "fault.gp_address");
}

/* The instruction is restarted: its own branches, if it has any, follow the fault. */
CHECK("bts.event.pf", MUST, "GEN-06 GEN-21", NEED_BTS)
{
    judge_both(run, "pf.read");
    judge_both(run, "pf.write");
    judge_both(run, "pf.read_only");
    judge_both(run, "pf.row");
    judge(run, 3, "pf.call_stack");
}

/* Within a REP the source is the REP instruction, and its iterations leave nothing. */
CHECK("bts.event.pf_in_repeat", MUST, "GEN-06 GEN-02", NEED_BTS)
{
    judge_both(run, "pf.repeat");
}

/* The branch is taken, then the fetch faults: two records. */
CHECK("bts.event.pf_on_fetch", MUST, "GEN-09 GEN-06", NEED_BTS)
{
    judge_both(run, "fault.pf_fetch");
}

/* The branch faults: one record, the exception's. */
CHECK("bts.event.gp_on_target", MUST, "GEN-09 GEN-06", NEED_BTS)
{
    judge_both(run, "fault.gp_target");
}

/* Pending at the end of SYSRETQ or IRETQ, of STI's shadow, of HLT. */
CHECK("bts.event.interrupt.ring3", MUST, "GEN-05 GEN-08 GEN-01", NEED_BTS)
{
    judge(run, 3, "interrupt.sysret");
    judge(run, 3, "interrupt.iret");
    judge(run, 3, "interrupt.row");
    judge(run, 3, "interrupt.timer");
}

CHECK("bts.event.interrupt.ring0", MUST, "GEN-05", NEED_BTS)
{
    judge(run, 0, "interrupt.sti");
    judge(run, 0, "interrupt.hlt");
}

CHECK("bts.event.interrupt_after_branch", MUST, "GEN-08", NEED_BTS)
{
    judge(run, 0, "interrupt.sti_jmp");
}

CHECK("bts.event.nmi", MUST, "GEN-05 GEN-01", NEED_BTS)
{
    judge(run, 3, "interrupt.nmi");
    judge(run, 0, "interrupt.nmi_ring0");
}
