/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processors that the guest starts come up inside the model.
 *
 * An INIT goes to the processor as it is: it takes that one out of the model and leaves it
 * waiting, its local APIC reset. The start-up message that follows names the page where the
 * guest wants it; instead it is sent to a page of the model's, and the processor enters the
 * guest's page from there as a guest, in the state that an INIT leaves.
 * Source: SDM Vol. 3, "Multiple-Processor (MP) Initialization", "Processor State After Reset",
 * "Interrupt Command Register (ICR)".
 */
#include "hw/model/host/host.h"
#include "hw/model/host/stay.h"
#include "hw/model/processor/insns.h"
#include "hw/model/processor/svm.h"

#define PAGE_BYTES     4096ull
#define FOUR_GIB       (1ull << 32)
#define CR0_AFTER_INIT 0x60000010ull
#define REAL_LIMIT     0xFFFFu
#define REAL_CODE      0x9Bu
#define REAL_DATA      0x93u
#define REAL_LDT       0x82u
#define REAL_TSS       0x8Bu

_Static_assert(sizeof(struct seat) == STARTUP_SEAT_BYTES, "startup.asm");

static uint64_t top_of_ram;

/* --- on the processor that starts --- */

static struct vmcb_segment real_segment(uint16_t selector, uint16_t attributes)
{
    return (struct vmcb_segment){.selector = selector,
                                 .attributes = attributes,
                                 .limit = REAL_LIMIT,
                                 .base = (uint64_t)selector << 4};
}

static void reset_guest(struct model_cpu *cpu, uint32_t page)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    /* FS to TR lie in the processor; the MSRs beside them keep their values. */
    machine_save_hidden(cpu);
    save->fs = save->gs = real_segment(0, REAL_DATA);
    save->ldtr = real_segment(0, REAL_LDT);
    save->tr = real_segment(0, REAL_TSS);
    machine_load_hidden(cpu);
    save->cs = real_segment((uint16_t)(page << 8), REAL_CODE);
    save->ds = save->es = save->ss = real_segment(0, REAL_DATA);
    save->gdtr = save->idtr = (struct vmcb_segment){.limit = REAL_LIMIT};
    save->efer = EFER_SVME;
    save->cr0 = CR0_AFTER_INIT;
    save->cr2 = save->cr3 = save->cr4 = 0;
    save->dr6 = DR6_FIXED;
    save->dr7 = DR7_FIXED;
    save->rflags = FLAG_FIXED;
    save->rip = 0;
    for (unsigned i = 0; i < 16; i++)
        cpu->gpr[i] = 0;
    cpu->gpr[RDX] = cpuid(1, 0).eax;
}

/* On the host's stack and tables: the stack pointer of the way here is not the guest's. */
static void begin(struct model_cpu *cpu)
{
    cpu->gpr[RSP] = 0;
    host_loop(cpu);
}

_Noreturn void startup_arrived(struct seat *seat);
_Noreturn void startup_arrived(struct seat *seat)
{
    struct model_cpu *cpu = processor_build(seat->memory, top_of_ram);
    processor_claim(cpu);
    reset_guest(cpu, seat->page);
    machine_launch(cpu, begin);
    __builtin_unreachable();
}

/* --- before the first processor enters --- */

size_t model_shared_bytes(uint64_t top, size_t kept, uint64_t kept_bytes)
{
    return nested_pages(top, kept, kept_bytes) * PAGE_BYTES;
}

static void protect(const struct model_stay *stay)
{
    for (size_t i = 0; i < stay->kept_count; i++)
        if (stay->kept[i].code)
            nested_read_only(stay->kept[i].start, stay->kept[i].bytes);
        else
            nested_hide(stay->kept[i].start, stay->kept[i].bytes);
}

enum model_status model_stay(const struct model_stay *stay)
{
    size_t bytes = model_memory_bytes(stay->top_of_ram);
    uint64_t first_tables = 0;

    if (stay->seat_count > MODEL_SEATS_MAX || (uintptr_t)stay->low_page >= 0x100000)
        return MODEL_NO_MEMORY;
    top_of_ram = stay->top_of_ram;
    startup_seat_count = (uint32_t)stay->seat_count;
    for (size_t i = 0; i < stay->seat_count; i++) {
        uint8_t *memory = stay->seats[i].memory;
        /* It starts below 4 GiB, in code without 64-bit addresses. */
        if ((uintptr_t)memory + bytes > FOUR_GIB)
            return MODEL_NO_MEMORY;
        struct model_cpu *cpu = processor_build(memory, top_of_ram);
        if (i == 0)
            first_tables = processor_long_tables(cpu);
        startup_seats[i] = (struct seat){.apic_id = stay->seats[i].apic_id,
                                         .stack_top = cpu->host_stack_top,
                                         .memory = memory};
    }
    nested_build(stay->shared, stay->shared_bytes / PAGE_BYTES, top_of_ram);
    protect(stay);
    startup_page_used = stay->low_page;
    startup_fill(startup_page_used, first_tables);
    return MODEL_OK;
}
