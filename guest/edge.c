/* SPDX-License-Identifier: BSD-2-Clause */
/* From the labels of guest/edges.inc to addresses, and the names of the kinds of edges. */
#include "guest/edge.h"

#include "guest/region.h"
#include "guest/workload.h"
#include "hw/trap.h"

#define RUN_RING 0xF /* in a nibble of edge.cpl */

static const char *const kind_names[EDGE_KIND_COUNT] = {
    [EDGE_JCC] = "jcc",           [EDGE_LOOP] = "loop",
    [EDGE_JMP] = "jmp",           [EDGE_JMP_INDIRECT] = "jmp-indirect",
    [EDGE_CALL] = "call",         [EDGE_CALL_INDIRECT] = "call-indirect",
    [EDGE_RET] = "ret",           [EDGE_FAR_JMP] = "far-jmp",
    [EDGE_FAR_CALL] = "far-call", [EDGE_FAR_RET] = "far-ret",
    [EDGE_IRET] = "iret",         [EDGE_SYSCALL] = "syscall",
    [EDGE_SYSRET] = "sysret",     [EDGE_INT] = "int",
    [EDGE_INT3] = "int3",         [EDGE_EXCEPTION] = "exception",
    [EDGE_TRAP] = "trap",         [EDGE_INTERRUPT] = "interrupt",
    [EDGE_SYSENTER] = "sysenter", [EDGE_SYSEXIT] = "sysexit",
};

const char *edge_kind_name(enum edge_kind kind)
{
    return (unsigned)kind < EDGE_KIND_COUNT && kind_names[kind] ? kind_names[kind] : "?";
}

static uint64_t point_address(const struct guest_place *place, uint8_t point, int32_t value)
{
    switch (point) {
    case POINT_GUEST:
        return place->base + (uint64_t)(int64_t)value;
    case POINT_DATA:
        return place->data + (uint64_t)(int64_t)value;
    case POINT_LOADED:
        return (uint64_t)__guest_start + (uint64_t)(int64_t)value;
    case POINT_KERNEL:
        return place->kernel + (uint64_t)(int64_t)value;
    case POINT_VECTOR:
        return trap_entry_address((unsigned)value);
    case POINT_SYSCALL:
        return syscall_entry_address();
    case POINT_IRETQ:
        return trap_iretq_address();
    case POINT_SYSRETQ:
        return syscall_sysret_address();
    case POINT_RETURN:
        return place->back;
    case POINT_CALLER:
        return place->caller;
    default:
        return 0;
    }
}

static uint8_t cpl_of(unsigned nibble, unsigned ring)
{
    return (uint8_t)(nibble == RUN_RING ? ring : nibble);
}

struct sink {
    struct expected_edge *out;
    size_t max, count;
};

static void emit(struct sink *sink, const struct expected_edge *edge, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++, sink->count++)
        if (sink->count < sink->max)
            sink->out[sink->count] = *edge;
}

struct expected_edge edge_entry(const struct guest_place *place, uint64_t entry)
{
    return (struct expected_edge){
        .from = place->caller,
        .to = entry,
        .kind = place->ring ? EDGE_IRET : EDGE_CALL_INDIRECT,
        .cpl_after = (uint8_t)place->ring,
        .flags = place->ring ? EDGE_OPTIONAL : 0,
    };
}

struct expected_edge edge_exit(const struct guest_place *place)
{
    return (struct expected_edge){
        .from = place->base + (uint64_t)(guest_exit_syscall - __guest_start),
        .to = syscall_entry_address(),
        .kind = EDGE_SYSCALL,
        .cpl_before = (uint8_t)place->ring,
        .flags = EDGE_OPTIONAL,
    };
}

size_t edges_resolve(const struct workload *w, const struct guest_place *place,
                     struct expected_edge *out, size_t max)
{
    struct sink sink = {out, max, 0};
    struct expected_edge entry = edge_entry(place, place->base + (uint64_t)(int64_t)w->entry);
    struct expected_edge leaving = edge_exit(place);

    if (!w->edge_count)
        return 0;
    if (!(w->flags & WORKLOAD_LEGACY))
        emit(&sink, &entry, 1);
    for (const struct edge *e = w->edges; e < w->edges + w->edge_count; e++) {
        struct expected_edge edge = {
            .from = point_address(place, e->from_point, e->from),
            .to = point_address(place, e->to_point, e->to),
            .from_alt =
                e->flags & EDGE_FROM_ALT ? point_address(place, POINT_GUEST, e->from_alt) : 0,
            .kind = e->kind,
            .cpl_before = cpl_of(e->cpl & 0xF, place->ring),
            .cpl_after = cpl_of(e->cpl >> 4, place->ring),
            .flags = e->flags,
            .from_anywhere = e->from_point == POINT_ANYWHERE,
            .to_anywhere = e->to_point == POINT_ANYWHERE,
        };

        emit(&sink, &edge, e->repeat ? e->repeat : place->argument);
    }
    if (place->ring && !(w->flags & (WORKLOAD_COMPAT | WORKLOAD_LEGACY)))
        emit(&sink, &leaving, 1);
    return sink.count;
}
