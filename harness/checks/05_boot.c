/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The take-over itself: firmware gets back what it lent.
 *
 * Claim: between take-over and hand-back no interrupt source of the firmware reaches the
 * kernel, and afterwards the processor is as it was: registers, local APIC, running timer.
 * Source: SDM Vol. 3, "Advanced Programmable Interrupt Controller (APIC)", "Processor
 * Management and Initialization"; UEFI Specification, "x64 Platforms", "Handoff State".
 *
 * How: the checks stand in firmware mode, read everything themselves, take the machine over
 * without a provider, change on purpose whatever is restorable, and read again.
 *
 * Wrong if: firmware itself changes one of the registers in its timer interrupt between the
 * two readings (none does that was tried); TR is not compared, since it cannot be emptied.
 */
#define CHECK_GROUP "05 boot"
#include "harness/check/check.h"

#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/irq.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/tables.h"
#include "hw/trap.h"
#include "hw/user.h"

#define ROUND_TRIPS 1000u
#define STAY_MS     25u /* more than two periods of the firmware's 10 ms timer */

static void spin_ms(uint64_t tsc_khz, unsigned ms)
{
    uint64_t start = tsc_read();

    while (tsc_read() - start < tsc_khz * ms)
        cpu_pause();
}

/* --- how the kernel stands */

struct stand {
    unsigned calls;
    uint64_t rflags, cr0, cr3, rsp;
    uint16_t cs, ss, tr;
    struct cpu *cpu;
    uint32_t tpr, lvt_all; /* the AND of the local vector table: its mask bits */
};

static uint64_t look_around(void *arg)
{
    struct stand *s = arg;

    s->calls++;
    s->rflags = rflags_read();
    s->cr0 = cr0_read();
    s->cr3 = cr3_read();
    s->cpu = cpu_this();
    s->tpr = apic_read(APIC_TPR);
    s->lvt_all = apic_read(APIC_LVT_TIMER) & apic_read(APIC_LVT_LINT0) &
                 apic_read(APIC_LVT_LINT1) & apic_read(APIC_LVT_ERROR);
    __asm__ volatile("mov %%rsp, %0\n\tmov %%cs, %1\n\tmov %%ss, %2\n\tstr %3"
                     : "=r"(s->rsp), "=r"(s->cs), "=r"(s->ss), "=r"(s->tr));
    return s->calls * 3ull;
}

static bool stands_well(const struct stand *s)
{
    const struct cpu *cpu = cpu_get(0);
    uint64_t stack = (uint64_t)(uintptr_t)cpu->stacks[STACK_MAIN];

    return s->cpu == cpu && s->cr3 == paging_kernel_space()->cr3 &&
           s->rsp - stack < KERNEL_STACK_BYTES && (s->rflags & RFLAGS_IF) == 0 &&
           (s->cr0 & CR0_WP) != 0 && s->cs == SELECTOR_KERNEL_CS &&
           s->ss == SELECTOR_KERNEL_SS && s->tr != 0;
}

/* Two guards, of which either would do most of the time: so both are looked at. */
static bool is_shielded(const struct stand *s)
{
    return s->tpr >= 0xD0 && s->tpr < (VECTOR_TIMER & 0xF0) && (s->lvt_all & LVT_MASKED) != 0;
}

CHECK("boot.takeover.round_trips", SOFTWARE, "", NEED_FIRMWARE)
{
    struct stand s = {0};
    unsigned wrong_values = 0, wrong_stands = 0, unshielded = 0;

    for (unsigned i = 1; i <= ROUND_TRIPS; i++) {
        wrong_values += run->platform->take_over_bare(look_around, &s) != i * 3ull;
        wrong_stands += !stands_well(&s);
        unshielded += !is_shielded(&s);
    }
    EXPECT_EQ(run, s.calls, ROUND_TRIPS, "calls made");
    EXPECT_EQ(run, wrong_values, 0, "round trips that lost the value");
    EXPECT_EQ(run, wrong_stands, 0, "round trips with a wrong stack, space, selector or IF");
    EXPECT_EQ(run, unshielded, 0, "round trips with a low TPR or an open local vector");
}

/* --- what firmware gets back */

static const struct {
    const char *name;
    uint32_t number;
} restored_msrs[] = {
    {"STAR", MSR_IA32_STAR},       {"LSTAR", MSR_IA32_LSTAR},
    {"FMASK", MSR_IA32_FMASK},     {"CSTAR", MSR_IA32_CSTAR},
    {"FS base", MSR_IA32_FS_BASE}, {"KernelGSbase", MSR_IA32_KERNEL_GS_BASE},
    {"GS base", MSR_IA32_GS_BASE}, {"EFER", MSR_IA32_EFER},
};
#define MSRS (sizeof(restored_msrs) / sizeof(restored_msrs[0]))

static const struct {
    const char *name;
    enum apic_register reg;
} restored_apic[] = {
    {"TPR", APIC_TPR},
    {"SVR", APIC_SVR},
    {"LVT timer", APIC_LVT_TIMER},
    {"LINT0", APIC_LVT_LINT0},
    {"LINT1", APIC_LVT_LINT1},
    {"LVT perf", APIC_LVT_PERF},
    {"LVT error", APIC_LVT_ERROR},
};
#define APIC_REGISTERS (sizeof(restored_apic) / sizeof(restored_apic[0]))

enum {
    V_CR0,
    V_CR2,
    V_CR3,
    V_CR4,
    V_DR0,
    V_DR1,
    V_DR2,
    V_DR3,
    V_DR6,
    V_DR7,
    V_IF,
    V_CS_DS_ES_SS,
    V_FS_GS_LDTR,
    V_GDT_BASE,
    V_GDT_LIMIT,
    V_IDT_BASE,
    V_IDT_LIMIT,
    V_FCW,
    V_MXCSR,
    VALUES
};
static const char *const value_names[VALUES] = {
    "CR0",       "CR2",      "CR3",       "CR4", "DR0",         "DR1",        "DR2",
    "DR3",       "DR6",      "DR7",       "IF",  "CS DS ES SS", "FS GS LDTR", "GDT base",
    "GDT limit", "IDT base", "IDT limit", "FCW", "MXCSR"};

struct reading {
    uint64_t value[VALUES];
    uint64_t msr[MSRS];
    uint32_t apic[APIC_REGISTERS];
    uint8_t xmm[16][16];
};

struct __attribute__((packed)) table_register {
    uint16_t limit;
    uint64_t base;
};

/* Compiled code uses no SSE here, so the registers hold what the assembly puts there. */
#define EACH_XMM(X)                                                                            \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define STORE_XMM(n) __asm__ volatile("movdqu %%xmm" #n ", %0" : "=m"(r->xmm[n]));
#define LOAD_XMM(n)  __asm__ volatile("movdqu %0, %%xmm" #n : : "m"(xmm[n]));

static void load_xmm(uint8_t seed)
{
    static uint8_t xmm[16][16];

    for (unsigned i = 0; i < sizeof(xmm); i++)
        xmm[i / 16][i % 16] = (uint8_t)(seed + 5 * i);
    EACH_XMM(LOAD_XMM)
}

static void read_tables(struct reading *r)
{
    struct table_register gdt, idt;

    __asm__ volatile("sgdt %0\n\tsidt %1" : "=m"(gdt), "=m"(idt));
    r->value[V_GDT_BASE] = gdt.base;
    r->value[V_GDT_LIMIT] = gdt.limit;
    r->value[V_IDT_BASE] = idt.base;
    r->value[V_IDT_LIMIT] = idt.limit;
}

static void read_selectors(struct reading *r)
{
    uint16_t cs, ds, es, fs, gs, ss, ldtr;

    __asm__ volatile("mov %%cs, %0\n\tmov %%ds, %1\n\tmov %%es, %2\n\tmov %%ss, %3"
                     : "=r"(cs), "=r"(ds), "=r"(es), "=r"(ss));
    __asm__ volatile("mov %%fs, %0\n\tmov %%gs, %1\n\tsldt %2"
                     : "=r"(fs), "=r"(gs), "=r"(ldtr));
    r->value[V_CS_DS_ES_SS] = (uint64_t)cs << 48 | (uint64_t)ds << 32 | (uint64_t)es << 16 | ss;
    r->value[V_FS_GS_LDTR] = (uint64_t)fs << 32 | (uint64_t)gs << 16 | ldtr;
}

static void read_all(struct reading *r)
{
    uint16_t fcw;
    uint32_t mxcsr;
    irqflags_t flags = irq_save();

    memset(r, 0, sizeof(*r));
    EACH_XMM(STORE_XMM)
    __asm__ volatile("fnstcw %0\n\tstmxcsr %1" : "=m"(fcw), "=m"(mxcsr));
    r->value[V_FCW] = fcw;
    r->value[V_MXCSR] = mxcsr;
    r->value[V_IF] = flags & RFLAGS_IF;
    r->value[V_CR0] = cr0_read();
    r->value[V_CR2] = cr2_read();
    r->value[V_CR3] = cr3_read();
    r->value[V_CR4] = cr4_read();
    r->value[V_DR0] = dr0_read();
    __asm__ volatile("mov %%dr1, %0\n\tmov %%dr2, %1\n\tmov %%dr3, %2"
                     : "=r"(r->value[V_DR1]), "=r"(r->value[V_DR2]), "=r"(r->value[V_DR3]));
    r->value[V_DR6] = dr6_read();
    r->value[V_DR7] = dr7_read();
    read_tables(r);
    read_selectors(r);
    for (unsigned i = 0; i < MSRS; i++)
        r->msr[i] = msr_read(restored_msrs[i].number);
    for (unsigned i = 0; i < APIC_REGISTERS; i++)
        r->apic[i] = apic_read(restored_apic[i].reg) & ~LVT_DELIVERY_STATUS;
    irq_restore(flags);
}

/* Values by which one reading can be told from another. */
static void mark(uint16_t selector, uint64_t pattern)
{
    __asm__ volatile("mov %0, %%fs\n\tmov %0, %%gs" : : "r"((uint32_t)selector));
    for (unsigned i = 0; i < MSRS; i++)
        if (restored_msrs[i].number != MSR_IA32_EFER)
            msr_write(restored_msrs[i].number, pattern + i);
    cr2_write(pattern);
    __asm__ volatile("mov %0, %%dr0\n\tmov %1, %%dr1\n\tmov %2, %%dr2\n\tmov %3, %%dr3"
                     :
                     : "r"(pattern), "r"(pattern + 1), "r"(pattern + 2), "r"(pattern + 3));
    load_xmm((uint8_t)pattern);
}

/* Everything gets a value that firmware does not use; IF stays 0, so nothing can fire. */
static uint64_t make_a_mess(void *arg)
{
    static const uint16_t fcw = 0x0F7F;
    static const uint32_t mxcsr = 0x9FC0;

    (void)arg;
    mark(0, 0x13579099);
    __asm__ volatile("mov %0, %%ds\n\tmov %0, %%es" : : "r"(0));
    __asm__ volatile("fldcw %0\n\tldmxcsr %1" : : "m"(fcw), "m"(mxcsr));
    msr_write(MSR_IA32_EFER, msr_read(MSR_IA32_EFER) ^ EFER_SCE);
    for (unsigned i = 0; i < APIC_REGISTERS; i++)
        if (restored_apic[i].reg != APIC_TPR && restored_apic[i].reg != APIC_SVR)
            apic_write(restored_apic[i].reg, LVT_MASKED | (0x71 + i));
    apic_write(APIC_SVR, apic_read(APIC_SVR) ^ 0x30);
    apic_write(APIC_TPR, 0xF0);
    cr0_write(cr0_read() ^ CR0_MP);
    cr4_write(cr4_read() ^ (CR4_TSD | CR4_PGE));
    dr6_write(0xFFFF0FFFull);
    dr7_write(DR7_FIXED | 0x55); /* execution breakpoints where nothing is executed */
    return 0;
}

/* XMM6 to XMM15 belong to whoever called the image: UEFI's calling convention. */
static void put_back(const struct reading *r)
{
    const uint8_t(*xmm)[16] = r->xmm;

    mark((uint16_t)(r->value[V_FS_GS_LDTR] >> 32), 0);
    for (unsigned i = 0; i < MSRS; i++)
        msr_write(restored_msrs[i].number, r->msr[i]);
    EACH_XMM(LOAD_XMM)
}

CHECK("boot.takeover.state_restored", SOFTWARE, "", NEED_FIRMWARE)
{
    static struct reading firmwares, before, after;

    /* Marked first: an earlier take-over may have left the kernel's values behind already. */
    read_all(&firmwares);
    mark(firmwares.value[V_CS_DS_ES_SS] & 0xFFFF, 0x2468A011);
    read_all(&before);
    run->platform->take_over_bare(make_a_mess, NULL);
    read_all(&after);
    put_back(&firmwares);

    EXPECT(run, after.value[V_IF] != 0, "interrupts are off in firmware mode");
    EXPECT(run, after.value[V_CR3] != paging_kernel_space()->cr3, "CR3 is still the kernel's");
    EXPECT(run, after.value[V_GDT_BASE] != (uint64_t)(uintptr_t)cpu_get(0)->tables->gdt,
           "the GDT is still the kernel's");
    EXPECT(run, after.value[V_IDT_BASE] != (uint64_t)(uintptr_t)trap_idt(),
           "the IDT is still the kernel's");
    for (unsigned i = 0; i < VALUES; i++)
        EXPECT_EQ(run, after.value[i], before.value[i], value_names[i]);
    for (unsigned i = 0; i < MSRS; i++)
        EXPECT_EQ(run, after.msr[i], before.msr[i], restored_msrs[i].name);
    for (unsigned i = 0; i < APIC_REGISTERS; i++)
        EXPECT_EQ(run, after.apic[i], before.apic[i], restored_apic[i].name);
    for (unsigned i = 0; i < 16; i++)
        EXPECT(run, memcmp(after.xmm[i], before.xmm[i], 16) == 0, "XMM%u differs", i);
}

/* --- interrupts */

struct stay {
    uint64_t tsc_khz, strays;
    unsigned own;
};

static bool count_own(struct trap_frame *frame, void *arg)
{
    (void)frame;
    ((struct stay *)arg)->own++;
    return true;
}

static uint64_t stay_with_interrupts_on(void *arg)
{
    struct stay *s = arg;
    uint64_t strays = trap_stray_count();
    struct trap_slot before = trap_set(VECTOR_TEST, count_own, s);

    __asm__ volatile("sti" : : : "memory");
    apic_self_ipi(VECTOR_TEST);
    spin_ms(s->tsc_khz, STAY_MS);
    __asm__ volatile("cli" : : : "memory");
    trap_set(VECTOR_TEST, before.handler, before.arg);
    s->strays += trap_stray_count() - strays;
    return 0;
}

CHECK("boot.takeover.no_firmware_interrupt", SOFTWARE, "", NEED_FIRMWARE)
{
    struct stay s = {.tsc_khz = run->platform->tsc_khz};

    run->platform->take_over_bare(stay_with_interrupts_on, &s);
    EXPECT_EQ(run, s.strays, 0, "interrupts that nobody asked for");
    /* Without this one the other count would prove nothing: interrupts were open. */
    EXPECT_EQ(run, s.own, 1, "own interrupts taken");
}

CHECK("boot.takeover.firmware_timer", SOFTWARE, "", NEED_FIRMWARE)
{
    struct stay s = {.tsc_khz = run->platform->tsc_khz};
    unsigned stays = run_count_of(run, 10, 10);

    /* Stays of several timer periods, each with an interrupt of ours that needs its EOI. */
    for (unsigned i = 1; i <= stays; i++) {
        run->platform->take_over_bare(stay_with_interrupts_on, &s);
        EXPECT(run, run->platform->firmware_timer_works(20),
               "a 20 ms timer of the firmware does not fire after stay %u", i);
    }
    EXPECT_EQ(run, s.own, stays, "own interrupts taken");
}

/* --- memory */

CHECK("boot.memory.identity_map", SOFTWARE, "", NEED_FIRMWARE)
{
    const struct platform *p = run->platform;
    uint64_t arena = (uint64_t)(uintptr_t)p->arena;
    const struct {
        const char *name;
        uint64_t address;
    } places[] = {
        {"image, first byte", p->image_base},
        {"image, last byte", p->image_base + p->image_bytes - 1},
        {"arena, first byte", arena},
        {"arena, last byte", arena + p->arena_bytes - 1},
        {"local APIC", msr_read(MSR_IA32_APIC_BASE) & APIC_BASE_ADDRESS},
        {"firmware's stack", (uint64_t)(uintptr_t)__builtin_frame_address(0)},
    };

    EXPECT(run, p->image_bytes > 0, "firmware does not say where the image lies");
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct paging_walk walk;

        if (!EXPECT(run, paging_walk(paging_kernel_space()->cr3, places[i].address, &walk),
                    "%s is not mapped", places[i].name))
            continue;
        EXPECT_EQ(run, walk.phys, places[i].address, places[i].name);
        EXPECT_EQ(run, walk.flags & (PAGE_WRITE | PAGE_USER), PAGE_WRITE, places[i].name);
    }
}
