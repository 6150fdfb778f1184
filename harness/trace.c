/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracing inside a check: memory, running, collecting. */
#include "harness/trace.h"

#include "ds/broker.h"
#include "harness/arena.h"
#include "hw/paging.h"
#include "hw/string.h"

/*
 * Linear layout of one trace, in the kernel window:
 *
 *   guard | area page | guard | canary, buffer, canary | guard
 *
 * Several traces of one check follow each other.
 */
static uint64_t window_next;
static struct trace_record *record_pool;
static size_t record_pool_used;
static struct guest guest;
static struct run *guest_owner;

static uint64_t map_page(struct run *run, uint64_t linear)
{
    void *page = page_alloc();

    NEED(run, page, "the page pool is empty");
    memset(page, CANARY_BYTE, PAGE_BYTES);
    if (!paging_map(paging_kernel_space(), linear, (uint64_t)(uintptr_t)page,
                    PAGE_PRESENT | PAGE_WRITE | PAGE_NX | PAGE_ACCESSED | PAGE_DIRTY)) {
        page_free(page);
        run_error(run, "no page table for %llx", (unsigned long long)linear);
        run_stop(run);
    }
    return linear;
}

static void unmap_page(uint64_t linear)
{
    struct paging_walk walk;

    if (!paging_walk(paging_kernel_space()->cr3, linear, &walk))
        return;
    paging_unmap(paging_kernel_space(), linear);
    page_free((void *)(uintptr_t)(walk.phys & ~(PAGE_BYTES - 1)));
}

static void close_trace(void *arg)
{
    struct trace *t = arg;

    bts_teardown(&t->bts);
    if (t->area)
        unmap_page((uint64_t)(uintptr_t)t->area);
    for (uint64_t i = 0; i < t->pages; i++)
        unmap_page(t->window + i * PAGE_BYTES);
    record_pool_used = 0;
    window_next = KERNEL_WINDOW;
}

static void map_trace(struct trace *t)
{
    uint64_t offset = t->setup.base_offset ? t->setup.base_offset : 64;
    uint64_t bytes = t->setup.records * sizeof(struct bts_record) + t->setup.extra_bytes;
    uint64_t wanted = (offset + bytes + 64 + PAGE_BYTES - 1) / PAGE_BYTES;
    uint64_t at = (window_next ? window_next : KERNEL_WINDOW) + PAGE_BYTES;

    t->area = (struct ds_area *)(uintptr_t)map_page(t->run, at);
    t->window = at + 2 * PAGE_BYTES;
    t->base = t->window + offset;
    t->end = t->base + bytes;
    /* Counted up page by page, so that an exhausted pool still frees what was mapped. */
    for (; t->pages < wanted; t->pages++)
        map_page(t->run, t->window + t->pages * PAGE_BYTES);
    window_next = t->window + wanted * PAGE_BYTES;
}

static void take_records(struct run *run, struct trace *t)
{
    if (!record_pool)
        record_pool = arena_alloc(TRACE_RECORDS_MAX * sizeof(*record_pool));
    NEED(run, record_pool, "the arena has no room for records");
    if (!t->setup.keep)
        t->setup.keep = t->setup.records;
    NEED(run, t->setup.keep <= TRACE_RECORDS_MAX - record_pool_used,
         "too many records for one check");
    t->records = record_pool + record_pool_used;
    record_pool_used += t->setup.keep;
}

void trace_open(struct run *run, struct trace *t, const struct trace_setup *setup)
{
    const char *why = "";
    struct bts_config config;
    enum ds_error error;

    memset(t, 0, sizeof(*t));
    t->run = run;
    t->setup = *setup;
    if (!t->setup.records)
        t->setup.records = 4096;
    run_defer(run, close_trace, t);
    take_records(run, t);
    map_trace(t);
    config = (struct bts_config){
        .base = t->base,
        .bytes = t->end - t->base,
        .threshold_records = t->setup.threshold_records,
        .interrupt = t->setup.interrupt,
        .off_os = t->setup.off_os,
        .off_usr = t->setup.off_usr,
        .break_rules = t->setup.break_rules,
    };
    error = bts_setup(&t->bts, t->area, &config, &why);
    NEED(run, error == DS_OK, "bts_setup refused: %s", why);
    memcpy(&t->before, t->area, sizeof(t->before));
}

/* --- after the trace */

static bool is_canary(uint64_t from, uint64_t to)
{
    for (const uint8_t *b = (uint8_t *)(uintptr_t)from; b < (uint8_t *)(uintptr_t)to; b++)
        if (*b != CANARY_BYTE)
            return false;
    return true;
}

void trace_expect_untouched(struct trace *t, const char *when)
{
    struct ds_area now;

    memcpy(&now, t->area, sizeof(now));
    now.bts_index = t->before.bts_index;
    EXPECT(t->run, memcmp(&now, &t->before, sizeof(now)) == 0,
           "%s: a field of the DS area other than the BTS index changed", when);
    EXPECT(t->run,
           is_canary((uint64_t)(uintptr_t)t->area + sizeof(*t->area),
                     (uint64_t)(uintptr_t)t->area + PAGE_BYTES),
           "%s: a byte behind the DS area changed", when);
    EXPECT(t->run, is_canary(t->window, t->base), "%s: a byte before the buffer changed", when);
    EXPECT(t->run, is_canary(t->end, t->window + t->pages * PAGE_BYTES),
           "%s: a byte at or beyond the absolute maximum changed", when);
}

struct collection {
    struct trace *t;
    size_t used;
};

static void collect(void *context, const struct bts_record *records, size_t count)
{
    struct collection *c = context;

    for (size_t i = 0; i < count && c->used < c->t->setup.keep; i++)
        c->t->records[c->used++] =
            (struct trace_record){records[i].from, records[i].to, records[i].flags};
}

void trace_collect(struct trace *t)
{
    struct collection c = {t, 0};
    enum ds_error error;

    t->index = t->area->bts_index;
    t->wrapped = bts_wrapped(&t->bts);
    trace_expect_untouched(t, "after the trace");
    error = bts_drain(&t->bts, collect, &c, NULL);
    t->count = c.used;
    EXPECT(t->run, error == DS_OK, "the buffer cannot be read: %s, index %llx",
           ds_strerror(error), (unsigned long long)t->index);
}

/* --- running */

static void close_guest(void *arg)
{
    (void)arg;
    guest_close(&guest);
    guest_owner = NULL;
}

struct guest *trace_guest(struct run *run)
{
    if (guest_owner != run) {
        NEED(run, guest_open(&guest), "no memory for the guest's address space");
        guest_owner = run;
        run_defer(run, close_guest, NULL);
    }
    return &guest;
}

void trace_call(struct trace *t, uint64_t (*fn)(void *), void *arg)
{
    enum ds_error error = bts_bracket(&t->bts, fn, arg, NULL);

    NEED(t->run, error == DS_OK, "bts_bracket refused: %s", ds_strerror(error));
    trace_collect(t);
}

void trace_workload(struct trace *t, const struct workload *w, unsigned ring,
                    struct guest_run *with)
{
    struct guest *g = trace_guest(t->run);
    struct guest_run plain = {0};
    struct guest_run *r = with ? with : &plain;
    struct guest_call call;
    uint64_t returned = 0;
    enum ds_error error;

    NEED(t->run, ring != GUEST_COMPAT || guest_open_low(g), "no view below 1 MiB");
    r->workload = w;
    r->ring = ring;
    t->argument = r->argument;
    call = guest_prepare(g, r);
    error = bts_bracket(&t->bts, call.fn, call.arg, &returned);
    guest_finish(g, r, returned);
    NEED(t->run, error == DS_OK, "bts_bracket refused: %s", ds_strerror(error));
    NEED(t->run, r->end == GUEST_RETURNED, "%s did not return: vector %llu at %llx", w->name,
         (unsigned long long)r->frame.vector, (unsigned long long)r->frame.rip);
    trace_collect(t);
}

const struct workload *trace_find(struct run *run, const char *name)
{
    const struct workload *w = workload_find(name);

    NEED(run, w, "there is no workload '%s'", name);
    return w;
}
