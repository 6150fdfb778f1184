/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The expected edges against a real processor: each ring-3 workload runs here and what it did
 * is compared with its table.
 */
#define _GNU_SOURCE
#include "harness/tests/fakes/guest_host.h"

#include <cpuid.h>

static void compare_with_table(const struct workload *w)
{
    static struct expected_edge expected[RECORD_MAX];
    struct guest_place place = place_here();
    size_t count = edges_resolve(w, &place, expected, RECORD_MAX);

    if (count)
        compare(w->name, expected, count);
}

/* Far JMP and CALL with REX.W take m16:64 on Intel processors only. */
static bool far_operand_is_64_bit(void)
{
    unsigned eax, ebx = 0, ecx, edx;

    return __get_cpuid(0, &eax, &ebx, &ecx, &edx) && ebx == signature_INTEL_ebx;
}

static void all_steppable(void)
{
    bool far = far_operand_is_64_bit();

    argument = 12;
    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);

        if (!(w->flags & WORKLOAD_STEPPABLE))
            continue;
        if (!far && (!strcmp(w->name, "far.jmp") || !strcmp(w->name, "far.call"))) {
            printf("# %s skipped: not an Intel processor\n", w->name);
            continue;
        }
        run(w);
        compare_with_table(w);
    }
}

static uint64_t result_of(const char *name, uint64_t given)
{
    argument = given;
    run(workload_find(name));
    return result;
}

static uint32_t interpret(uint32_t seed)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 600; i++) {
        unsigned n;

        seed = seed * 1103515245u + 12345u;
        n = seed >> 16 & 15;
        sum += seed;
        sum = n ? sum << n | sum >> (32 - n) : sum;
        if (n & 1 && sum & 1)
            sum = ~sum;
    }
    return sum;
}

static void results(void)
{
    EXPECT_EQ(result_of("recursion.fib", 15), 610);
    EXPECT(record_count > 3000);
    EXPECT_EQ(result_of("program.sort", 1), 1);
    EXPECT(record_count > 500);
    EXPECT_EQ(result_of("program.sort", 0xDEADBEEF), 1);
    EXPECT_EQ(result_of("program.interpreter", 99), interpret(99));
    EXPECT(record_count > 1200);
    EXPECT_EQ(result_of("bench.call", 500), 0);
    EXPECT_EQ(result_of("jcc.not_taken.rel8", 0), 16);
    EXPECT_EQ(result_of("jcc.not_taken.rel32", 0), 16);
    EXPECT_EQ(result_of("syscall.row", 0), 6);
    EXPECT_EQ(result_of("int80.once", 0), 42);
    EXPECT_EQ(result_of("pf.repeat", 0), 0);
    EXPECT_EQ(result_of("pf.read_only", 0), 1);
}

int main(void)
{
    set_up();
    RUN(all_steppable);
    RUN(results);
    UNIT_END();
}
