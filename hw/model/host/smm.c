/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System-management interrupts, and what they leave of the recording.
 *
 * A PC raises one at each write to the command port of advanced power management. The handler
 * is firmware's, out of the guest's sight: here it is a row of jumps in SMRAM. What the
 * processor does around it: SDM Vol. 3, "BTS and DS Save Area" (nothing is stored in there) and
 * "IA32_DEBUGCTL MSR" (FREEZE_WHILE_SMM).
 */
#include "hw/model/bts/bts.h"
#include "hw/model/host/host.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/processor/insns.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/policy.h"

#define SMRAM_ENTRY   0x38000ull /* SMBASE after reset, and 8000H */
#define HANDLER_JUMPS 40
#define JUMP_BYTES    16
#define FROZEN        (DEBUGCTL_LBR | DEBUGCTL_BTF | DEBUGCTL_TR | DEBUGCTL_BTS)

/* Fields of EXITINFO1: APM Vol. 2, "IOIO Intercept". */
enum { IO_IN = 1 << 0, IO_STRING = 1 << 2, IO_BYTE = 1 << 4, IO_PORT_SHIFT = 16 };

static void run_handler(struct model_cpu *cpu)
{
    cpu->in_smm = true;
    for (unsigned i = 0; i < HANDLER_JUMPS; i++) {
        uint64_t from = SMRAM_ENTRY + i * JUMP_BYTES;
        struct transfer jump = {.from = from,
                                .to = from + JUMP_BYTES,
                                .kind = TRANSFER_JUMP,
                                .class = INSN_JMP,
                                .length = 2};
        struct retired retired = {.linear = from, .count = 1, .class = INSN_JMP, .taken = true};

        if (cpu->perf.live)
            count_retired(cpu, &retired);
        record_transfer(cpu, &jump);
    }
    cpu->in_smm = false;
}

static void interrupt(struct model_cpu *cpu)
{
    uint64_t debugctl = cpu->debugctl, control = cpu->perf.control;
    bool freeze = debugctl & DEBUGCTL_FREEZE_SMM && !defect(DEFECT_SMM_FREEZE_IGNORED);

    cpu->smi_count++;
    cpu->lose_next = defect(DEFECT_SMM_NEXT_LOST);
    if (freeze) {
        cpu->debugctl &= ~FROZEN;
        cpu->perf.control = defect(DEFECT_SMM_COUNTS) ? control : 0;
        count_refresh(cpu);
    }
    run_handler(cpu);
    if (!freeze) {
        if (policy(POLICY_AFTER_SMM) == AFTER_OFF)
            cpu->debugctl &= ~DEBUGCTL_TR;
        return;
    }
    cpu->debugctl = debugctl;
    if (defect(DEFECT_SMM_TR_LOST))
        cpu->debugctl &= ~(DEBUGCTL_TR | DEBUGCTL_BTS);
    if (defect(DEFECT_SMM_FREEZE_LOST))
        cpu->debugctl &= ~DEBUGCTL_FREEZE_PERFMON;
    cpu->perf.control = defect(DEFECT_SMM_CONTROL_LOST) ? 0 : control;
    count_refresh(cpu);
}

void smm_port_exit(struct model_cpu *cpu)
{
    uint64_t info = cpu->vmcb->control.exit_info1;
    uint16_t port = (uint16_t)(info >> IO_PORT_SHIFT);

    if (info & IO_STRING || !(info & IO_BYTE))
        machine_panic(cpu, "access to the command port that is no byte", info);
    if (info & IO_IN) {
        cpu->gpr[RAX] = (cpu->gpr[RAX] & ~0xFFull) | port_read(port);
    } else {
        port_write(port, (uint8_t)cpu->gpr[RAX]);
        interrupt(cpu);
    }
    instruction_done(cpu);
}
