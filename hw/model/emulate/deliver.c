/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupts and exceptions delivered by software, through the guest's own IDT.
 *
 * Gate checks, stack switch, frame and double faults after SDM Vol. 3, "64-Bit Mode Stack
 * Frame", "Interrupt and Exception Handling" and "Interrupt 8 - Double Fault". An emulator
 * that intercepts an exception skips its own double-fault logic, so all of it is here.
 */
#include "hw/model/bts/bts.h"
#include "hw/model/emulate/emulate.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/policy.h"

enum { GATE_INTERRUPT = 0xE, GATE_TRAP = 0xF };

struct gate {
    uint64_t rip;
    uint16_t selector;
    uint8_t stack; /* IST, 0 = none */
    uint8_t type, dpl;
    bool present;
};

uint64_t recorded_address(const struct model_cpu *cpu, uint64_t rip)
{
    return defect(DEFECT_BASE_MISSING) ? rip : guest_code_linear(cpu, rip);
}

/* Bit 0 of error codes: the fault struck while another event was being delivered. */
static uint32_t external_bit(const struct event *event)
{
    return event->kind != EVENT_SOFTWARE;
}

/* The entry as it lies in the table, whatever it says. */
static bool load_gate(struct model_cpu *cpu, const struct event *event, struct gate *gate)
{
    const struct vmcb_segment *idtr = &cpu->vmcb->save.idtr;
    uint32_t bytes = cpu->vmcb->save.efer & EFER_LMA ? 16 : 8, offset = event->vector * bytes;
    uint64_t raw[2] = {0, 0};

    if (offset + bytes - 1 > idtr->limit)
        return fault_raise(cpu, VECTOR_GP, event->vector * 8u + 2 + external_bit(event));
    if (!guest_read(cpu, idtr->base + offset, raw, bytes, ACCESS_IMPLICIT))
        return false;
    gate->rip = (raw[0] & 0xFFFF) | (raw[0] >> 32 & 0xFFFF0000) | raw[1] << 32;
    gate->selector = (uint16_t)(raw[0] >> 16);
    gate->stack = raw[0] >> 32 & 7;
    gate->type = raw[0] >> 40 & 0x1F;
    gate->dpl = raw[0] >> 45 & 3;
    gate->present = raw[0] >> 47 & 1;
    return true;
}

static bool read_gate(struct model_cpu *cpu, const struct event *event, struct gate *gate)
{
    uint32_t error = event->vector * 8u + 2 + external_bit(event);

    if (!load_gate(cpu, event, gate))
        return false;
    if (gate->type != GATE_INTERRUPT && gate->type != GATE_TRAP)
        return fault_raise(cpu, VECTOR_GP, error);
    if (event->kind == EVENT_SOFTWARE && gate->dpl < guest_cpl(cpu))
        return fault_raise(cpu, VECTOR_GP, error);
    if (!gate->present)
        return fault_raise(cpu, VECTOR_NP, error);
    return true;
}

static bool read_handler(struct model_cpu *cpu, const struct event *event,
                         const struct gate *gate, struct descriptor *code)
{
    uint32_t external = external_bit(event), error = (gate->selector & 0xFFFCu) | external;

    if (!(gate->selector & ~3u))
        return fault_raise(cpu, VECTOR_GP, external);
    if (!descriptor_read(cpu, gate->selector, external, code))
        return false;
    unsigned wanted = SEGMENT_NOT_SYSTEM | SEGMENT_TYPE_CODE, mask = wanted;
    if (cpu->vmcb->save.efer & EFER_LMA) {
        wanted |= SEGMENT_LONG;
        mask = wanted | SEGMENT_BIG;
    }
    if ((code->attributes & mask) != wanted ||
        descriptor_dpl(code->attributes) > guest_cpl(cpu))
        return fault_raise(cpu, VECTOR_GP, error);
    if (!(code->attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, error);
    return true;
}

/* The stack the handler starts on: offset in the TSS of its RSP, or 0 to keep the stack. */
static bool choose_stack(struct model_cpu *cpu, const struct gate *gate, unsigned cpl,
                         uint32_t external, uint64_t *rsp)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    uint32_t offset = 0;

    /* Outside IA-32e mode only rings that stay the same are modelled. */
    if (!(save->efer & EFER_LMA) && cpl != guest_cpl(cpu))
        return fault_raise(cpu, VECTOR_TS, (save->tr.selector & 0xFFFCu) | external);
    if (gate->stack && save->efer & EFER_LMA)
        offset = 0x24 + 8u * (gate->stack - 1);
    else if (cpl != guest_cpl(cpu))
        offset = 4 + 8 * cpl;
    *rsp = cpu->gpr[RSP];
    if (offset == 0)
        return true;
    machine_save_hidden(cpu);
    if (offset + 7 > save->tr.limit)
        return fault_raise(cpu, VECTOR_TS, (save->tr.selector & 0xFFFCu) | external);
    if (!guest_read(cpu, save->tr.base + offset, rsp, 8, ACCESS_IMPLICIT))
        return false;
    if (!guest_canonical(cpu, *rsp))
        return fault_raise(cpu, VECTOR_SS, external);
    return true;
}

static bool has_error_code(uint8_t vector, uint8_t kind)
{
    bool exception = kind == EVENT_FAULT || kind == EVENT_TRAP;

    return exception && (vector == 8 || (vector >= 10 && vector <= 14) || vector == 17);
}

static uint64_t pushed_flags(const struct model_cpu *cpu, const struct event *event)
{
    uint64_t flags = cpu->vmcb->save.rflags;

    /* Faults set RF so that a code breakpoint does not strike twice. */
    if (event->kind == EVENT_FAULT && event->vector != VECTOR_DB)
        flags |= FLAG_RF;
    return flags;
}

/* The frame of 64-bit mode, at rsp. */
static bool push_long(struct model_cpu *cpu, const struct event *event, unsigned cpl,
                      uint64_t rsp)
{
    const struct vmcb_save *save = &cpu->vmcb->save;
    uint64_t frame[6] = {event->error,      event->return_rip,
                         save->cs.selector, pushed_flags(cpu, event),
                         cpu->gpr[RSP],     save->ss.selector};
    unsigned skip = has_error_code(event->vector, event->kind) ? 0 : 1;
    size_t bytes = sizeof(frame) - 8 * skip;

    rsp = (rsp & ~15ull) - bytes;
    if (!guest_write(cpu, rsp, frame + skip, bytes,
                     ACCESS_STACK | (cpl == 3 ? ACCESS_USER : 0)))
        return false;
    cpu->gpr[RSP] = rsp;
    return true;
}

/* The frame outside IA-32e mode, on the stack in use. */
static bool push_words(struct model_cpu *cpu, const struct event *event, unsigned bytes)
{
    const struct vmcb_save *save = &cpu->vmcb->save;
    uint64_t rsp = cpu->gpr[RSP];
    bool with_code = bytes == 4 && has_error_code(event->vector, event->kind);

    if (stack_push(cpu, pushed_flags(cpu, event), bytes) &&
        stack_push(cpu, save->cs.selector, bytes) &&
        stack_push(cpu, event->return_rip, bytes) &&
        (!with_code || stack_push(cpu, event->error, bytes)))
        return true;
    cpu->gpr[RSP] = rsp;
    return false;
}

/* Through the vector table of real mode: SDM Vol. 3, "Real-Address Mode Operation". */
static bool deliver_real(struct model_cpu *cpu, const struct event *event)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    uint16_t vector[2];

    if (event->vector * 4u + 3 > save->idtr.limit)
        return fault_raise(cpu, VECTOR_GP, 0);
    if (!guest_read(cpu, save->idtr.base + event->vector * 4u, vector, 4, ACCESS_IMPLICIT) ||
        !push_words(cpu, event, 2))
        return false;
    code_load_real(cpu, vector[1], vector[0]);
    save->rflags &= ~(FLAG_TF | FLAG_IF | FLAG_RF | FLAG_AC);
    return true;
}

/* One attempt; false leaves the guest untouched and cpu->fault set. */
static bool deliver_once(struct model_cpu *cpu, const struct event *event)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    struct gate gate;
    struct descriptor code;
    uint64_t rsp;

    if (!(save->cr0 & CR0_PE))
        return deliver_real(cpu, event);
    if (!read_gate(cpu, event, &gate) || !read_handler(cpu, event, &gate, &code))
        return false;
    unsigned old_cpl = guest_cpl(cpu), cpl = old_cpl;
    if (!(code.attributes & SEGMENT_TYPE_CONFORM))
        cpl = descriptor_dpl(code.attributes);
    if (!choose_stack(cpu, &gate, cpl, external_bit(event), &rsp))
        return false;
    if (!guest_canonical(cpu, gate.rip))
        return fault_raise(cpu, VECTOR_GP, external_bit(event));
    if (!(save->efer & EFER_LMA ? push_long(cpu, event, cpl, rsp) : push_words(cpu, event, 4)))
        return false;
    if (cpl != old_cpl) {
        segment_load_null(&save->ss, (uint16_t)cpl, cpl);
        cpl_set(cpu, cpl);
    }
    descriptor_load(cpu, &save->cs, &code, (uint16_t)((gate.selector & ~3u) | cpl));
    save->rip = gate.rip;
    save->rflags &= ~(FLAG_TF | FLAG_NT | FLAG_RF | FLAG_VM);
    if (gate.type == GATE_INTERRUPT)
        save->rflags &= ~FLAG_IF;
    return true;
}

/* --- one event inside another */

static bool is_contributory(uint8_t vector)
{
    return vector == VECTOR_DE || (vector >= VECTOR_TS && vector <= VECTOR_GP);
}

/* What a fault during the delivery of an event becomes; false means shutdown. */
static bool combine(const struct event *event, const struct fault *second, struct event *out)
{
    bool exception = event->kind == EVENT_FAULT || event->kind == EVENT_TRAP;
    uint8_t first = exception ? event->vector : VECTOR_DB; /* benign */
    bool second_serious = is_contributory(second->vector) || second->vector == VECTOR_PF;

    *out = (struct event){.vector = second->vector,
                          .kind = EVENT_FAULT,
                          .error = second->error,
                          .address = second->address,
                          .return_rip = event->restart_rip,
                          .restart_rip = event->restart_rip,
                          .from_rip = event->restart_rip};
    if (exception && first == VECTOR_DF && second_serious)
        return false;
    bool doubles = exception && ((is_contributory(first) && is_contributory(second->vector)) ||
                                 (first == VECTOR_PF && second_serious));
    if (doubles) {
        out->vector = VECTOR_DF;
        out->error = 0;
    }
    return true;
}

static uint8_t transfer_kind(const struct event *event)
{
    if (event->vector == VECTOR_DB && event->kind != EVENT_INTERRUPT)
        return TRANSFER_DEBUG;
    switch (event->kind) {
    case EVENT_SOFTWARE:
        return TRANSFER_SOFTWARE;
    case EVENT_INTERRUPT:
        return TRANSFER_INTERRUPT;
    case EVENT_NMI_TAKEN:
        return TRANSFER_NMI;
    }
    return TRANSFER_EXCEPTION;
}

static bool record_event(struct model_cpu *cpu, const struct event *event, uint64_t from,
                         uint64_t to, unsigned cpl_before, unsigned cpl_after)
{
    struct transfer transfer = {.from = from,
                                .to = to,
                                .cpl_before = (uint8_t)cpl_before,
                                .cpl_after = (uint8_t)cpl_after,
                                .kind = transfer_kind(event),
                                .length = 1,
                                .from_legacy = cpu->from_legacy,
                                .to_legacy = !(cpu->vmcb->save.efer & EFER_LMA)};

    return record_transfer(cpu, &transfer);
}

/* A policy records the event that never reached its handler too: where it was bound for. */
static void record_attempt(struct model_cpu *cpu, const struct event *event, uint64_t from)
{
    struct fault kept = cpu->fault;
    struct gate gate;

    if (policy(POLICY_DF_RECORDS) == DF_EACH && load_gate(cpu, event, &gate))
        record_event(cpu, event, from, gate.rip, guest_cpl(cpu), gate.selector & 3);
    cpu->fault = kept;
}

static void debug_exception_effects(struct model_cpu *cpu)
{
    uint64_t cleared = DEBUGCTL_LBR | DEBUGCTL_BTF;

    if (defect(DEFECT_BTF_KEPT))
        cleared &= ~DEBUGCTL_BTF;
    if (defect(DEFECT_LBR_KEPT))
        cleared &= ~DEBUGCTL_LBR;
    if (defect(DEFECT_DB_CLEARS_TR) || (defect(DEFECT_WATCH_CLEARS_TR) && watch_caused(cpu)))
        cleared |= DEBUGCTL_TR;
    cpu->debugctl &= ~cleared;
    cpu->dr7 &= ~0x2000ull; /* GD */
}

/* INT n and its like retire with their delivery; a policy counts other events as well. */
static bool retire_event(struct model_cpu *cpu, const struct event *event, uint64_t linear,
                         unsigned cpl_before)
{
    struct retired retired = {.linear = linear,
                              .count = 1,
                              .class = INSN_INT,
                              .taken = true,
                              .cpl_before = (uint8_t)cpl_before,
                              .cpl_after = (uint8_t)guest_cpl(cpu)};
    bool instruction = event->kind == EVENT_SOFTWARE || event->kind == EVENT_ICEBP ||
                       policy(POLICY_PMC_EVENT) == EVENT_INSTRUCTION;

    if (event->kind == EVENT_FAULT && defect(DEFECT_PMC_FAULTS)) {
        retired.class = INSN_PLAIN;
        instruction = true;
    }
    return !cpu->perf.live || !instruction || count_retired(cpu, &retired);
}

void deliver(struct model_cpu *cpu, const struct event *event)
{
    struct event current = *event;

    cpu->shadow = false;
    cpu->halted = false;
    for (;;) {
        uint64_t from = recorded_address(cpu, current.from_rip);

        cpu->from_legacy = !guest_long_code(cpu);
        unsigned cpl_before = guest_cpl(cpu);
        uint64_t linear = guest_code_linear(cpu, current.restart_rip);
        if (current.vector == VECTOR_PF && current.kind == EVENT_FAULT)
            cpu->vmcb->save.cr2 = current.address;
        if (deliver_once(cpu, &current)) {
            bool recorded =
                retire_event(cpu, &current, linear, cpl_before) &&
                record_event(cpu, &current, from, recorded_address(cpu, cpu->vmcb->save.rip),
                             cpl_before, guest_cpl(cpu));

            if (current.vector == VECTOR_DB && defect(DEFECT_CR2_DEBUG))
                cpu->vmcb->save.cr2 = 0;
            if (current.vector == VECTOR_DB && current.kind != EVENT_INTERRUPT)
                debug_exception_effects(cpu);
            if (recorded)
                return;
            /* The store faulted, and the policy makes that an exception of its own. */
            current = (struct event){.vector = cpu->fault.vector,
                                     .kind = EVENT_FAULT,
                                     .error = cpu->fault.error,
                                     .address = cpu->fault.address,
                                     .return_rip = cpu->vmcb->save.rip,
                                     .restart_rip = cpu->vmcb->save.rip,
                                     .from_rip = cpu->vmcb->save.rip};
            continue;
        }
        record_attempt(cpu, &current, from);
        struct event next;
        if (!combine(&current, &cpu->fault, &next))
            machine_shutdown();
        current = next;
    }
}

void deliver_fault(struct model_cpu *cpu)
{
    uint64_t rip = cpu->vmcb->save.rip;
    struct event event = {.vector = cpu->fault.vector,
                          .kind = EVENT_FAULT,
                          .error = cpu->fault.error,
                          .address = cpu->fault.address,
                          .return_rip = rip,
                          .restart_rip = rip,
                          .from_rip = rip + (defect(DEFECT_EXCEPTION_NEXT) ? 1 : 0)};

    deliver(cpu, &event);
}

void deliver_debug_trap(struct model_cpu *cpu, uint64_t dr6_bits, uint64_t from_rip)
{
    uint64_t rip = cpu->vmcb->save.rip;
    struct event event = {.vector = VECTOR_DB,
                          .kind = EVENT_TRAP,
                          .return_rip = rip,
                          .restart_rip = rip,
                          .from_rip = from_rip};

    cpu->dr6 |= dr6_bits | cpu->watch_hits;
    cpu->watch_hits = 0;
    deliver(cpu, &event);
}
