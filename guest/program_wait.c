/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that wait for files. All files are always ready, so nothing ever waits for one;
 * who waits for no file waits for the time, and the clock jumps.
 */
#include "guest/program_files.h"

enum { CALL_POLL = 7, CALL_SELECT = 23, CALL_PSELECT6 = 270, CALL_PPOLL = 271 };

#define FILES_MOST_POLLED 1024u
#define READY_IN          1u
#define READY_OUT         4u
#define NOT_OPEN          0x20u
#define MILLISECOND       1000000ull
#define SECOND            1000000000ull
#define FOR_EVER          UINT64_MAX

struct polled {
    int32_t number;
    uint16_t wanted, ready;
};

static uint64_t ended(struct program *p, struct trap_frame *f, uint64_t ready,
                      uint64_t nanoseconds, const char *call)
{
    if (ready)
        return ready;
    if (nanoseconds == FOR_EVER)
        program_stuck(p, f, call);
    program_skip(p, nanoseconds);
    return 0;
}

static uint64_t poll(struct program *p, struct trap_frame *f, uint64_t nanoseconds,
                     const char *call)
{
    uint64_t ready = 0;

    if (f->rsi > FILES_MOST_POLLED)
        return ERROR(PROGRAM_EINVAL);
    for (uint64_t i = 0; i < f->rsi; i++) {
        uint64_t at = f->rdi + i * sizeof(struct polled);
        struct polled one;
        struct open_file *open;

        if (!program_read(p, &one, at, sizeof(one)))
            return ERROR(PROGRAM_EFAULT);
        open = one.number < 0 ? NULL : program_open_file(p, (uint32_t)one.number);
        one.ready = open ? one.wanted & (READY_IN | READY_OUT) : one.number < 0 ? 0 : NOT_OPEN;
        ready += one.ready != 0;
        if (!program_write(p, at, &one, sizeof(one)))
            return ERROR(PROGRAM_EFAULT);
    }
    return ended(p, f, ready, nanoseconds, call);
}

static uint64_t poll_milliseconds(struct program *p, struct trap_frame *f)
{
    int32_t time = (int32_t)f->rdx;

    return poll(p, f, time < 0 ? FOR_EVER : (uint64_t)time * MILLISECOND, "poll");
}

/* A time of two words, the second in `unit` nanoseconds; none is for ever. False: not there. */
static bool read_time(struct program *p, uint64_t from, uint64_t unit, uint64_t *nanoseconds)
{
    uint64_t time[2];

    *nanoseconds = FOR_EVER;
    if (!from)
        return true;
    if (!program_read(p, time, from, sizeof(time)))
        return false;
    *nanoseconds = time[0] * SECOND + time[1] * unit;
    return true;
}

static uint64_t poll_time(struct program *p, struct trap_frame *f)
{
    uint64_t time;

    return read_time(p, f->rdx, 1, &time) ? poll(p, f, time, "ppoll") : ERROR(PROGRAM_EFAULT);
}

/* How many bits of a set are open files; one that is not is an error. */
static uint64_t count_set(struct program *p, uint64_t numbers, uint64_t set)
{
    uint64_t ready = 0;

    for (uint64_t number = 0; set && number < numbers; number++) {
        uint8_t byte;

        if (!program_read(p, &byte, set + number / 8, 1))
            return ERROR(PROGRAM_EFAULT);
        if (!(byte >> number % 8 & 1))
            continue;
        if (!program_open_file(p, number))
            return ERROR(PROGRAM_EBADF);
        ready++;
    }
    return ready;
}

static bool clear_set(struct program *p, uint64_t numbers, uint64_t set)
{
    const uint8_t none = 0;

    for (uint64_t i = 0; set && i < (numbers + 7) / 8; i++)
        if (!program_write(p, set + i, &none, 1))
            return false;
    return true;
}

/* The sets of what can be read and written stay as they are: all of it is ready. */
static uint64_t select(struct program *p, struct trap_frame *f, uint64_t unit, const char *call)
{
    uint64_t numbers = f->rdi, in, out, time;

    if (numbers > FILES_MOST_POLLED)
        return ERROR(PROGRAM_EINVAL);
    in = count_set(p, numbers, f->rsi);
    out = count_set(p, numbers, f->rdx);
    if ((int64_t)in < 0 || (int64_t)out < 0)
        return (int64_t)in < 0 ? in : out;
    if (!clear_set(p, numbers, f->r10) || !read_time(p, f->r8, unit, &time))
        return ERROR(PROGRAM_EFAULT);
    return ended(p, f, in + out, time, call);
}

static uint64_t select_microseconds(struct program *p, struct trap_frame *f)
{
    return select(p, f, 1000, "select");
}

static uint64_t select_time(struct program *p, struct trap_frame *f)
{
    return select(p, f, 1, "pselect6");
}

const struct program_call program_wait_calls[] = {{CALL_POLL, poll_milliseconds},
                                                  {CALL_SELECT, select_microseconds},
                                                  {CALL_PSELECT6, select_time},
                                                  {CALL_PPOLL, poll_time},
                                                  {0, NULL}};
