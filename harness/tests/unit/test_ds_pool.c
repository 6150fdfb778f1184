/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool against a plain model: who owns each page, what each payer was charged. */
#include "ds/pool.h"
#include "harness/tests/fakes/fake_regs.h"
#include "harness/tests/fakes/unit.h"

#include <stdalign.h>

#define PAGES  37
#define PAYERS 3

static alignas(4096) uint8_t memory[(PAGES + 1) * 4096];
static struct pool pool;
static struct pool_payer payers[PAYERS];

static void start(void)
{
    fake_reset();
    memset(memory, 0xEE, sizeof(memory));
    for (unsigned i = 0; i < PAYERS; i++)
        payers[i] = (struct pool_payer){.name = "payer", .limit_pages = 20};
    EXPECT_EQ(pool_init(&pool, memory, PAGES * 4096 + 100), DS_OK);
}

static void test_init_refuses(void)
{
    EXPECT_EQ(pool_init(&pool, memory + 8, 4096), DS_EINVAL);
    EXPECT_EQ(pool_init(&pool, memory, 4095), DS_EINVAL);
    EXPECT_EQ(pool_init(&pool, memory, (POOL_PAGES_MOST + 1) * 4096ull), DS_EINVAL);
    EXPECT_EQ(pool_init(&pool, memory, POOL_PAGES_MOST * 4096ull), DS_OK);
    EXPECT_EQ(pool_longest_free(&pool), POOL_PAGES_MOST);
}

static void test_take_and_give_back(void)
{
    void *a = NULL, *b = NULL, *c = memory;
    bool zero = true;

    start();
    EXPECT_EQ(pool_longest_free(&pool), PAGES);
    EXPECT_EQ(pool_take(&pool, &payers[0], 1, &a), DS_OK);
    EXPECT(a == memory);
    EXPECT_EQ(pool_take(&pool, &payers[1], 4097, &b), DS_OK);
    EXPECT(b == memory + 4096);
    for (unsigned i = 0; i < 3 * 4096; i++)
        zero &= memory[i] == 0;
    EXPECT(zero);
    EXPECT_EQ(memory[3 * 4096], 0xEE);
    EXPECT_EQ(payers[0].charged_pages, 1);
    EXPECT_EQ(payers[1].charged_pages, 2);
    EXPECT_EQ(pool_used(&pool), 3);
    EXPECT_EQ(pool_longest_free(&pool), PAGES - 3);

    EXPECT_EQ(pool_take(&pool, &payers[0], 0, &c), DS_EINVAL);
    EXPECT_EQ(pool_take(&pool, &payers[0], 20 * 4096, &c), DS_ENOMEM);
    EXPECT_EQ(pool_take(&pool, &payers[0], SIZE_MAX, &c), DS_ENOMEM);
    EXPECT(c == memory);
    EXPECT_EQ(payers[0].charged_pages, 1);

    EXPECT_EQ(pool_give_back(&pool, memory + 2 * 4096), DS_EINVAL);
    EXPECT_EQ(pool_give_back(&pool, memory + 1), DS_EINVAL);
    EXPECT_EQ(pool_give_back(&pool, memory + PAGES * 4096), DS_EINVAL);
    EXPECT_EQ(pool_give_back(&pool, memory - 4096), DS_EINVAL);
    EXPECT_EQ(pool_give_back(&pool, NULL), DS_EINVAL);
    EXPECT_EQ(pool_give_back(&pool, b), DS_OK);
    EXPECT_EQ(pool_give_back(&pool, b), DS_EINVAL);
    EXPECT_EQ(payers[1].charged_pages, 0);
    EXPECT_EQ(pool_give_back(&pool, a), DS_OK);
    EXPECT_EQ(pool_used(&pool), 0);
    EXPECT(fake.interrupts);
}

static void test_limits(void)
{
    void *page;

    start();
    EXPECT_EQ(pool_take(&pool, &payers[0], 20 * 4096, &page), DS_OK);
    EXPECT_EQ(pool_take(&pool, &payers[0], 1, &page), DS_ENOMEM);
    payers[0].limit_pages = 5; /* lowered under what is charged */
    EXPECT_EQ(pool_take(&pool, &payers[0], 1, &page), DS_ENOMEM);
    EXPECT_EQ(pool_take(&pool, &payers[1], 17 * 4096, &page), DS_OK);
    EXPECT_EQ(pool_take(&pool, &payers[1], 1, &page), DS_ENOMEM);
}

/* A holder that was interrupted: the call comes back instead of waiting for ever. */
static void test_locked(void)
{
    void *page = NULL;

    start();
    pool.lock.taken = 1;
    EXPECT_EQ(pool_take(&pool, &payers[0], 1, &page), DS_EBUSY);
    EXPECT_EQ(pool_give_back(&pool, memory), DS_EBUSY);
    EXPECT(!page && fake.interrupts);
    pool.lock.taken = 0;
    EXPECT_EQ(pool_take(&pool, &payers[0], 1, &page), DS_OK);
    EXPECT(fake.interrupts);
}

static uint32_t seed = 12345;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 8) * limit >> 24);
}

/* 10^5 requests, a good part of them refused; balance and runs agree with the model always. */
static void test_random(void)
{
    static int owner[PAGES]; /* payer + 1; 0 = free */
    static struct {
        uint8_t *at;
        size_t pages;
        unsigned payer;
    } held[PAGES];
    unsigned count = 0, taken = 0, refused = 0;

    start();
    memset(owner, 0, sizeof(owner));
    for (unsigned round = 0; round < 100000; round++) {
        bool same = true;

        if (random_below(5) < 3) {
            size_t pages = 1 + random_below(9), longest = 0, run = 0;
            unsigned payer = random_below(PAYERS);
            void *got = NULL;
            bool fits;

            for (unsigned p = 0; p < PAGES; p++) {
                run = owner[p] ? 0 : run + 1;
                longest = run > longest ? run : longest;
            }
            fits = pages <= longest && payers[payer].charged_pages + pages <= 20;
            same &= (pool_take(&pool, &payers[payer], pages * 4096 - random_below(4096),
                               &got) == DS_OK) == fits;
            taken += fits;
            refused += !fits;
            if (got) {
                size_t first = ((uint8_t *)got - memory) / 4096;

                for (size_t p = first; p < first + pages; p++) {
                    same &= p < PAGES && !owner[p];
                    owner[p] = (int)payer + 1;
                }
                held[count].at = got;
                held[count].pages = pages;
                held[count++].payer = payer;
            }
        } else if (count) {
            unsigned which = random_below(count);
            size_t first = (held[which].at - memory) / 4096;

            same &= pool_give_back(&pool, held[which].at) == DS_OK;
            memset(&owner[first], 0, held[which].pages * sizeof(owner[0]));
            held[which] = held[--count];
        }
        for (unsigned payer = 0; payer < PAYERS; payer++) {
            size_t charged = 0;

            for (unsigned p = 0; p < PAGES; p++)
                charged += owner[p] == (int)payer + 1;
            same &= payers[payer].charged_pages == charged;
        }
        if (!same)
            EXPECT(same);
    }
    EXPECT(taken > 10000 && refused > 10000);
    while (count)
        EXPECT_EQ(pool_give_back(&pool, held[--count].at), DS_OK);
    EXPECT_EQ(pool_used(&pool), 0);
    EXPECT_EQ(pool_longest_free(&pool), PAGES);
    for (unsigned payer = 0; payer < PAYERS; payer++)
        EXPECT_EQ(payers[payer].charged_pages, 0);
}

int main(void)
{
    RUN(test_init_refuses);
    RUN(test_take_and_give_back);
    RUN(test_limits);
    RUN(test_locked);
    RUN(test_random);
    UNIT_END();
}
