/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time and chance. The clock is the time-stamp counter; a program that sleeps is not kept
 * waiting, the clock jumps. Random numbers follow from the seed, so that a run can be repeated.
 */
#include "guest/program_parts.h"

#include "hw/regs.h"
#include "hw/string.h"

enum {
    CALL_NANOSLEEP = 35,
    CALL_GETTIMEOFDAY = 96,
    CALL_TIMES = 100,
    CALL_TIME = 201,
    CALL_CLOCK_GETTIME = 228,
    CALL_CLOCK_GETRES = 229,
    CALL_CLOCK_NANOSLEEP = 230,
    CALL_GETRANDOM = 318
};

#define SECOND        1000000000ull
#define CLOCKS        12u
#define CLOCK_OF_DAY  0u /* and 5, 8, 11: the others begin with the program */
#define TIMER_ABSTIME 1u
#define RANDOM_MOST   0x1000u /* bytes of one call; the rest is the program's to do */

struct timespec {
    int64_t seconds, nanoseconds;
};

/* Two steps, so that nothing overflows within centuries. */
uint64_t program_now(const struct program *p)
{
    uint64_t ticks = tsc_read() - p->began, hz = p->start.tsc_hz ? p->start.tsc_hz : SECOND;

    return ticks / hz * SECOND + ticks % hz * (SECOND / 1000) / (hz / 1000 ? hz / 1000 : 1) +
           p->skipped;
}

void program_skip(struct program *p, uint64_t nanoseconds)
{
    p->skipped += nanoseconds;
}

static uint64_t day_time(const struct program *p)
{
    return p->start.epoch + program_now(p);
}

static bool is_of_day(uint64_t clock)
{
    return clock == CLOCK_OF_DAY || clock == 5 || clock == 8 || clock == 11;
}

void program_skip_until(struct program *p, bool of_day, uint64_t nanoseconds)
{
    uint64_t now = of_day ? day_time(p) : program_now(p);

    if (nanoseconds > now)
        program_skip(p, nanoseconds - now);
}

/* Clocks 2 and 3, and the negative ones that are another process's: none but this one runs. */
static uint64_t clock_time(const struct program *p, uint64_t clock)
{
    bool of_processor = clock == 2 || clock == 3 || (int64_t)clock < 0;

    return is_of_day(clock) ? day_time(p) : program_now(p) - (of_processor ? p->skipped : 0);
}

static uint64_t put_time(struct program *p, uint64_t to, uint64_t nanoseconds)
{
    const struct timespec time = {(int64_t)(nanoseconds / SECOND),
                                  (int64_t)(nanoseconds % SECOND)};

    return program_write(p, to, &time, sizeof(time)) ? 0 : ERROR(PROGRAM_EFAULT);
}

static uint64_t get_time(struct program *p, struct trap_frame *f)
{
    if (f->rdi >= CLOCKS && (int64_t)f->rdi >= 0)
        return ERROR(PROGRAM_EINVAL);
    return put_time(p, f->rsi, clock_time(p, f->rdi));
}

static uint64_t get_resolution(struct program *p, struct trap_frame *f)
{
    if (f->rdi >= CLOCKS && (int64_t)f->rdi >= 0)
        return ERROR(PROGRAM_EINVAL);
    return f->rsi ? put_time(p, f->rsi, 1) : 0;
}

static uint64_t get_time_of_day(struct program *p, struct trap_frame *f)
{
    uint64_t now = day_time(p);
    const struct timespec time = {(int64_t)(now / SECOND), (int64_t)(now % SECOND / 1000)};
    const uint32_t zone[2] = {0, 0};

    if ((f->rdi && !program_write(p, f->rdi, &time, sizeof(time))) ||
        (f->rsi && !program_write(p, f->rsi, zone, sizeof(zone))))
        return ERROR(PROGRAM_EFAULT);
    return 0;
}

static uint64_t get_seconds(struct program *p, struct trap_frame *f)
{
    uint64_t seconds = day_time(p) / SECOND;

    if (f->rdi && !program_write(p, f->rdi, &seconds, sizeof(seconds)))
        return ERROR(PROGRAM_EFAULT);
    return seconds;
}

/* In hundredths of a second: all of it is the program's own. */
static uint64_t get_times(struct program *p, struct trap_frame *f)
{
    const uint64_t times[4] = {program_now(p) / (SECOND / 100), 0, 0, 0};

    if (f->rdi && !program_write(p, f->rdi, times, sizeof(times)))
        return ERROR(PROGRAM_EFAULT);
    return times[0];
}

static uint64_t sleep_until(struct program *p, uint64_t clock, uint64_t flags, uint64_t from)
{
    struct timespec time;
    uint64_t wanted;

    if (!program_read(p, &time, from, sizeof(time)))
        return ERROR(PROGRAM_EFAULT);
    if (time.seconds < 0 || (uint64_t)time.nanoseconds >= SECOND)
        return ERROR(PROGRAM_EINVAL);
    wanted = (uint64_t)time.seconds * SECOND + (uint64_t)time.nanoseconds;
    if (flags & TIMER_ABSTIME)
        program_skip_until(p, is_of_day(clock), wanted);
    else
        program_skip(p, wanted);
    return 0;
}

static uint64_t sleep_for(struct program *p, struct trap_frame *f)
{
    return sleep_until(p, 1, 0, f->rdi);
}

static uint64_t sleep_by_clock(struct program *p, struct trap_frame *f)
{
    if (f->rdi >= CLOCKS)
        return ERROR(PROGRAM_EINVAL);
    return sleep_until(p, f->rdi, f->rsi, f->rdx);
}

/* SplitMix64: one addition and a mixing of bits a number. */
static uint64_t next_random(struct program *p)
{
    uint64_t value = p->random += 0x9E3779B97F4A7C15ull;

    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ value >> 27) * 0x94D049BB133111EBull;
    return value ^ value >> 31;
}

void program_random(struct program *p, void *to, size_t bytes)
{
    uint8_t *at = to;

    for (uint64_t value; bytes > 0; bytes -= bytes < sizeof(value) ? bytes : sizeof(value)) {
        value = next_random(p);
        memcpy(at, &value, bytes < sizeof(value) ? bytes : sizeof(value));
        at += sizeof(value);
    }
}

static uint64_t get_random(struct program *p, struct trap_frame *f)
{
    static uint8_t bytes[RANDOM_MOST];
    size_t count = f->rsi < RANDOM_MOST ? (size_t)f->rsi : RANDOM_MOST;

    program_random(p, bytes, count);
    return program_write(p, f->rdi, bytes, count) ? count : ERROR(PROGRAM_EFAULT);
}

const struct program_call program_time_calls[] = {{CALL_NANOSLEEP, sleep_for},
                                                  {CALL_GETTIMEOFDAY, get_time_of_day},
                                                  {CALL_TIMES, get_times},
                                                  {CALL_TIME, get_seconds},
                                                  {CALL_CLOCK_GETTIME, get_time},
                                                  {CALL_CLOCK_GETRES, get_resolution},
                                                  {CALL_CLOCK_NANOSLEEP, sleep_by_clock},
                                                  {CALL_GETRANDOM, get_random},
                                                  {0, NULL}};
