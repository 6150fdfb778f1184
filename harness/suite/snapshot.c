/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's state around a check. */
#include "harness/suite/snapshot.h"

#include "harness/check/capability.h"
#include "harness/check/format.h"
#include "hw/apic.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/string.h"

/* Flags that a check may not leave changed; the arithmetic ones change all the time. */
#define RFLAGS_KEPT (RFLAGS_IF | RFLAGS_TF | RFLAGS_DF | RFLAGS_IOPL | RFLAGS_NT | RFLAGS_AC)

static void traps_read(struct trap_slot *out)
{
    for (unsigned v = 0; v <= TRAP_SYSCALL; v++)
        out[v] = trap_get(v);
}

void snapshot_take(struct snapshot *s)
{
    broker_save(&s->broker);
    pmc_save(&capability()->pmc, &s->pmc);
    s->cr0 = cr0_read();
    s->cr3 = cr3_read();
    s->cr4 = cr4_read();
    s->rflags = rflags_read() & RFLAGS_KEPT;
    s->efer = msr_read(MSR_IA32_EFER);
    s->misc_enable = 0;
    msr_read_try(MSR_IA32_MISC_ENABLE, &s->misc_enable);
    s->dr7 = dr7_read();
    s->lvt_perf = apic_lvt_perf_read();
    memcpy(s->idt, trap_idt(), sizeof(s->idt));
    traps_read(s->traps);
    s->return_by_iret = syscall_return_by_iret;
    s->free_pages = page_free_count();
}

struct leaks {
    char *text;
    size_t bytes, used;
    unsigned count;
};

static void leak(struct leaks *l, const char *name, uint64_t before, uint64_t after)
{
    if (before == after)
        return;
    l->used += fmt(l->text + l->used, l->bytes - l->used, "%s%s %lx -> %lx",
                   l->count ? ", " : "", name, before, after);
    l->count++;
}

static void leaks_of_registers(const struct snapshot *s, struct leaks *l)
{
    uint64_t debugctl, ds_area, misc_enable = 0;

    broker_leak(&s->broker, &debugctl, &ds_area);
    leak(l, "IA32_DEBUGCTL", s->broker.debugctl, s->broker.debugctl ^ debugctl);
    leak(l, "IA32_DS_AREA", s->broker.ds_area, s->broker.ds_area ^ ds_area);
    leak(l, "CR0", s->cr0, cr0_read());
    leak(l, "CR3", s->cr3, cr3_read());
    leak(l, "CR4", s->cr4, cr4_read());
    leak(l, "RFLAGS", s->rflags, rflags_read() & RFLAGS_KEPT);
    leak(l, "IA32_EFER", s->efer, msr_read(MSR_IA32_EFER));
    msr_read_try(MSR_IA32_MISC_ENABLE, &misc_enable);
    leak(l, "IA32_MISC_ENABLE", s->misc_enable, misc_enable);
    leak(l, "DR7", s->dr7, dr7_read());
    /* Delivery status is the APIC's to change. */
    leak(l, "LVT performance entry", s->lvt_perf & ~LVT_DELIVERY_STATUS,
         apic_lvt_perf_read() & ~LVT_DELIVERY_STATUS);
}

static void leaks_of_counters(const struct snapshot *s, struct leaks *l)
{
    uint64_t before, now;
    const char *name = pmc_leak(&s->pmc, &before, &now);

    if (name)
        leak(l, name, before, now);
}

static void leaks_of_tables(const struct snapshot *s, struct leaks *l)
{
    static struct trap_slot now[TRAP_SYSCALL + 1];

    for (unsigned v = 0; v < VECTOR_COUNT; v++)
        if (memcmp(s->idt + 16 * v, (uint8_t *)trap_idt() + 16 * v, 16) != 0)
            leak(l, "IDT entry", 0, 0x100u | v);
    traps_read(now);
    for (unsigned v = 0; v <= TRAP_SYSCALL; v++)
        leak(l, "trap handler", (uint64_t)(uintptr_t)s->traps[v].handler,
             (uint64_t)(uintptr_t)now[v].handler);
    leak(l, "SYSCALL return path", s->return_by_iret, syscall_return_by_iret);
    leak(l, "free pages", s->free_pages, page_free_count());
}

static void put_back(const struct snapshot *s)
{
    cr0_write(s->cr0);
    cr4_write(s->cr4);
    cr3_write(s->cr3);
    dr7_write(s->dr7);
    msr_write(MSR_IA32_EFER, s->efer);
    memcpy(trap_idt(), s->idt, sizeof(s->idt));
    for (unsigned v = 0; v <= TRAP_SYSCALL; v++)
        trap_set(v, s->traps[v].handler, s->traps[v].arg);
    syscall_return_by_iret = s->return_by_iret;
    apic_lvt_perf_write(s->lvt_perf & ~LVT_DELIVERY_STATUS);
    __asm__ volatile("cld");
}

unsigned snapshot_restore(const struct snapshot *s, char *text, size_t bytes)
{
    struct leaks l = {text, bytes, 0, 0};

    leaks_of_registers(s, &l);
    leaks_of_counters(s, &l);
    leaks_of_tables(s, &l);
    if (l.count == 0)
        return 0;
    pmc_restore(&s->pmc); /* no counter may interrupt what follows */
    broker_restore(&s->broker);
    put_back(s);
    return l.count;
}
