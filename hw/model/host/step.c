/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stepping: from one instruction boundary of the guest to the next that matters.
 *
 * Control transfers are carried out by software. Up to the next one the guest runs by
 * itself, to a breakpoint in DR0. At every boundary the host lets interrupts in, or a loop
 * made of branches alone would starve them.
 */
#include "hw/model/emulate/emulate.h"
#include "hw/model/host/host.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/policy.h"

#define SCAN_LIMIT        512
#define STUCK_EXITS_LIMIT 1000
/* Beyond this many, entering the guest is cheaper. */
#define SIMPLE_RUN_LIMIT 24

/* --- interrupts */

/* For a defect: bytes of the instruction with REP at which the guest stands. */
static unsigned repeat_bytes(struct model_cpu *cpu)
{
    struct insn insn;
    struct fault kept = cpu->fault;
    uint64_t linear = guest_code_linear(cpu, cpu->vmcb->save.rip);
    bool repeats =
        insn_fetch(cpu, linear, &insn) == FETCH_DECODED && insn.repeat && insn.map == MAP_ONE;

    cpu->fault = kept;
    return repeats ? insn.length : 0;
}

static void deliver_interrupt(struct model_cpu *cpu, uint8_t vector, enum event_kind kind)
{
    uint64_t rip = cpu->vmcb->save.rip;
    struct event event = {.vector = vector,
                          .kind = (uint8_t)kind,
                          .return_rip = rip,
                          .restart_rip = rip,
                          .from_rip = rip};

    if (defect(DEFECT_REPEAT_NEXT))
        event.from_rip += repeat_bytes(cpu);
    deliver(cpu, &event);
}

bool take_interrupts(struct model_cpu *cpu)
{
    machine_window(cpu, cpu->vmcb->save.rflags & FLAG_IF);
    bool nmi = cpu->window_nmi, interrupt = cpu->window_vector != WINDOW_NONE;
    if (interrupt)
        deliver_interrupt(cpu, (uint8_t)cpu->window_vector, EVENT_INTERRUPT);
    if (nmi)
        deliver_interrupt(cpu, VECTOR_NMI, EVENT_NMI_TAKEN);
    return nmi || interrupt;
}

/* --- code breakpoints of the guest */

static bool guest_breakpoint_at(const struct model_cpu *cpu, uint64_t linear, uint64_t *hit)
{
    *hit = 0;
    if (!(cpu->dr7 & 0xFF))
        return false;
    for (unsigned i = 0; i < 4; i++) {
        bool on = cpu->dr7 >> (2 * i) & 3;
        bool execution = (cpu->dr7 >> (16 + 4 * i) & 15) == 0;

        if (on && execution && cpu->dr[i] == linear)
            *hit |= 1ull << i;
    }
    return *hit != 0;
}

static bool take_breakpoint(struct model_cpu *cpu)
{
    uint64_t hit, rip = cpu->vmcb->save.rip;

    if (cpu->vmcb->save.rflags & FLAG_RF ||
        !guest_breakpoint_at(cpu, guest_code_linear(cpu, rip), &hit))
        return false;
    struct event event = {.vector = VECTOR_DB,
                          .kind = EVENT_FAULT,
                          .return_rip = rip,
                          .restart_rip = rip,
                          .from_rip = rip};
    cpu->dr6 = (cpu->dr6 & ~15ull) | hit;
    deliver(cpu, &event);
    return true;
}

/* Behind MOV SS the trap waits one instruction more. */
static bool take_watch(struct model_cpu *cpu)
{
    if (!cpu->watch_hits)
        return false;
    bool from_insn = policy(POLICY_DB_FROM) == DB_FROM_INSN;
    deliver_debug_trap(cpu, 0, from_insn ? cpu->insn_rip : cpu->vmcb->save.rip);
    return true;
}

/* --- running the guest itself */

/*
 * Linear address at which the guest must stop: the next instruction that is not plain, or
 * the end of one after which nothing can be foreseen, or of the last one of limit.
 */
static uint64_t find_stop(struct model_cpu *cpu, uint64_t linear, const struct insn *first,
                          unsigned limit)
{
    struct insn insn = *first;
    uint64_t hit;

    for (unsigned i = 1; i <= limit; i++) {
        linear += insn.length;
        if (i == limit || insn.class == INSN_BARRIER)
            return linear;
        if (guest_breakpoint_at(cpu, linear, &hit) ||
            insn_fetch(cpu, linear, &insn) != FETCH_DECODED ||
            (insn.class != INSN_PLAIN && insn.class != INSN_BARRIER))
            return linear;
    }
    return linear;
}

/* A number that changes when the code does. False when a page ends too near. */
static bool code_sum(struct model_cpu *cpu, uint64_t linear, uint64_t bytes, uint64_t *sum)
{
    uint64_t physical, total = bytes;

    if ((linear & 4095) + bytes + 8 > 4096 ||
        !guest_translate(cpu, linear, ACCESS_FETCH | guest_user_access(cpu), &physical))
        return false;
    const uint8_t *code = guest_physical(cpu, physical);
    for (uint64_t i = 0; i < bytes; i += 8)
        total = total * 0x9E3779B97F4A7C15ull + *(const loose64 *)(code + i);
    *sum = total;
    return true;
}

/* How many instructions lie before the stop, and where the last of them does. */
static void measure(struct model_cpu *cpu, struct known_run *run, const struct insn *first)
{
    struct insn insn = *first;

    run->last = run->linear;
    for (run->count = 1; run->last + insn.length != run->stop; run->count++) {
        run->last += insn.length;
        if (run->count > SCAN_LIMIT || insn_fetch(cpu, run->last, &insn) != FETCH_DECODED) {
            run->linear = ~0ull;
            return;
        }
    }
}

/* find_stop for a whole run, remembered for as long as its code stays the same. */
static uint64_t find_stop_again(struct model_cpu *cpu, uint64_t linear,
                                const struct insn *first, const struct known_run **known)
{
    struct known_run *run = &cpu->runs[linear % RUN_SLOTS];
    uint64_t sum;

    *known = run;

    if (cpu->dr7 & 0xFF) {
        *known = NULL;
        return find_stop(cpu, linear, first, SCAN_LIMIT);
    }
    if (run->linear == linear && run->mode == guest_mode(cpu) &&
        code_sum(cpu, linear, run->bytes, &sum) && sum == run->sum)
        return run->stop;
    uint64_t stop = find_stop(cpu, linear, first, SCAN_LIMIT);
    /* The instruction at the stop counts too: it is what ends the run. */
    uint64_t bytes = stop - linear + INSN_MAX_BYTES;
    run->linear = ~0ull;
    if (code_sum(cpu, linear, bytes, &sum)) {
        *run = (struct known_run){.linear = linear,
                                  .stop = stop,
                                  .bytes = bytes,
                                  .sum = sum,
                                  .mode = (uint8_t)guest_mode(cpu)};
        measure(cpu, run, first);
    }
    return stop;
}

/* For a defect: RDMSR and WRMSR outside ring 0 pass for a NOP. */
static bool skip_msr_access(struct model_cpu *cpu)
{
    struct insn insn;

    if (!defect(DEFECT_MSR_ANY_RING) || guest_cpl(cpu) == 0 ||
        insn_fetch(cpu, guest_code_linear(cpu, cpu->vmcb->save.rip), &insn) != FETCH_DECODED ||
        insn.map != MAP_0F || (insn.opcode | 2) != 0x32)
        return false;
    cpu->vmcb->save.rip = guest_next_rip(cpu, &insn);
    return true;
}

/* For a defect: RDPMC where CR4.PCE forbids it. */
static bool read_counter_anyway(struct model_cpu *cpu)
{
    struct insn insn;

    if (!defect(DEFECT_PMC_RDPMC_ANY_RING) || cpu->fault.vector != VECTOR_GP ||
        insn_fetch(cpu, guest_code_linear(cpu, cpu->vmcb->save.rip), &insn) != FETCH_DECODED ||
        insn.map != MAP_0F || insn.opcode != 0x33)
        return false;
    rdpmc_exit(cpu);
    return true;
}

static void guest_exception(struct model_cpu *cpu)
{
    const struct vmcb_control *control = &cpu->vmcb->control;

    cpu->fault = (struct fault){.vector = (uint8_t)(control->exit_code - EXIT_EXCEPTION),
                                .error = (uint32_t)control->exit_info1,
                                .address = control->exit_info2};
    if (!skip_msr_access(cpu) && !read_counter_anyway(cpu))
        deliver_fault(cpu);
}

static void single_step_trap(struct model_cpu *cpu, uint64_t start_rip)
{
    bool from_insn = policy(POLICY_DB_FROM) == DB_FROM_INSN;

    deliver_debug_trap(cpu, DR6_BS, from_insn ? start_rip : cpu->vmcb->save.rip);
}

/* An exit that software cannot act upon at this RIP must not recur for ever. */
static void watch_progress(struct model_cpu *cpu)
{
    if (cpu->vmcb->save.rip != cpu->last_exit_rip)
        cpu->exits_in_place = 0;
    cpu->last_exit_rip = cpu->vmcb->save.rip;
    if (++cpu->exits_in_place > STUCK_EXITS_LIMIT)
        machine_panic(cpu, "no progress at", cpu->vmcb->save.rip);
}

static void after_run(struct model_cpu *cpu, uint64_t start_rip, bool guest_traps)
{
    uint64_t code = cpu->vmcb->control.exit_code;

    switch (code) {
    case EXIT_EXCEPTION + VECTOR_DB:
        if (guest_traps)
            single_step_trap(cpu, start_rip);
        break;
    case EXIT_EXCEPTION + VECTOR_DE:
    case EXIT_EXCEPTION + VECTOR_NMI + 1 ... EXIT_EXCEPTION + 31:
        guest_exception(cpu);
        break;
    case EXIT_INTR: /* the next boundary takes it */
    case EXIT_NMI:
        break;
    case EXIT_INTN: /* the next boundary carries it out */
    case EXIT_IRET:
    case EXIT_HLT:
        watch_progress(cpu);
        break;
    default:
        handle_exit(cpu);
        guest_forget_translations(cpu);
    }
}

static void record_repeat(struct model_cpu *cpu, const struct insn *insn, uint64_t linear)
{
    if (insn->repeat && insn->map == MAP_ONE && defect(DEFECT_REP_RECORDED))
        transfer_finish(cpu, insn, linear, guest_cpl(cpu));
}

/*
 * Counts what retired on the straight way from start_rip to where the guest is now. NULL: an
 * instruction that could not be read, which has been left behind or has faulted.
 */
static bool count_run(struct model_cpu *cpu, uint64_t start_rip, const struct insn *first,
                      const struct known_run *known)
{
    uint64_t linear = guest_code_linear(cpu, start_rip), last = linear;
    uint64_t end = guest_code_linear(cpu, cpu->vmcb->save.rip);
    struct fault kept = cpu->fault;
    struct insn insn;
    unsigned count = 0;

    if (!first)
        return count_plain(cpu, linear, end != linear);
    if (known && known->linear == linear && known->stop == end && !defect(DEFECT_PMC_REP_TWICE))
        return count_plain(cpu, known->last, known->count);
    for (insn = *first; linear != end && count < SCAN_LIMIT; count++) {
        last = linear;
        linear += insn.length;
        if (insn.repeat && insn.map == MAP_ONE && defect(DEFECT_PMC_REP_TWICE))
            count++;
        if (linear != end && insn_fetch(cpu, linear, &insn) != FETCH_DECODED)
            break;
    }
    cpu->fault = kept;
    return count_plain(cpu, last, count);
}

static void run_plain(struct model_cpu *cpu, enum fetch fetched, const struct insn *insn)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    uint64_t start_rip = save->rip, linear = guest_code_linear(cpu, start_rip);
    uint64_t held = save->rflags & FLAG_TF;
    bool decoded = fetched == FETCH_DECODED;

    /* With BTF only branches trap, and none of those runs here. */
    bool by_branch = cpu->debugctl & DEBUGCTL_BTF && !defect(DEFECT_BTF_IGNORED);
    bool traps = held && !by_branch;
    /* Behind a data access the trap must find the instruction that made it. */
    bool only_one = traps || cpu->shadow || watch_any(cpu);
    /* The shadow is lost on the way in: keep interrupts out by IF for its one instruction. */
    if (cpu->shadow)
        held |= save->rflags & FLAG_IF;
    save->rflags &= ~held;
    /* One emulator compares breakpoints with EIP, base or not, and stops there for ever. */
    bool by_trap = !decoded || guest_code_linear(cpu, 0) != 0;
    cpu->stop_armed = !by_trap;
    const struct known_run *known = NULL;
    unsigned limit = only_one ? 1 : cpu->perf.live ? count_limit(cpu) : SCAN_LIMIT;
    if (!by_trap)
        cpu->stop_at = limit < SCAN_LIMIT ? find_stop(cpu, linear, insn, limit)
                                          : find_stop_again(cpu, linear, insn, &known);
    /* An instruction that cannot be read has no known end: the processor finds it. */
    if (traps || by_trap)
        save->rflags |= FLAG_TF;
    machine_run(cpu);
    save->rflags = (save->rflags & ~FLAG_TF) | held;
    if (decoded && insn->class == INSN_BARRIER)
        guest_forget_translations(cpu);
    if (decoded)
        record_repeat(cpu, insn, linear);
    if (cpu->perf.live && !count_run(cpu, start_rip, decoded ? insn : NULL, known)) {
        deliver_fault(cpu);
        return;
    }
    after_run(cpu, start_rip, traps);
}

/*
 * Software for a short run of simple instructions; a place where the run turned out long is
 * remembered, and entered at once the next time.
 */
static bool simple_step(struct model_cpu *cpu, const struct insn *insn)
{
    uint64_t linear = cpu->vmcb->save.rip;
    uint64_t *long_run = &cpu->long_runs[linear % RUN_SLOTS];

    if (insn->class != INSN_PLAIN || cpu->vmcb->save.rflags & FLAG_TF || cpu->dr7 & 0xFF)
        return false;
    if (cpu->simple_run == 0) {
        cpu->run_start = linear;
        if (*long_run == linear)
            return false;
    }
    if (cpu->simple_run >= SIMPLE_RUN_LIMIT) {
        cpu->long_runs[cpu->run_start % RUN_SLOTS] = cpu->run_start;
        return false;
    }
    if (!carry_out_simple(cpu, insn))
        return false;
    cpu->simple_run++;
    if (cpu->perf.live && !count_plain(cpu, linear, 1))
        deliver_fault(cpu);
    return true;
}

void step(struct model_cpu *cpu)
{
    struct insn insn;

    if (cpu->interrupt_causes)
        interrupt_send(cpu);
    if (!cpu->shadow && take_watch(cpu))
        return;
    cpu->insn_rip = cpu->vmcb->save.rip;
    if (!cpu->shadow && take_interrupts(cpu))
        return;
    if (cpu->halted || take_breakpoint(cpu))
        return;
    if (quiet_wanted(cpu) && quiet_run(cpu))
        return;
    cpu->insn_rip = cpu->vmcb->save.rip;
    if (cpu->perf.armed)
        pebs_before(cpu);
    enum fetch fetched = insn_fetch(cpu, guest_code_linear(cpu, cpu->vmcb->save.rip), &insn);
    if (fetched == FETCH_DECODED && simple_step(cpu, &insn))
        return;
    cpu->simple_run = 0;
    if (fetched == FETCH_DECODED && is_emulated(&insn))
        carry_out(cpu, &insn);
    else
        run_plain(cpu, fetched, &insn);
}
