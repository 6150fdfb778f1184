/* SPDX-License-Identifier: BSD-2-Clause */
/* Cross-calls: one request for each processor that is asked, its state the only shared word. */
#include "hw/cross_call.h"

#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/irq.h"
#include "hw/regs.h"

enum { FREE, FILLING, ASKED, WORKING, DONE, GIVEN_UP };

struct request {
    unsigned state;
    cross_function *fn;
    uint64_t a, b, value;
};
static struct request requests[CPU_MAX];

uint64_t cross_call_ticks = CROSS_CALL_TICKS;

static bool change(struct request *request, unsigned from, unsigned to)
{
    return __atomic_compare_exchange_n(&request->state, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

void cross_call_serve(void)
{
    irqflags_t flags = irq_save();
    struct request *request = &requests[cpu_index()];

    if (change(request, ASKED, WORKING)) {
        request->value = request->fn(request->a, request->b);
        /* Nobody waits any more: the next one may use it. */
        if (!change(request, WORKING, DONE))
            change(request, GIVEN_UP, FREE);
    }
    irq_restore(flags);
}

/* Until it is free, or too late. Somebody else may be asking the same processor. */
static bool reserve(struct request *request, uint64_t start)
{
    while (!change(request, FREE, FILLING)) {
        if (tsc_read() - start > cross_call_ticks)
            return false;
        cross_call_serve();
        cpu_pause();
    }
    return true;
}

static bool await(struct request *request, uint64_t start)
{
    while (__atomic_load_n(&request->state, __ATOMIC_ACQUIRE) != DONE) {
        if (tsc_read() - start > cross_call_ticks &&
            (change(request, ASKED, FREE) || change(request, WORKING, GIVEN_UP)))
            return false;
        cross_call_serve();
        cpu_pause();
    }
    return true;
}

static uint64_t call_here(cross_function *fn, uint64_t a, uint64_t b)
{
    irqflags_t flags = irq_save();
    uint64_t value = fn(a, b);

    irq_restore(flags);
    return value;
}

bool cross_call(unsigned processor, cross_function *fn, uint64_t a, uint64_t b, uint64_t *value)
{
    const struct cpu *target = cpu_get(processor);
    uint64_t start = tsc_read();
    struct request *request;

    if (processor == cpu_index()) {
        *value = call_here(fn, a, b);
        return true;
    }
    if (!target)
        return false;
    request = &requests[processor];
    if (!reserve(request, start))
        return false;
    request->fn = fn;
    request->a = a;
    request->b = b;
    change(request, FILLING, ASKED);
    apic_send_ipi(target->apic_id, VECTOR_IPI);
    if (!await(request, start))
        return false;
    *value = request->value;
    change(request, DONE, FREE);
    return true;
}
