/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes become session calls, task switches, branches, instructions and NMIs; a plain list
 * beside each session says what it must hold. Or they become a trace or a PEBS buffer. With
 * clang: -fsanitize=fuzzer -DFUZZ; else main feeds random bytes.
 */
#include "ds/broker.h"
#include "ds/session.h"
#include "harness/tests/fakes/fake_regs.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TR    0x40ull
#define PAGES 24
#define LIVE  12
#define TASKS 3
#define CPUS  2

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                    \
            abort();                                                                           \
        }                                                                                      \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* --- input */

static const uint8_t *input;
static size_t input_left;

static unsigned next_byte(void)
{
    if (!input_left)
        return 0;
    input_left--;
    return *input++;
}

/* --- the machine and the model beside it */

static alignas(4096) uint8_t memory[PAGES * 4096];
static struct pool pool;
static struct pool_payer payers[2];
static struct ds_owner owners[2];
static struct ds_task tasks[TASKS];
static struct ds_task *current[CPUS];
static uint64_t sequence;

struct mirror {
    session_id id;
    enum ds_half half;
    uint64_t period, left; /* events between samples, and to the next one */
    bool waits;            /* its task runs elsewhere, for the other half alone */
    const struct ds_owner *owner;
    struct ds_task *task;
    unsigned cpu;
    size_t capacity, threshold;
    bool user, kernel, callback;
    bool gone; /* its processor was handed back */
    uint32_t suspended;
    uint64_t held[512]; /* oldest first, at most capacity */
    size_t count;
};
static struct mirror live[LIVE];
static struct pmc pmc;

static struct mirror *mirror_of(session_id id)
{
    for (unsigned i = 0; i < LIVE; i++)
        if (live[i].id && live[i].id == id)
            return &live[i];
    return NULL;
}

static void forget_oldest(struct mirror *m, size_t count)
{
    m->count -= count;
    memmove(m->held, m->held + count, m->count * sizeof(m->held[0]));
}

/* The session that must store in that half what this processor does now. */
static struct mirror *here(enum ds_half half)
{
    struct mirror *of_task = NULL;
    bool own = false;

    for (unsigned i = 0; i < LIVE; i++) {
        if (live[i].id && !live[i].task && !live[i].gone && live[i].cpu == fake.cpu) {
            own = true;
            if (live[i].half == half)
                return &live[i];
        }
        if (live[i].id && live[i].task && live[i].task == current[fake.cpu] &&
            live[i].half == half)
            of_task = &live[i];
    }
    return own ? NULL : of_task;
}

/* A task whose processor was traced when it came is not loaded until the next switch. */
static bool stores(const struct mirror *m)
{
    return m && !m->suspended && !m->gone && !m->waits &&
           (!m->task || (m->task->context && m->task->context->loaded &&
                         m->task->context->loaded_cpu == fake.cpu));
}

/* Without a callback the interrupt that is about to come suspends. */
static void hold(struct mirror *m, uint64_t address)
{
    m->held[m->count++] = address;
    if (m->count == m->threshold && !m->callback)
        m->suspended = 1;
}

static void branches(unsigned count, unsigned cpl)
{
    for (unsigned i = 0; i < count; i++) {
        struct mirror *m = here(DS_HALF_BTS);
        uint64_t from = ++sequence;

        if (stores(m) && (cpl ? m->user : m->kernel)) {
            if (m->count == m->capacity)
                forget_oldest(m, 1);
            hold(m, from);
        }
        fake_branch(from, from + 1, cpl);
    }
}

static void instructions(unsigned count, unsigned cpl)
{
    for (unsigned i = 0; i < count; i++) {
        struct mirror *m = here(DS_HALF_PEBS);
        uint64_t ip = ++sequence;
        const struct fake_state state = {.ip = ip, .next_ip = ip + 1};

        if (stores(m) && (cpl ? m->user : m->kernel) && --m->left == 0) {
            m->left = m->period;
            if (m->count < m->capacity)
                hold(m, state.ip);
        }
        fake_retire(&state, false, cpl);
    }
}

static void overflow(void *context, session_id id, const struct bts_record *records,
                     size_t count)
{
    struct mirror *m = mirror_of(id);

    CHECK(context == live && m && m->callback);
    CHECK(count <= m->count);
    for (size_t i = 0; i < count; i++)
        CHECK(records[i].from == m->held[i]);
    forget_oldest(m, count);
    CHECK(session_release(id, m->owner) == DS_EBUSY);
    CHECK(session_request(&(struct session_request){.owner = m->owner},
                          &(struct session_result){0}) == DS_EBUSY);
}

static void sampled(void *context, session_id id, const struct pebs_sample *sample)
{
    struct mirror *m = mirror_of(id);

    CHECK(context == live && m && m->callback && m->half == DS_HALF_PEBS && m->count);
    CHECK(sample->eventing_ip == m->held[0] && sample->ip == m->held[0] + 1);
    forget_oldest(m, 1);
    CHECK(session_release(id, m->owner) == DS_EBUSY);
}

static void on_interrupt(void)
{
    if (!session_pmi())
        fake.lvt = 0xE2;
}

/* --- what must hold after every call */

static void check_machine(void)
{
    struct session_status status;
    size_t charged = 0;

    CHECK(fake.crashes == 0 && fake.area_moves == 0 && fake.interrupts);
    CHECK(!(fake.debugctl & TR) || fake.ds_area);
    CHECK(fake.sampling_crashes == 0 && (!fake.pebs_enable || fake.ds_area));
    CHECK(fake.pebs_enable == broker_counters(BROKER_PEBS));
    CHECK(fake.global_control == fake.pebs_enable);
    CHECK(broker_shadow() == fake.debugctl);
    CHECK((uintptr_t)broker_ds_area() == fake.ds_area);
    for (unsigned i = 0; i < 2; i++)
        charged += payers[i].charged_pages;
    CHECK(pool_used(&pool) == charged);
    for (unsigned i = 0; i < LIVE; i++) {
        if (!live[i].id)
            continue;
        CHECK(session_status(live[i].id, &status) == DS_OK);
        CHECK(status.suspended == live[i].suspended);
        CHECK(status.records == live[i].count);
        CHECK(status.owner == live[i].owner && status.task == live[i].task);
        CHECK(status.capacity == live[i].capacity);
        CHECK(status.half == live[i].half);
        CHECK(&live[i] != here(live[i].half) || status.running == stores(&live[i]));
    }
}

/* --- calls */

static struct mirror *pick(void)
{
    return &live[next_byte() % LIVE];
}

static const struct ds_owner *some_owner(const struct mirror *m)
{
    unsigned byte = next_byte();

    return m->owner && byte % 4 ? m->owner : &owners[byte % 2];
}

static bool runs_elsewhere(const struct ds_task *task)
{
    return task && task->context && task->context->loaded &&
           task->context->loaded_cpu != fake.cpu;
}

static void do_request(void)
{
    static const uint64_t same_table = 0x1000;
    unsigned kind = next_byte(), size = next_byte(), threshold = next_byte();
    struct session_request request = {
        .owner = &owners[kind & 1],
        .task = kind & 2 ? &tasks[(kind >> 2) % TASKS] : NULL,
        .bytes = size == 255 ? SIZE_MAX / 24 * 24 : 24u * (size * 2) + (size % 16 == 15),
        .threshold = threshold < 128 ? SESSION_NO_THRESHOLD : threshold - 128u,
        .origin = kind & 16 ? SESSION_FROM_END : SESSION_FROM_START,
        .user = (kind & 0x60) != 0,
        .kernel = (kind & 0x60) != 0x20,
        .overflow = kind & 0x80 && threshold >= 128 ? overflow : NULL,
        .context = live,
        .suspended = kind & 8,
        .tables = &same_table,
        .table_count = 1,
    };
    struct session_result result;
    struct mirror *m = NULL;
    enum ds_error error;

    for (unsigned i = 0; i < LIVE && !m; i++)
        m = live[i].id ? NULL : &live[i];
    if (!m)
        return;
    error = session_request(&request, &result);
    CHECK((error == DS_OK) == (result.id != 0));
    CHECK((error == DS_EBUSY) == !!result.holder);
    if (error != DS_OK)
        return;
    *m = (struct mirror){
        .id = result.id,
        .owner = request.owner,
        .task = request.task,
        .cpu = fake.cpu,
        .capacity = request.bytes / 24,
        .user = request.user,
        .kernel = request.kernel,
        .callback = request.overflow,
        .suspended = request.suspended,
        .waits = runs_elsewhere(request.task),
    };
    CHECK(m->capacity <= 512);
    if (request.threshold != SESSION_NO_THRESHOLD)
        m->threshold = kind & 16 ? m->capacity - request.threshold : request.threshold;
    CHECK(request.user || request.kernel);
}

static void do_sample(void)
{
    unsigned kind = next_byte(), size = next_byte(), threshold = next_byte();
    unsigned period = next_byte() % 32, other = next_byte();
    struct pebs_counter counters[2] = {
        {.counter = other % 8 ? 0 : other / 8, .event = PMC_INSTRUCTIONS}};
    struct session_sampling request = {
        .owner = &owners[kind & 1],
        .task = kind & 2 ? &tasks[(kind >> 2) % TASKS] : NULL,
        .records = size == 255 ? SIZE_MAX / 100 : size,
        .threshold = threshold < 64 ? SESSION_NO_THRESHOLD : threshold - 64u,
        .origin = kind & 16 ? SESSION_FROM_END : SESSION_FROM_START,
        .user = (kind & 0x60) != 0,
        .kernel = (kind & 0x60) != 0x20,
        .sampled = kind & 0x80 && threshold >= 64 ? sampled : NULL,
        .context = live,
        .suspended = kind & 8,
        .counters = counters,
        .counter_count = 1,
        .groups = pmc.pebs_format == 4 ? PEBS_GROUP_GPRS : other & 1,
    };
    struct session_result result;
    struct mirror *m = NULL;
    enum ds_error error;

    counters[0].reset = pebs_reset_value(&pmc, 0, period);
    for (unsigned i = 0; i < LIVE && !m; i++)
        m = live[i].id ? NULL : &live[i];
    if (!m)
        return;
    error = session_sample(&request, &result);
    CHECK((error == DS_OK) == (result.id != 0));
    CHECK((error == DS_EBUSY) == !!result.holder);
    if (error != DS_OK)
        return;
    CHECK(period && counters[0].counter < 4 && request.records <= 512);
    *m = (struct mirror){
        .id = result.id,
        .half = DS_HALF_PEBS,
        .period = period,
        .left = period,
        .owner = request.owner,
        .task = request.task,
        .cpu = fake.cpu,
        .capacity = request.records,
        .user = request.user,
        .kernel = request.kernel,
        .callback = request.sampled,
        .suspended = request.suspended,
        .waits = runs_elsewhere(request.task),
    };
    if (request.threshold != SESSION_NO_THRESHOLD)
        m->threshold = kind & 16 ? m->capacity - request.threshold : request.threshold;
}

static void do_take(struct mirror *m)
{
    static struct pebs_sample samples[512];
    unsigned room = next_byte() * 2, most = next_byte();
    size_t count = 0;
    const struct ds_owner *caller = some_owner(m);

    if (session_samples(m->id, caller, samples, room, most, &count) != DS_OK)
        return;
    CHECK(m->half == DS_HALF_PEBS && count <= room);
    CHECK(count == (most < m->count ? most : m->count));
    for (size_t i = 0; i < count; i++)
        CHECK(samples[i].eventing_ip == m->held[i]);
    forget_oldest(m, count);
}

static void do_release(struct mirror *m)
{
    const struct ds_owner *caller = some_owner(m);
    enum ds_error error = session_release(m->id, caller);

    CHECK(m->id || error == DS_ESRCH);
    CHECK(error != DS_OK || caller == m->owner);
    CHECK(error != DS_ESRCH || !m->id);
    /* Wherever it is loaded: nobody is deaf here. */
    CHECK(!m->id || caller != m->owner || error == DS_OK);
    if (error == DS_OK)
        *m = (struct mirror){0};
}

static void do_suspend_resume(struct mirror *m, bool resume)
{
    const struct ds_owner *caller = some_owner(m);
    enum ds_error error =
        resume ? session_resume(m->id, caller) : session_suspend(m->id, caller);

    if (error == DS_OK)
        m->suspended += resume ? -1u : 1u;
    if (error == DS_OK && !m->suspended)
        m->waits = false;
    CHECK(!resume || !m->gone || error != DS_OK);
    CHECK(error != DS_OK || caller == m->owner);
}

static void do_read(struct mirror *m)
{
    struct bts_record records[512];
    unsigned room = next_byte() * 2, most = next_byte();
    size_t count = 0, i = next_byte();
    const struct ds_owner *caller = some_owner(m);

    if (session_get(m->id, caller, i, records) == DS_OK)
        CHECK(m->half == DS_HALF_BTS && i < m->count &&
              records[0].from == m->held[m->count - 1 - i]);
    if (session_drain(m->id, caller, records, room, most, &count) == DS_OK) {
        CHECK(count == (most < m->count ? most : m->count) && count <= room);
        for (size_t k = 0; k < count; k++)
            CHECK(records[k].from == m->held[k]);
        forget_oldest(m, count);
    }
}

static void do_reset(struct mirror *m, bool clear)
{
    const struct ds_owner *caller = some_owner(m);

    if ((clear ? session_clear(m->id, caller) : session_reset(m->id, caller)) == DS_OK)
        m->count = 0;
}

static void do_switch(void)
{
    unsigned which = next_byte() % (TASKS + 1);
    struct ds_task *to = which < TASKS ? &tasks[which] : NULL;

    /* A scheduler runs a task in one place at a time. */
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        if (to && cpu != fake.cpu && current[cpu] == to)
            return;
    CHECK(session_switch(current[fake.cpu], to) == DS_OK);
    current[fake.cpu] = to;
    for (unsigned i = 0; i < LIVE; i++)
        live[i].waits &= !to || live[i].task != to;
}

static void do_leave(void)
{
    session_processor_leaves();
    CHECK(fake.debugctl == 0 && fake.ds_area == 0);
    for (unsigned i = 0; i < LIVE; i++)
        live[i].gone |= live[i].id && !live[i].task && live[i].cpu == fake.cpu;
    current[fake.cpu] = NULL;
}

static void drop_released(void)
{
    struct session_status status;

    for (unsigned i = 0; i < LIVE; i++)
        if (live[i].id && session_status(live[i].id, &status) == DS_ESRCH)
            live[i] = (struct mirror){0};
}

static struct mirror *nmi_target;
static unsigned nmi_countdown;

/* Suspends, reads, resumes: nobody may notice. A release and a request may only be refused. */
static void nmi(enum fake_point point)
{
    struct bts_record record;
    struct mirror *m = nmi_target;

    (void)point;
    if (--nmi_countdown)
        return;
    fake.hook = NULL;
    if (m->id && session_suspend(m->id, m->owner) == DS_OK) {
        CHECK(m != here(m->half) || !stores(m) ||
              !(m->half == DS_HALF_BTS ? fake.debugctl & TR : fake.pebs_enable));
        session_get(m->id, m->owner, 0, &record);
        CHECK(session_resume(m->id, m->owner) != DS_EPERM);
        m->waits &= m->suspended != 0;
    }
}

static void one_call(void)
{
    unsigned op = next_byte();

    switch (op % 16) {
    case 0:
        do_request();
        break;
    case 1:
        do_sample();
        break;
    case 2:
        do_release(pick());
        break;
    case 3:
    case 4:
        do_suspend_resume(pick(), op % 16 == 4);
        break;
    case 5:
        do_reset(pick(), op & 16);
        break;
    case 6:
    case 7:
        if (op & 32)
            do_take(pick());
        else
            do_read(pick());
        break;
    case 8:
        do_switch();
        break;
    case 9:
        fake_go_to(op / 16 % CPUS);
        break;
    case 10:
        session_owner_died(&owners[op / 16 % 2]);
        drop_released();
        break;
    case 11:
        session_task_ended(&tasks[op / 16 % TASKS]);
        drop_released();
        break;
    case 12:
        on_interrupt();
        break;
    case 13:
        if (op / 16 % 4 == 0) {
            do_leave();
            break;
        }
        /* fall through */
    default:
        if (op & 32)
            instructions(next_byte(), op & 16 ? 3 : 0);
        else
            branches(next_byte(), op & 16 ? 3 : 0);
    }
}

static void end(void)
{
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        fake_go_to(cpu);
        CHECK(session_switch(current[cpu], NULL) == DS_OK);
        current[cpu] = NULL;
        session_owner_died(&owners[0]);
        session_owner_died(&owners[1]);
        CHECK(fake.ds_area == 0 && fake.debugctl == 0);
        CHECK(fake.pebs_enable == 0 && fake.global_control == 0 && fake.pebs_data == 0);
        for (unsigned n = 0; n < fake.general; n++)
            CHECK(fake.selects[n] == 0);
    }
    CHECK(pool_used(&pool) == 0 && pool_longest_free(&pool) == PAGES);
    CHECK(payers[0].charged_pages == 0 && payers[1].charged_pages == 0);
}

static void run_sessions(void)
{
    struct session_machine machine = {
        .pool = &pool, .has_bts = true, .interrupts = true, .lvt = 0xE2, .pmc = &pmc};
    unsigned format = next_byte() % 3;

    fake_reset();
    fake.capabilities = 0x20C0 | (2 + format) << 8 | (format == 2 ? 0x4000 : 0);
    pmc_identify(&pmc);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        fake_go_to(cpu);
        broker_init();
        current[cpu] = NULL;
    }
    fake_go_to(0);
    fake.interrupt = on_interrupt;
    fake.rests_at_maximum = next_byte() & 1;
    memset(live, 0, sizeof(live));
    memset(tasks, 0, sizeof(tasks));
    for (unsigned i = 0; i < 2; i++) {
        payers[i] = (struct pool_payer){.name = "payer", .limit_pages = 16};
        owners[i] = (struct ds_owner){i + 1, "owner", &payers[i]};
    }
    CHECK(pool_init(&pool, memory, sizeof(memory)) == DS_OK);
    session_init(&machine);
    while (input_left) {
        unsigned at = next_byte();

        nmi_target = &live[at % LIVE];
        nmi_countdown = at / LIVE;
        fake.hook = nmi_countdown ? nmi : NULL;
        one_call();
        fake.hook = NULL;
        check_machine();
    }
    end();
}

/* Arbitrary bytes as a buffer of any format: each record lies inside, and the walk ends. */
static void run_pebs_reader(void)
{
    unsigned how = next_byte();
    const struct ds_layout *layout = how & 128 ? &ds_layout_32 : &ds_layout_64;
    const struct pebs_format *format = pebs_format_find(layout, how % 8);
    uint8_t *copy = malloc(input_left + 1);
    size_t bytes = input_left, at = how >> 3 & 8, before = at;
    struct pebs_sample sample;

    CHECK(!!format == (how & 128 ? how % 8 == 0 : how % 8 < 5));
    memcpy(copy, input, bytes);
    /* Now and then a header whose size and groups agree. */
    if (how & 64 && bytes > 32) {
        uint64_t word = how >> 3 & 3;

        word |= (uint64_t)(32 + (word & 1) * 32 + (word & 2) * 72) << 48;
        memcpy(copy + at, &word, sizeof(word));
    }
    while (format && pebs_next(format, copy, bytes, &at, &sample)) {
        CHECK(at > before && at <= bytes && at - before == sample.bytes);
        CHECK(pebs_sample_address(&sample) ==
              (sample.valid & PEBS_EVENTING_IP ? sample.eventing_ip : sample.ip));
        before = at;
    }
    CHECK(at == before);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    input = bytes;
    input_left = length;
    if (next_byte() % 8 == 0)
        run_pebs_reader();
    else
        run_sessions();
    return 0;
}

#ifndef FUZZ
int main(int argc, char **argv)
{
    static uint8_t bytes[600];
    uint32_t seed = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 1;
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 5000;

    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (uint8_t)(seed >> 24);
        }
        LLVMFuzzerTestOneInput(bytes, sizeof(bytes));
    }
    printf("%u passed, 0 failed\n", rounds);
    return 0;
}
#endif
