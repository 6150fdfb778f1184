/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of contexts. Callers serialise claim and release; the rest is per processor. */
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

static enum ds_error create(struct ds_task *task, const struct ds_owner *owner,
                            struct ds_context **context)
{
    void *page;
    enum ds_error error;

    for (size_t i = 0; i < DS_CONTEXTS_MOST; i++) {
        if (contexts[i].area)
            continue;
        error = pool_take(pool, owner->payer, DS_AREA_BYTES, &page);
        if (error != DS_OK)
            return error;
        contexts[i] = (struct ds_context){.area = page, .task = task, .cpu = cpu_index()};
        if (task)
            task->context = &contexts[i];
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
    if (!found) {
        error = create(task, owner, &found);
        if (error != DS_OK)
            return error;
    }
    found->owner[half] = owner;
    *context = found;
    return DS_OK;
}

enum ds_error context_release(struct ds_context *context, enum ds_half half)
{
    enum ds_error error;

    if (context->owner[half == DS_HALF_BTS ? DS_HALF_PEBS : DS_HALF_BTS]) {
        context->owner[half] = NULL;
        context->user[half] = NULL;
        return DS_OK;
    }
    /* Never a pointer to memory that somebody else may get next. */
    if (context->loaded && context->loaded_cpu != cpu_index())
        return DS_EPERM;
    if (context->loaded) {
        error = context_load(NULL);
        if (error != DS_OK)
            return error;
    }
    error = pool_give_back(pool, context->area);
    if (error != DS_OK)
        return error;
    if (context->task)
        context->task->context = NULL;
    else
        of_cpu[context->cpu] = NULL;
    *context = (struct ds_context){0};
    return DS_OK;
}

struct ds_context *context_here(void)
{
    unsigned cpu = cpu_index();

    if (of_cpu[cpu])
        return of_cpu[cpu];
    return task_on[cpu] ? task_on[cpu]->context : NULL;
}

void context_set_task(struct ds_task *task)
{
    task_on[cpu_index()] = task;
    if (task) {
        task->cpu = cpu_index();
        task->ran = true;
    }
}

enum ds_error context_load(struct ds_context *context)
{
    unsigned cpu = cpu_index();
    enum ds_error error = broker_set_ds_area(context ? context->area : NULL);

    if (error != DS_OK)
        return error;
    if (loaded_on[cpu])
        loaded_on[cpu]->loaded = false;
    loaded_on[cpu] = context;
    if (context) {
        context->loaded_cpu = cpu;
        context->loaded = true;
    }
    return DS_OK;
}
