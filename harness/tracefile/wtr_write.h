/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing trace.wtr: each function builds one record in the caller's memory and returns its
 * size in bytes, 0 when it does not fit. Nothing is kept between calls; the caller appends
 * the bytes to the file and counts records and branches for the END record.
 * Freestanding, and callable with interrupts off: no allocation, no waiting, no state.
 *
 *     used  = wtr_put_header(block, room, tsc_hz, provider, version);
 *     used += wtr_put(block + used, room - used, WTR_IMAGE, cpu, process, &image, ...);
 *     while (count > 0) {                            (a drained buffer)
 *         used += wtr_pack(block + used, room - used, cpu, task, branch, count, &taken);
 *         branch += taken, count -= taken;           (taken 0: write the block out first)
 *     }
 *     used += wtr_put(block + used, room - used, WTR_END, 0, 0, &end, sizeof end, NULL, 0);
 */
#ifndef HARNESS_TRACEFILE_WTR_WRITE_H
#define HARNESS_TRACEFILE_WTR_WRITE_H

#include "harness/tracefile/wtr_format.h"

#define WTR_PADDED(bytes) (((bytes) + 7u) & ~(size_t)7)

/* The worst case of one packed branch: three numbers of 64 bits. */
#define WTR_PACKED_WORST 30

/*
 * The check of a record or file header whose own check field is 0. Every step is reversible,
 * so that a change in one word always changes the 64-bit state.
 */
static inline uint32_t wtr_check(const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    uint64_t state = 0x57415954524143ull ^ count;

    for (; count >= 8; count -= 8, at += 8) {
        uint64_t word;

        __builtin_memcpy(&word, at, 8);
        state = (state ^ word) * 0x9E3779B97F4A7C15ull;
        state ^= state >> 32;
    }
    return (uint32_t)state;
}

/* Writes header and check around a body of body_bytes that already lies behind the header. */
static inline size_t wtr_seal(void *out, enum wtr_kind kind, unsigned cpu, uint32_t task,
                              size_t body_bytes)
{
    size_t bytes = sizeof(struct wtr_record) + WTR_PADDED(body_bytes);
    struct wtr_record header = {
        .kind = (uint16_t)kind, .cpu = (uint16_t)cpu, .bytes = (uint32_t)bytes, .task = task};

    for (size_t i = sizeof header + body_bytes; i < bytes; i++)
        ((uint8_t *)out)[i] = 0;
    __builtin_memcpy(out, &header, sizeof header);
    header.check = wtr_check(out, bytes);
    __builtin_memcpy(out, &header, sizeof header);
    return bytes;
}

static inline size_t wtr_room(size_t body_bytes)
{
    return sizeof(struct wtr_record) + WTR_PADDED(body_bytes);
}

/* A record whose body is `fixed`, then `tail` (which may be empty). */
static inline size_t wtr_put(void *out, size_t room, enum wtr_kind kind, unsigned cpu,
                             uint32_t task, const void *fixed, size_t fixed_bytes,
                             const void *tail, size_t tail_bytes)
{
    uint8_t *body = (uint8_t *)out + sizeof(struct wtr_record);

    if (wtr_room(fixed_bytes + tail_bytes) > room ||
        wtr_room(fixed_bytes + tail_bytes) > WTR_RECORD_MAX)
        return 0;
    __builtin_memcpy(body, fixed, fixed_bytes);
    if (tail_bytes)
        __builtin_memcpy(body + fixed_bytes, tail, tail_bytes);
    return wtr_seal(out, kind, cpu, task, fixed_bytes + tail_bytes);
}

static inline size_t wtr_put_header(void *out, size_t room, uint64_t tsc_hz,
                                    const char *provider, const char *producer)
{
    struct wtr_file_header header = {
        .major = WTR_MAJOR, .minor = WTR_MINOR, .bytes = sizeof header, .tsc_hz = tsc_hz};

    if (room < sizeof header)
        return 0;
    __builtin_memcpy(header.magic, WTR_MAGIC, sizeof header.magic);
    for (unsigned i = 0; i + 1 < sizeof header.provider && provider[i]; i++)
        header.provider[i] = provider[i];
    for (unsigned i = 0; i + 1 < sizeof header.producer && producer[i]; i++)
        header.producer[i] = producer[i];
    header.check = wtr_check(&header, sizeof header);
    __builtin_memcpy(out, &header, sizeof header);
    return sizeof header;
}

static inline uint8_t *wtr_put_number(uint8_t *at, uint64_t value)
{
    while (value > 0x7F) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* A signed difference with its sign in bit 0. */
static inline uint64_t wtr_fold_sign(uint64_t difference)
{
    return difference << 1 ^ (difference >> 63 ? ~0ull : 0);
}

/*
 * Packs as many of `count` branches as surely fit into room; *taken tells how many, and 0 is
 * returned when it is none. Typical code needs 3 to 5 bytes a branch.
 */
static inline size_t wtr_pack(void *out, size_t room, unsigned cpu, uint32_t task,
                              const struct wtr_branch *branches, size_t count, size_t *taken)
{
    struct wtr_packed fixed = {0};
    uint8_t *payload = (uint8_t *)out + sizeof(struct wtr_record) + sizeof fixed;
    uint8_t *at = payload;
    uint64_t previous;
    size_t limit = room < WTR_RECORD_MAX ? room : WTR_RECORD_MAX, done = 0;

    *taken = 0;
    if (!count || wtr_room(sizeof fixed + WTR_PACKED_WORST) > limit)
        return 0;
    for (size_t i = 0; i < count; i++)
        fixed.form |= branches[i].flags ? WTR_PACKED_FLAGS : 0;
    fixed.base = previous = branches[0].from;
    while (done < count &&
           wtr_room(sizeof fixed + (size_t)(at - payload) + WTR_PACKED_WORST) <= limit) {
        const struct wtr_branch *b = &branches[done++];

        at = wtr_put_number(at, wtr_fold_sign(b->from - previous));
        at = wtr_put_number(at, wtr_fold_sign(b->to - b->from));
        if (fixed.form & WTR_PACKED_FLAGS)
            at = wtr_put_number(at, b->flags);
        previous = b->to;
    }
    fixed.count = (uint32_t)done;
    fixed.payload = (uint32_t)(at - payload);
    __builtin_memcpy((uint8_t *)out + sizeof(struct wtr_record), &fixed, sizeof fixed);
    *taken = done;
    return wtr_seal(out, WTR_PACKED, cpu, task, sizeof fixed + fixed.payload);
}

/* As they are, 24 bytes each: the fastest to write. */
static inline size_t wtr_put_branches(void *out, size_t room, unsigned cpu, uint32_t task,
                                      const struct wtr_branch *branches, size_t count)
{
    struct wtr_branches fixed = {.count = (uint32_t)count};

    return wtr_put(out, room, WTR_BRANCHES, cpu, task, &fixed, sizeof fixed, branches,
                   count * sizeof *branches);
}

#endif
