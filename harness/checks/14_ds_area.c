/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes of IA32_DS_AREA.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area", "Canonicality"; Vol. 2, "WRMSR". The register
 * holds a linear address of 64 bits; a non-canonical value faults with #GP and leaves the old
 * one; canonical is a property of the processor's widest linear address, not of the paging
 * mode. How: edge values through the raw probe while TR is 0; then traces through areas at
 * chosen addresses. Wrong if: the processor enumerates 57-bit addresses but a hypervisor
 * emulates the check with 48: reported as the failure it is.
 */
#define CHECK_GROUP "14 bts.ds_area"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"

/* The edges of canonical space for a linear address of `bits` bits. */
static uint64_t lower_top(unsigned bits)
{
    return (1ull << (bits - 1)) - 1;
}

static uint64_t upper_bottom(unsigned bits)
{
    return ~lower_top(bits);
}

static int probe(uint64_t value, uint64_t *back)
{
    int vector = broker_raw_write_ds_area(value);

    *back = 0x5A5A;
    broker_raw_read_ds_area(back);
    return vector;
}

CHECK("bts.ds_area.read_back", MUST, "DCTL-06 DCTL-09", NEED_BTS)
{
    const unsigned bits = cpu_linear_bits();
    const uint64_t values[] = {0,
                               0x1000,
                               0x123456789A8,
                               lower_top(bits) & ~7ull,
                               upper_bottom(bits),
                               0xFFFFFFFF80000000,
                               0xFFFFFFFFFFFFFFF8,
                               lower_top(bits), /* no alignment rule is stated */
                               1};
    uint64_t back;

    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        EXPECT(run, probe(values[i], &back) == 0, "writing %lx faults", values[i]);
        EXPECT_EQ(run, back, values[i], "IA32_DS_AREA");
    }
    broker_resync();
}

CHECK("bts.ds_area.non_canonical", MUST, "DCTL-07", NEED_BTS)
{
    const unsigned bits = cpu_linear_bits();
    const uint64_t values[] = {lower_top(bits) + 1, upper_bottom(bits) - 1, 1ull << 63,
                               0x7FFFFFFFFFFFFFFF, 0xFF00000000000000ull >> 1};
    uint64_t back;

    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        broker_raw_write_ds_area(0x1000);
        EXPECT(run, probe(values[i], &back) == VECTOR_GP, "writing %lx does not raise #GP",
               values[i]);
        EXPECT_EQ(run, back, 0x1000, "IA32_DS_AREA after the fault");
    }
    broker_resync();
}

CHECK("bts.ds_area.wide_canonical", MUST, "DCTL-08", NEED_BTS | NEED_LA57)
{
    uint64_t back;

    NEED(run, !(cr4_read() & CR4_LA57), "5-level paging is on, the question is the other case");
    EXPECT_EQ(run, probe(0x0000800000000000, &back), 0, "vector of a 57-bit-canonical write");
    EXPECT_EQ(run, back, 0x0000800000000000, "IA32_DS_AREA");
    broker_resync();
}

CHECK("bts.ds_area.narrow_canonical", MUST, "DCTL-08", NEED_BTS)
{
    uint64_t back;
    int vector = probe(0x0000800000000000, &back);

    EXPECT_EQ(run, vector, cpu_has_la57() ? 0 : VECTOR_GP,
              "vector of writing the first address beyond 48 bits");
    broker_resync();
}

/* TR = 0: the address may point nowhere, nothing is touched by the write. */
CHECK("bts.ds_area.write_touches_nothing", CHARACTERISE, "DCTL-09", NEED_BTS)
{
    uint64_t unmapped = KERNEL_WINDOW + WINDOW_BYTES / 2;
    struct paging_walk walk;
    uint64_t back;

    NEED(run, !paging_walk(paging_current(), unmapped, &walk), "the page is mapped");
    EXPECT_EQ(run, probe(unmapped, &back), 0, "vector of writing an unmapped address");
    EXPECT_EQ(run, back, unmapped, "IA32_DS_AREA");
    broker_resync();
}

/* Two areas in turn: the second must get its own records, the first must keep its own. */
CHECK("bts.ds_area.new_value_takes_effect", MUST, "DCTL-04 DCTL-06", NEED_BTS)
{
    const struct workload *w = trace_find(run, "call.relative");
    struct trace first, second;
    struct bts_record kept[4];

    trace_open(run, &first, &(struct trace_setup){.records = 256});
    trace_open(run, &second, &(struct trace_setup){.records = 256});
    trace_workload(&first, w, 0, NULL);
    trace_expect_workload(&first, w, 0, NULL);
    memcpy(kept, (void *)(uintptr_t)first.base, sizeof(kept));
    trace_workload(&second, w, 0, NULL);
    EXPECT(run, memcmp(kept, (void *)(uintptr_t)first.base, sizeof(kept)) == 0,
           "records went into the buffer of the area that was in force before");
    trace_expect_workload(&second, w, 0, NULL);
}

/* The manual gives the area itself no alignment; the fields then straddle a cache line. */
CHECK("bts.ds_area.odd_address", CHARACTERISE, "DCTL-09", NEED_BTS)
{
    const struct workload *w = trace_find(run, "zero.jmp");
    struct trace t;
    uint8_t *odd;
    uint64_t index = 0, moved;
    struct guest_call call;
    struct guest_run r = {.workload = w, .ring = 0};

    trace_open(run, &t, &(struct trace_setup){.records = 256});
    odd = (uint8_t *)t.area + 0x7FB; /* inside the area's own page, straddling two lines */
    memcpy(odd, t.area, 0x40);
    call = guest_prepare(trace_guest(run), &r);
    NEED(run, broker_set_ds_area(t.area) == DS_OK, "the area is refused");
    broker_raw_write_ds_area((uint64_t)(uintptr_t)odd);
    broker_bracket(BROKER_BTS, DEBUGCTL_TR | DEBUGCTL_BTS, call.fn, call.arg, NULL);
    guest_finish(trace_guest(run), &r, 0);
    memcpy(&index, odd + 8, sizeof(index));
    moved = (index - t.base) / sizeof(struct bts_record);
    memset(odd, CANARY_BYTE, 0x40);
    broker_resync();
    run_observe(run, "bts.odd-area", moved ? "works" : "stores-nothing");
    EXPECT_EQ(run, t.area->bts_index, t.base, "index of the area that was not in force");
}
