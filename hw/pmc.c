/* SPDX-License-Identifier: BSD-2-Clause */
/* Performance counters and PEBS: their registers, by counter. */
#include "hw/pmc.h"

#include "hw/quirk.h"
#include "hw/trap.h"

#define NO_REGISTER VECTOR_GP /* as the processor would answer */

#define SELECT(event, umask) ((umask) << 8 | (event))

uint64_t pmc_event_select(enum pmc_event event)
{
    static const uint16_t select[PMC_EVENTS_KNOWN] = {
        [PMC_CORE_CYCLES] = SELECT(0x3C, 0x00),
        [PMC_INSTRUCTIONS] = SELECT(0xC0, 0x00),
        [PMC_REFERENCE_CYCLES] = SELECT(0x3C, 0x01),
        [PMC_CACHE_REFERENCES] = SELECT(0x2E, 0x4F),
        [PMC_CACHE_MISSES] = SELECT(0x2E, 0x41),
        [PMC_BRANCHES] = SELECT(0xC4, 0x00),
        [PMC_BRANCH_MISSES] = SELECT(0xC5, 0x00),
        [PMC_BRANCHES_NEAR_TAKEN] = SELECT(0xC4, 0x20),
        [PMC_BRANCHES_FAR] = SELECT(0xC4, 0x40),
    };

    return event < PMC_EVENTS_KNOWN ? select[event] : 0;
}

/* --- what there is */

static void identify_pebs(struct pmc *out)
{
    uint64_t misc = 0;
    unsigned quirks = cpu_quirks();

    out->pebs_format =
        out->capabilities >> PERF_CAP_PEBS_FORMAT_SHIFT & PERF_CAP_PEBS_FORMAT_MASK;
    out->pebs_trap = out->capabilities & PERF_CAP_PEBS_TRAP;
    out->pebs_registers = out->capabilities & PERF_CAP_PEBS_REGISTERS;
    out->pebs_baseline = out->capabilities & PERF_CAP_PEBS_BASELINE;
    out->pebs_one_page = quirks & QUIRK_PEBS_ONE_PAGE;
    out->pebs_first_only = quirks & QUIRK_PEBS_FIRST_ONLY;
    out->has_pebs = cpu_has_ds() && !(quirks & QUIRK_NO_PEBS) && out->perfmon.version &&
                    msr_read_try(MSR_IA32_MISC_ENABLE, &misc) == 0 &&
                    !(misc & MISC_ENABLE_PEBS_UNAVAILABLE);
    /* Emulators are known to leave the availability bits clear and to implement nothing. */
    if (out->has_pebs)
        out->has_pebs = misc & MISC_ENABLE_PERFMON && pmc_pebs_enable_read(&misc) == 0;
}

void pmc_identify(struct pmc *out)
{
    *out = (struct pmc){0};
    cpu_perfmon(&out->perfmon);
    if (cpu_has_pdcm())
        out->has_capabilities =
            msr_read_try(MSR_IA32_PERF_CAPABILITIES, &out->capabilities) == 0;
    out->full_width = out->capabilities & PERF_CAP_FULL_WIDTH;
    identify_pebs(out);
}

bool pmc_exists(const struct pmc *pmc, unsigned counter)
{
    if (counter < PMC_FIXED)
        return counter < PMC_GENERAL_MAX && counter < pmc->perfmon.general;
    counter -= PMC_FIXED;
    return counter < PMC_FIXED_MAX &&
           (counter < pmc->perfmon.fixed || pmc->perfmon.fixed_present >> counter & 1);
}

uint64_t pmc_all(const struct pmc *pmc)
{
    uint64_t all = 0;

    for (unsigned counter = 0; counter < PMC_FIXED + PMC_FIXED_MAX; counter++)
        all |= (uint64_t)pmc_exists(pmc, counter) << counter;
    return all;
}

uint64_t pmc_mask(const struct pmc *pmc, unsigned counter)
{
    unsigned bits = counter < PMC_FIXED ? pmc->perfmon.general_bits : pmc->perfmon.fixed_bits;

    return bits < 64 ? (1ull << bits) - 1 : ~0ull;
}

/* --- one counter */

/* 0 for a counter without a register: that is no register of ours. */
static uint32_t counter_msr(unsigned counter, uint32_t general)
{
    if (counter < PMC_GENERAL_MAX)
        return general + counter;
    if (counter - PMC_FIXED < PMC_FIXED_MAX)
        return MSR_IA32_FIXED_CTR0 + counter - PMC_FIXED;
    return 0;
}

static int write(uint32_t msr, uint64_t value)
{
    return msr ? msr_write_try(msr, value) : NO_REGISTER;
}

int pmc_read(unsigned counter, uint64_t *value)
{
    uint32_t msr = counter_msr(counter, MSR_IA32_PMC0);

    return msr ? msr_read_try(msr, value) : NO_REGISTER;
}

int pmc_write(const struct pmc *pmc, unsigned counter, uint64_t value)
{
    if (counter >= PMC_FIXED || pmc->full_width)
        return write(counter_msr(counter, MSR_IA32_A_PMC0), value & pmc_mask(pmc, counter));
    return write(counter_msr(counter, MSR_IA32_PMC0), (uint32_t)value);
}

int pmc_write_legacy(unsigned counter, uint64_t value)
{
    return write(counter_msr(counter, MSR_IA32_PMC0), value);
}

int pmc_write_full(unsigned counter, uint64_t value)
{
    return counter < PMC_FIXED ? write(counter_msr(counter, MSR_IA32_A_PMC0), value)
                               : NO_REGISTER;
}

int pmc_select_read(unsigned counter, uint64_t *value)
{
    return counter < PMC_GENERAL_MAX ? msr_read_try(MSR_IA32_PERFEVTSEL0 + counter, value)
                                     : NO_REGISTER;
}

int pmc_select_write(unsigned counter, uint64_t value)
{
    return counter < PMC_GENERAL_MAX ? msr_write_try(MSR_IA32_PERFEVTSEL0 + counter, value)
                                     : NO_REGISTER;
}

/* The counter's four bits of the fixed control; the others' stay. */
static int fixed_field(unsigned counter, uint64_t field)
{
    unsigned shift = 4 * (counter - PMC_FIXED);
    uint64_t control = 0;
    int vector = pmc_fixed_control_read(&control);

    if (vector || counter - PMC_FIXED >= PMC_FIXED_MAX)
        return vector ? vector : NO_REGISTER;
    control &= ~((0xFull | FIXED_CTR_ADAPTIVE) << shift);
    return pmc_fixed_control_write(control | field << shift);
}

int pmc_program(unsigned counter, enum pmc_event event, unsigned flags)
{
    uint64_t select = pmc_event_select(event) | PERFEVTSEL_EN;

    if (counter >= PMC_FIXED)
        return fixed_field(counter, (flags & PMC_USR ? FIXED_CTR_USR : 0) |
                                        (flags & PMC_OS ? FIXED_CTR_OS : 0) |
                                        (flags & PMC_INT ? FIXED_CTR_INT : 0) |
                                        (flags & PMC_ADAPTIVE ? FIXED_CTR_ADAPTIVE : 0));
    select |= flags & PMC_USR ? PERFEVTSEL_USR : 0;
    select |= flags & PMC_OS ? PERFEVTSEL_OS : 0;
    select |= flags & PMC_INT ? PERFEVTSEL_INT : 0;
    select |= flags & PMC_ADAPTIVE ? PERFEVTSEL_ADAPTIVE : 0;
    return pmc_select_write(counter, select);
}

int pmc_stop(unsigned counter)
{
    return counter >= PMC_FIXED ? fixed_field(counter, 0) : pmc_select_write(counter, 0);
}

/* --- all counters */

int pmc_fixed_control_read(uint64_t *value)
{
    return msr_read_try(MSR_IA32_FIXED_CTR_CTRL, value);
}

int pmc_fixed_control_write(uint64_t value)
{
    return msr_write_try(MSR_IA32_FIXED_CTR_CTRL, value);
}

int pmc_global_control_read(uint64_t *value)
{
    return msr_read_try(MSR_IA32_PERF_GLOBAL_CTRL, value);
}

int pmc_global_control_write(uint64_t value)
{
    return msr_write_try(MSR_IA32_PERF_GLOBAL_CTRL, value);
}

int pmc_status_read(uint64_t *value)
{
    return msr_read_try(MSR_IA32_PERF_GLOBAL_STATUS, value);
}

int pmc_status_clear(uint64_t value)
{
    return msr_write_try(MSR_IA32_PERF_GLOBAL_OVF_CTRL, value);
}

/* --- PEBS */

int pmc_pebs_enable_read(uint64_t *value)
{
    return msr_read_try(MSR_IA32_PEBS_ENABLE, value);
}

int pmc_pebs_enable_write(uint64_t value)
{
    return msr_write_try(MSR_IA32_PEBS_ENABLE, value);
}

int pmc_pebs_data_write(uint64_t value)
{
    return msr_write_try(MSR_PEBS_DATA_CFG, value);
}

/* --- around a check */

void pmc_save(const struct pmc *pmc, struct pmc_state *out)
{
    *out = (struct pmc_state){.exists = pmc->perfmon.version >= 2, .pmc = pmc};
    if (!out->exists)
        return;
    pmc_global_control_read(&out->global_control);
    pmc_fixed_control_read(&out->fixed_control);
    pmc_status_read(&out->status);
    for (unsigned counter = 0; counter < PMC_GENERAL_MAX && pmc_exists(pmc, counter); counter++)
        pmc_select_read(counter, &out->select[counter]);
    if (pmc->has_pebs)
        pmc_pebs_enable_read(&out->pebs_enable);
    if (pmc->pebs_baseline)
        msr_read_try(MSR_PEBS_DATA_CFG, &out->pebs_data);
}

void pmc_restore(const struct pmc_state *state)
{
    uint64_t status = 0;

    if (!state->exists)
        return;
    pmc_global_control_write(0);
    if (state->pmc->has_pebs)
        pmc_pebs_enable_write(0);
    pmc_status_read(&status);
    /* One bit at a time: one that cannot be cleared must not keep the others. */
    for (unsigned bit = 0; bit < 64; bit++)
        if ((status & ~state->status) >> bit & 1)
            pmc_status_clear(1ull << bit);
    for (unsigned counter = 0; counter < PMC_GENERAL_MAX && pmc_exists(state->pmc, counter);
         counter++)
        pmc_select_write(counter, state->select[counter]);
    pmc_fixed_control_write(state->fixed_control);
    if (state->pmc->pebs_baseline)
        pmc_pebs_data_write(state->pebs_data);
    if (state->pmc->has_pebs)
        pmc_pebs_enable_write(state->pebs_enable);
    pmc_global_control_write(state->global_control);
}

const char *pmc_leak(const struct pmc_state *state, uint64_t *before, uint64_t *now)
{
    struct pmc_state found;

    pmc_save(state->pmc, &found);
    const struct {
        const char *name;
        uint64_t before, now;
    } registers[] = {
        {"IA32_PERF_GLOBAL_CTRL", state->global_control, found.global_control},
        {"IA32_FIXED_CTR_CTRL", state->fixed_control, found.fixed_control},
        {"IA32_PEBS_ENABLE", state->pebs_enable, found.pebs_enable},
        {"MSR_PEBS_DATA_CFG", state->pebs_data, found.pebs_data},
        {"IA32_PERF_GLOBAL_STATUS", state->status, found.status},
    };

    for (unsigned i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        *before = registers[i].before;
        *now = registers[i].now;
        if (*before != *now)
            return registers[i].name;
    }
    for (unsigned counter = 0; counter < PMC_GENERAL_MAX; counter++) {
        *before = state->select[counter];
        *now = found.select[counter];
        if (*before != *now)
            return "IA32_PERFEVTSELx";
    }
    return NULL;
}
