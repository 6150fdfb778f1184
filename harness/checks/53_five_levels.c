/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Five levels of page tables under code, area and buffer.
 *
 * Claim: SDM Vol. 3, "4-Level Paging and 5-Level Paging", "Setting Up the DS Save Area": the
 *   addresses of the area, of the buffer and of branches are linear, and with CR4.LA57 those
 *   have 57 bits. "Canonicality Checking": IA32_DS_AREA takes all of them.
 * How: long mode is left and entered again with CR4.LA57 set, and a top table in which three
 *   entries lead to the kernel's own map: the usual one, the upper half, and one at 2^48. A
 *   loop runs through the third, its records go through it as well, and the labels must come
 * out 2^48 higher. Wrong if: the kernel looks for its own page tables in between. It does not.
 */
#define CHECK_GROUP "53 bts.five_levels"
#include "ds/broker.h"
#include "harness/fixture/legacy_trace.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/regs.h"

#define BEYOND (1ull << 48) /* canonical with 57 bits alone */
#define TURNS  6u

/* To other tables: long mode is left, by way of a program that does nothing, and comes back. */
static void go(struct run *run, const struct legacy_landing *landing)
{
    legacy_call_program(trace_find(run, "legacy.mode"), LEGACY_PROTECTED, landing);
}

static void free_top(void *arg)
{
    page_free(arg);
}

struct walk {
    uint64_t from, to;
};

/* No memory but *arg, so that it runs at any address. */
__attribute__((noinline)) static uint64_t loop(void *arg)
{
    struct walk *walk = arg;
    uint64_t left = TURNS;

    __asm__ volatile("lea 2f(%%rip), %%rax\n\t"
                     "mov %%rax, %[from]\n\t"
                     "lea 1f(%%rip), %%rax\n\t"
                     "mov %%rax, %[to]\n\t"
                     "1: dec %[left]\n\t"
                     "2: jnz 1b"
                     : [left] "+r"(left), [from] "=m"(walk->from), [to] "=m"(walk->to)
                     :
                     : "rax", "cc", "memory");
    return 0;
}

/* One trace with everything this much higher. */
static enum ds_error trace_at(struct trace *t, struct walk *walk, uint64_t higher)
{
    uint64_t (*fn)(void *) = (uint64_t(*)(void *))((uint64_t)(uintptr_t)loop + higher);
    enum ds_error error;

    t->area->bts_base = t->area->bts_index = t->base + higher;
    t->area->bts_maximum = t->end + higher;
    t->area->bts_threshold = t->end + higher + 1;
    if (broker_raw_write_ds_area((uint64_t)(uintptr_t)t->area + higher) != 0)
        return DS_EINVAL;
    error = broker_bracket(BROKER_BTS, DEBUGCTL_TR | DEBUGCTL_BTS, fn, walk, NULL);
    broker_raw_write_ds_area((uint64_t)(uintptr_t)t->area);
    return error;
}

static void judge(struct run *run, const struct trace *t, const struct walk *walk,
                  uint64_t higher)
{
    const struct bts_record *r = (const struct bts_record *)(uintptr_t)t->base;
    uint64_t fn = (uint64_t)(uintptr_t)loop + higher;

    EXPECT(run, walk->from - fn < PAGE_BYTES, "the loop ran at %lx", walk->from);
    EXPECT_EQ(run, t->area->bts_index, t->base + higher + (TURNS + 1) * sizeof(*r), "index");
    EXPECT(run, r[0].from == (uint64_t)(uintptr_t)ds_bracket_call && r[0].to == fn,
           "the call leads from %lx to %lx", r[0].from, r[0].to);
    for (unsigned i = 1; i < TURNS; i++)
        EXPECT(run, r[i].from == walk->from && r[i].to == walk->to,
               "record %u leads from %lx to %lx", i, r[i].from, r[i].to);
    EXPECT_EQ(run, r[TURNS].to, (uint64_t)(uintptr_t)ds_bracket_return, "to of the return");
}

CHECK("bts.five_levels.beyond", MUST, "MEM-01 REC-06 DCTL-08", NEED_BTS | NEED_LA57)
{
    static const uint64_t places[] = {0, BEYOND};
    const struct legacy_landing found = {.cr3 = paging_current(), .cr4 = cr4_read()};
    struct legacy_landing five = {.cr4 = found.cr4 | CR4_LA57};
    enum ds_error error[2];
    struct walk walk[2];
    uint64_t *top;
    struct trace t[2];

    if (found.cr4 & CR4_LA57) {
        run_skip(run, "firmware has left five levels on: every check runs under them");
        return;
    }
    legacy_open(run);
    for (unsigned i = 0; i < 2; i++)
        trace_open(run, &t[i], &(struct trace_setup){.records = 64});
    top = page_alloc();
    NEED(run, top, "the page pool is empty");
    run_defer(run, free_top, top);
    five.cr3 = (uint64_t)(uintptr_t)top;
    NEED(run, five.cr3 >> 32 == 0, "the top table lies above 4 GiB");
    top[0] = top[1] = top[511] = found.cr3 | PAGE_PRESENT | PAGE_WRITE | PAGE_USER;
    NEED(run, broker_set_ds_area(t[0].area) == DS_OK, "the area is refused");
    go(run, &five);
    for (unsigned i = 0; i < 2; i++)
        error[i] = trace_at(&t[i], &walk[i], places[i]);
    go(run, &found);
    broker_resync();
    for (unsigned i = 0; i < 2; i++) {
        NEED(run, error[i] == DS_OK, "the trace at %lx is refused", places[i]);
        judge(run, &t[i], &walk[i], places[i]);
    }
}
