/* SPDX-License-Identifier: BSD-2-Clause */
/* Exits that happen whether the guest is traced or not. */
#include "hw/model/emulate/emulate.h"
#include "hw/model/host/host.h"
#include "hw/model/host/stay.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"

#define OP_MOV_TO_CR 0x22

static void msr_exit(struct model_cpu *cpu)
{
    bool is_write = cpu->vmcb->control.exit_info1 & 1;
    uint32_t index = (uint32_t)cpu->gpr[RCX];
    uint64_t value = (cpu->gpr[RDX] << 32) | (uint32_t)cpu->gpr[RAX];

    cpu->btf_before = cpu->debugctl & DEBUGCTL_BTF;
    if (guest_cpl(cpu) != 0 ||
        !(is_write ? msr_write(cpu, index, value) : msr_read(cpu, index, &value))) {
        raise_at_exit(cpu, VECTOR_GP, defect(DEFECT_FAULT_CODE) ? 8 : 0);
        return;
    }
    if (!is_write) {
        cpu->gpr[RAX] = (uint32_t)value;
        cpu->gpr[RDX] = value >> 32;
    }
    instruction_done(cpu);
}

void rdpmc_exit(struct model_cpu *cpu)
{
    uint64_t value;

    if (!perfmon_rdpmc(cpu, (uint32_t)cpu->gpr[RCX], &value)) {
        raise_at_exit(cpu, VECTOR_GP, 0);
        return;
    }
    cpu->gpr[RAX] = (uint32_t)value;
    cpu->gpr[RDX] = value >> 32;
    instruction_done(cpu);
}

static void hypercall_exit(struct model_cpu *cpu)
{
    if (guest_cpl(cpu) != 0 || cpu->gpr[RAX] != HYPERCALL_MAGIC) {
        raise_at_exit(cpu, VECTOR_UD, 0);
        return;
    }
    instruction_done(cpu);
    switch (cpu->gpr[RCX]) {
    case HYPERCALL_LEAVE:
        cpu->gpr[RAX] = 0;
        leave_guest(cpu);
    default:
        cpu->gpr[RAX] = 0;
    }
}

/*
 * MOV to or from a debug register. While stepping all of them are kept in software; without
 * it only writes of DR7 come here, so that the live register always agrees with the VMCB.
 */
static void debug_register_exit(struct model_cpu *cpu, bool is_write)
{
    struct insn insn;
    uint64_t linear = guest_code_linear(cpu, cpu->vmcb->save.rip);

    if (insn_fetch(cpu, linear, &insn) != FETCH_DECODED)
        machine_panic(cpu, "debug register instruction not readable", linear);
    unsigned number = insn.modrm >> 3 & 7;
    unsigned gpr = (insn.modrm & 7) | (insn.rex & REX_B ? 8 : 0);
    if (guest_cpl(cpu) != 0)
        return raise_at_exit(cpu, VECTOR_GP, 0);
    if (insn.rex & REX_R || ((number == 4 || number == 5) && cpu->vmcb->save.cr4 & CR4_DE))
        return raise_at_exit(cpu, VECTOR_UD, 0);
    if (number == 4 || number == 5)
        number += 2;
    if (is_write) {
        if (number >= 6 && cpu->gpr[gpr] >> 32)
            return raise_at_exit(cpu, VECTOR_GP, 0);
        debug_register_write(cpu, number, cpu->gpr[gpr]);
    } else {
        cpu->gpr[gpr] = debug_register_read(cpu, number);
    }
    instruction_done(cpu);
}

/*
 * VMRUN refuses a guest; and one emulator exits with the same code when the guest writes a
 * reserved bit of a control register, which is #GP (SDM Vol. 2, "MOV - Move to/from Control
 * Registers").
 */
static void invalid_exit(struct model_cpu *cpu)
{
    struct insn insn;
    uint64_t linear = guest_code_linear(cpu, cpu->vmcb->save.rip);

    if (insn_fetch(cpu, linear, &insn) != FETCH_DECODED || insn.map != MAP_0F ||
        insn.opcode != OP_MOV_TO_CR)
        machine_refused(cpu);
    raise_at_exit(cpu, VECTOR_GP, 0);
}

void handle_exit(struct model_cpu *cpu)
{
    uint64_t code = cpu->vmcb->control.exit_code;

    switch (code) {
    case EXIT_CPUID:
        cpuid_exit(cpu);
        break;
    case EXIT_MSR:
        msr_exit(cpu);
        break;
    case EXIT_RDPMC:
        rdpmc_exit(cpu);
        break;
    case EXIT_IO:
        smm_port_exit(cpu);
        break;
    case EXIT_VMMCALL:
        hypercall_exit(cpu);
        break;
    case EXIT_DR_READ ... EXIT_DR_READ + 15:
    case EXIT_DR_WRITE ... EXIT_DR_WRITE + 15:
        debug_register_exit(cpu, code >= EXIT_DR_WRITE);
        break;
    case EXIT_INVALID:
    case EXIT_INVALID_32:
        invalid_exit(cpu);
        break;
    case EXIT_NESTED:
        nested_exit(cpu);
        break;
    case EXIT_SHUTDOWN:
        machine_shutdown();
    case EXIT_VMRUN:
    case EXIT_VMMCALL + 1 ... EXIT_SKINIT:
        raise_at_exit(cpu, VECTOR_UD, 0);
        break;
    default:
        machine_panic(cpu, "unexpected exit", code);
    }
}
