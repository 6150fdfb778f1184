/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of contexts. Callers serialise claim and release; the rest is per processor, and a
 * context is one processor's at a time.
 */
#include "ds/context.h"

#include "ds/broker.h"
#include "hw/cpu.h"
#include "hw/string.h"

static struct pool *pool;
static struct ds_context contexts[DS_CONTEXTS_MOST];
static struct ds_context *of_cpu[CPU_MAX];
static struct ds_task *task_on[CPU_MAX];
static struct ds_context *loaded_on[CPU_MAX];

void context_init(struct pool *from)
{
    pool = from;
    memset(contexts, 0, sizeof(contexts));
    memset(of_cpu, 0, sizeof(of_cpu));
    memset(task_on, 0, sizeof(task_on));
    memset(loaded_on, 0, sizeof(loaded_on));
}

bool context_allowed(const struct ds_task *task)
{
    if (task)
        return !of_cpu[task->cpu];
    for (size_t i = 0; i < DS_CONTEXTS_MOST; i++)
        if (contexts[i].area && contexts[i].task && contexts[i].task->cpu == cpu_index())
            return false;
    return true;
}

static struct ds_context *existing(const struct ds_task *task)
{
    return task ? task->context : of_cpu[cpu_index()];
}

/* Once: 0 to this processor. */
static bool hold_free(struct ds_context *context)
{
    uint32_t nobody = 0;

    return __atomic_compare_exchange_n(&context->holder, &nobody, cpu_index() + 1, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool context_hold(struct ds_context *context, bool *taken)
{
    *taken = false;
    for (unsigned tries = 0; tries < CONTEXT_TRIES; tries++) {
        uint32_t holder = __atomic_load_n(&context->holder, __ATOMIC_ACQUIRE);

        /* Ours already: loaded here, or we have interrupted who works on it. */
        if (holder == cpu_index() + 1)
            return true;
        if (!holder && hold_free(context)) {
            *taken = true;
            return true;
        }
        /* It stays there until its task is switched away. */
        if (context->loaded && context->loaded_cpu != cpu_index())
            return false;
        __builtin_ia32_pause();
    }
    return false;
}

void context_drop(struct ds_context *context)
{
    __atomic_store_n(&context->holder, 0, __ATOMIC_RELEASE);
}

void context_settle(struct ds_context *context)
{
    if (!context->loaded && context->holder == cpu_index() + 1)
        context_drop(context);
}

static struct ds_context *tracing(const struct ds_task *task)
{
    struct ds_context *own = of_cpu[cpu_index()];

    return own && !own->gone ? own
           : task            ? __atomic_load_n(&task->context, __ATOMIC_ACQUIRE)
                             : NULL;
}

struct ds_context *context_take(const struct ds_task *task, bool *taken)
{
    struct ds_context *context = tracing(task);

    *taken = false;
    if (!context || !context_hold(context, taken))
        return NULL;
    /* It may have been given up, and become another's, before we had it. */
    if (context->area && tracing(task) == context)
        return context;
    if (*taken)
        context_drop(context);
    *taken = false;
    return NULL;
}

static enum ds_error create(struct ds_task *task, const struct ds_owner *owner,
                            struct ds_context **context)
{
    uint32_t holder = cpu_index() + 1;
    void *page;
    enum ds_error error;

    for (size_t i = 0; i < DS_CONTEXTS_MOST; i++) {
        if (contexts[i].area || !hold_free(&contexts[i]))
            continue;
        error = pool_take(pool, owner->payer, DS_AREA_BYTES, &page);
        if (error != DS_OK) {
            context_drop(&contexts[i]);
            return error;
        }
        contexts[i] = (struct ds_context){
            .area = page, .task = task, .cpu = cpu_index(), .holder = holder};
        if (task)
            __atomic_store_n(&task->context, &contexts[i], __ATOMIC_RELEASE);
        else
            of_cpu[cpu_index()] = &contexts[i];
        *context = &contexts[i];
        return DS_OK;
    }
    return DS_ENOMEM;
}

enum ds_error context_claim(struct ds_task *task, enum ds_half half,
                            const struct ds_owner *owner, struct ds_context **context,
                            const struct ds_owner **holder)
{
    struct ds_context *found = existing(task);
    enum ds_error error;

    if (!context_allowed(task))
        return DS_EPERM;
    if (found && found->owner[half]) {
        *holder = found->owner[half];
        return DS_EBUSY;
    }
    /* What a processor left behind when it was handed back stores nothing any more. */
    if (found && found->gone) {
        *holder = found->owner[half == DS_HALF_BTS ? DS_HALF_PEBS : DS_HALF_BTS];
        return DS_EBUSY;
    }
    if (!found) {
        error = create(task, owner, &found);
        if (error != DS_OK)
            return error;
    }
    found->owner[half] = owner;
    *context = found;
    return DS_OK;
}

/* The last half. Never a pointer to memory that somebody else may get next. */
static enum ds_error destroy(struct ds_context *context)
{
    struct ds_context *before;
    enum ds_error error = context->loaded ? context_swap(NULL, &before) : DS_OK;

    if (error == DS_OK)
        error = pool_give_back(pool, context->area);
    if (error != DS_OK)
        return error;
    if (context->task)
        __atomic_store_n(&context->task->context, NULL, __ATOMIC_RELEASE);
    else
        of_cpu[context->cpu] = NULL;
    *context = (struct ds_context){.holder = cpu_index() + 1};
    context_drop(context);
    return DS_OK;
}

enum ds_error context_release(struct ds_context *context, enum ds_half half)
{
    enum ds_error error;
    bool taken;

    if (context->owner[half == DS_HALF_BTS ? DS_HALF_PEBS : DS_HALF_BTS]) {
        context->owner[half] = NULL;
        context->user[half] = NULL;
        return DS_OK;
    }
    if (!context_hold(context, &taken))
        return context->loaded ? DS_EPERM : DS_EBUSY;
    error = destroy(context);
    if (error != DS_OK)
        context_settle(context);
    return error;
}

struct ds_context *context_here(void)
{
    return tracing(task_on[cpu_index()]);
}

void context_set_task(struct ds_task *task)
{
    task_on[cpu_index()] = task;
    if (task) {
        task->cpu = cpu_index();
        task->ran = true;
    }
}

struct ds_context *context_loaded(void)
{
    return loaded_on[cpu_index()];
}

enum ds_error context_swap(struct ds_context *context, struct ds_context **before)
{
    unsigned cpu = cpu_index();
    bool taken = false;
    enum ds_error error;

    *before = NULL;
    if (context && !context_hold(context, &taken))
        return DS_EBUSY;
    error = broker_set_ds_area(context ? context->area : NULL);
    if (error != DS_OK) {
        if (taken)
            context_drop(context);
        return error;
    }
    if (loaded_on[cpu] != context)
        *before = loaded_on[cpu];
    if (*before)
        (*before)->loaded = false;
    loaded_on[cpu] = context;
    if (context) {
        context->loaded_cpu = cpu;
        context->loaded = true;
    }
    return DS_OK;
}

enum ds_error context_load(struct ds_context *context)
{
    struct ds_context *before;
    enum ds_error error = context_swap(context, &before);

    if (before)
        context_drop(before);
    return error;
}

void context_leave(void)
{
    unsigned cpu = cpu_index();

    context_load(NULL);
    task_on[cpu] = NULL;
    if (of_cpu[cpu])
        of_cpu[cpu]->gone = true;
}
