/* SPDX-License-Identifier: BSD-2-Clause */
/* What only the real processor can do for the model, around the assembly routines. */
#include "hw/model/host/insns.h"
#include "hw/model/host/svm.h"
#include "hw/model/processor/cpu.h"

#define SERIAL_PORT  0x3F8
#define SERIAL_READY 0x20
#define SERIAL_LIMIT 100000

/*
 * The breakpoint of a step: DR0, execution, global. Writing DISARMED, which differs in the
 * legacy LE bit, makes every emulator take its breakpoint down whatever DR7 reads.
 */
#define DR7_ARMED    0x402ull
#define DR7_DISARMED 0x500ull

_Static_assert(offsetof(struct model_cpu, vmcb_physical) == 128, "svm.asm");
_Static_assert(offsetof(struct model_cpu, host_cr3) == 136, "launch.asm");
_Static_assert(offsetof(struct model_cpu, host_stack_top) == 144, "launch.asm");
_Static_assert(offsetof(struct model_cpu, host_gdtr) == 152, "launch.asm");
_Static_assert(offsetof(struct model_cpu, host_idtr) == 162, "launch.asm");
_Static_assert(offsetof(struct model_cpu, window_vector) == 172, "window.asm");
_Static_assert(offsetof(struct model_cpu, window_nmi) == 176, "window.asm");
_Static_assert(offsetof(struct model_cpu, bare.gdtr) == 200, "launch.asm");
_Static_assert(offsetof(struct model_cpu, bare.idtr) == 210, "launch.asm");
_Static_assert(offsetof(struct model_cpu, bare.ds) == 220, "launch.asm");
_Static_assert(offsetof(struct model_cpu, bare.cr3) == 224, "launch.asm");
_Static_assert(offsetof(struct model_cpu, bare.rip) == 232, "launch.asm");
_Static_assert(offsetof(struct model_cpu, bare.ss) == 264, "launch.asm");
_Static_assert(offsetof(struct model_cpu, bare.efer) == 272, "launch.asm");

void machine_save_hidden(struct model_cpu *cpu)
{
    machine_hidden_save(cpu->vmcb_physical);
}

void machine_load_hidden(struct model_cpu *cpu)
{
    machine_hidden_load(cpu->vmcb_physical);
}

void machine_window(struct model_cpu *cpu, bool interrupts)
{
    machine_window_open(cpu, interrupts);
}

void machine_run(struct model_cpu *cpu)
{
    struct vmcb *vmcb = cpu->vmcb;
    bool watching = cpu->stepping && watch_any(cpu);

    vmcb->save.rax = cpu->gpr[RAX];
    vmcb->save.rsp = cpu->gpr[RSP];
    vmcb->control.interrupt_state = cpu->shadow;
    if (cpu->stepping) {
        vmcb->save.dr6 = DR6_FIXED;
        vmcb->save.dr7 = cpu->stop_armed ? DR7_ARMED : DR7_FIXED;
        vmcb->save.dr7 |= watching ? watch_arm(cpu) : 0;
    }
    if (cpu->stop_armed)
        write_dr0(cpu->stop_at);
    if (cpu->stop_armed || watching)
        write_dr7(vmcb->save.dr7);
    machine_enter(cpu);
    if (cpu->stop_armed || watching)
        write_dr7(DR7_DISARMED);
    if (watching)
        watch_taken(cpu, vmcb->save.dr6);
    vmcb->control.event = 0;
    vmcb->control.tlb_control = 0;
    cpu->shadow = vmcb->control.interrupt_state & 1;
    cpu->gpr[RAX] = vmcb->save.rax;
    cpu->gpr[RSP] = vmcb->save.rsp;
    /* SS.DPL may lag behind after SYSRET on processors; here both always say the same. */
    cpl_set(cpu, vmcb->save.cpl);
    cpu->stats.exits++;
}

_Noreturn void machine_shutdown(void)
{
    /* A triple fault: an exception with no table to deliver it through. */
    struct table_register none = {0, 0};
    for (;;)
        __asm__ volatile("lidt %0\n\tud2" : : "m"(none));
}

static void put_character(char character)
{
    for (unsigned i = 0; i < SERIAL_LIMIT && !(port_read(SERIAL_PORT + 5) & SERIAL_READY); i++)
        ;
    port_write(SERIAL_PORT, (uint8_t)character);
}

static void put_text(const char *text)
{
    for (; *text; text++)
        put_character(*text);
}

static void put_number(const char *name, uint64_t value)
{
    put_text(name);
    for (int shift = 60; shift >= 0; shift -= 4)
        put_character("0123456789abcdef"[value >> shift & 15]);
}

/* The last word on the serial line; nothing else of the machine can be trusted here. */
_Noreturn void machine_panic(struct model_cpu *cpu, const char *reason, uint64_t detail)
{
    put_text("\r\n# model: ");
    put_text(reason);
    put_number(" ", detail);
    if (cpu) {
        put_number(" rip=", cpu->vmcb->save.rip);
        put_number(" exit=", cpu->vmcb->control.exit_code);
        put_number(" info=", cpu->vmcb->control.exit_info1);
        put_number(",", cpu->vmcb->control.exit_info2);
    }
    put_text("\r\n");
    machine_shutdown();
}

_Noreturn void machine_host_exception(const uint64_t *frame)
{
    put_text("\r\n# model: exception in the host");
    put_number(" vector=", frame[0]);
    put_number(" stack=", frame[1]);
    put_number(",", frame[2]);
    put_number(",", frame[3]);
    put_number(" cr2=", read_cr2());
    put_text("\r\n");
    machine_shutdown();
}
