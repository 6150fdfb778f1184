/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fake processor's counters at work: events, overflows, PEBS records of every format. As
 * fake_regs.c it is written from the manual, with its own offsets and positions.
 */
#include "harness/tests/fakes/fake_regs.h"

#include <string.h>

#define BIT(n) (1ull << (n))

static uint64_t area_field(unsigned offset)
{
    uint64_t value;

    memcpy(&value, (const char *)(uintptr_t)fake.ds_area + offset, sizeof(value));
    return value;
}

/* Flags, IP, and the registers in the order of the fixed formats (by encoding numbers). */
static unsigned put_fixed(uint64_t *word, const struct fake_state *state, uint64_t ip)
{
    static const unsigned order[16] = {0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};

    word[0] = state->flags;
    word[1] = ip;
    for (unsigned i = 0; i < 16; i++)
        word[2 + i] = state->gprs[order[i]];
    return 18;
}

static unsigned put_adaptive(uint64_t *word, const struct fake_state *state, unsigned counter,
                             bool groups)
{
    uint64_t data = groups ? fake.pebs_data : 0;
    unsigned at = 4;

    word[1] = state->ip;
    word[2] = BIT(counter);
    word[3] = state->tsc;
    if (data & 1)
        at += 4;
    if (data & 2) {
        word[at++] = state->flags;
        word[at++] = state->next_ip;
        memcpy(&word[at], state->gprs, sizeof(state->gprs));
        at += 16;
    }
    word[0] = data | (uint64_t)at * 8 << 48;
    return at;
}

static unsigned format(void)
{
    return fake.capabilities >> 8 & 15;
}

/* Quadwords of the record. */
static unsigned make_record(uint64_t *word, const struct fake_state *state, unsigned counter,
                            bool groups)
{
    static const unsigned words[4] = {18, 22, 24, 25};

    memset(word, 0, 64 * sizeof(*word));
    if (format() >= 4)
        return put_adaptive(word, state, counter, groups);
    put_fixed(word, state, fake.capabilities & BIT(6) ? state->next_ip : state->ip);
    word[18] = format() == 3 ? BIT(counter) : fake.status;
    word[19] = 0xDA7A;
    if (format() >= 2)
        word[22] = state->ip;
    if (format() == 3)
        word[24] = state->tsc;
    return words[format()];
}

static bool groups_wanted(unsigned counter)
{
    return counter < 32 ? fake.selects[counter] >> 34 & 1
                        : fake.fixed_control >> (32 + 4 * (counter - 32)) & 1;
}

/* Whether the threshold was reached. */
static bool store(const struct fake_state *state, unsigned counter)
{
    uint64_t word[64], index, size;

    if (!fake.ds_area) {
        fake.sampling_crashes++;
        return false;
    }
    size = 8 * make_record(word, state, counter, groups_wanted(counter));
    index = area_field(0x28);
    if (index < area_field(0x20) || index + size > area_field(0x30)) {
        fake.pebs_skipped++;
    } else {
        memcpy((char *)(uintptr_t)index, word, size);
        index += size;
        memcpy((char *)(uintptr_t)fake.ds_area + 0x28, &index, sizeof(index));
        fake.samples++;
    }
    fake.counters[counter] = area_field(0x40 + 8 * (counter < 32 ? counter : counter - 24)) &
                             (BIT(fake.counter_bits) - 1);
    if (index < area_field(0x38) || fake.status & BIT(62))
        return false;
    fake.status |= BIT(62);
    return true;
}

/* Whether an interrupt is asked for. */
static bool count(const struct fake_state *state, unsigned counter, bool interrupt)
{
    fake.counters[counter] = (fake.counters[counter] + 1) & (BIT(fake.counter_bits) - 1);
    if (fake.counters[counter])
        return false;
    if (fake.pebs_enable & BIT(counter))
        return store(state, counter);
    fake.status |= BIT(counter);
    return interrupt;
}

void fake_retire(const struct fake_state *state, bool branch, unsigned cpl)
{
    bool ask = false;

    for (unsigned n = 0; n < fake.general; n++) {
        uint64_t select = fake.selects[n];
        bool event = (select & 0xFFFF) == 0xC0 || ((select & 0xFFFF) == 0xC4 && branch);

        if (event && fake.global_control & BIT(n) && select & BIT(22) &&
            select & BIT(cpl ? 16 : 17))
            ask |= count(state, n, select & BIT(20));
    }
    if (fake.fixed && fake.global_control & BIT(32) && fake.fixed_control & (cpl ? 2 : 1))
        ask |= count(state, 32, fake.fixed_control & 8);
    if (ask)
        fake_request();
}

void fake_retire_some(uint64_t first, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct fake_state state = {
            .ip = first + i, .next_ip = first + i + 1, .flags = 0x202, .tsc = 1000 + first + i};

        for (unsigned k = 0; k < 16; k++)
            state.gprs[k] = (first + i) << 8 | k;
        fake_retire(&state, i % 2, 3);
    }
}
