/* SPDX-License-Identifier: BSD-2-Clause */
/* One task: its memory, its clone, its end, who watches it. */
#include "guest/task.h"

#include "guest/abi.h"
#include "guest/region.h"
#include "guest/schedule.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/user.h"

#define CODE_FLAGS (PAGE_PRESENT | PAGE_USER | PAGE_ACCESSED)
#define DATA_FLAGS                                                                             \
    (PAGE_PRESENT | PAGE_WRITE | PAGE_USER | PAGE_ACCESSED | PAGE_DIRTY | PAGE_NX)

/* code | data page | never present | two pages of stack */
static uint64_t page_address(const struct task *task, unsigned page)
{
    return task->data + (page ? page + 1 : 0) * PAGE_BYTES;
}

static bool build(struct task *task)
{
    uint64_t bytes = (uint64_t)(__guest_end - __guest_start);

    task->data = task->base + bytes;
    task->high = page_address(task, TASK_PAGES);
    if (!paging_space_create(&task->space))
        return false;
    for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
        if (!paging_map(&task->space, task->base + at, (uint64_t)__guest_start + at,
                        CODE_FLAGS))
            return false;
    for (unsigned i = 0; i < TASK_PAGES; i++) {
        task->pages[i] = page_alloc();
        if (!task->pages[i] || !paging_map(&task->space, page_address(task, i),
                                           (uint64_t)task->pages[i], DATA_FLAGS))
            return false;
    }
    return true;
}

static void demolish(struct task *task)
{
    if (task->space.cr3)
        paging_space_destroy(&task->space);
    for (unsigned i = 0; i < TASK_PAGES; i++)
        if (task->pages[i])
            page_free(task->pages[i]);
    memset(task->pages, 0, sizeof(task->pages));
    task->space.cr3 = 0;
}

/* An entry that no other processor takes at the same time. */
static bool reserve(struct task *task)
{
    enum task_state state = __atomic_load_n(&task->state, __ATOMIC_ACQUIRE);

    return (state == TASK_FREE || state == TASK_ENDED) &&
           __atomic_compare_exchange_n(&task->state, &state, TASK_MADE, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/* base 0: a region of its own. */
static struct task *fresh(struct schedule *s, uint64_t base)
{
    unsigned cpu = cpu_index();
    uint32_t id;

    for (unsigned i = 0; i < TASKS_MOST; i++) {
        struct task *task = &s->tasks[i];

        if (!reserve(task))
            continue;
        id = __atomic_add_fetch(&s->created, 1, __ATOMIC_RELAXED);
        *task = (struct task){.slot = i, .state = TASK_MADE, .cpu = cpu, .next_cpu = cpu};
        task->base = base ? base : USER_WINDOW + id * TASK_REGION_BYTES;
        if (!build(task)) {
            demolish(task);
            task->state = TASK_FREE;
            return NULL;
        }
        fpu_start(&task->fpu);
        task->id = id;
        return task;
    }
    return NULL;
}

static struct task *ready(struct task *task)
{
    __atomic_store_n(&task->state, TASK_READY, __ATOMIC_RELEASE);
    return task;
}

struct task *task_create(struct schedule *s, const struct workload *workload, uint64_t argument)
{
    struct task *task = fresh(s, 0);
    uint64_t back;

    if (!task)
        return NULL;
    back = task->base + (uint64_t)(guest_exit - __guest_start);
    memcpy(task->pages[0] + DATA_ARGUMENT, &argument, sizeof(argument));
    memcpy(task->pages[TASK_PAGES - 1] + PAGE_BYTES - 8, &back, sizeof(back));
    user_frame_init(&task->frame, task->base + (uint64_t)(int64_t)workload->entry,
                    task->high - 8, true);
    task->frame.rdi = task->data;
    return ready(task);
}

/* A copy of everything but who watches: a trace is its owner's business, not its child's. */
struct task *task_clone(struct schedule *s, const struct task *parent,
                        const struct trap_frame *frame)
{
    struct task *child = fresh(s, parent->base);

    if (!child)
        return NULL;
    for (unsigned i = 0; i < TASK_PAGES; i++)
        memcpy(child->pages[i], parent->pages[i], PAGE_BYTES);
    child->frame = *frame;
    child->frame.rax = 0;
    child->frame.rflags &= ~RFLAGS_TF;
    fpu_save(&child->fpu);
    return ready(child);
}

struct task *task_find(struct schedule *s, uint32_t id)
{
    for (unsigned i = 0; i < TASKS_MOST; i++)
        if (id && s->tasks[i].id == id && s->tasks[i].state >= TASK_READY &&
            s->tasks[i].state < TASK_ENDING)
            return &s->tasks[i];
    return NULL;
}

/* Whose turn is next in a round of telling; one round may lie in another. */
struct task_telling {
    struct task_watch *next;
    struct task_telling *outer;
};

void task_tell(struct task *task, enum task_event event, uint64_t value)
{
    struct task_telling round = {task->watches, task->telling};

    task->telling = &round;
    while (round.next) {
        struct task_watch *watch = round.next;

        round.next = watch->next;
        watch->tell(watch, task, event, value);
    }
    task->telling = round.outer;
}

void task_end(struct schedule *s, struct task *task, enum task_end end, uint64_t code)
{
    if (task->state < TASK_READY || task->state >= TASK_ENDING)
        return;
    if (task == schedule_turn(s)->current)
        schedule_depart(s);
    task->state = TASK_ENDING;
    task->end = end;
    task->code = code;
    task_tell(task, TASK_OVER, end);
    task->watches = NULL;
    demolish(task);
    __atomic_store_n(&task->state, TASK_ENDED, __ATOMIC_RELEASE);
}

bool task_move(struct schedule *s, struct task *task, unsigned cpu)
{
    if (cpu >= TASK_CPUS || !(s->processors >> cpu & 1))
        return false;
    task->next_cpu = cpu;
    if (task != schedule_turn(s)->current)
        __atomic_store_n(&task->cpu, cpu, __ATOMIC_RELEASE);
    return true;
}

void task_continue(struct task *task)
{
    if (task->state == TASK_STOPPED)
        task->state = TASK_READY;
}

void task_signal(struct task *task, uint64_t events)
{
    task->events |= events;
    if (task->state == TASK_WAITING && task->events) {
        task->state = TASK_READY;
        task->frame.rax = task->events;
        task->events = 0;
    }
}

void task_watch(struct task *task, struct task_watch *watch)
{
    watch->next = task->watches;
    task->watches = watch;
}

void task_unwatch(struct task *task, struct task_watch *watch)
{
    for (struct task_watch **at = &task->watches; *at; at = &(*at)->next)
        if (*at == watch) {
            *at = watch->next;
            for (struct task_telling *round = task->telling; round; round = round->outer)
                if (round->next == watch)
                    round->next = watch->next;
            task_tell(task, TASK_DETACHED, 0);
            return;
        }
}

enum task_step task_step(const struct task *task)
{
    enum task_step finest = STEP_NONE;

    for (const struct task_watch *watch = task->watches; watch; watch = watch->next)
        if (watch->step > finest)
            finest = watch->step;
    return finest;
}

bool task_may(const struct task *task, uint64_t linear, size_t bytes, bool write)
{
    struct paging_walk walk;
    uint64_t last = linear + bytes - 1;

    if (!bytes)
        return true;
    if (last < linear)
        return false;
    for (uint64_t at = linear & ~(PAGE_BYTES - 1); at <= last; at += PAGE_BYTES)
        if (!paging_walk(task->space.cr3, at, &walk) || !(walk.flags & PAGE_USER) ||
            (write && !(walk.flags & PAGE_WRITE)))
            return false;
    return true;
}

/* Through the frames, which the kernel has at their own addresses: whichever CR3 is loaded. */
static void copy(const struct task *task, uint8_t *kernel, uint64_t linear, size_t bytes,
                 bool out)
{
    while (bytes > 0) {
        size_t part = PAGE_BYTES - linear % PAGE_BYTES;
        struct paging_walk walk;

        part = part < bytes ? part : bytes;
        paging_walk(task->space.cr3, linear, &walk);
        if (out)
            memcpy((void *)walk.phys, kernel, part);
        else
            memcpy(kernel, (const void *)walk.phys, part);
        kernel += part;
        linear += part;
        bytes -= part;
    }
}

bool task_copy_in(const struct task *task, void *to, uint64_t linear, size_t bytes)
{
    if (!task_may(task, linear, bytes, false))
        return false;
    copy(task, to, linear, bytes, false);
    return true;
}

bool task_copy_out(const struct task *task, uint64_t linear, const void *from, size_t bytes)
{
    if (!task_may(task, linear, bytes, true))
        return false;
    copy(task, (uint8_t *)(uintptr_t)from, linear, bytes, true);
    return true;
}
