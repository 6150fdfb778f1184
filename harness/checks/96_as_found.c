/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the suite repeats itself, and leaves the machine as it was.
 *
 * Claim: a rule of the suite's own. The same workload gives the same records every time but
 *   for the flags, which are nobody's to rely on; a run that is over has changed no register.
 * How: one workload a hundred times over, record by record; registers are read in the first
 *   check of all and again in the last. Each check is looked at for leaks as well, but in the
 *   registers that a snapshot knows.
 * Wrong if: firmware changes a register meanwhile, from an interrupt of its own: none of these
 *   is one that firmware changes while it runs. Seen in the field: a test that wrote
 *   IA32_MISC_ENABLE as a whole, and one that took the prediction flag for a promise.
 */
#define CHECK_GROUP "02 machine.found"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    uint32_t msr;
    const char *name;
} registers[] = {{MSR_IA32_MISC_ENABLE, "IA32_MISC_ENABLE"},
                 {MSR_IA32_DEBUGCTL, "IA32_DEBUGCTL"},
                 {MSR_IA32_DS_AREA, "IA32_DS_AREA"},
                 {MSR_IA32_PAT, "IA32_PAT"},
                 {MSR_IA32_EFER, "IA32_EFER"},
                 {MSR_IA32_STAR, "IA32_STAR"},
                 {MSR_IA32_LSTAR, "IA32_LSTAR"},
                 {MSR_IA32_FMASK, "IA32_FMASK"},
                 {MSR_IA32_SYSENTER_CS, "IA32_SYSENTER_CS"},
                 {MSR_LBR_SELECT, "LBR_SELECT"},
                 {MSR_IA32_PEBS_ENABLE, "IA32_PEBS_ENABLE"},
                 {MSR_IA32_FIXED_CTR_CTRL, "IA32_FIXED_CTR_CTRL"},
                 {MSR_IA32_PERF_GLOBAL_CTRL, "IA32_PERF_GLOBAL_CTRL"}};

struct found {
    int vector;
    uint64_t value;
};

static struct {
    bool taken;
    struct found registers[COUNT(registers)];
    uint64_t cr0, cr4, dr7;
    uint32_t signature;
} found;

static struct found read_one(uint32_t msr)
{
    struct found one = {0, 0};

    one.vector = msr_read_try(msr, &one.value);
    return one;
}

CHECK("machine.found.first", SOFTWARE, "", NEED_NOTHING)
{
    struct cpu_identity cpu;

    for (size_t i = 0; i < COUNT(registers); i++) {
        found.registers[i] = read_one(registers[i].msr);
        EXPECT(run, found.registers[i].vector == 0 || found.registers[i].vector == VECTOR_GP,
               "RDMSR %s raises vector %d", registers[i].name, found.registers[i].vector);
    }
    cpu_identify(&cpu);
    found.signature = cpu.signature;
    found.cr0 = cr0_read();
    found.cr4 = cr4_read();
    found.dr7 = dr7_read();
    found.taken = true;
}

#undef CHECK_GROUP
#define CHECK_GROUP "96 bts.field"

CHECK("bts.field.stable", MUST, "GEN-20", NEED_BTS)
{
    static struct trace_record first[64];
    const struct workload *w = trace_find(run, "call.nested");
    unsigned rounds = run_count(run, 10000);
    size_t count = 0;

    for (unsigned round = 0; round < rounds; round++) {
        struct trace t;
        size_t i = 0;

        trace_open(run, &t, &(struct trace_setup){.records = 128});
        trace_workload(&t, w, 0, NULL);
        if (round == 0) {
            count = t.count < COUNT(first) ? t.count : COUNT(first);
            memcpy(first, t.records, count * sizeof(first[0]));
            trace_expect_workload(&t, w, 0, NULL);
        }
        while (i < count && t.records[i].from == first[i].from &&
               t.records[i].to == first[i].to)
            i++;
        REQUIRE(run, i == count && t.count >= count, "round %u differs at record %zu of %zu",
                round, i, t.count);
        run_deferred_now(run);
    }
}

CHECK("bts.field.as_found", MUST, "ENUM-03", NEED_BTS)
{
    struct cpu_identity cpu;

    if (!found.taken) {
        run_skip(run, "machine.found.first is not part of this run");
        return;
    }
    for (size_t i = 0; i < COUNT(registers); i++) {
        struct found now = read_one(registers[i].msr);

        EXPECT(run,
               now.vector == found.registers[i].vector && now.value == found.registers[i].value,
               "%s was %lx and is %lx", registers[i].name, found.registers[i].value, now.value);
    }
    cpu_identify(&cpu);
    EXPECT_EQ(run, cpu.signature, found.signature, "signature");
    EXPECT_EQ(run, cr0_read(), found.cr0, "CR0");
    EXPECT_EQ(run, cr4_read(), found.cr4, "CR4");
    EXPECT_EQ(run, dr7_read(), found.dr7, "DR7");
}
