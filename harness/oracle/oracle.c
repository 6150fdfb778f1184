/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The step oracle in the kernel: a #DB handler that feeds harness/oracle/step.c, and a wrapper
 * around every other handler, because an event's way back is known only once its handler is
 * done.
 */
#include "harness/oracle/oracle.h"

#include "harness/check/arena.h"
#include "harness/oracle/step.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/trap.h"
#include "hw/user.h"

#define DEFAULT_BUDGET 10000000ull

struct stepping;

/* A handler that was there, seen through from both sides. */
struct wrapped {
    struct stepping *stepping;
    struct trap_slot inner;
    unsigned vector;
};

static const uint16_t wrapped_vectors[] = {
    VECTOR_DE,    VECTOR_NMI, VECTOR_BP,  VECTOR_OF,   VECTOR_BR,
    VECTOR_UD,    VECTOR_NM,  VECTOR_TS,  VECTOR_NP,   VECTOR_SS,
    VECTOR_GP,    VECTOR_PF,  VECTOR_MF,  VECTOR_AC,   VECTOR_SYSCALL_INT,
    VECTOR_TIMER, VECTOR_IPI, VECTOR_PMI, VECTOR_TEST, TRAP_SYSCALL,
};
#define WRAPPED_COUNT (sizeof wrapped_vectors / sizeof *wrapped_vectors)

struct stepping {
    struct stepper stepper;
    struct oracle *oracle;
    uint64_t steps, budget;
    struct trap_slot inner_step;
    struct wrapped wrapped[WRAPPED_COUNT];
    bool return_by_iret;
    uint64_t dr6;
};

/* One cache for all processors: only the boot processor runs checks. */
static struct step_slot *slots;

/* Code bytes as the processor would fetch them now. */
static size_t fetch(void *context, uint64_t linear, uint8_t bytes[15])
{
    (void)context;
    return paging_read(linear, bytes, 15);
}

/* --- handlers */

static bool on_step(struct trap_frame *frame, void *arg)
{
    struct stepping *s = arg;
    uint64_t at = s->stepper.at, unfinished = s->stepper.unfinished;

    if (!trap_from_user(frame))
        return false;
    if (++s->steps > s->budget)
        user_leave(frame, GUEST_BUDGET);
    if (!step_to(&s->stepper, frame->rip, frame->rflags, frame->rcx))
        user_leave(frame, GUEST_FAULTED);
    if (s->oracle->on_step && s->stepper.unfinished == unfinished)
        s->oracle->on_step(s->oracle, at, frame);
    /* POPF and IRET may have cleared it. */
    frame->rflags |= RFLAGS_TF;
    return true;
}

static bool on_bare_step(struct trap_frame *frame, void *arg)
{
    struct stepping *s = arg;

    if (!trap_from_user(frame))
        return false;
    s->steps++;
    return true;
}

static bool on_event(struct trap_frame *frame, void *arg)
{
    const struct wrapped *w = arg;
    struct stepper *stepper = &w->stepping->stepper;
    bool from_user = trap_from_user(frame);

    if (from_user && !step_event(stepper, w->vector, frame->rip, frame->rflags, frame->rcx))
        user_leave(frame, GUEST_FAULTED);
    if (!w->inner.handler(frame, w->inner.arg))
        return false;
    if (from_user) {
        step_resume(stepper, frame->rip, w->vector == TRAP_SYSCALL);
        frame->rflags |= RFLAGS_TF;
    }
    return true;
}

/* --- around the run */

static void install(struct stepping *s, trap_handler step)
{
    s->dr6 = dr6_read();
    s->return_by_iret = syscall_return_by_iret;
    syscall_return_by_iret = true;
    s->inner_step = trap_set(VECTOR_DB, step, s);
}

static void uninstall(struct stepping *s)
{
    trap_set(VECTOR_DB, s->inner_step.handler, s->inner_step.arg);
    syscall_return_by_iret = s->return_by_iret;
    dr6_write(s->dr6);
}

static void wrap_handlers(struct stepping *s)
{
    for (unsigned i = 0; i < WRAPPED_COUNT; i++) {
        struct wrapped *w = &s->wrapped[i];

        w->stepping = s;
        w->vector = wrapped_vectors[i];
        w->inner = trap_get(w->vector);
        if (w->inner.handler) /* what nobody handles stays unexpected */
            trap_set(w->vector, on_event, w);
    }
}

static void unwrap_handlers(struct stepping *s)
{
    for (unsigned i = 0; i < WRAPPED_COUNT; i++) {
        const struct wrapped *w = &s->wrapped[i];

        if (w->inner.handler)
            trap_set(w->vector, w->inner.handler, w->inner.arg);
    }
}

static void run_in_ring3(struct guest *g, struct guest_run *run)
{
    struct guest_call call;

    run->ring = 3;
    run->step = true;
    call = guest_prepare(g, run);
    guest_finish(g, run, call.fn(call.arg));
}

static bool prepare(struct stepper *stepper, struct oracle *oracle)
{
    if (!slots)
        slots = arena_alloc(STEP_SLOTS * sizeof *slots);
    *stepper = (struct stepper){
        .slots = slots,
        .fetch = fetch,
        .places = {.iretq = trap_iretq_address(),
                   .sysretq = syscall_sysret_address(),
                   .syscall = syscall_entry_address(),
                   .entry = trap_entry_address},
        .edges = oracle->edges,
        .max = oracle->max,
    };
    oracle->error = slots ? NULL : "the arena has no room for decoded instructions";
    oracle->error_rip = 0;
    return slots;
}

static void conclude(const struct stepping *s, const struct guest_run *run,
                     struct oracle *oracle)
{
    oracle->count = s->stepper.count;
    oracle->steps = s->steps;
    oracle->instructions = s->steps + s->stepper.silent - s->stepper.unfinished;
    oracle->not_taken = s->stepper.not_taken;
    oracle->error = s->stepper.error;
    oracle->error_rip = s->stepper.error_rip;
    if (oracle->error || run->end == GUEST_RETURNED)
        return;
    oracle->error = run->end == GUEST_BUDGET ? "the step budget ran out"
                                             : "an exception that nothing covers";
    oracle->error_rip = run->frame.rip;
}

bool oracle_step(struct guest *g, struct guest_run *run, struct oracle *oracle)
{
    static struct stepping s; /* a kernel stack has better uses for it */

    memset(&s, 0, sizeof s);
    if (!prepare(&s.stepper, oracle))
        return false;
    s.oracle = oracle;
    s.budget = oracle->step_budget ? oracle->step_budget : DEFAULT_BUDGET;
    step_start(&s.stepper, g->user.base + (uint64_t)(int64_t)run->workload->entry);
    install(&s, on_step);
    wrap_handlers(&s);
    run_in_ring3(g, run);
    unwrap_handlers(&s);
    uninstall(&s);
    conclude(&s, run, oracle);
    return !oracle->error;
}

uint64_t oracle_bare_steps(struct guest *g, struct guest_run *run)
{
    struct stepping s = {.steps = 0};

    install(&s, on_bare_step);
    run_in_ring3(g, run);
    uninstall(&s);
    return s.steps;
}
