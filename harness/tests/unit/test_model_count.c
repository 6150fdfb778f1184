/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model's counters and the records of sampled events, on the host: which register takes
 * what, what counts, overflow, and every record format word by word. The numbers are written
 * from the manual's text, not from the model's headers.
 */
#define _GNU_SOURCE
#include "harness/tests/fakes/unit.h"
#include "hw/model/host/host.h"
#include "hw/model/host/stay.h"
#include "hw/model/perfmon/perfmon.h"

#include <sys/mman.h>

#define ARENA_BYTES 0x8000u
#define AREA        0x1000u /* physical = linear: paging is off in these tests */
#define BUFFER      0x2000u

static uint8_t *arena;
static struct vmcb vmcb;
static struct model_cpu cpu;

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

static void put(uint32_t msr, uint64_t value)
{
    EXPECT(msr_write(&cpu, msr, value));
    count_refresh(&cpu);
}

static uint64_t get(uint32_t msr)
{
    uint64_t value = 0;

    EXPECT(msr_read(&cpu, msr, &value));
    return value;
}

/* A fresh processor at CPL 3 whose area has room for records of 4 KiB in all. */
static void setup(const char *format)
{
    memset(arena, 0, ARENA_BYTES);
    memset(&cpu, 0, sizeof(cpu));
    memset(&vmcb, 0, sizeof(vmcb));
    model_reset_config();
    EXPECT_EQ(model_set("pebs", format), MODEL_OK);
    cpu.vmcb = &vmcb;
    cpu.physical_offset = (uintptr_t)arena;
    cpu.top_of_map = cpu.top_of_ram = ARENA_BYTES;
    cpu.nowhere = arena + ARENA_BYTES - 4096;
    cpu.linear_bits = 48;
    vmcb.save.cr0 = CR0_PE;
    vmcb.save.efer = EFER_LMA | EFER_SVME;
    vmcb.save.cs.attributes = SEGMENT_LONG;
    vmcb.save.ss.attributes = 3 << SEGMENT_DPL_SHIFT;
    perfmon_reset(&cpu);
    cpu.ds_area = AREA;
    *word(AREA + 0x20) = *word(AREA + 0x28) = BUFFER;
    *word(AREA + 0x30) = *word(AREA + 0x38) = BUFFER + 0x1000;
    cpu.interrupt_causes = 0;
}

static void retire(uint8_t class, bool taken, unsigned cpl)
{
    struct retired r = {.linear = 0x4444,
                        .count = 1,
                        .class = class,
                        .taken = taken,
                        .cpl_before = (uint8_t)cpl,
                        .cpl_after = (uint8_t)cpl};

    if (cpu.perf.live)
        EXPECT(count_retired(&cpu, &r));
}

/* --- registers */

static void test_registers(void)
{
    static const uint32_t beyond[] = {0xC5, 0x18A, 0x30C, 0x4C5, 0x391, 0x392, 0x3F2};
    uint64_t value;

    setup("3");
    for (unsigned i = 0; i < 7; i++)
        EXPECT(!msr_read(&cpu, beyond[i], &value) && !msr_write(&cpu, beyond[i], 0));
    put(0xC1, 0x80000000);
    EXPECT_EQ(get(0xC1), 0xFFFF80000000);
    EXPECT_EQ(get(0x4C1), 0xFFFF80000000);
    put(0xC1, 0x1234567FFFFFFF);
    EXPECT_EQ(get(0xC1), 0x7FFFFFFF);
    put(0x4C4, 0x123456789ABC);
    EXPECT_EQ(get(0xC4), 0x123456789ABC);
    EXPECT(!msr_write(&cpu, 0x4C1, 1ull << 48));
    EXPECT(!msr_write(&cpu, 0x309, 1ull << 48));
    EXPECT_EQ(get(0x38F), 0xF);
    for (unsigned bit = 0; bit < 64; bit++) {
        bool counter = bit < 4 || (bit >= 32 && bit < 35);

        EXPECT_EQ(msr_write(&cpu, 0x38F, 1ull << bit), counter);
        EXPECT_EQ(msr_write(&cpu, 0x390, 1ull << bit), counter || (bit >= 61 && bit < 64));
        EXPECT_EQ(msr_write(&cpu, 0x3F1, 1ull << bit), bit < 4);
        EXPECT_EQ(msr_write(&cpu, 0x186, 1ull << bit), bit < 32);
        EXPECT_EQ(msr_write(&cpu, 0x38D, 1ull << bit), bit < 12);
        EXPECT(!msr_write(&cpu, 0x38E, 1ull << bit));
    }
    EXPECT_EQ(get(0x345), 0x3 | 1 << 6 | 1 << 7 | 3 << 8 | 3 << 12);
    model_set("pebs", "off");
    EXPECT_EQ(get(0x345), 0x3 | 3 << 12);
    EXPECT(!msr_write(&cpu, 0x3F1, 0));
    model_set("pebs", "4");
    EXPECT_EQ(get(0x345), 0x3 | 1 << 6 | 1 << 7 | 4 << 8 | 7 << 12);
    put(0x3F1, 0x70000000F);
    for (unsigned bit = 0; bit < 64; bit++)
        EXPECT_EQ(msr_write(&cpu, 0x3F2, 1ull << bit), bit < 4 || (bit >= 24 && bit < 32));
    EXPECT_EQ(model_set("pebs", "5"), MODEL_BAD_VALUE);
    EXPECT_EQ(model_set("pebs", "of"), MODEL_BAD_VALUE);
}

/* --- counting */

static void test_events(void)
{
    static const struct {
        uint8_t umask, counts; /* of the seven below */
    } branches[] = {{0x00, 7}, {0x01, 2}, {0x02, 1}, {0x08, 1},
                    {0x10, 1}, {0x20, 5}, {0x40, 1}, {0x80, 0}};

    for (unsigned i = 0; i < 8; i++) {
        setup("3");
        put(0x186, 3u << 16 | 1u << 22 | 0xC4 | (unsigned)branches[i].umask << 8);
        put(0x187, 3u << 16 | 1u << 22 | 0xC0);
        retire(INSN_JCC, true, 3);
        retire(INSN_JCC, false, 3);
        retire(INSN_CALL, true, 3);
        retire(INSN_RET, true, 0);
        retire(INSN_JMP, true, 0);
        retire(INSN_JMP_INDIRECT, true, 0);
        retire(INSN_INT, true, 3);
        retire(INSN_STI, false, 0);
        EXPECT(count_plain(&cpu, 0, 5));
        EXPECT_EQ(get(0xC1), branches[i].counts);
        EXPECT_EQ(get(0xC2), 13);
    }
}

static void test_rings_and_enables(void)
{
    setup("3");
    put(0x186, 1u << 16 | 1u << 22 | 0xC0);
    put(0x187, 1u << 17 | 1u << 22 | 0xC0);
    put(0x188, 3u << 16 | 0xC0); /* not enabled */
    put(0x189, 3u << 16 | 1u << 22 | 0xC0);
    put(0x38F, 7ull | 1ull << 32); /* the fourth is off */
    put(0x38D, 2);
    for (unsigned cpl = 0; cpl < 4; cpl++)
        retire(INSN_PLAIN, false, cpl);
    EXPECT_EQ(get(0xC1), 3);
    EXPECT_EQ(get(0xC2), 1);
    EXPECT_EQ(get(0xC3), 0);
    EXPECT_EQ(get(0xC4), 0);
    EXPECT_EQ(get(0x309), 3);
    put(0x38F, 0);
    EXPECT_EQ(cpu.perf.live, 0);
    /* Four bits for each fixed counter, and each has an enable of its own. */
    put(0x38F, 7ull << 32);
    for (unsigned fixed = 0; fixed < 3; fixed++) {
        put(0x38D, 1u << 4 * fixed);
        EXPECT_EQ(cpu.perf.live, 1 << (4 + fixed));
        EXPECT_EQ(cpu.perf.counting[4 + fixed].rings, RING_0);
    }
}

static void test_overflow(void)
{
    setup("3");
    put(0x186, 3u << 16 | 1u << 22 | 0xC0);
    put(0x187, 3u << 16 | 1u << 22 | 1u << 20 | 0xC0);
    put(0xC1, 0xFFFFFFFE);
    put(0xC2, 0xFFFFFFFD);
    EXPECT_EQ(count_limit(&cpu), 2);
    EXPECT(count_plain(&cpu, 0, 2));
    EXPECT_EQ(get(0x38E), 1);
    EXPECT_EQ(cpu.interrupt_causes, 0);
    EXPECT(count_plain(&cpu, 0, 1));
    EXPECT_EQ(get(0x38E), 3);
    EXPECT_EQ(cpu.interrupt_causes, INTERRUPT_COUNTER);
    EXPECT_EQ(get(0xC1), 1);
    put(0x390, 2);
    EXPECT_EQ(get(0x38E), 1);
}

/* --- records */

static void sample(const char *format, uint64_t select)
{
    setup(format);
    for (unsigned i = 0; i < 16; i++)
        cpu.gpr[i] = 0x1000 + i;
    vmcb.save.rflags = 0x246;
    vmcb.save.rip = 0x5555;
    *word(AREA + 0x40) = (uint64_t)-3;
    put(0x186, 3u << 16 | 1u << 22 | select);
    put(0xC1, 0xFFFFFFFF);
    put(0x3F1, 1);
}

static void expect_words(uint64_t at, const uint64_t *words, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        EXPECT_EQ(word(at)[i], words[i]);
}

static void test_formats(void)
{
    /* Registers in the order of the first formats: BX before CX, SP last. */
    static const uint64_t first[] = {0x246,  0x5555, 0x1000, 0x1003, 0x1001, 0x1002,
                                     0x1006, 0x1007, 0x1005, 0x1004, 0x1008, 0x1009,
                                     0x100A, 0x100B, 0x100C, 0x100D, 0x100E, 0x100F};
    static const uint64_t adaptive[] = {0x246,  0x5555, 0x1000, 0x1001, 0x1002, 0x1003,
                                        0x1004, 0x1005, 0x1006, 0x1007, 0x1008, 0x1009,
                                        0x100A, 0x100B, 0x100C, 0x100D, 0x100E, 0x100F};
    static const uint64_t bytes[] = {0x90, 0xB0, 0xC0, 0xC8, 0x20 + 0x20 + 0x90};
    char name[2] = "0";

    for (unsigned format = 0; format < 5; format++, name[0]++) {
        sample(name, 0xC0 | (format == 4 ? 1ull << 34 : 0));
        EXPECT_EQ(msr_write(&cpu, 0x38D, 0x11100000000), format == 4);
        if (format == 4)
            put(0x3F2, 3);
        retire(INSN_PLAIN, false, 3);
        EXPECT_EQ(*word(AREA + 0x28), BUFFER);
        EXPECT_EQ(get(0x38E), 1);
        retire(INSN_PLAIN, false, 3);
        EXPECT_EQ(*word(AREA + 0x28), BUFFER + bytes[format]);
        EXPECT_EQ(*word(BUFFER + bytes[format]), 0);
        EXPECT_EQ(get(0xC1), 0xFFFFFFFFFFFD);
        EXPECT_EQ(get(0x38E), 0);
        EXPECT_EQ(cpu.interrupt_causes, 0);
        if (format < 4)
            expect_words(BUFFER, first, 18);
        if (format == 1 || format == 2 || format == 3)
            EXPECT_EQ(*word(BUFFER + 0x90), 1); /* status, or the applicable counter */
        if (format == 2 || format == 3)
            EXPECT_EQ(*word(BUFFER + 0xB0), 0x4444);
        if (format == 3)
            EXPECT(*word(BUFFER + 0xC0) != 0);
        if (format == 4) {
            EXPECT_EQ(*word(BUFFER), 3 | bytes[4] << 48);
            EXPECT_EQ(*word(BUFFER + 8), 0x4444);
            EXPECT_EQ(*word(BUFFER + 0x10), 1);
            expect_words(BUFFER + 0x40, adaptive, 18);
        }
        /* Three more arm again, the fourth is recorded. */
        for (unsigned i = 0; i < 3; i++)
            retire(INSN_PLAIN, false, 3);
        EXPECT_EQ(*word(AREA + 0x28), BUFFER + bytes[format]);
        retire(INSN_PLAIN, false, 3);
        EXPECT_EQ(*word(AREA + 0x28), BUFFER + 2 * bytes[format]);
    }
}

static void test_threshold_and_bounds(void)
{
    sample("1", 0xC4);
    *word(AREA + 0x38) = BUFFER + 2 * 0xB0;
    *word(AREA + 0x30) = BUFFER + 3 * 0xB0 - 1;
    *word(AREA + 0x40) = (uint64_t)-1;
    for (unsigned i = 0; i < 2; i++) {
        retire(INSN_JMP, true, 3);
        retire(INSN_PLAIN, false, 3);
        retire(INSN_JCC, false, 3);
        EXPECT_EQ(cpu.interrupt_causes, i ? INTERRUPT_PEBS : 0);
        EXPECT_EQ(get(0x38E), i ? 1ull << 62 : 0);
    }
    /* No room for a third: nothing moves, nothing is signalled. */
    put(0x390, 1ull << 62);
    cpu.interrupt_causes = 0;
    retire(INSN_JMP, true, 3);
    retire(INSN_JMP, true, 3);
    EXPECT_EQ(*word(AREA + 0x28), BUFFER + 2 * 0xB0);
    EXPECT_EQ(*word(BUFFER + 2 * 0xB0), 0);
    EXPECT_EQ(get(0x38E), 1);
    EXPECT_EQ(get(0xC1), 1);
    EXPECT_EQ(cpu.interrupt_causes, 0);
    /* An index below the base is out of bounds as well. */
    sample("1", 0xC0);
    *word(AREA + 0x28) = BUFFER - 0xB0;
    retire(INSN_PLAIN, false, 3);
    retire(INSN_PLAIN, false, 3);
    EXPECT_EQ(*word(AREA + 0x28), BUFFER - 0xB0);
}

/* Two counters on one instruction: one record; the fixed one has its reset further out. */
static void test_together(void)
{
    sample("4", 0xC0);
    put(0x3F2, 3); /* asked for, but by neither counter */
    *word(AREA + 0x80) = (uint64_t)-9;
    put(0x38D, 2);
    put(0x38F, 1 | 1ull << 32);
    put(0x309, 0xFFFFFFFFFFFF);
    put(0x3F1, 1 | 1ull << 32);
    retire(INSN_PLAIN, false, 3);
    retire(INSN_PLAIN, false, 3);
    EXPECT_EQ(*word(AREA + 0x28), BUFFER + 0x20);
    EXPECT_EQ(*word(BUFFER + 0x10), 1 | 1ull << 32);
    EXPECT_EQ(get(0xC1), 0xFFFFFFFFFFFD);
    EXPECT_EQ(get(0x309), 0xFFFFFFFFFFF7);
}

/* --- what the manual leaves open */

static void test_policies(void)
{
    struct retired call = {
        .count = 1, .class = INSN_SYSCALL, .taken = true, .cpl_before = 3, .cpl_after = 0};

    for (unsigned after = 0; after < 2; after++) {
        setup("3");
        EXPECT_EQ(model_set("policy", after ? "pmc-crossing:after" : "pmc-crossing:before"),
                  MODEL_OK);
        put(0x186, 1u << 16 | 1u << 22 | 0xC0);
        EXPECT(count_retired(&cpu, &call));
        EXPECT_EQ(get(0xC1), !after);
    }
    /* A record of the state before the instruction, and the capability that says so. */
    sample("3", 0xC0);
    EXPECT_EQ(model_set("policy", "pebs-trap:fault"), MODEL_OK);
    EXPECT_EQ(get(0x345) & 1 << 6, 0);
    retire(INSN_PLAIN, false, 3);
    pebs_before(&cpu);
    cpu.gpr[RBX] = 1;
    vmcb.save.rip = 0x6666;
    vmcb.save.rflags = 2;
    retire(INSN_PLAIN, false, 3);
    EXPECT_EQ(word(BUFFER)[0], 0x246);
    EXPECT_EQ(word(BUFFER)[1], 0x5555);
    EXPECT_EQ(word(BUFFER)[3], 0x1003);
    /* Room comes late: only who tries again stores. */
    for (unsigned again = 0; again < 2; again++) {
        sample("3", 0xC0);
        EXPECT_EQ(model_set("policy", again ? "pebs-full:retry" : "pebs-full:skip"), MODEL_OK);
        *word(AREA + 0x30) = BUFFER;
        retire(INSN_PLAIN, false, 3);
        retire(INSN_PLAIN, false, 3);
        EXPECT_EQ(get(0xC1), 1);
        *word(AREA + 0x30) = BUFFER + 0x1000;
        retire(INSN_PLAIN, false, 3);
        EXPECT_EQ(*word(AREA + 0x28), BUFFER + (again ? 0xC8 : 0));
    }
    model_reset_config();
}

int main(void)
{
    arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED)
        return 1;
    RUN(test_registers);
    RUN(test_events);
    RUN(test_rings_and_enables);
    RUN(test_overflow);
    RUN(test_formats);
    RUN(test_threshold_and_bounds);
    RUN(test_together);
    RUN(test_policies);
    UNIT_END();
}
