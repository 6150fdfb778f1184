/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model's record store on the host: place, index, wrap, full buffer, threshold, filters,
 * page straddling and faults, through hand-built page tables. The numbers are written from
 * the manual's text, not from the model's headers.
 */
#define _GNU_SOURCE
#include "harness/tests/fakes/unit.h"
#include "hw/model/bts/bts.h"
#include "hw/model/emulate/emulate.h"
#include "hw/model/host/host.h"
#include "hw/model/host/stay.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/feature_gate.h"
#include "hw/model/trial/policy.h"

#include <sys/mman.h>

#define ARENA_BYTES 0x40000ul
#define TABLES      0x0000u  /* PML4, PDPT, PD, PT */
#define AREA        0x10000u /* linear = physical + LINEAR, for data pages */
#define BUFFER      0x11000u /* several pages */
#define LINEAR      0xFFFF800000000000ull
#define CANARY      0xA5

static uint8_t *arena;
static struct vmcb vmcb;
static struct model_cpu cpu;
static unsigned interrupts;

void machine_save_hidden(struct model_cpu *c)
{
    (void)c;
}

/* No other processor is started here. */
bool apic_command_write(struct model_cpu *cpu, uint64_t value)
{
    (void)cpu;
    return value == 0;
}

static uint64_t *word(uint64_t physical)
{
    return (uint64_t *)(arena + physical);
}

/* Supervisor pages, present and writable, not yet accessed. */
static void build_tables(void)
{
    *word(TABLES + 256 * 8) = (TABLES + 0x1000) | 3;
    *word(TABLES + 0x1000) = (TABLES + 0x2000) | 3;
    *word(TABLES + 0x2000) = (TABLES + 0x3000) | 3;
    for (uint64_t page = 0; page < ARENA_BYTES / 4096; page++)
        *word(TABLES + 0x3000 + page * 8) = page * 4096 | 3;
}

/* A fresh processor that traces into records whole records plus extra bytes. */
static void setup(unsigned records, unsigned extra, uint64_t debugctl)
{
    memset(arena, 0, ARENA_BYTES);
    memset(arena + BUFFER, CANARY, ARENA_BYTES - BUFFER);
    memset(&cpu, 0, sizeof(cpu));
    memset(&vmcb, 0, sizeof(vmcb));
    model_reset_config();
    build_tables();
    cpu.vmcb = &vmcb;
    cpu.physical_offset = (uintptr_t)arena;
    cpu.top_of_map = cpu.top_of_ram = ARENA_BYTES;
    cpu.nowhere = arena + ARENA_BYTES - 4096;
    cpu.physical_bits = 40;
    cpu.linear_bits = 48;
    vmcb.save.cr0 = CR0_PE | CR0_PG | CR0_WP;
    vmcb.save.cr3 = TABLES;
    vmcb.save.efer = EFER_LMA | EFER_LME;
    vmcb.save.cs.attributes = SEGMENT_LONG;
    guest_forget_translations(&cpu);
    interrupts = 0;
    *word(AREA + 0) = LINEAR + BUFFER;
    *word(AREA + 8) = LINEAR + BUFFER;
    *word(AREA + 16) = LINEAR + BUFFER + 24 * records + extra;
    *word(AREA + 24) = LINEAR + BUFFER + 24 * records + extra + 24;
    EXPECT(msr_write(&cpu, 0x600, LINEAR + AREA));
    EXPECT(msr_write(&cpu, 0x1D9, debugctl));
}

static void branch(uint64_t number)
{
    struct transfer t = {
        .from = 0x1000 + number, .to = 0x2000 + number, .class = INSN_JMP, .length = 2};

    EXPECT(record_transfer(&cpu, &t));
    interrupts += cpu.interrupt_causes != 0;
    cpu.interrupt_causes = 0;
}

static void branches(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        branch(i);
}

static uint64_t index_slot(void)
{
    return (*word(AREA + 8) - LINEAR - BUFFER) / 24;
}

static bool slot_holds(unsigned slot, uint64_t number)
{
    const uint64_t *at = word(BUFFER + 24 * slot);

    return at[0] == 0x1000 + number && at[1] == 0x2000 + number && at[2] == 0;
}

static bool slot_empty(unsigned slot)
{
    for (unsigned i = 0; i < 24; i++)
        if (arena[BUFFER + 24 * slot + i] != CANARY)
            return false;
    return true;
}

#define TRACE     0xC0u  /* TR, BTS */
#define TRACE_INT 0x1C0u /* and BTINT */

static void test_place_and_index(void)
{
    setup(10, 0, TRACE);
    branches(3);
    EXPECT(slot_holds(0, 0) && slot_holds(1, 1) && slot_holds(2, 2) && slot_empty(3));
    EXPECT_EQ(*word(AREA + 8), LINEAR + BUFFER + 72);
    EXPECT_EQ(*word(AREA + 0), LINEAR + BUFFER);
    EXPECT_EQ(*word(AREA + 16), LINEAR + BUFFER + 240);
}

static void test_circular(void)
{
    setup(4, 0, TRACE);
    branches(4);
    EXPECT_EQ(index_slot(), 0);
    branch(4);
    EXPECT(slot_holds(0, 4) && slot_holds(1, 1) && slot_empty(4));
    setup(4, 0, TRACE);
    EXPECT_EQ(model_set("policy", "wrap:before"), MODEL_OK);
    branches(4);
    EXPECT_EQ(index_slot(), 4);
    branch(4);
    EXPECT(slot_holds(0, 4) && slot_empty(4));
    EXPECT_EQ(index_slot(), 1);
}

/* Sizes that are no multiple of a record, the "+ 1" of the manual among them. */
static void test_never_beyond_the_maximum(void)
{
    for (unsigned extra = 0; extra < 24; extra++) {
        setup(3, extra, TRACE);
        branches(7);
        EXPECT(slot_holds(0, 6) && slot_holds(2, 5));
        for (unsigned i = 0; i < 24; i++)
            EXPECT_EQ(arena[BUFFER + 72 + i], CANARY);
    }
    setup(0, 23, TRACE); /* less than one record */
    branches(2);
    EXPECT(slot_empty(0));
    EXPECT_EQ(index_slot(), 0);
}

static void test_full_with_interrupt(void)
{
    setup(3, 0, TRACE_INT);
    branches(5);
    EXPECT(slot_holds(0, 0) && slot_holds(2, 2) && slot_empty(3));
    EXPECT_EQ(index_slot(), 3);
    setup(3, 0, TRACE_INT);
    EXPECT_EQ(model_set("policy", "full:wrap"), MODEL_OK);
    branches(5);
    EXPECT(slot_holds(0, 3) && slot_holds(1, 4) && slot_holds(2, 2));
    setup(3, 0, TRACE_INT);
    EXPECT_EQ(model_set("policy", "full:overwrite-last"), MODEL_OK);
    branches(5);
    EXPECT(slot_holds(1, 1) && slot_holds(2, 4) && slot_empty(3));
    EXPECT_EQ(index_slot(), 3);
}

static unsigned interrupts_after(const char *policy_text, uint64_t debugctl, unsigned records)
{
    setup(10, 0, debugctl);
    *word(AREA + 24) = LINEAR + BUFFER + 24 * 5;
    EXPECT_EQ(model_set("policy", policy_text), MODEL_OK);
    branches(records);
    return interrupts;
}

static void test_threshold(void)
{
    EXPECT_EQ(interrupts_after("pmi-when:reach", TRACE_INT, 4), 0);
    EXPECT_EQ(interrupts_after("pmi-when:reach", TRACE_INT, 5), 1);
    EXPECT_EQ(interrupts_after("pmi-when:reach", TRACE_INT, 7), 3);
    EXPECT_EQ(interrupts_after("pmi-when:write", TRACE_INT, 5), 0);
    EXPECT_EQ(interrupts_after("pmi-when:write", TRACE_INT, 6), 1);
    EXPECT_EQ(interrupts_after("repeat-pmi:no", TRACE_INT, 9), 1);
    EXPECT_EQ(interrupts_after("repeat-pmi:no", TRACE, 9), 0);
    EXPECT_EQ(interrupts_after("bts-int-off-threshold:pmi", TRACE, 5), 1);
}

static void test_fields_read(void)
{
    setup(4, 0, TRACE);
    *word(AREA + 16) -= 24;
    branches(4);
    EXPECT(slot_empty(3));
    setup(4, 0, 0);
    EXPECT_EQ(model_set("policy", "fields-read:at-enable"), MODEL_OK);
    EXPECT(msr_write(&cpu, 0x1D9, TRACE));
    *word(AREA + 16) -= 24;
    branches(4);
    EXPECT(slot_holds(3, 3));
}

static bool stored(const char *crossing, uint64_t off, unsigned before, unsigned after)
{
    struct transfer t = {.from = 1,
                         .to = 2,
                         .cpl_before = (uint8_t)before,
                         .cpl_after = (uint8_t)after,
                         .class = INSN_IRET,
                         .length = 2};

    setup(10, 0, TRACE | off);
    EXPECT_EQ(model_set("policy", crossing), MODEL_OK);
    EXPECT(record_transfer(&cpu, &t));
    return *word(AREA + 8) == LINEAR + BUFFER + 24;
}

static void test_filters(void)
{
    const uint64_t off_os = 0x200, off_usr = 0x400;

    for (unsigned cpl = 0; cpl < 4; cpl++) {
        EXPECT(stored("crossing:new", 0, cpl, cpl));
        EXPECT_EQ(stored("crossing:new", off_os, cpl, cpl), cpl != 0);
        EXPECT_EQ(stored("crossing:new", off_usr, cpl, cpl), cpl == 0);
        EXPECT(!stored("crossing:new", off_os | off_usr, cpl, cpl));
    }
    EXPECT(stored("crossing:new", off_os, 0, 3) && !stored("crossing:new", off_os, 3, 0));
    EXPECT(!stored("crossing:old", off_os, 0, 3) && stored("crossing:old", off_os, 3, 0));
    EXPECT(!stored("crossing:both", off_os, 0, 3) && !stored("crossing:both", off_os, 3, 0));
    EXPECT(stored("crossing:either", off_os, 0, 3) && stored("crossing:either", off_os, 3, 0));
}

/* 4096 is no multiple of 24: record 170 lies on two pages, here far apart physically. */
static void test_page_straddle(void)
{
    uint64_t second = BUFFER / 4096 + 1, far = 0x30;

    setup(400, 0, TRACE);
    *word(TABLES + 0x3000 + second * 8) = far * 4096 | 3;
    branches(172);
    EXPECT_EQ(*word(BUFFER + 170 * 24), 0x1000 + 170);
    EXPECT_EQ(*word(BUFFER + 170 * 24 + 8), 0x2000 + 170);
    EXPECT_EQ(*word(far * 4096), 0);
    EXPECT_EQ(*word(far * 4096 + 8), 0x1000 + 171);
    EXPECT_EQ(*word(TABLES + 0x3000 + second * 8) & 0x60, 0x60); /* accessed, dirty */
}

static void test_faults(void)
{
    struct transfer t = {.from = 1, .to = 2, .class = INSN_JMP, .length = 2};
    uint64_t entry = TABLES + 0x3000 + BUFFER / 4096 * 8;

    setup(10, 0, TRACE);
    *word(entry) &= ~1ull; /* not present */
    EXPECT(record_transfer(&cpu, &t));
    EXPECT_EQ(index_slot(), 0);
    EXPECT_EQ(model_set("policy", "area-fault:deliver"), MODEL_OK);
    EXPECT(!record_transfer(&cpu, &t));
    EXPECT_EQ(cpu.fault.vector, 14);
    EXPECT_EQ(cpu.fault.error, 2);
    EXPECT_EQ(cpu.fault.address, LINEAR + BUFFER);
    *word(entry) |= 1;
    *word(entry) &= ~2ull; /* read-only */
    EXPECT(!record_transfer(&cpu, &t));
    EXPECT_EQ(cpu.fault.error, 3);
}

static void test_registers(void)
{
    uint64_t value;

    setup(4, 0, 0);
    for (unsigned bit = 0; bit < 64; bit++) {
        bool exists = bit < 2 || (bit >= 6 && bit <= 12) || bit == 14;

        EXPECT_EQ(msr_write(&cpu, 0x1D9, 1ull << bit), exists);
        EXPECT(msr_read(&cpu, 0x1D9, &value));
        if (exists)
            EXPECT_EQ(value, 1ull << bit);
    }
    EXPECT(!msr_write(&cpu, 0x600, 0x0000800000000000));
    EXPECT(!msr_write(&cpu, 0x600, 0xFFFF7FFFFFFFFFFF));
    EXPECT(msr_read(&cpu, 0x600, &value));
    EXPECT_EQ(value, LINEAR + AREA);
    EXPECT(msr_write(&cpu, 0x600, 0x00007FFFFFFFFFFF));
    cpu.linear_bits = 57;
    EXPECT(msr_write(&cpu, 0x600, 0x0000800000000000));
    EXPECT(!msr_write(&cpu, 0x600, 0x0100000000000000));
    for (unsigned off = 0; off < 2; off++) {
        EXPECT_EQ(model_set("pebs", off ? "off" : "3"), MODEL_OK);
        EXPECT(msr_read(&cpu, 0x1A0, &value));
        EXPECT_EQ(value & 0x1880, off ? 0x1080 : 0x80);
        EXPECT(msr_write(&cpu, 0x1A0, ~value));
        EXPECT(msr_read(&cpu, 0x1A0, &value));
        EXPECT_EQ(value & 0x1880, off ? 0x1080 : 0x80);
    }
    EXPECT(msr_read(&cpu, 0x345, &value));
    EXPECT(!msr_write(&cpu, 0x345, value));
    EXPECT_EQ(model_set("cpuid", "no-pdcm"), MODEL_OK);
    EXPECT(!msr_read(&cpu, 0x345, &value));
    EXPECT(!msr_write(&cpu, 0x1D9, 1 << 11));
    model_reset_config();
}

static void test_configuration(void)
{
    model_reset_config();
    EXPECT_EQ(model_set("policy", "crossing:sideways"), MODEL_BAD_VALUE);
    EXPECT_EQ(model_set("policy", "crossing"), MODEL_BAD_VALUE);
    EXPECT_EQ(model_set("policy", "cross:new"), MODEL_BAD_NAME);
    EXPECT_EQ(model_set("defect", "no-such"), MODEL_BAD_NAME);
    EXPECT_EQ(model_set("cpuid", "no-such"), MODEL_BAD_NAME);
    EXPECT_EQ(model_set("colour", "blue"), MODEL_BAD_NAME);
    for (size_t i = 0; i < model_defect_count(); i++) {
        EXPECT_EQ(model_set("defect", model_defect(i)->name), MODEL_OK);
        EXPECT(defect_values[i]);
        for (size_t k = 0; k < i; k++)
            EXPECT(strcmp(model_defect(i)->name, model_defect(k)->name) != 0);
    }
    EXPECT_EQ(model_set("defect", "none"), MODEL_OK);
    for (size_t i = 0; i < model_defect_count(); i++)
        EXPECT(!defect_values[i]);
    for (size_t i = 0; i < model_policy_count(); i++)
        EXPECT(strchr(model_policy(i)->values, '|'));
    EXPECT(!model_policy(model_policy_count()));
    EXPECT(!model_defect(model_defect_count()));
}

int main(void)
{
    arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!EXPECT(arena != MAP_FAILED))
        return 1;
    RUN(test_place_and_index);
    RUN(test_circular);
    RUN(test_never_beyond_the_maximum);
    RUN(test_full_with_interrupt);
    RUN(test_threshold);
    RUN(test_fields_read);
    RUN(test_filters);
    RUN(test_page_straddle);
    RUN(test_faults);
    RUN(test_registers);
    RUN(test_configuration);
    UNIT_END();
}
