/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the guest writes to its local APIC, looked at for commands that start a processor.
 *
 * Reads go straight to the device. A write is carried out here, with the value that the
 * instruction has; the command to start is changed on the way (startup.c).
 * Source: SDM Vol. 3, "Local APIC", "Interrupt Command Register (ICR)".
 */
#include "hw/model/host/host.h"
#include "hw/model/host/stay.h"
#include "hw/model/processor/insns.h"

enum { REGISTER_ICR = 0x300, REGISTER_ICR_HIGH = 0x310, ICR_DESTINATION_SHIFT = 24 };
enum {
    OP_XCHG = 0x87,
    OP_MOV_STORE = 0x89,
    OP_MOV_OFFSET = 0xA3, /* from EAX */
    OP_MOV_IMMEDIATE = 0xC7
};

static volatile uint32_t *apic_register(uint64_t offset)
{
    return (volatile uint32_t *)(uintptr_t)(APIC_PAGE + offset);
}

/*
 * The register that holds what is written; NULL for an immediate, or when the instruction is
 * none of the known ones.
 */
static uint64_t *source(struct model_cpu *cpu, const struct insn *insn)
{
    if (insn->opcode == OP_XCHG || insn->opcode == OP_MOV_STORE)
        return &cpu->gpr[(insn->modrm >> 3 & 7) | (insn->rex & REX_R ? 8 : 0)];
    return insn->opcode == OP_MOV_OFFSET ? &cpu->gpr[RAX] : NULL;
}

static void write_register(uint64_t offset, uint32_t value)
{
    if (offset == REGISTER_ICR)
        value =
            startup_command(*apic_register(REGISTER_ICR_HIGH) >> ICR_DESTINATION_SHIFT, value);
    *apic_register(offset) = value;
}

void apic_page_write(struct model_cpu *cpu, uint64_t physical)
{
    struct insn insn;
    uint64_t linear = guest_code_linear(cpu, cpu->vmcb->save.rip), offset = physical & 0xFFF;
    guest_forget_translations(cpu);
    if (insn_fetch(cpu, linear, &insn) != FETCH_DECODED)
        machine_panic(cpu, "a write to the local APIC by code that cannot be read", linear);
    uint64_t *from = source(cpu, &insn);
    bool known = insn.map == MAP_ONE && (from || insn.opcode == OP_MOV_IMMEDIATE);
    if (!known || insn.operand_bytes != 4)
        machine_panic(cpu, "a write to the local APIC that is no 32-bit MOV or XCHG, opcode",
                      insn.opcode);
    uint32_t value = from ? (uint32_t)*from : (uint32_t)insn.immediate;
    if (insn.opcode == OP_XCHG)
        *from = *apic_register(offset);
    write_register(offset, value);
    instruction_done(cpu);
}

bool apic_command_write(struct model_cpu *cpu, uint64_t value)
{
    if (!(read_msr(MSR_APIC_BASE) & APIC_BASE_X2APIC))
        return fault_raise(cpu, VECTOR_GP, 0);
    uint32_t destination = (uint32_t)(value >> 32);
    uint32_t command = startup_command(destination, (uint32_t)value);
    write_msr(MSR_X2APIC + (REGISTER_ICR >> 4), (uint64_t)destination << 32 | command);
    return true;
}
