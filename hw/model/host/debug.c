/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest's debug registers, which stepping borrows.
 *
 * One emulator arms breakpoints only at MOV to DR7 in the world that executes it, and keeps
 * them armed across worlds; so writes of DR7 are always intercepted and executed here too.
 */
#include "hw/model/host/host.h"
#include "hw/model/processor/insns.h"

uint64_t debug_register_read(struct model_cpu *cpu, unsigned number)
{
    if (number == 6)
        return cpu->stepping ? cpu->dr6 : cpu->vmcb->save.dr6;
    if (number == 7)
        return cpu->stepping ? cpu->dr7 : cpu->vmcb->save.dr7;
    return cpu->dr[number & 3];
}

void debug_register_write(struct model_cpu *cpu, unsigned number, uint64_t value)
{
    if (number == 7) {
        value |= DR7_FIXED;
        if (cpu->stepping) {
            cpu->dr7 = value;
        } else {
            cpu->vmcb->save.dr7 = value;
            write_dr7(value);
        }
    } else if (number == 6) {
        cpu->dr6 = (value & 0x1E00Full) | DR6_FIXED;
        if (!cpu->stepping)
            cpu->vmcb->save.dr6 = cpu->dr6;
    } else {
        cpu->dr[number & 3] = value;
    }
}

static void intercepts(struct model_cpu *cpu, bool on)
{
    struct vmcb_control *control = &cpu->vmcb->control;
    uint32_t events =
        INTERCEPT1_INTR | INTERCEPT1_NMI | INTERCEPT1_INTN | INTERCEPT1_IRET | INTERCEPT1_HLT;

    control->exceptions = on ? ~(1u << VECTOR_NMI) : 0;
    control->dr_read = on ? 0xFF : 0;
    control->dr_write = on ? 0xFF : 1 << 7 | 1 << 5;
    if (on)
        control->intercept1 |= events;
    else
        control->intercept1 &= ~events;
}

void step_begin(struct model_cpu *cpu)
{
    cpu->dr[0] = read_dr0();
    cpu->dr[1] = read_dr1();
    cpu->dr[2] = read_dr2();
    cpu->dr[3] = read_dr3();
    cpu->dr6 = cpu->vmcb->save.dr6;
    cpu->dr7 = cpu->vmcb->save.dr7;
    write_dr7(DR7_FIXED);
    intercepts(cpu, true);
    guest_forget_translations(cpu);
    cpu->halted = false;
    cpu->stop_armed = false;
    cpu->watch_hits = 0;
    cpu->stepping = true;
}

void step_end(struct model_cpu *cpu)
{
    cpu->stepping = false;
    cpu->stop_armed = false;
    intercepts(cpu, false);
    write_dr0(cpu->dr[0]);
    write_dr1(cpu->dr[1]);
    write_dr2(cpu->dr[2]);
    write_dr3(cpu->dr[3]);
    cpu->vmcb->save.dr6 = cpu->dr6;
    cpu->vmcb->save.dr7 = cpu->dr7;
    write_dr7(cpu->dr7);
}
