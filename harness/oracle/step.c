/* SPDX-License-Identifier: BSD-2-Clause */
/* From single steps to edges. The path of a step that is no branch is kept short. */
#include "harness/oracle/step.h"

#include "harness/oracle/decode.h"
#include "hw/string.h"
#include "hw/trap.h"

enum step_traits {
    STEP_ADDRESS32 = 1 << 0,
    STEP_REPEATED = 1 << 1,
    STEP_SHADOW = 1 << 2,
    STEP_DIRECT = 1 << 3,
    STEP_PLAIN = 1 << 4 /* neither branch nor shadow */
};

static const uint8_t edge_kinds[] = {
    [BRANCH_JCC] = EDGE_JCC,           [BRANCH_LOOP] = EDGE_LOOP,
    [BRANCH_JMP] = EDGE_JMP,           [BRANCH_JMP_INDIRECT] = EDGE_JMP_INDIRECT,
    [BRANCH_CALL] = EDGE_CALL,         [BRANCH_CALL_INDIRECT] = EDGE_CALL_INDIRECT,
    [BRANCH_RET] = EDGE_RET,           [BRANCH_FAR_JMP] = EDGE_FAR_JMP,
    [BRANCH_FAR_CALL] = EDGE_FAR_CALL, [BRANCH_FAR_RET] = EDGE_FAR_RET,
    [BRANCH_IRET] = EDGE_IRET,         [BRANCH_INT1] = EDGE_TRAP,
};

static bool lost(struct stepper *s, const char *why)
{
    s->error = why;
    s->error_rip = s->at;
    return false;
}

/* The next edge to fill in, otherwise zero; NULL when it is only counted. */
static inline __attribute__((always_inline)) struct expected_edge *
new_edge(struct stepper *s, uint64_t from, uint64_t to, enum edge_kind kind)
{
    struct expected_edge *edge = &s->edges[s->count];

    if (s->count++ >= s->max)
        return NULL;
    edge->from = from;
    edge->to = to;
    edge->from_alt = 0;
    edge->kind = (uint8_t)kind;
    edge->cpl_before = edge->cpl_after = edge->flags = 0;
    edge->from_anywhere = edge->to_anywhere = false;
    return edge;
}

/* --- the cache of decoded instructions */

static struct step_slot *slot_of(struct stepper *s, uint64_t rip)
{
    return &s->slots[rip % STEP_SLOTS];
}

static const struct step_slot *decode_at(struct stepper *s, uint64_t rip)
{
    struct step_slot *slot = slot_of(s, rip);
    uint8_t bytes[15];
    struct decoded d;

    if (!decode(bytes, s->fetch(s->context, rip, bytes), &d)) {
        slot->length = 0;
        return NULL;
    }
    *slot = (struct step_slot){
        .rip = rip,
        .displacement = (int32_t)d.displacement,
        .length = d.length,
        .branch = d.branch,
        .condition = d.condition,
        .traits = (d.address32 ? STEP_ADDRESS32 : 0) | (d.repeated ? STEP_REPEATED : 0) |
                  (d.shadow ? STEP_SHADOW : 0) | (d.direct ? STEP_DIRECT : 0) |
                  (d.branch == BRANCH_NONE && !d.shadow ? STEP_PLAIN : 0),
    };
    return slot;
}

static inline const struct step_slot *cached(struct stepper *s, uint64_t rip)
{
    struct step_slot *slot = slot_of(s, rip);

    return slot->rip == rip && slot->length ? slot : decode_at(s, rip);
}

/* --- one step */

static bool taken(const struct step_slot *slot, uint64_t rflags, uint64_t rcx)
{
    if (slot->branch == BRANCH_JCC)
        return jcc_taken(slot->condition, rflags);
    return slot->branch != BRANCH_LOOP ||
           loop_taken(slot->condition, slot->traits & STEP_ADDRESS32, rflags, rcx);
}

static uint64_t landing(const struct step_slot *slot, uint64_t rip, bool jumps)
{
    uint64_t next = slot->rip + slot->length;

    if (!jumps)
        return next;
    return slot->traits & STEP_DIRECT ? next + (uint64_t)(int64_t)slot->displacement : rip;
}

/* INT1 raises the same #DB as a step does: what follows is the handler's IRETQ. */
static void add_int1(struct stepper *s, uint64_t rip)
{
    struct expected_edge *edge = new_edge(s, s->at, s->places.entry(VECTOR_DB), EDGE_TRAP);

    if (edge) {
        edge->from_alt = rip;
        edge->cpl_before = 3;
        edge->flags = EDGE_FROM_ALT | EDGE_OPTIONAL;
    }
    step_resume(s, rip, false);
}

static inline __attribute__((always_inline)) void
add_branch(struct stepper *s, const struct step_slot *slot, uint64_t rip)
{
    struct expected_edge *edge = new_edge(s, s->at, rip, edge_kinds[slot->branch]);

    if (!edge)
        return;
    edge->cpl_before = edge->cpl_after = 3;
    edge->flags = slot->branch == BRANCH_IRET ? EDGE_OPTIONAL : 0;
}

/* The branch does not lead where it did: perhaps the code was rewritten. */
static const struct step_slot *look_again(struct stepper *s, uint64_t rip, uint64_t rflags,
                                          uint64_t rcx)
{
    const struct step_slot *slot = decode_at(s, s->at);

    if (!slot || slot->branch == BRANCH_NONE || slot->branch >= sizeof edge_kinds ||
        !edge_kinds[slot->branch] || rip != landing(slot, rip, taken(slot, rflags, rcx)))
        return NULL;
    return slot;
}

static bool follow_branch(struct stepper *s, const struct step_slot *slot, uint64_t rip,
                          uint64_t rflags, uint64_t rcx)
{
    bool jumps = taken(slot, rflags, rcx);

    if (slot->branch >= sizeof edge_kinds || !edge_kinds[slot->branch])
        return lost(s, "an instruction that enters the kernel came back as a step");
    if (rip != landing(slot, rip, jumps)) {
        slot = look_again(s, rip, rflags, rcx);
        if (!slot)
            return lost(s, "a branch led somewhere else");
        jumps = taken(slot, rflags, rcx);
    }
    if (slot->branch == BRANCH_INT1) {
        add_int1(s, rip);
        return true;
    }
    if (jumps)
        add_branch(s, slot, rip);
    else
        s->not_taken++;
    s->at = rip;
    return true;
}

/* Not a branch, yet RIP is not the next instruction. */
static bool follow_oddity(struct stepper *s, const struct step_slot *slot, uint64_t rip,
                          uint64_t rflags, uint64_t rcx)
{
    if (slot->traits & STEP_REPEATED && rip == s->at) {
        s->unfinished++;
        return true;
    }
    slot = decode_at(s, s->at); /* perhaps the code was rewritten */
    if (!slot)
        return lost(s, "an instruction does not decode");
    if (slot->branch != BRANCH_NONE)
        return follow_branch(s, slot, rip, rflags, rcx);
    if (rip != s->at + slot->length)
        return lost(s, "execution left straight-line code");
    s->at = rip;
    return true;
}

static bool step_slowly(struct stepper *s, uint64_t rip, uint64_t rflags, uint64_t rcx)
{
    const struct step_slot *slot = cached(s, s->at);

    if (!slot)
        return lost(s, "an instruction does not decode");
    if (slot->traits & STEP_SHADOW) {
        s->silent++;
        s->at += slot->length;
        slot = cached(s, s->at);
        if (!slot)
            return lost(s, "an instruction does not decode");
    }
    if (slot->branch != BRANCH_NONE)
        return follow_branch(s, slot, rip, rflags, rcx);
    if (rip != s->at + slot->length)
        return follow_oddity(s, slot, rip, rflags, rcx);
    s->at = rip;
    return true;
}

/*
 * Straight-line code and Jcc take this short way: under software emulation each call and
 * return costs more than ten plain instructions.
 */
bool step_to(struct stepper *s, uint64_t rip, uint64_t rflags, uint64_t rcx)
{
    const struct step_slot *slot = slot_of(s, s->at);
    uint64_t next = s->at + slot->length;

    if (slot->rip == s->at && slot->traits & STEP_PLAIN && rip == next) {
        s->at = rip;
        return true;
    }
    if (slot->rip == s->at && slot->branch == BRANCH_JCC) {
        bool jumps = jcc_taken(slot->condition, rflags);

        if (rip == (jumps ? next + (uint64_t)(int64_t)slot->displacement : next)) {
            if (jumps)
                add_branch(s, slot, rip);
            else
                s->not_taken++;
            s->at = rip;
            return true;
        }
    }
    return step_slowly(s, rip, rflags, rcx);
}

/* --- into the kernel and back */

/* The event may come between MOV SS and the instruction behind it. */
static const struct step_slot *interrupted(struct stepper *s, uint64_t rip)
{
    const struct step_slot *slot = cached(s, s->at);

    if (!slot || !(slot->traits & STEP_SHADOW) || rip == s->at)
        return slot;
    s->silent++;
    s->at += slot->length;
    return cached(s, s->at);
}

static enum edge_kind software_kind(const struct step_slot *slot, unsigned vector)
{
    if (vector == TRAP_SYSCALL)
        return slot->branch == BRANCH_SYSCALL ? EDGE_SYSCALL : 0;
    if (slot->branch == BRANCH_INT)
        return EDGE_INT;
    return slot->branch == BRANCH_INT3 && vector == VECTOR_BP ? EDGE_INT3 : 0;
}

static bool arrives_by_itself(unsigned vector)
{
    return vector == VECTOR_NMI || vector >= 32;
}

bool step_event(struct stepper *s, unsigned vector, uint64_t rip, uint64_t rflags, uint64_t rcx)
{
    const struct step_slot *slot = interrupted(s, rip);
    struct expected_edge *edge;
    enum edge_kind kind = 0;
    uint64_t from;

    if (slot && rip == s->at + slot->length)
        kind = software_kind(slot, vector);
    from = s->at;
    if (!kind) {
        if (vector == TRAP_SYSCALL)
            return lost(s, "a SYSCALL came from somewhere else");
        /* One instruction may have run whose #DB the event overtook. */
        if (rip != s->at) {
            s->silent++;
            if (!step_slowly(s, rip, rflags, rcx))
                return false;
        }
        from = rip;
        kind = arrives_by_itself(vector) ? EDGE_INTERRUPT : EDGE_EXCEPTION;
    }
    s->at = rip;
    s->silent += kind != EDGE_INTERRUPT && kind != EDGE_EXCEPTION;
    edge = new_edge(s, from,
                    vector == TRAP_SYSCALL ? s->places.syscall : s->places.entry(vector), kind);
    if (!edge)
        return true;
    edge->cpl_before = 3;
    if (kind == EDGE_INT || kind == EDGE_INT3) {
        edge->from_alt = rip;
        edge->flags = EDGE_FROM_ALT;
    } else if (kind == EDGE_SYSCALL) {
        edge->flags = EDGE_OPTIONAL;
    }
    return true;
}

void step_resume(struct stepper *s, uint64_t rip, bool by_sysret)
{
    struct expected_edge *edge = new_edge(s, by_sysret ? s->places.sysretq : s->places.iretq,
                                          rip, by_sysret ? EDGE_SYSRET : EDGE_IRET);

    s->at = rip;
    if (!edge)
        return;
    edge->cpl_after = 3;
    edge->flags = EDGE_OPTIONAL;
}

void step_start(struct stepper *s, uint64_t entry)
{
    memset(s->slots, 0, STEP_SLOTS * sizeof *s->slots);
    s->count = 0;
    s->silent = s->unfinished = s->not_taken = 0;
    s->error = NULL;
    s->error_rip = 0;
    step_resume(s, entry, false);
}
