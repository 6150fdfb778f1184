/* SPDX-License-Identifier: BSD-2-Clause */
/* The fake processor of the host tests. See fake_regs.h. */
#include "harness/tests/fakes/fake_regs.h"

#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/cpuid.h"
#include "hw/cross_call.h"
#include "hw/image.h"
#include "hw/irq.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/pmc.h"
#include "hw/quirk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct fake_machine fake;

/* Positions of the bits, from the manual's table and not from hw/msr.h. */
#define BIT(n) (1ull << (n))
enum { TR = 6, BTS = 7, BTINT = 8, OFF_OS = 9, OFF_USR = 10 };
#define RESERVED (~0xFFFFull | BIT(2) | BIT(3) | BIT(4) | BIT(5))

void fake_reset(void)
{
    fake = (struct fake_machine){
        .ds = true,
        .dtes64 = true,
        .ds_cpl = true,
        .linear_bits = 48,
        .apic_base = 0xFEE00900,
        .cr3 = 0x1000,
        .lvt = 0x10000,
        .interrupts = true,
        .perfmon_version = 4,
        .general = 4,
        .fixed = 3,
        .counter_bits = 48,
        .pdcm = true,
        .capabilities = 0x30C0, /* trap, registers, format 0; full width */
        .misc_enable = BIT(7),
    };
}

static void visit(enum fake_point point)
{
    if (fake.hook)
        fake.hook(point);
}

/* --- registers */

static bool canonical(uint64_t linear)
{
    uint64_t high = linear >> (fake.linear_bits - 1);

    return high == 0 || high == UINT64_MAX >> (fake.linear_bits - 1);
}

static void check_enable(void)
{
    if (fake.debugctl & BIT(TR) && fake.debugctl & BIT(BTS) && !fake.ds_area)
        fake.crashes++;
}

static int write_debugctl(uint64_t value)
{
    uint64_t off_bits = BIT(OFF_OS) | BIT(OFF_USR);

    if (fake.no_debugctl || value & RESERVED || value & fake.debugctl_faults ||
        (!fake.ds_cpl && value & off_bits))
        return 13;
    fake.debugctl = value & ~fake.debugctl_drops;
    fake.writes_debugctl++;
    check_enable();
    return 0;
}

static int write_ds_area(uint64_t value)
{
    if (!fake.ds || fake.no_ds_area || !canonical(value))
        return 13;
    if (value != fake.ds_area &&
        ((fake.debugctl & BIT(TR) && fake.debugctl & BIT(BTS)) || fake.pebs_enable))
        fake.area_moves++;
    if (!fake.ds_area_drops)
        fake.ds_area = value;
    fake.writes_ds_area++;
    check_enable();
    return 0;
}

/* --- counters */

static uint64_t counters_there(void)
{
    return (BIT(fake.general) - 1) | (BIT(fake.fixed) - 1) << 32;
}

static uint64_t cut(uint64_t value)
{
    return value & (BIT(fake.counter_bits) - 1);
}

static bool baseline(void)
{
    return fake.capabilities & BIT(14);
}

static uint64_t *counter_register(uint32_t msr)
{
    if (msr - 0xC1 < fake.general)
        return &fake.counters[msr - 0xC1];
    if (msr - 0x4C1 < fake.general && fake.capabilities & BIT(13))
        return &fake.counters[msr - 0x4C1];
    if (msr - 0x309 < fake.fixed)
        return &fake.counters[32 + msr - 0x309];
    if (msr - 0x186 < fake.general)
        return &fake.selects[msr - 0x186];
    return NULL;
}

static int write_one_counter(uint32_t msr, uint64_t value)
{
    uint64_t *where = counter_register(msr);

    if (!where)
        return 13;
    if (msr - 0xC1 < 8)
        *where = cut((uint64_t)(int32_t)value);
    else if (msr - 0x186 < 8)
        *where = value;
    else if (value != cut(value))
        return 13;
    else
        *where = value;
    return 0;
}

static int write_pebs(uint64_t value)
{
    uint64_t may = baseline() ? counters_there() : 0xF & counters_there();

    if (!(fake.misc_enable & BIT(7)) || fake.misc_enable & BIT(12) || value & ~may ||
        value & fake.pebs_faults)
        return 13;
    fake.pebs_enable = value;
    fake.writes_pebs++;
    fake.sampling_crashes += value && !fake.ds_area;
    return 0;
}

static int write_counters(uint32_t msr, uint64_t value)
{
    switch (msr) {
    case 0x38D:
        fake.fixed_control = value;
        return 0;
    case 0x38F:
        if (value & ~counters_there() || value & fake.global_faults)
            return 13;
        fake.global_control = value;
        fake.writes_global++;
        return 0;
    case 0x390:
        fake.status &= ~value | fake.status_stuck;
        fake.status_clears++;
        return 0;
    case 0x3F1:
        return write_pebs(value);
    case 0x3F2:
        fake.pebs_data = value;
        return baseline() ? 0 : 13;
    default:
        return write_one_counter(msr, value);
    }
}

static int read_counters(uint32_t msr, uint64_t *value)
{
    const uint64_t *where = counter_register(msr);

    if (where)
        *value = *where;
    else if (msr == 0x38D)
        *value = fake.fixed_control;
    else if (msr == 0x38E)
        *value = fake.status;
    else if (msr == 0x38F)
        *value = fake.global_control;
    else if (msr == 0x3F1)
        *value = fake.pebs_enable;
    else if (msr == 0x3F2 && baseline())
        *value = fake.pebs_data;
    else if (msr == 0x345 && fake.pdcm)
        *value = fake.capabilities;
    else
        return 13;
    return 0;
}

void cpu_perfmon(struct cpu_perfmon *out)
{
    *out = (struct cpu_perfmon){
        .version = fake.perfmon_version,
        .general = fake.general,
        .general_bits = fake.counter_bits,
        .fixed = fake.fixed,
        .fixed_bits = fake.counter_bits,
        .event_bits = 7,
    };
}

/* A processor without a row in the table. */
unsigned cpu_quirks(void)
{
    return 0;
}

bool cpu_has_pdcm(void)
{
    return fake.pdcm;
}

int msr_write_try(uint32_t msr, uint64_t value)
{
    int vector = 13;

    visit(FAKE_BEFORE_WRITE);
    if (msr == 0x1D9)
        vector = write_debugctl(value);
    else if (msr == 0x600)
        vector = write_ds_area(value);
    else if (fake.perfmon_version)
        vector = write_counters(msr, value);
    visit(FAKE_AFTER_WRITE);
    return vector;
}

int msr_read_try(uint32_t msr, uint64_t *value)
{
    int vector = 0;

    visit(FAKE_READ);
    fake.reads++;
    if (msr == 0x1D9 && !fake.no_debugctl)
        *value = fake.debugctl;
    else if (msr == 0x600 && fake.ds && !fake.no_ds_area)
        *value = fake.ds_area;
    else if (msr == 0x1A0 && !fake.no_misc_enable)
        *value = fake.misc_enable;
    else if (msr == 0x1B)
        *value = fake.apic_base;
    else
        vector = fake.perfmon_version ? read_counters(msr, value) : 13;
    return vector;
}

/* The plain forms are for accesses that cannot fault. */
uint64_t fake_msr_read(uint32_t msr)
{
    uint64_t value = 0;

    if (msr_read_try(msr, &value)) {
        printf("plain read of MSR %x faults\n", msr);
        abort();
    }
    return value;
}

void fake_msr_write(uint32_t msr, uint64_t value)
{
    if (msr_write_try(msr, value)) {
        printf("plain write of MSR %x faults\n", msr);
        abort();
    }
}

bool cpu_has_ds(void)
{
    return fake.ds;
}

bool cpu_has_dtes64(void)
{
    return fake.dtes64;
}

bool cpu_has_ds_cpl(void)
{
    return fake.ds_cpl;
}

unsigned cpu_linear_bits(void)
{
    return fake.linear_bits;
}

struct cpu *cpu_this(void)
{
    static struct cpu cpus[CPU_MAX];

    cpus[fake.cpu].index = fake.cpu;
    return &cpus[fake.cpu];
}

/* --- interrupts */

static void deliver(void)
{
    fake.pending = false;
    fake.delivered++;
    fake.lvt |= 0x10000; /* the APIC masks the entry by itself */
    if (fake.interrupt) {
        bool before = fake.interrupts;

        fake.interrupts = false;
        fake.interrupt();
        fake.interrupts = before;
    }
}

void fake_request(void)
{
    bool nmi = (fake.lvt & 0x700) == 0x400;

    if (fake.lvt & 0x10000)
        fake.dropped++;
    else if (nmi || fake.interrupts)
        deliver();
    else
        fake.pending = true;
}

irqflags_t irq_save(void)
{
    irqflags_t flags = fake.interrupts;

    visit(FAKE_IRQ);
    fake.interrupts = false;
    return flags;
}

void irq_restore(irqflags_t flags)
{
    fake.interrupts = flags;
    visit(FAKE_IRQ);
    if (fake.interrupts && fake.pending)
        deliver();
}

uint32_t apic_lvt_perf_read(void)
{
    visit(FAKE_APIC);
    return fake.lvt | 0x1000; /* delivery status, read-only */
}

void apic_lvt_perf_write(uint32_t value)
{
    visit(FAKE_APIC);
    fake.lvt_bad_writes += (value & ~0x107FFu) != 0;
    fake.lvt = value & 0x107FF & ~fake.lvt_drops;
}

void fake_go_to(unsigned cpu)
{
    char *counting = (char *)&fake + offsetof(struct fake_machine, selects);

    fake.debugctls[fake.cpu] = fake.debugctl;
    fake.ds_areas[fake.cpu] = fake.ds_area;
    fake.lvts[fake.cpu] = fake.lvt;
    memcpy(&fake.counting[fake.cpu], counting, sizeof(fake.counting[0]));
    fake.cpu = cpu;
    fake.debugctl = fake.debugctls[cpu];
    fake.ds_area = fake.ds_areas[cpu];
    fake.lvt = fake.lvts[cpu];
    memcpy(counting, &fake.counting[cpu], sizeof(fake.counting[0]));
}

bool cross_call(unsigned processor, cross_function *fn, uint64_t a, uint64_t b, uint64_t *value)
{
    unsigned here = fake.cpu;
    bool before = fake.interrupts;

    if (fake.deaf >> processor & 1)
        return false;
    fake_go_to(processor);
    fake.interrupts = false;
    *value = fn(a, b);
    fake_go_to(here);
    fake.interrupts = before;
    return true;
}

/* --- page tables */

void fake_page(struct fake_page page)
{
    if (fake.page_count == sizeof(fake.pages) / sizeof(fake.pages[0]))
        abort();
    fake.pages[fake.page_count++] = page;
}

uint64_t fake_cr3(void)
{
    return fake.cr3;
}

/* An anonymous page is resident after the first store, as a PTE is dirty. */
static bool backed(uint64_t linear)
{
    unsigned char resident;

    return mincore((void *)(linear & ~4095ull), 4096, &resident) == 0 && resident & 1;
}

bool image_has_code(uint64_t physical, uint64_t bytes)
{
    return physical < fake.code + fake.code_bytes && fake.code < physical + bytes;
}

bool paging_walk(uint64_t cr3, uint64_t linear, struct paging_walk *out)
{
    *out = (struct paging_walk){linear, 1u << 0 | 1u << 1 | 1u << 5 | 1u << 6, 4096};
    fake.walks++;
    for (unsigned i = 0; i < fake.page_count; i++) {
        struct fake_page *page = &fake.pages[i];

        if ((page->cr3 && page->cr3 != cr3) || linear - page->first >= page->bytes)
            continue;
        out->flags = page->flags;
        if (page->phys)
            out->phys = page->phys + (linear - page->first);
        if (page->dirty_if_backed && backed(linear))
            out->flags |= 1u << 5 | 1u << 6;
    }
    if (out->flags & 1)
        return true;
    *out = (struct paging_walk){0};
    return false;
}

/* --- the engine */

static uint64_t area_field(unsigned offset)
{
    uint64_t value;

    memcpy(&value, (const char *)(uintptr_t)fake.ds_area + offset, sizeof(value));
    return value;
}

static void store(uint64_t from, uint64_t to)
{
    uint64_t base = area_field(0x00), index = area_field(0x08), maximum = area_field(0x10);
    uint64_t record[3] = {from, to, 0};
    bool circular = !(fake.debugctl & BIT(BTINT));

    if (index + 24 > maximum) {
        if (!circular && fake.stops_when_full)
            return;
        index = base;
    }
    memcpy((char *)(uintptr_t)index, record, sizeof(record));
    fake.records++;
    index += 24;
    if (index + 24 > maximum && !fake.rests_at_maximum && (circular || !fake.stops_when_full))
        index = base;
    memcpy((char *)(uintptr_t)fake.ds_area + 0x08, &index, sizeof(index));
}

void fake_branch(uint64_t from, uint64_t to, unsigned cpl)
{
    if (!(fake.debugctl & BIT(TR)) || !(fake.debugctl & BIT(BTS)))
        return;
    if (fake.debugctl & BIT(cpl == 0 ? OFF_OS : OFF_USR))
        return;
    check_enable();
    if (!fake.ds_area)
        return;
    store(from, to);
    if (fake.debugctl & BIT(BTINT) && area_field(0x08) >= area_field(0x18))
        fake_request();
}

void fake_branches(uint64_t first, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        fake_branch(first + k, 0x1000000 + first + k, 0);
}

/* --- what ds/bracket.asm does */

const uint8_t ds_bracket_call[1], ds_bracket_return[1];
const uint8_t ds_bracket_one_from[1], ds_bracket_one_to[1];

uint64_t ds_bracket(uint64_t debugctl_on, uint64_t debugctl_off, uint64_t (*fn)(void *),
                    void *arg, uint32_t msr);
uint64_t ds_bracket_flip(uint64_t debugctl_on, uint64_t debugctl_off, uint32_t msr);
void ds_bracket_one(uint64_t debugctl_on, uint64_t debugctl_off, uint32_t msr);

void ds_bracket_one(uint64_t debugctl_on, uint64_t debugctl_off, uint32_t msr)
{
    fake_msr_write(msr, debugctl_on);
    fake_branch((uintptr_t)ds_bracket_one_from, (uintptr_t)ds_bracket_one_to, 0);
    fake_msr_write(msr, debugctl_off);
}

uint64_t ds_bracket(uint64_t debugctl_on, uint64_t debugctl_off, uint64_t (*fn)(void *),
                    void *arg, uint32_t msr)
{
    uint64_t value;

    fake_msr_write(msr, debugctl_on);
    fake_branch((uintptr_t)ds_bracket_call, (uintptr_t)fn, 0);
    value = fn(arg);
    fake_branch((uintptr_t)fn + 1, (uintptr_t)ds_bracket_return, 0);
    fake_msr_write(msr, debugctl_off);
    return value;
}

uint64_t ds_bracket_flip(uint64_t debugctl_on, uint64_t debugctl_off, uint32_t msr)
{
    uint64_t value;

    fake_msr_write(msr, debugctl_on);
    value = fake_msr_read(msr);
    fake_msr_write(msr, debugctl_off);
    return value;
}
