/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes become session calls, task switches, branches and NMIs; a plain list beside each
 * session says what it must hold. With clang: -fsanitize=fuzzer -DFUZZ; else main feeds random
 * bytes.
 */
#include "ds/broker.h"
#include "ds/reader.h"
#include "ds/session.h"
#include "harness/tests/fake_regs.h"

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

/* The session that must store what this processor does now. */
static struct mirror *here(void)
{
    struct mirror *of_task = NULL;

    for (unsigned i = 0; i < LIVE; i++) {
        if (live[i].id && !live[i].task && !live[i].gone && live[i].cpu == fake.cpu)
            return &live[i];
        if (live[i].id && live[i].task && live[i].task == current[fake.cpu])
            of_task = &live[i];
    }
    return of_task;
}

/* A task whose processor was traced when it came is not loaded until the next switch. */
static bool stores(const struct mirror *m)
{
    return m && !m->suspended && !m->gone &&
           (!m->task || (m->task->context && m->task->context->loaded &&
                         m->task->context->loaded_cpu == fake.cpu));
}

static void branches(unsigned count, unsigned cpl)
{
    for (unsigned i = 0; i < count; i++) {
        struct mirror *m = here();
        uint64_t from = ++sequence;

        if (stores(m) && (cpl ? m->user : m->kernel)) {
            if (m->count == m->capacity)
                forget_oldest(m, 1);
            m->held[m->count++] = from;
            /* Without a callback the interrupt that is about to come suspends. */
            if (m->count == m->threshold && !m->callback)
                m->suspended = 1;
        }
        fake_branch(from, from + 1, cpl);
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

static void on_interrupt(void)
{
    if (!session_pmi())
        fake.lvt = 0xe2;
}

/* --- what must hold after every call */

static void check_machine(void)
{
    struct session_status status;
    size_t charged = 0;

    CHECK(fake.crashes == 0 && fake.area_moves == 0 && fake.interrupts);
    CHECK(!(fake.debugctl & TR) || fake.ds_area);
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
        CHECK(&live[i] != here() || status.running == stores(&live[i]));
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
    CHECK((error == DS_EBUSY) == (result.holder != NULL));
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
    };
    CHECK(m->capacity <= 512);
    if (request.threshold != SESSION_NO_THRESHOLD)
        m->threshold = kind & 16 ? m->capacity - request.threshold : request.threshold;
    CHECK(request.user || request.kernel);
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
        CHECK(i < m->count && records[0].from == m->held[m->count - 1 - i]);
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
        CHECK(m != here() || !(fake.debugctl & TR) || !stores(m));
        session_get(m->id, m->owner, 0, &record);
        CHECK(session_resume(m->id, m->owner) != DS_EPERM);
    }
}

static void one_call(void)
{
    unsigned op = next_byte();

    switch (op % 16) {
    case 0:
    case 1:
        do_request();
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
    }
    CHECK(pool_used(&pool) == 0 && pool_longest_free(&pool) == PAGES);
    CHECK(payers[0].charged_pages == 0 && payers[1].charged_pages == 0);
}

static void run_sessions(void)
{
    struct session_machine machine = {
        .pool = &pool, .has_bts = true, .interrupts = true, .lvt = 0xe2};

    fake_reset();
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

static void run_reader(void)
{
    size_t index = next_byte() | next_byte() << 8;
    unsigned how = next_byte();
    uint8_t *copy = malloc(input_left + 1);
    struct reader reader;
    struct bts_record record;

    memcpy(copy, input, input_left);
    if (reader_open(&reader, how & 1 ? &ds_layout_32 : &ds_layout_64, copy, input_left, index,
                    how & 2)) {
        for (size_t i = 0; i < reader.count; i++)
            CHECK(reader_oldest(&reader, i, &record) && reader_newest(&reader, i, &record));
        CHECK(!reader_oldest(&reader, reader.count, &record));
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    input = bytes;
    input_left = length;
    if (next_byte() % 16 == 0)
        run_reader();
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
