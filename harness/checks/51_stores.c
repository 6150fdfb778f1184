/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a store must not do, and where the next one goes.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area", "IA32_DS_AREA"; Vol. 2, "WRMSR". A record is a
 * store to memory and changes no register of the program; IA32_DS_AREA names the area, and a
 * WRMSR of it serialises, so that the first record behind it goes to the new area, tracing or
 * not. How: x87 and SSE registers are given values that no start leaves, and are read back
 * behind a traced loop. Two areas with buffers of their own: the traced code writes the second
 * one's address, loops, and writes the first one's back; each record of the loop must be in the
 *   second buffer, and none in the first.
 * Wrong if: the kernel's own code used vector registers between the two: it is built without
 *   them. Both areas are mapped and valid throughout, so no store can miss.
 */
#define CHECK_GROUP "51 bts.store"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/fpu.h"
#include "hw/string.h"

#define RECORD sizeof(struct bts_record)
#define TURNS  64

/* Parts of the FXSAVE area; SDM Vol. 1, "Layout of the FXSAVE Area". */
enum { FX_CONTROL = 0, FX_MXCSR = 24, FX_X87 = 32, FX_XMM = 160, FX_XMM_BYTES = 16 * 16 };
#define X87_CONTROL_SET 0x0C7Fu /* rounds to zero */
#define MXCSR_SET       0x7F80u /* the same */

/* Registers as no start leaves them. */
static void fill(struct fpu_image *image)
{
    static const uint16_t control = X87_CONTROL_SET;
    static const uint32_t mxcsr = MXCSR_SET;

    fpu_start(image);
    memcpy(image->bytes + FX_CONTROL, &control, sizeof(control));
    memcpy(image->bytes + FX_MXCSR, &mxcsr, sizeof(mxcsr));
    for (unsigned i = 0; i < FX_XMM_BYTES; i++)
        image->bytes[FX_XMM + i] = (uint8_t)(i * 37 + 11);
}

CHECK("bts.store.registers_kept", MUST, "GEN-01", NEED_BTS)
{
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = TURNS};
    static struct fpu_image set, kept, after;
    struct guest_call call;
    uint64_t returned = 0;
    enum ds_error error;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){0});
    call = guest_prepare(trace_guest(run), &r);
    fill(&set);
    fpu_save(&kept);
    fpu_load(&set);
    error = bts_bracket(&t.bts, call.fn, call.arg, &returned);
    fpu_save(&after);
    fpu_load(&kept);
    guest_finish(trace_guest(run), &r, returned);
    NEED(run, error == DS_OK, "the trace is refused");
    EXPECT(run, t.area->bts_index - t.base >= TURNS * RECORD, "the loop was not traced");
    EXPECT(run, memcmp(after.bytes + FX_CONTROL, set.bytes + FX_CONTROL, 2) == 0,
           "the x87 control word changed while records were stored");
    EXPECT(run, memcmp(after.bytes + FX_MXCSR, set.bytes + FX_MXCSR, 4) == 0,
           "MXCSR changed while records were stored");
    for (unsigned i = 0; i < FX_XMM_BYTES / 16; i++)
        EXPECT(run, memcmp(after.bytes + FX_XMM + 16 * i, set.bytes + FX_XMM + 16 * i, 16) == 0,
               "XMM%u changed while records were stored", i);
}

struct move {
    struct trace *first, *second;
    struct guest_call loop;
    int faults;
};

/* Traced: the loop runs while the other area is in force. */
static uint64_t move_and_loop(void *arg)
{
    struct move *m = arg;
    uint64_t returned;

    m->faults = broker_raw_write_ds_area((uint64_t)(uintptr_t)m->second->area);
    returned = m->loop.fn(m->loop.arg);
    m->faults += broker_raw_write_ds_area((uint64_t)(uintptr_t)m->first->area);
    return returned;
}

/* Records in a trace's buffer that begin in the guest. */
static size_t from_guest(struct run *run, const struct trace *t)
{
    struct guest_place place = guest_place(trace_guest(run), 0, 0);
    const struct bts_record *r = (const struct bts_record *)(uintptr_t)t->base;
    size_t count = (t->area->bts_index - t->base) / RECORD, found = 0;

    for (size_t i = 0; i < count; i++)
        found += r[i].from >= place.low && r[i].from < place.high;
    return found;
}

CHECK("bts.store.area_moved_while_on", MUST, "DCTL-06 DCTL-04", NEED_BTS)
{
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = TURNS};
    struct trace first, second;
    struct move m = {&first, &second, {0}, 0};
    uint64_t returned = 0;
    enum ds_error error;

    trace_open(run, &first, &(struct trace_setup){0});
    trace_open(run, &second, &(struct trace_setup){0});
    m.loop = guest_prepare(trace_guest(run), &r);
    error = bts_bracket(&first.bts, move_and_loop, &m, &returned);
    guest_finish(trace_guest(run), &r, returned);
    NEED(run, error == DS_OK, "the trace is refused");
    EXPECT_EQ(run, m.faults, 0, "faults of WRMSR of IA32_DS_AREA while tracing");
    EXPECT_EQ(run, from_guest(run, &first), 0, "records of the loop in the area left behind");
    EXPECT(run, from_guest(run, &second) >= TURNS - 1, "only %zu records in the new area",
           from_guest(run, &second));
    EXPECT(run, first.area->bts_index > first.base, "nothing was stored before and behind");
}
