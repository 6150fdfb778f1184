/* SPDX-License-Identifier: BSD-2-Clause */
/* The hidden state in the VMCB, and the last words of a model that cannot go on. */
#include "hw/model/processor/cpu.h"
#include "hw/model/processor/insns.h"
#include "hw/model/processor/refusal.h"
#include "hw/model/processor/svm.h"

#define SERIAL_PORT  0x3F8
#define SERIAL_READY 0x20
#define SERIAL_LIMIT 100000
#define CODE_BYTES   8
#define DIGITS       "0123456789abcdef"

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
        put_character(DIGITS[value >> shift & 15]);
}

/* The bytes of the instruction at rip, as far as they can be read. */
static void put_code(struct model_cpu *cpu, uint64_t rip)
{
    uint8_t byte;
    uint64_t linear = guest_code_linear(cpu, rip);

    put_text(" code=");
    for (unsigned i = 0; i < CODE_BYTES; i++) {
        if (!guest_read(cpu, linear + i, &byte, 1, ACCESS_FETCH | ACCESS_KEEP_AD))
            break;
        put_character(DIGITS[byte >> 4]);
        put_character(DIGITS[byte & 15]);
    }
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
        put_code(cpu, cpu->vmcb->save.rip);
    }
    put_text("\r\n");
    machine_shutdown();
}

_Noreturn void machine_refused(struct model_cpu *cpu)
{
    struct refusal refusal = refusal_find(&cpu->entry, cpu->physical_bits);
    struct vmcb_save *save = &cpu->vmcb->save;

    /* An emulator has written over what the guest's memory is found by. */
    save->cr0 = cpu->entry.cr0;
    save->cr3 = cpu->entry.cr3;
    save->cr4 = cpu->entry.cr4;
    save->efer = cpu->entry.efer;
    save->cs.attributes = cpu->entry.cs_attributes;
    save->cs.base = cpu->entry.cs_base;
    guest_forget_translations(cpu);
    put_text("\r\n# model: VMRUN refuses the guest: ");
    put_text(refusal.field ? refusal.field : "a field not known, CR4");
    put_number("=", refusal.value);
    put_number(" rip=", cpu->entry.rip);
    put_number(" event=", cpu->entry.event);
    put_code(cpu, cpu->entry.rip);
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
