/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions inside a check: opening, closing, and what most of the checks assert. */
#include "harness/sessions.h"

#include "ds/broker.h"
#include "harness/capability.h"
#include "hw/apic.h"
#include "hw/irq.h"
#include "hw/regs.h"
#include "hw/string.h"

static uint8_t memory[SESSIONS_POOL_PAGES * POOL_PAGE_BYTES] __attribute__((aligned(4096)));
static struct sessions sessions;

/* Foreign ones leave the entry masked, as every delivery does. */
static bool on_interrupt(struct trap_frame *frame, void *arg)
{
    struct sessions *s = arg;

    (void)frame;
    if (!session_pmi()) {
        s->foreign++;
        apic_lvt_perf_write(s->machine.lvt);
    }
    return true;
}

static void close_sessions(void *arg)
{
    struct sessions *s = arg;
    size_t left = session_owner_died(&s->debugger) + session_owner_died(&s->profiler);

    EXPECT(s->run, left == 0, "%zu sessions cannot be released", left);
    EXPECT(s->run,
           !pool_used(&s->pool) && !s->purse.charged_pages && !s->other_purse.charged_pages,
           "at the end %zu pages are out, %zu and %zu are charged", pool_used(&s->pool),
           s->purse.charged_pages, s->other_purse.charged_pages);
    /* What is still on its way must find us. */
    irq_restore(irq_save() | RFLAGS_IF);
    cpu_pause();
    (void)irq_save();
    apic_lvt_perf_write(s->lvt_found & ~LVT_DELIVERY_STATUS);
    trap_set(VECTOR_PMI, s->outer_pmi.handler, s->outer_pmi.arg);
    trap_set(VECTOR_NMI, s->outer_nmi.handler, s->outer_nmi.arg);
}

void sessions_restart(struct sessions *s, bool has_bts, bool interrupts)
{
    s->machine.has_bts = has_bts;
    s->machine.interrupts = interrupts;
    s->machine.pool = &s->pool;
    session_init(&s->machine);
}

struct sessions *sessions_open(struct run *run, uint32_t lvt)
{
    struct sessions *s = &sessions;

    memset(s, 0, sizeof(*s));
    s->run = run;
    s->purse = (struct pool_payer){.name = "debugger", .limit_pages = SESSIONS_POOL_PAGES};
    s->other_purse = (struct pool_payer){.name = "profiler", .limit_pages = 64};
    s->debugger = (struct ds_owner){1, "debugger", &s->purse};
    s->profiler = (struct ds_owner){2, "profiler", &s->other_purse};
    s->machine.lvt = lvt;
    s->machine.pmc = &capability()->pmc;
    NEED(run, pool_init(&s->pool, memory, sizeof(memory)) == DS_OK, "the pool is refused");
    sessions_restart(s, capability()->have & NEED_BTS, true);
    s->lvt_found = apic_lvt_perf_read();
    s->outer_pmi = trap_set(VECTOR_PMI, on_interrupt, s);
    s->outer_nmi = trap_set(VECTOR_NMI, on_interrupt, s);
    run_defer(run, close_sessions, s);
    return s;
}

struct session_request sessions_request(struct sessions *s, size_t records)
{
    return (struct session_request){
        .owner = &s->debugger,
        .bytes = records * sizeof(struct bts_record),
        .threshold = SESSION_NO_THRESHOLD,
        .user = true,
    };
}

session_id sessions_ask(struct sessions *s, const struct session_request *request)
{
    struct session_result result;
    enum ds_error error = session_request(request, &result);

    REQUIRE(s->run, error == DS_OK && result.id, "request: %s, %s", ds_strerror(error),
            result.why);
    return result.id;
}

bool sessions_error(struct run *run, enum ds_error got, enum ds_error want, const char *what)
{
    return EXPECT(run, got == want, "%s: got %s, want %s", what, ds_strerror(got),
                  ds_strerror(want));
}

struct session_result sessions_expect(struct sessions *s, const struct session_request *request,
                                      enum ds_error error)
{
    uint64_t debugctl = sessions_debugctl(), area = sessions_ds_area();
    uint32_t lvt = apic_lvt_perf_read();
    size_t used = pool_used(&s->pool);
    size_t charged = s->purse.charged_pages, other = s->other_purse.charged_pages;
    struct session_result result;

    sessions_error(s->run, session_request(request, &result), error, result.why);
    EXPECT(s->run, !result.id && strcmp(result.why, "none") != 0, "a refusal without reason");
    EXPECT(s->run,
           sessions_debugctl() == debugctl && sessions_ds_area() == area &&
               apic_lvt_perf_read() == lvt,
           "a refused request (%s) changed a register", result.why);
    EXPECT(s->run,
           pool_used(&s->pool) == used && s->purse.charged_pages == charged &&
               s->other_purse.charged_pages == other,
           "a refused request (%s) changed an account", result.why);
    return result;
}

uint64_t sessions_part_registers(void *arg)
{
    struct sessions_part *part = arg;

    part->debugctl = sessions_debugctl();
    part->area = sessions_ds_area();
    return 0;
}

uint64_t sessions_part_ask(void *arg)
{
    struct sessions_part *part = arg;
    struct session_result result;

    part->error = session_request(&part->request, &result);
    part->id = result.id;
    return sessions_part_registers(part);
}

void sessions_branches(struct run *run, const char *workload, uint64_t argument)
{
    struct guest_run r = {
        .workload = trace_find(run, workload),
        .ring = 3,
        .argument = argument,
        .interrupts = true, /* the buffer's own may be a fixed one */
    };
    struct guest *g = trace_guest(run);

    NEED(run, guest_run(g, &r) == GUEST_RETURNED, "%s did not return: vector %llu at %llx",
         workload, (unsigned long long)r.frame.vector, (unsigned long long)r.frame.rip);
}

size_t sessions_inside(struct run *run, const struct bts_record *records, size_t count)
{
    const struct guest_place *place = guest_view(trace_guest(run), 3);
    uint64_t bytes = place->high - place->low;
    size_t inside = 0;

    for (size_t i = 0; i < count; i++)
        inside += records[i].from - place->low < bytes && records[i].to - place->low < bytes;
    return inside;
}

uint64_t sessions_debugctl(void)
{
    uint64_t value = UINT64_MAX;

    broker_raw_read_debugctl(&value);
    return value;
}

uint64_t sessions_ds_area(void)
{
    uint64_t value = UINT64_MAX;

    broker_raw_read_ds_area(&value);
    return value;
}
