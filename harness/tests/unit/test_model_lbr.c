/* SPDX-License-Identifier: BSD-2-Clause */
/* The model's last-branch stack, and what an interrupt of the buffer freezes. */
#include "harness/tests/fakes/unit.h"
#include "hw/model/bts/bts.h"
#include "hw/model/host/host.h"
#include "hw/model/host/stay.h"
#include "hw/model/perfmon/perfmon.h"

static struct model_cpu cpu;
static struct vmcb vmcb;

/* What record.c and state.c reach for, and no test here does. */
void machine_save_hidden(struct model_cpu *unused)
{
    (void)unused;
}

/* No other processor is started here. */
bool apic_command_write(struct model_cpu *cpu, uint64_t value)
{
    (void)cpu;
    return value == 0;
}

/* Sixteen pairs; the seventeenth branch takes the place of the first. */
static void test_branch_stack(void)
{
    struct transfer jump = {.kind = TRANSFER_JUMP, .class = INSN_JCC, .cpl_after = 3};
    uint64_t value;

    cpu = (struct model_cpu){0};
    cpu.debugctl = 1;
    for (uint64_t i = 1; i <= 17; i++) {
        jump.from = i;
        jump.to = 0x100 + i;
        record_transfer(&cpu, &jump);
    }
    EXPECT(msr_read(&cpu, 0x1C9, &value));
    EXPECT_EQ(value, 1);
    EXPECT(msr_read(&cpu, 0x681, &value));
    EXPECT_EQ(value, 17);
    EXPECT(msr_read(&cpu, 0x6C2, &value));
    EXPECT_EQ(value, 0x102);
    EXPECT(!msr_read(&cpu, 0x690, &value));
    EXPECT(msr_write(&cpu, 0x1C9, 18)); /* as wide as the stack is deep */
    EXPECT(msr_read(&cpu, 0x1C9, &value));
    EXPECT_EQ(value, 2);
    EXPECT(!msr_write(&cpu, 0x1C8, 0x200));
    /* Kept out: Jcc by its class, anything by the ring it ends in. */
    for (unsigned bit = 0; bit < 9; bit++) {
        EXPECT(msr_write(&cpu, 0x1C8, 1ull << bit));
        cpu.lbr_top = 0;
        record_transfer(&cpu, &jump);
        EXPECT_EQ(cpu.lbr_top, bit == 1 || bit == 2 ? 0 : 1);
    }
    cpu.debugctl = 0;
    cpu.lbr_select = 0;
    cpu.lbr_top = 0;
    record_transfer(&cpu, &jump);
    EXPECT_EQ(cpu.lbr_top, 0);
    cpu.debugctl = 1;
    jump.kind = TRANSFER_DEBUG;
    record_transfer(&cpu, &jump);
    EXPECT_EQ(cpu.lbr_top, 0);
}

/* A kernel writes 0, asks CPUID and reads; and it may offer an update. */
static void test_microcode(void)
{
    uint64_t value;

    cpu = (struct model_cpu){0};
    EXPECT(msr_write(&cpu, 0x8B, 5));
    EXPECT(msr_read(&cpu, 0x8B, &value));
    EXPECT_EQ(value, 5);
    EXPECT(msr_write(&cpu, 0x79, 0x100000));
    EXPECT(!msr_read(&cpu, 0x79, &value));
}

/* What a PMI freezes, in both ways. */
static void test_freeze(void)
{
    uint64_t value;

    for (unsigned by_status = 0; by_status < 2; by_status++) {
        cpu = (struct model_cpu){.vmcb = &vmcb};
        model_set("policy", by_status ? "freeze-by:status" : "freeze-by:control");
        EXPECT_EQ(perfmon_version(), by_status ? 4 : 3);
        cpu.debugctl = 1;
        EXPECT(msr_write(&cpu, 0x38D, 3));
        EXPECT(msr_write(&cpu, 0x38F, 1ull << 32));
        perfmon_on_interrupt(&cpu, INTERRUPT_BTS);
        EXPECT_EQ(cpu.debugctl, 1);
        EXPECT_EQ(cpu.perf.control, 1ull << 32);
        EXPECT_EQ(cpu.perf.status, 0);
        EXPECT_EQ(cpu.perf.live, 1 << 4);
        EXPECT(count_plain(&cpu, 0, 3));
        cpu.debugctl = 1 | 3 << 11;
        perfmon_on_interrupt(&cpu, INTERRUPT_BTS);
        EXPECT_EQ(cpu.debugctl, (by_status ? 1 : 0) | 3 << 11);
        EXPECT_EQ(cpu.perf.control, by_status ? 1ull << 32 : 0);
        EXPECT_EQ(cpu.perf.status, by_status ? 3ull << 58 : 0);
        EXPECT_EQ(cpu.perf.live, 0);
        EXPECT(msr_read(&cpu, 0x309, &value));
        EXPECT_EQ(value, 3);
        EXPECT_EQ(msr_write(&cpu, 0x390, 3ull << 58), by_status);
        EXPECT_EQ(cpu.perf.status, 0);
        EXPECT(msr_write(&cpu, 0x38F, 1ull << 32));
        count_refresh(&cpu);
        EXPECT_EQ(cpu.perf.live, 1 << 4);
        EXPECT(!msr_write(&cpu, 0x38F, 1ull << 4));
    }
    model_reset_config();
}

int main(void)
{
    RUN(test_branch_stack);
    RUN(test_microcode);
    RUN(test_freeze);
    UNIT_END();
}
