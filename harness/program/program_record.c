/* SPDX-License-Identifier: BSD-2-Clause */
/* Branches filtered and packed; the other records of a trace. Runs in the PMI handler. */
#include "harness/program/program_record.h"

#include "guest/program.h"
#include "harness/tracefile/wtr_write.h"
#include "hw/regs.h"

#define TASK       1
#define BATCH      1024
#define SMALL_ROOM 4096 /* for the records that are no branches */

_Static_assert(sizeof(struct wtr_branch) == sizeof(struct bts_record), "the same three words");

static uint8_t *free_memory(const struct recorder *r)
{
    return r->memory + r->used;
}

static void count(struct recorder *r, size_t bytes)
{
    r->used += bytes;
    r->records += bytes != 0;
}

bool recorder_put(struct recorder *r, enum wtr_kind kind, const void *fixed, size_t fixed_bytes,
                  const void *tail, size_t tail_bytes)
{
    size_t bytes = wtr_put(free_memory(r), r->bytes - r->used, kind, 0, TASK, fixed,
                           fixed_bytes, tail, tail_bytes);

    count(r, bytes);
    return bytes != 0;
}

void recorder_time(struct recorder *r, enum wtr_kind kind)
{
    struct wtr_time time = {.tsc = tsc_read()};

    recorder_put(r, kind, &time, sizeof(time), NULL, 0);
}

void recorder_lost(struct recorder *r, uint64_t lost, enum wtr_reason reason)
{
    struct wtr_lost body = {.count = lost, .reason = reason};

    recorder_put(r, WTR_LOST, &body, sizeof(body), NULL, 0);
}

/* Nothing of it is dropped: where the trace ends early, the output goes on. */
void recorder_output(struct recorder *r, unsigned stream, const uint8_t *bytes, size_t wanted)
{
    struct wtr_bytes fixed = {.bytes = (uint32_t)wanted, .stream = stream};

    recorder_put(r, WTR_OUTPUT, &fixed, sizeof(fixed), bytes, wanted);
}

static void pack(struct recorder *r, const struct wtr_branch *batch, size_t wanted)
{
    size_t done = 0, taken;

    if (r->dropping) {
        r->dropped += wanted;
        return;
    }
    while (done < wanted) {
        size_t bytes = wtr_pack(free_memory(r), r->bytes - r->used, 0, TASK, batch + done,
                                wanted - done, &taken);

        if (bytes == 0)
            break;
        count(r, bytes);
        done += taken;
    }
    r->branches += done;
    r->dropped += wanted - done;
}

static bool in_kernel(const struct recorder *r, uint64_t address)
{
    return address - r->kernel_low < r->kernel_high - r->kernel_low || address >> 63;
}

/* Kernel to kernel never counts; a crossing does when it is asked for. */
static bool is_wanted(const struct recorder *r, const struct bts_record *b)
{
    bool from = in_kernel(r, b->from), to = in_kernel(r, b->to);

    return r->crossings ? !(from && to) : !from && !to;
}

void recorder_sink(void *context, const struct bts_record *records, size_t total)
{
    static struct wtr_branch batch[BATCH];
    struct recorder *r = context;
    size_t used = 0;

    if (r->pmi->lost != r->losses) {
        r->losses = r->pmi->lost;
        recorder_lost(r, WTR_UNKNOWN, WTR_REASON_OVERFLOW);
    }
    for (size_t i = 0; i < total; i++) {
        if (!is_wanted(r, &records[i])) {
            r->left_out++;
            continue;
        }
        batch[used++] = (struct wtr_branch){records[i].from, records[i].to, records[i].flags};
        if (used == BATCH) {
            pack(r, batch, used);
            used = 0;
        }
    }
    pack(r, batch, used);
    recorder_time(r, WTR_TIME);
}

size_t recorder_worst(size_t branches)
{
    size_t heads =
        (branches / BATCH + 2) * (sizeof(struct wtr_record) + sizeof(struct wtr_packed) + 8);

    return branches * WTR_PACKED_WORST + heads + PROGRAM_WRITE_MOST + SMALL_ROOM;
}
