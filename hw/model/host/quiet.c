/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running on while nothing happens: counters count and nobody wants a record.
 *
 * A switch into the guest costs as much as some dozen instructions carried out by software, so
 * here simple instructions and near branches go by without one, and without a look at anything
 * that only a trace, a breakpoint or a sample would need. No counter can overflow on the way:
 * the number of instructions is bounded by what is left of the fullest one, and each is counted
 * as stepping would have counted it.
 */
#include "hw/model/emulate/emulate.h"
#include "hw/model/host/host.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"

#define QUIET_RUN 256 /* then interrupts are let in */
/* Beyond this many without a branch, entering the guest is cheaper. */
#define STRAIGHT_LIMIT 40

bool quiet_wanted(const struct model_cpu *cpu)
{
    const uint64_t looked_at =
        DEBUGCTL_LBR | DEBUGCTL_BTF | DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT;

    return cpu->perf.live && !cpu->perf.armed && !(cpu->debugctl & looked_at) &&
           !(cpu->dr7 & 0xFF) && !(cpu->vmcb->save.rflags & FLAG_TF) && !cpu->shadow &&
           guest_long_code(cpu);
}

/* Where in the host's map the page of code lies that was looked at last. */
struct code_page {
    uint64_t linear; /* of the page; ~0 at first */
    const uint8_t *bytes;
};

/* The instruction at linear, from what is remembered; NULL: the slow way finds out. */
static const struct insn *look_up(struct model_cpu *cpu, uint64_t linear,
                                  struct code_page *page)
{
    uint64_t at = linear & 4095, physical;

    if (linear - at != page->linear) {
        if (!guest_translate(cpu, linear, ACCESS_FETCH | guest_user_access(cpu), &physical))
            return NULL;
        page->linear = linear - at;
        page->bytes = (const uint8_t *)guest_physical(cpu, physical) - at;
    }
    if (at > 4096 - 16)
        return NULL;
    const loose64 *now = (const loose64 *)(page->bytes + at);
    const struct decoded *known = &cpu->decoded[linear % DECODED_SLOTS];
    bool same = known->linear == linear && known->bytes[0] == now[0] &&
                known->bytes[1] == now[1] && known->mode == DECODE_64;
    struct insn insn;
    if (!same && insn_fetch(cpu, linear, &insn) != FETCH_DECODED)
        return NULL;
    return &known->insn;
}

static bool is_near(uint8_t class)
{
    return class >= INSN_JCC && class <= INSN_RET;
}

static void count_up(struct model_cpu *cpu, unsigned count, uint8_t class, bool taken)
{
    uint8_t cpl = (uint8_t)guest_cpl(cpu);

    if (count)
        count_quietly(cpu, &(struct retired){.count = count,
                                             .class = class,
                                             .taken = taken,
                                             .cpl_before = cpl,
                                             .cpl_after = cpl});
}

static bool take_near(struct model_cpu *cpu, const struct insn *insn)
{
    cpu->from_legacy = false;
    cpu->branched = false;
    cpu->task_switched = false;
    if (!is_near(insn->class) || insn->lock || !branch_near(cpu, insn))
        return false;
    cpu->vmcb->save.rflags &= ~FLAG_RF;
    return true;
}

bool quiet_run(struct model_cpu *cpu)
{
    struct code_page page = {.linear = ~0ull};
    struct fault kept = cpu->fault;
    unsigned room = count_room(cpu), straight = 0, done = 0;
    uint64_t start = cpu->vmcb->save.rip;

    for (room = room < QUIET_RUN ? room : QUIET_RUN; done < room; done++) {
        const struct insn *insn = look_up(cpu, cpu->vmcb->save.rip, &page);
        uint64_t *long_run = &cpu->long_runs[start % RUN_SLOTS];

        if (!insn || (straight == 0 && *long_run == start))
            break;
        if (insn->class == INSN_PLAIN) {
            if (straight == STRAIGHT_LIMIT)
                *long_run = start;
            if (straight >= STRAIGHT_LIMIT || !carry_out_simple(cpu, insn))
                break;
            straight++;
            continue;
        }
        uint8_t class = insn->class;
        if (!take_near(cpu, insn))
            break;
        count_up(cpu, straight + 1, class, cpu->branched);
        straight = 0;
        start = cpu->vmcb->save.rip;
    }
    count_up(cpu, straight, INSN_PLAIN, false);
    cpu->fault = kept;
    return done == room && room;
}
