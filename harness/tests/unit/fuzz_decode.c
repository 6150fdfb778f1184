/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz entry of the oracle's decoder: it must never read a byte that it was not given, and
 * what it says must be consistent. With libFuzzer:
 *
 *     clang -fsanitize=fuzzer,address -I. -DWAYMARK_HOST harness/tests/unit/fuzz_decode.c \
 *         harness/oracle/decode.c harness/oracle/branch.c
 *
 * Built as a unit test it brings its own main, which feeds it seeded random input.
 */
#include "harness/oracle/decode.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A block of exactly that size, so that the sanitizer sees one byte too many. */
    uint8_t *exact = malloc(size ? size : 1);
    struct decoded whole, part;

    memcpy(exact, data, size);
    demand(decode(exact, size, &whole) == (whole.length != 0));
    demand(whole.length <= 15 && whole.length <= size);
    demand(whole.branch <= BRANCH_INT1 && whole.condition < 16);
    if (!whole.length)
        demand(whole.branch == BRANCH_NONE && !whole.direct);
    free(exact);
    /* Every byte counts: with one less it does not decode, with more nothing changes. */
    for (size_t given = 0; given < whole.length; given++) {
        exact = malloc(given ? given : 1);
        memcpy(exact, data, given);
        demand(!decode(exact, given, &part));
        free(exact);
    }
    if (whole.length) {
        demand(decode(data, whole.length, &part));
        demand(part.length == whole.length && part.branch == whole.branch &&
               part.displacement == whole.displacement);
    }
    return 0;
}

#ifdef FUZZ_MAIN
#include "harness/tests/fakes/unit.h"

static uint64_t state = 0x243F6A8885A308D3;

static uint8_t random_byte(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint8_t)(state >> 56);
}

static void random_input(void)
{
    uint8_t data[20];
    unsigned good = 0;

    for (unsigned i = 0; i < 200000; i++) {
        size_t size = random_byte() % 18;

        for (size_t k = 0; k < size; k++)
            data[k] = random_byte();
        good += LLVMFuzzerTestOneInput(data, size) == 0;
    }
    EXPECT_EQ(good, 200000);
}

int main(void)
{
    RUN(random_input);
    UNIT_END();
}
#endif
