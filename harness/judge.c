/* SPDX-License-Identifier: BSD-2-Clause */
/* Judging a collected trace: labels, connectivity, sources, evidence. */
#include "ds/broker.h"
#include "harness/arena.h"
#include "harness/format.h"
#include "harness/trace.h"
#include "hw/low.h"
#include "hw/paging.h"
#include "hw/string.h"
#include "hw/trap.h"

#define EXPECTED_MAX 32768

static struct expected_edge *expected_pool;

/* Code bytes as the processor would fetch them now. */
static size_t fetch(void *context, uint64_t linear, uint8_t bytes[15])
{
    (void)context;
    return paging_read(linear, bytes, 15);
}

static bool is_event(void *context, uint64_t to)
{
    uint64_t first = trap_entry_address(0), stride = trap_entry_address(1) - first;
    uint64_t offset = to - first;

    (void)context;
    if (offset < VECTOR_COUNT * stride)
        return offset % stride == 0;
    return to == syscall_entry_address();
}

const struct expected_edge *trace_expected(struct run *run, const struct workload *w,
                                           unsigned ring, uint64_t argument, size_t *count)
{
    struct guest_place place = guest_place(trace_guest(run), ring, argument);

    if (!expected_pool)
        expected_pool = arena_alloc(EXPECTED_MAX * sizeof(*expected_pool));
    NEED(run, expected_pool, "the arena has no room for expected edges");
    if (ring == 0) {
        place.caller = (uint64_t)(uintptr_t)ds_bracket_call;
        place.back = (uint64_t)(uintptr_t)ds_bracket_return;
    }
    *count = edges_resolve(w, &place, expected_pool, EXPECTED_MAX);
    NEED(run, *count <= EXPECTED_MAX, "%s has too many edges", w->name);
    return expected_pool;
}

/* --- evidence */

const char *trace_symbol(uint64_t address, char *out, size_t bytes)
{
    uint64_t offset = address - USER_WINDOW;
    const struct workload *best = NULL;

    for (unsigned v = 0; v < VECTOR_COUNT; v++)
        if (address == trap_entry_address(v)) {
            fmt(out, bytes, "vector.%u", v);
            return out;
        }
    if (offset >= WINDOW_BYTES)
        offset = address - GUEST_KERNEL_BASE;
    if (offset >= WINDOW_BYTES && low_memory())
        offset = address - (uint64_t)(uintptr_t)low_memory();
    if (offset < (uint64_t)(__guest_end - __guest_start)) {
        for (size_t i = 0; i < workload_count(); i++)
            if ((uint64_t)workload_at(i)->entry <= offset &&
                (!best || workload_at(i)->entry > best->entry))
                best = workload_at(i);
        fmt(out, bytes, "%s+%llx", best ? best->name : "guest",
            (unsigned long long)(offset - (best ? (uint64_t)best->entry : 0)));
    } else if (address - guest_made_base() < GUEST_MADE_PAGES * PAGE_BYTES) {
        fmt(out, bytes, "made+%llx", (unsigned long long)(address - guest_made_base()));
    } else if (address == syscall_entry_address()) {
        fmt(out, bytes, "syscall");
    } else if (address == syscall_sysret_address()) {
        fmt(out, bytes, "sysretq");
    } else if (address == trap_iretq_address()) {
        fmt(out, bytes, "iretq");
    } else if (address == (uint64_t)(uintptr_t)ds_bracket_call) {
        fmt(out, bytes, "bracket.call");
    } else if (address == (uint64_t)(uintptr_t)ds_bracket_return) {
        fmt(out, bytes, "bracket.return");
    } else {
        fmt(out, bytes, "%llx", (unsigned long long)address);
    }
    return out;
}

#define EVIDENCE_BEFORE 4
#define EVIDENCE_AFTER  8
#define EVIDENCE_BYTES  1536

static const char *list_records(struct trace *t, size_t centre)
{
    size_t first = centre > EVIDENCE_BEFORE ? centre - EVIDENCE_BEFORE : 0;
    char *text = run_text(EVIDENCE_BYTES);
    char from[48], to[48];
    size_t used = 0;

    for (size_t i = first; text && i < t->count && i < centre + EVIDENCE_AFTER; i++)
        used += fmt(
            text + used, EVIDENCE_BYTES - used, "%s%zu: %s -> %s (%llx -> %llx)\n",
            i == centre ? ">" : " ", i, trace_symbol(t->records[i].from, from, sizeof(from)),
            trace_symbol(t->records[i].to, to, sizeof(to)),
            (unsigned long long)t->records[i].from, (unsigned long long)t->records[i].to);
    return text;
}

static const char *list_expected(const struct expected_edge *e, size_t count, size_t centre)
{
    size_t first = centre > EVIDENCE_BEFORE ? centre - EVIDENCE_BEFORE : 0;
    char *text = run_text(EVIDENCE_BYTES);
    char from[48], to[48];
    size_t used = 0;

    for (size_t i = first; text && i < count && i < centre + EVIDENCE_AFTER; i++)
        used += fmt(text + used, EVIDENCE_BYTES - used, "%s%zu: %s -> %s %s\n",
                    i == centre ? ">" : " ", i, trace_symbol(e[i].from, from, sizeof(from)),
                    trace_symbol(e[i].to, to, sizeof(to)), edge_kind_name(e[i].kind));
    return text;
}

static const char *dump_buffer(struct trace *t, size_t centre)
{
    size_t first = centre > 2 ? centre - 2 : 0;
    char *text = run_text(512);
    size_t used = 0;

    for (size_t i = first; text && i < t->count && i < first + 5; i++)
        used +=
            fmt(text + used, 512 - used, "%016llx %016llx %016llx\n",
                (unsigned long long)t->records[i].from, (unsigned long long)t->records[i].to,
                (unsigned long long)t->records[i].flags);
    return text;
}

void trace_evidence(struct trace *t, const struct expected_edge *expected, size_t count,
                    const struct compare_result *result)
{
    struct evidence *e = &t->run->evidence;
    char from[48], to[48];
    size_t at = result->record_index, want = result->expected_index;

    if (e->trace)
        return; /* the first difference of a check is the one that explains the others */
    e->expected = list_expected(expected, count, want);
    e->trace = list_records(t, at);
    e->first_difference = result->what;
    e->buffer_hex = dump_buffer(t, at);
    if (want < count)
        run_detail(t->run, "expected %zu: %s -> %s %s", want,
                   trace_symbol(expected[want].from, from, sizeof(from)),
                   trace_symbol(expected[want].to, to, sizeof(to)),
                   edge_kind_name(expected[want].kind));
    if (at < t->count)
        run_detail(t->run, "record %zu: %s -> %s flags %llx", at,
                   trace_symbol(t->records[at].from, from, sizeof(from)),
                   trace_symbol(t->records[at].to, to, sizeof(to)),
                   (unsigned long long)t->records[at].flags);
}

/* --- judgement */

static bool report_bad_record(struct trace *t, size_t bad, const char *why)
{
    struct compare_result where = {.record_index = bad, .what = why};

    if (bad == t->count) {
        run_held(t->run);
        return true;
    }
    run_fail(t->run, "record %zu of %zu: %s", bad, t->count, why);
    trace_evidence(t, NULL, 0, &where);
    return false;
}

bool trace_expect_sources(struct trace *t)
{
    return report_bad_record(t, trace_sources(t->records, t->count, fetch, is_event, NULL),
                             "from is neither a branch nor an event");
}

bool trace_expect_sane(struct trace *t)
{
    const char *why = "";
    size_t bad = trace_connected(t->records, t->count, fetch, is_event, NULL, &why);

    return report_bad_record(t, bad, why) && trace_expect_sources(t);
}

static struct compare_options options_for(struct trace *t, unsigned ring)
{
    struct guest_place place = guest_place(trace_guest(t->run), ring, t->argument);

    return (struct compare_options){
        .guest_low = place.low,
        .guest_high = place.high,
        .keep_kernel = false,
        .off_os = t->setup.off_os,
        .off_usr = t->setup.off_usr,
        .crossing = CROSSING_UNKNOWN,
    };
}

bool trace_match(struct trace *t, const struct expected_edge *expected, size_t count,
                 unsigned ring, struct compare_result *r)
{
    struct compare_options options = options_for(t, ring);

    compare_trace(expected, count, t->records, t->count, &options, r);
    if (!r->same) {
        run_fail(t->run, "%s: expected edge %zu of %zu, record %zu of %zu", r->what,
                 r->expected_index, count, r->record_index, t->count);
        trace_evidence(t, expected, count, r);
        return false;
    }
    /* Open clauses leave a choice, not a mixture: a kind is recorded or it is not. */
    if (!options.off_os && !options.off_usr)
        EXPECT(t->run, (r->optional_seen & r->optional_absent) == 0,
               "records of one kind are sometimes there and sometimes not (kinds %x)",
               r->optional_seen & r->optional_absent);
    run_held(t->run);
    return true;
}

bool trace_expect(struct trace *t, const struct expected_edge *expected, size_t count,
                  unsigned ring, struct compare_result *result)
{
    struct compare_result local;
    struct compare_result *r = result ? result : &local;

    if (!trace_match(t, expected, count, ring, r))
        return false;
    /* A filtered trace has gaps where the filter was at work. */
    if (t->setup.off_os || t->setup.off_usr)
        return true;
    /* The decoder knows 64-bit code only. */
    if (ring == GUEST_COMPAT)
        return true;
    /* So has one of a processor that leaves a kind of branch out, where the manual lets it. */
    return r->optional_absent ? trace_expect_sources(t) : trace_expect_sane(t);
}

const char *trace_difference(struct trace *t, const struct expected_edge *expected,
                             size_t count, unsigned ring, struct compare_result *r)
{
    struct compare_options options = options_for(t, ring);
    const char *why = NULL;

    compare_trace(expected, count, t->records, t->count, &options, r);
    if (!r->same)
        return r->what;
    if (r->optional_seen & r->optional_absent)
        return "one kind of record is sometimes there";
    if (!r->optional_absent &&
        trace_connected(t->records, t->count, fetch, is_event, NULL, &why) < t->count)
        return why;
    return trace_sources(t->records, t->count, fetch, is_event, NULL) < t->count
               ? "from is neither a branch nor an event"
               : NULL;
}

bool trace_expect_workload(struct trace *t, const struct workload *w, unsigned ring,
                           struct compare_result *result)
{
    size_t count;
    const struct expected_edge *expected = trace_expected(t->run, w, ring, t->argument, &count);

    return trace_expect(t, expected, count, ring, result);
}
