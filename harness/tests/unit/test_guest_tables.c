/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables that guest/edges.inc emits: names, ranges, and that each `from` is an instruction
 * of the edge's kind. The decoder is judged against objdump by test_decode.
 */
#include "guest/region.h"
#include "harness/oracle/decode.h"
#include "harness/tests/fakes/guest_fake.h"
#include "harness/tests/fakes/unit.h"

#define REGION_BYTES ((size_t)(__guest_end - __guest_start))

static const struct workload *current;

static bool holds(bool good, const char *what, size_t edge)
{
    if (!good)
        printf("%s, edge %zu: %s\n", current->name, edge, what);
    return unit_count(good);
}

static bool well_formed(const char *name)
{
    return *name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == strlen(name);
}

static void names(void)
{
    ASSERT(workload_count() > 60);
    for (size_t i = 0; i < workload_count(); i++) {
        current = workload_at(i);
        holds(well_formed(current->name), "name", 0);
        holds(workload_find(current->name) == current, "name is not unique", 0);
        holds(current->entry >= 0 && (size_t)current->entry < REGION_BYTES, "entry", 0);
        holds(current->flags &
                  (WORKLOAD_RING0 | WORKLOAD_RING3 | WORKLOAD_COMPAT | WORKLOAD_LEGACY),
              "no ring", 0);
        holds(!(current->flags & WORKLOAD_STEPPABLE) || current->flags & WORKLOAD_RING3,
              "steppable outside ring 3", 0);
    }
    EXPECT(!workload_find("no.such"));
    EXPECT(!workload_at(workload_count()));
}

static enum branch_class class_of(enum edge_kind kind)
{
    static const enum branch_class classes[EDGE_KIND_COUNT] = {
        [EDGE_JCC] = BRANCH_JCC,           [EDGE_LOOP] = BRANCH_LOOP,
        [EDGE_JMP] = BRANCH_JMP,           [EDGE_JMP_INDIRECT] = BRANCH_JMP_INDIRECT,
        [EDGE_CALL] = BRANCH_CALL,         [EDGE_CALL_INDIRECT] = BRANCH_CALL_INDIRECT,
        [EDGE_RET] = BRANCH_RET,           [EDGE_FAR_JMP] = BRANCH_FAR_JMP,
        [EDGE_FAR_CALL] = BRANCH_FAR_CALL, [EDGE_FAR_RET] = BRANCH_FAR_RET,
        [EDGE_IRET] = BRANCH_IRET,         [EDGE_SYSCALL] = BRANCH_SYSCALL,
        [EDGE_INT] = BRANCH_INT,           [EDGE_INT3] = BRANCH_INT3,
        [EDGE_SYSENTER] = BRANCH_SYSENTER, [EDGE_SYSEXIT] = BRANCH_SYSEXIT,
    };

    return classes[kind];
}

static bool in_region(int32_t offset)
{
    return offset >= 0 && (size_t)offset < REGION_BYTES;
}

static void check_source(const struct edge *e, size_t index)
{
    struct decoded d;
    const uint8_t *at = __guest_start + e->from;

    if (!holds(in_region(e->from), "from outside the region", index))
        return;
    if (!holds(decode(at, (size_t)(__guest_end - at), &d), "from is no instruction", index))
        return;
    if (class_of(e->kind) != BRANCH_NONE)
        holds(d.branch == class_of(e->kind), "from is another kind of branch", index);
    if (d.direct && e->to_point == POINT_GUEST && e->kind < EDGE_IRET)
        holds(e->from + d.length + d.displacement == e->to, "to is not the target", index);
    if (e->flags & EDGE_FROM_ALT)
        holds(e->from_alt == e->from + d.length || e->kind == EDGE_TRAP,
              "from_alt is not the next instruction", index);
}

static void check_edge(const struct edge *e, size_t index)
{
    if (!holds(e->kind > 0 && e->kind < EDGE_KIND_COUNT, "kind", index))
        return;
    holds(e->from_point <= POINT_KERNEL && e->to_point <= POINT_KERNEL, "point", index);
    holds((e->flags & ~(EDGE_FROM_ALT | EDGE_OPTIONAL)) == 0, "flags", index);
    holds(e->reserved == 0, "reserved", index);
    if (e->from_point == POINT_GUEST || e->from_point == POINT_LOADED ||
        e->from_point == POINT_KERNEL)
        check_source(e, index);
    if (e->to_point == POINT_GUEST)
        holds(in_region(e->to), "to outside the region", index);
    if (e->to_point == POINT_VECTOR)
        holds(e->to >= 0 && e->to < VECTOR_COUNT, "vector", index);
}

/* One edge leads to where the next begins, in straight line and at no great distance. */
static void edges(void)
{
    for (size_t i = 0; i < workload_count(); i++) {
        current = workload_at(i);
        if (current->flags & (WORKLOAD_COMPAT | WORKLOAD_LEGACY))
            continue; /* the decoder here knows 64-bit code only */
        for (size_t k = 0; k < current->edge_count; k++)
            check_edge(&current->edges[k], k);
        if (current->edge_count)
            holds(current->edges[current->edge_count - 1].to_point == POINT_RETURN,
                  "the last edge is not the RET to the caller", current->edge_count - 1);
    }
}

static void resolve_counts(void)
{
    const struct workload *loop = workload_find("bench.loop");
    struct guest_place place = {.base = 0x400000, .ring = 0, .argument = 7};
    struct expected_edge out[12];

    place.caller = 0x1111;
    place.back = 0x2222;
    EXPECT_EQ(edges_resolve(loop, &place, out, 12), 9);
    EXPECT_EQ(out[0].from, 0x1111);
    EXPECT_EQ(out[0].kind, EDGE_CALL_INDIRECT);
    EXPECT_EQ(out[0].to, 0x400000 + (uint64_t)loop->entry);
    EXPECT_EQ(out[1].from, out[7].from);
    EXPECT_EQ(out[8].to, 0x2222);
    EXPECT_EQ(out[8].cpl_before, 0);
    place.argument = 0;
    EXPECT_EQ(edges_resolve(loop, &place, out, 12), 2);
    place.argument = 100;
    place.ring = 3;
    EXPECT_EQ(edges_resolve(loop, &place, out, 12), 103);
    EXPECT_EQ(out[0].kind, EDGE_IRET);
    EXPECT_EQ(out[0].cpl_before, 0);
    EXPECT_EQ(out[0].cpl_after, 3);
    EXPECT_EQ(edges_resolve(workload_find("recursion.fib"), &place, out, 12), 0);
}

static void kind_names(void)
{
    for (int kind = 1; kind < EDGE_KIND_COUNT; kind++) {
        EXPECT(strcmp(edge_kind_name(kind), "?") != 0);
    }
    EXPECT_STR(edge_kind_name(0), "?");
}

int main(void)
{
    RUN(names);
    RUN(edges);
    RUN(resolve_counts);
    RUN(kind_names);
    UNIT_END();
}
