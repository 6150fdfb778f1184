/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adaptive records: the groups that software asks for, one behind the other.
 *
 * Source: SDM Vol. 3, "Adaptive PEBS", "PEBS Record Format": a basic group always, then memory
 * information, general registers, XMM registers and last branches, newest first, by the bits
 * of MSR_PEBS_DATA_CFG.
 */
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/policy.h"

#define DATA_MEMORY       (1ull << 0)
#define DATA_REGISTERS    (1ull << 1)
#define DATA_XMM          (1ull << 2)
#define DATA_BRANCHES     (1ull << 3)
#define BRANCHES_SHIFT    24 /* their number less one */
#define RECORD_SIZE_SHIFT 48

/*
 * The guest's XMM registers are the live ones: no part of the model ever uses them, and a
 * world switch leaves them alone. Firmware has SSE on (UEFI Specification, "x64 Platforms").
 */
void pebs_save_xmm(uint64_t words[XMM_WORDS])
{
#define SAVE(n) __asm__ volatile("movups %%xmm" #n ", (%0)" : : "r"(words + 2 * (n)) : "memory")
    SAVE(0);
    SAVE(1);
    SAVE(2);
    SAVE(3);
    SAVE(4);
    SAVE(5);
    SAVE(6);
    SAVE(7);
    SAVE(8);
    SAVE(9);
    SAVE(10);
    SAVE(11);
    SAVE(12);
    SAVE(13);
    SAVE(14);
    SAVE(15);
#undef SAVE
}

/* A counter without the bit has records of the first group alone. */
static bool groups_wanted(const struct perfmon *perf, unsigned due)
{
    if (defect(DEFECT_PEBS_GROUPS))
        return true;
    for (unsigned i = 0; i < COUNTERS; i++)
        if (due >> i & 1 &&
            (i < GENERAL_COUNTERS
                 ? perf->select[i] & SELECT_ADAPTIVE
                 : perf->fixed_control & FIXED_ADAPTIVE << 4 * (i - GENERAL_COUNTERS)))
            return true;
    return false;
}

static unsigned fill_xmm(const struct model_cpu *cpu, uint64_t *words)
{
    if (pebs_trap_like() && !defect(DEFECT_PEBS_XMM_STALE))
        pebs_save_xmm(words);
    for (unsigned i = 0; i < XMM_WORDS && !pebs_trap_like(); i++)
        words[i] = cpu->perf.xmm_before[i];
    if (defect(DEFECT_PEBS_XMM_SWAP))
        for (unsigned i = 0; i < XMM_WORDS; i += 2) {
            uint64_t low = words[i];

            words[i] = words[i + 1];
            words[i + 1] = low;
        }
    return XMM_WORDS;
}

/* Entries beyond the depth of the stack are 0. */
static unsigned fill_branches(const struct model_cpu *cpu, unsigned count, uint64_t *words)
{
    bool on = cpu->debugctl & DEBUGCTL_LBR || policy(POLICY_PEBS_LBR_OFF) == LBR_OFF_KEPT;

    for (unsigned i = 0; i < count; i++) {
        unsigned entry = (unsigned)(cpu->lbr_top - i) % LBR_DEPTH;
        bool is_there = on && i < LBR_DEPTH && branch_stack_exists();

        if (defect(DEFECT_PEBS_LBR_OLDEST))
            entry = (unsigned)(cpu->lbr_top + 1 + i) % LBR_DEPTH;
        *words++ = is_there ? cpu->lbr_from[entry] : 0;
        *words++ = is_there ? cpu->lbr_to[entry] : 0;
        *words++ = 0; /* no cycles and no prediction are known */
    }
    return count * BRANCH_WORDS;
}

unsigned pebs_fill_groups(const struct model_cpu *cpu, const uint64_t state[STATE_WORDS],
                          unsigned due, uint64_t eventing_ip, uint64_t *words)
{
    static const uint8_t order[] = {RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI};
    uint64_t groups = groups_wanted(&cpu->perf, due) ? cpu->perf.pebs_data : 0;
    unsigned at = 1;

    words[at++] = eventing_ip;
    words[at++] = perfmon_bits(due);
    words[at++] = perfmon_ticks();
    for (unsigned i = 0; i < 4 && groups & DATA_MEMORY; i++)
        words[at++] = 0;
    if (groups & DATA_REGISTERS) {
        words[at++] = state[STATE_FLAGS];
        words[at++] = state[STATE_RIP];
        for (unsigned i = 0; i < 16; i++)
            words[at++] = state[i < 8 ? order[i] : i];
    }
    if (groups & DATA_XMM)
        at += fill_xmm(cpu, words + at);
    if (groups & DATA_BRANCHES)
        at += fill_branches(cpu, (unsigned)(groups >> BRANCHES_SHIFT & 255) + 1, words + at);
    words[0] = groups | (uint64_t)(8 * at) << RECORD_SIZE_SHIFT;
    return at;
}
