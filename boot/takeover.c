/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order in which the firmware's state is saved, replaced and put back.
 *
 * Three hazards decide it. An interrupt that the firmware's timer has already latched would be
 * delivered at the first IF = 1, so the task priority goes up first and comes down last; the
 * kernel's own vectors lie above it. ExtINT ignores the task priority, so LINT0 is masked.
 * The task register cannot be emptied again: LTR of a null selector faults.
 */
#include "boot/takeover.h"

#include "hw/apic.h"
#include "hw/irq.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/regs.h"

#define TPR_ABOVE_FIRMWARE 0xD0u

/* Shared with boot/takeover.asm. */
struct __attribute__((packed)) descriptor_register {
    uint16_t limit;
    uint64_t base;
};
struct __attribute__((packed, aligned(16))) machine_registers {
    uint8_t fx_image[512];
    struct descriptor_register gdtr, idtr;
    uint16_t cs, ds, es, fs, gs, ss, ldtr, tr;
    uint64_t cr0, cr2, cr3, cr4;
    uint64_t dr[4], dr6, dr7;
};
_Static_assert(__builtin_offsetof(struct machine_registers, gdtr) == 0x200, "takeover.asm");
_Static_assert(__builtin_offsetof(struct machine_registers, cs) == 0x214, "takeover.asm");
_Static_assert(__builtin_offsetof(struct machine_registers, tr) == 0x222, "takeover.asm");
_Static_assert(__builtin_offsetof(struct machine_registers, cr0) == 0x224, "takeover.asm");
_Static_assert(__builtin_offsetof(struct machine_registers, dr) == 0x244, "takeover.asm");
_Static_assert(__builtin_offsetof(struct machine_registers, dr7) == 0x26C, "takeover.asm");

void machine_save(struct machine_registers *to);
void machine_restore(const struct machine_registers *from, bool task);

static const uint32_t saved_msr_numbers[] = {
    MSR_IA32_STAR,    MSR_IA32_LSTAR,   MSR_IA32_CSTAR,          MSR_IA32_FMASK,
    MSR_IA32_FS_BASE, MSR_IA32_GS_BASE, MSR_IA32_KERNEL_GS_BASE, MSR_IA32_EFER,
};
#define SAVED_MSRS (sizeof(saved_msr_numbers) / sizeof(saved_msr_numbers[0]))

/* In the order of masking. The entries from CMCI on exist from a certain version on. */
static const struct {
    enum apic_register reg;
    unsigned highest_entry; /* that the version register must report */
} local_vectors[] = {
    {APIC_LVT_TIMER, 0}, {APIC_LVT_LINT0, 0}, {APIC_LVT_LINT1, 0},   {APIC_LVT_ERROR, 3},
    {APIC_LVT_PERF, 4},  {APIC_LVT_CMCI, 6},  {APIC_LVT_THERMAL, 5},
};
#define LOCAL_VECTORS (sizeof(local_vectors) / sizeof(local_vectors[0]))

/* Of one processor; lies on its firmware stack while it is ours. */
struct firmware_state {
    struct machine_registers registers;
    uint64_t msr[SAVED_MSRS];
    uint32_t tpr, svr, ldr, dfr, timer_initial, timer_divide;
    uint32_t lvt[LOCAL_VECTORS];
    unsigned lvt_highest;
    bool in_x2apic; /* entered by this take-over */
};
static bool active; /* the processor that booted: no boot service may be called */
static bool use_x2apic;

static void save_and_mask_apic(struct firmware_state *firmware)
{
    firmware->tpr = apic_read(APIC_TPR);
    apic_write(APIC_TPR, TPR_ABOVE_FIRMWARE);
    firmware->svr = apic_read(APIC_SVR);
    firmware->timer_initial = apic_read(APIC_TIMER_INITIAL);
    firmware->timer_divide = apic_read(APIC_TIMER_DIVIDE);
    firmware->lvt_highest = apic_read(APIC_VERSION) >> 16 & 0xFF;
    for (unsigned i = 0; i < LOCAL_VECTORS; i++) {
        if (local_vectors[i].highest_entry > firmware->lvt_highest)
            continue;
        firmware->lvt[i] = apic_read(local_vectors[i].reg);
        apic_write(local_vectors[i].reg, firmware->lvt[i] | LVT_MASKED);
    }
}

static void enter_x2apic(struct firmware_state *firmware)
{
    firmware->in_x2apic = false;
    if (!use_x2apic || apic_mode() != APIC_XAPIC)
        return;
    firmware->ldr = apic_read(APIC_LDR);
    firmware->dfr = apic_read(APIC_DFR);
    firmware->in_x2apic = apic_enter_x2apic();
}

/* Leaving resets the local APIC: what restore_apic does not write is written here. */
static void leave_x2apic(struct firmware_state *firmware)
{
    if (!firmware->in_x2apic)
        return;
    apic_leave_x2apic();
    apic_write(APIC_TPR, TPR_ABOVE_FIRMWARE);
    apic_write(APIC_DFR, firmware->dfr);
    apic_write(APIC_LDR, firmware->ldr);
}

/* The task priority stays high: it comes down last, once the firmware's IDT is loaded. */
static void restore_apic(struct firmware_state *firmware)
{
    apic_write(APIC_SVR, firmware->svr);
    for (unsigned i = LOCAL_VECTORS; i-- > 0;)
        if (local_vectors[i].highest_entry <= firmware->lvt_highest)
            apic_write(local_vectors[i].reg, firmware->lvt[i]);
    /*
     * A one-shot of ours has replaced the count the firmware's periodic timer reloads. Writing
     * it restarts the period, so it is left alone when nobody used the timer: take-overs that
     * follow one another closely would otherwise never let a period end.
     */
    if (apic_read(APIC_TIMER_INITIAL) == firmware->timer_initial &&
        apic_read(APIC_TIMER_DIVIDE) == firmware->timer_divide)
        return;
    apic_write(APIC_TIMER_DIVIDE, firmware->timer_divide);
    apic_write(APIC_TIMER_INITIAL, firmware->timer_initial);
}

/*
 * TR is still the kernel's when firmware never had one. So it is the firmware's only if it
 * names a present TSS inside the firmware's own GDT; the kernel's selector lies beyond it.
 */
static bool task_register_is_firmwares(const struct firmware_state *firmware)
{
    const struct machine_registers *r = &firmware->registers;
    const uint8_t *descriptor = (const uint8_t *)(uintptr_t)r->gdtr.base + (r->tr & ~7u);
    uint8_t access;

    if ((r->tr & ~7u) == 0 || (r->tr & 4) != 0 || (r->tr & ~7u) + 15u > r->gdtr.limit)
        return false;
    access = descriptor[5];
    return (access & 0x9D) == 0x89; /* present, system, 64-bit TSS, busy or not */
}

static void save_msrs(struct firmware_state *firmware)
{
    for (unsigned i = 0; i < SAVED_MSRS; i++)
        firmware->msr[i] = msr_read(saved_msr_numbers[i]);
}

static void restore_msrs(struct firmware_state *firmware)
{
    for (unsigned i = 0; i < SAVED_MSRS; i++)
        msr_write(saved_msr_numbers[i], firmware->msr[i]);
}

uint64_t takeover_run(struct cpu *cpu, uint64_t cr3, uint64_t (*fn)(void *), void *arg)
{
    irqflags_t flags = irq_save();
    struct firmware_state firmware;
    bool task;
    uint64_t value;

    machine_save(&firmware.registers);
    save_msrs(&firmware);
    task = task_register_is_firmwares(&firmware);
    save_and_mask_apic(&firmware);
    enter_x2apic(&firmware);
    dr7_write(DR7_FIXED);
    cpu_load(cpu, cr3);
    if (cpu->index == 0)
        active = true;

    value = cpu_call_on_main_stack(cpu, fn, arg);

    if (cpu->index == 0)
        active = false;
    leave_x2apic(&firmware);
    restore_apic(&firmware);
    machine_restore(&firmware.registers, task);
    /* Behind the selectors, whose loading clears the FS and GS bases. */
    restore_msrs(&firmware);
    apic_write(APIC_TPR, firmware.tpr);
    irq_restore(flags);
    return value;
}

void takeover_use_x2apic(bool use)
{
    use_x2apic = use;
}

bool takeover_active(void)
{
    return active;
}

_Noreturn void takeover_triple_fault(void)
{
    static const struct descriptor_register empty;

    __asm__ volatile("lidt %0\n\tint3" : : "m"(empty));
    __builtin_unreachable();
}
