/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System-management interrupts in the middle of a trace.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area": on the way into system-management mode the
 *   recording is disabled, and nothing is stored from in there. "IA32_DEBUGCTL MSR": with
 *   FREEZE_WHILE_SMM the processor saves the register, turns LBR, BTF, TR, BTS and the
 *   counters off, and RSM puts all of it back. What the trace does behind RSM otherwise is
 *   open.
 * How: the command port that ACPI names raises the interrupts; the byte written asks for the
 *   mode that is in force already, so nothing changes. A loop without any other branch writes
 *   it; MSR_SMI_COUNT says that the interrupts came. Its records must be the loop's own.
 * Wrong if: firmware stops the trace or the counters in its handler. No such firmware is known.
 */
#define CHECK_GROUP "74 bts.smm"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/msr.h"
#include "hw/regs.h"

#define TIMES         3u
#define ACPI_MODE     1u     /* SCI_EN of PM1a_CNT */
#define PORT_NOTHING  0x80u  /* diagnostic codes: a write that nobody acts on */
#define WAIT_READS    10000u /* of MSR_SMI_COUNT, for an interrupt that comes late */
#define ADDRESS       0x0000FFFFFFFFFFFFull
#define COUNTER_SLACK 8u /* instructions that a count may be off by around RSM */

struct visit {
    uint16_t port;
    uint8_t command;
    uint32_t counter, control, top, stack; /* MSRs to read; IA32_DEBUGCTL stands for none */
    uint32_t top_mask;
    uint64_t debugctl[2], count[2], enabled, newest, from, to;
};

static uint32_t smi_count(void)
{
    uint64_t count = 0;

    msr_read_try(MSR_SMI_COUNT, &count);
    return (uint32_t)count;
}

/* No branch but the loop's and the return. */
static uint64_t write_port(void *arg)
{
    struct visit *v = arg;
    uint64_t left = TIMES, from, to;

    v->debugctl[0] = msr_read(MSR_IA32_DEBUGCTL);
    v->count[0] = msr_read(v->counter);
    __asm__ volatile("lea 2f(%%rip), %[from]\n\t"
                     "lea 1f(%%rip), %[to]\n\t"
                     "1: outb %%al, %%dx\n\t"
                     "dec %[left]\n\t"
                     "2: jnz 1b"
                     : [left] "+r"(left), [from] "=&r"(from), [to] "=&r"(to)
                     : "a"(v->command), "d"(v->port)
                     : "cc", "memory");
    v->count[1] = msr_read(v->counter);
    v->newest = msr_read(v->stack + ((uint32_t)msr_read(v->top) & v->top_mask));
    v->enabled = msr_read(v->control);
    v->debugctl[1] = msr_read(MSR_IA32_DEBUGCTL);
    v->from = from;
    v->to = to;
    return 0;
}

static struct visit visit_of(struct run *run)
{
    const struct smi_command *smi = &run->platform->smi;
    bool acpi = io_in8(smi->control) & ACPI_MODE;

    return (struct visit){.port = smi->port,
                          .command = acpi ? smi->enable : smi->disable,
                          .counter = MSR_IA32_DEBUGCTL,
                          .control = MSR_IA32_DEBUGCTL,
                          .top = MSR_IA32_DEBUGCTL,
                          .stack = MSR_IA32_DEBUGCTL};
}

/* Skips where the port raised nothing: then nothing was tried. */
static void traced(struct run *run, struct trace *t, struct visit *v)
{
    uint32_t before = smi_count();

    trace_call(t, write_port, v);
    for (unsigned i = 0; i < WAIT_READS && smi_count() == before; i++)
        cpu_pause();
    if (smi_count() != before)
        return;
    run_skip(run, "writes to port %xh raise no SMI", v->port);
    run_stop(run);
}

/* Every record must be one of the loop's; all of them, or the first ones. */
static void expect_own(struct run *run, const struct trace *t, const struct visit *v, bool all)
{
    const uint64_t call = (uint64_t)(uintptr_t)ds_bracket_call;

    EXPECT(run, t->count <= TIMES + 1 && (!all || t->count == TIMES + 1),
           "%zu records, want %u: call, %u jumps, return", t->count, TIMES + 1, TIMES - 1);
    for (size_t i = 0; i < t->count && i <= TIMES; i++) {
        const struct trace_record *r = &t->records[i];
        bool last = i == TIMES;
        bool own = i == 0 ? r->from == call
                   : last ? r->to == (uint64_t)(uintptr_t)ds_bracket_return
                          : r->from == v->from && r->to == v->to;

        EXPECT(run, own, "record %zu, from %lx to %lx, is not the program's", i, r->from,
               r->to);
    }
}

CHECK("bts.smm.nothing_stored", MUST, "GEN-16", NEED_BTS | NEED_SMI)
{
    struct visit v = visit_of(run);
    struct trace t;
    bool on;

    trace_open(run, &t, &(struct trace_setup){.records = 256});
    traced(run, &t, &v);
    on = v.debugctl[1] & DEBUGCTL_TR;
    expect_own(run, &t, &v, on);
    EXPECT(run, (v.debugctl[0] & ~DEBUGCTL_TR) == (v.debugctl[1] & ~DEBUGCTL_TR),
           "IA32_DEBUGCTL is %lx, was %lx", v.debugctl[1], v.debugctl[0]);
    run_observe(run, "bts.after-smm", on ? "goes-on" : "stays-off");
}

static void close_frozen(void *arg)
{
    msr_write_try(MSR_IA32_PERF_GLOBAL_CTRL, *(const uint64_t *)arg);
    msr_write_try(MSR_IA32_FIXED_CTR_CTRL, 0);
    broker_clear(BROKER_FREEZE);
    broker_clear(BROKER_LBR);
}

/* Instructions that the counter saw in the loop. */
static uint64_t counted(const struct visit *v)
{
    return v->count[1] - v->count[0];
}

CHECK("bts.smm.frozen", MUST, "SMM-01", NEED_BTS | NEED_SMI | NEED_PMC)
{
    const uint64_t bits = DEBUGCTL_FREEZE_WHILE_SMM | DEBUGCTL_FREEZE_PERFMON_ON_PMI;
    struct visit v = visit_of(run), quiet;
    uint64_t capabilities = 0, top;
    struct trace t, other;
    static uint64_t enabled;

    msr_read_try(MSR_IA32_PERF_CAPABILITIES, &capabilities);
    if (!(capabilities & PERF_CAP_FREEZE_SMM)) {
        run_skip(run, "IA32_PERF_CAPABILITIES has no FREEZE_WHILE_SMM");
        return;
    }
    NEED(run, msr_read_try(MSR_IA32_PERF_GLOBAL_CTRL, &enabled) == 0, "cannot be read");
    trace_open(run, &other, &(struct trace_setup){.records = 256});
    trace_open(run, &t, &(struct trace_setup){.records = 256});
    run_defer(run, close_frozen, &enabled);
    REQUIRE(run, broker_set(BROKER_FREEZE, bits) == DS_OK,
            "FREEZE_WHILE_SMM is announced, but cannot be set");
    broker_set(BROKER_LBR, DEBUGCTL_LBR);
    NEED(run,
         msr_write_try(MSR_IA32_FIXED_CTR_CTRL, FIXED_CTR0_ALL_RINGS) == 0 &&
             msr_write_try(MSR_IA32_PERF_GLOBAL_CTRL, GLOBAL_CTRL_FIXED_CTR0) == 0,
         "the fixed counter cannot be started");
    v.counter = MSR_IA32_FIXED_CTR0;
    v.control = MSR_IA32_PERF_GLOBAL_CTRL;
    if (msr_read_try(MSR_LASTBRANCH_TOS, &top) == 0) {
        v.top = MSR_LASTBRANCH_TOS;
        v.top_mask = 0x1F;
        v.stack = MSR_LASTBRANCH_0_FROM_IP;
    }
    quiet = v;
    quiet.port = PORT_NOTHING;
    trace_call(&other, write_port, &quiet);
    traced(run, &t, &v);
    close_frozen(&enabled);
    EXPECT_EQ(run, v.debugctl[1], v.debugctl[0], "IA32_DEBUGCTL behind RSM");
    EXPECT_EQ(run, v.debugctl[0] & bits, bits, "the FREEZE bits before the SMI");
    EXPECT_EQ(run, v.enabled, GLOBAL_CTRL_FIXED_CTR0, "IA32_PERF_GLOBAL_CTRL behind RSM");
    expect_own(run, &t, &v, true);
    EXPECT(run, counted(&v) <= counted(&quiet) + COUNTER_SLACK,
           "%lu instructions counted with SMIs, %lu without", counted(&v), counted(&quiet));
    if (v.top_mask)
        EXPECT_EQ(run, v.newest & ADDRESS, v.from & ADDRESS, "from of the newest LBR");
}
