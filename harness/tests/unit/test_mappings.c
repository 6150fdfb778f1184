/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest/mappings.c against a table with one entry a page: random changes, then every question
 * about every page; and that a full table says no and stays as it was.
 */
#include "guest/mappings.h"
#include "harness/tests/fakes/unit.h"

#define PAGES 64u
#define PAGE  4096ull
#define BASE  (16 * PAGE)
#define NONE  9u /* no mapping there */

static struct mappings m;
static unsigned want[PAGES];

static uint64_t at(unsigned page)
{
    return BASE + page * PAGE;
}

static bool same(void)
{
    for (unsigned i = 0; i < PAGES; i++) {
        const struct mapping *range = mappings_find(&m, at(i) + i);

        if ((range ? range->rights : NONE) != want[i])
            return false;
    }
    for (unsigned i = 0; i < m.count; i++) {
        const struct mapping *r = &m.range[i];

        if (r->start >= r->end || (i > 0 && r[-1].end > r->start) ||
            (i > 0 && r[-1].end == r->start && r[-1].rights == r->rights))
            return false;
    }
    return true;
}

static unsigned count_of(unsigned first, unsigned end, bool mapped)
{
    unsigned count = 0;

    for (unsigned i = first; i < end; i++)
        count += (want[i] != NONE) == mapped;
    return count;
}

static uint64_t lowest_gap(unsigned pages, unsigned low)
{
    for (unsigned i = low; i + pages <= PAGES; i++)
        if (count_of(i, i + pages, true) == 0)
            return at(i);
    return 0;
}

static void random_changes(void)
{
    uint32_t state = 1;
    unsigned wrong = 0;

    m.count = 0;
    for (unsigned i = 0; i < PAGES; i++)
        want[i] = NONE;
    for (unsigned round = 0; round < 20000; round++) {
        unsigned first, end, rights;

        state = state * 1664525u + 1013904223u;
        first = (state >> 8) % PAGES;
        end = first + 1 + (state >> 16) % (PAGES - first);
        rights = (state >> 24) % 4;
        if (rights == 3)
            mappings_clear(&m, at(first), at(end));
        else
            mappings_set(&m, at(first), at(end), rights);
        for (unsigned i = first; i < end; i++)
            want[i] = rights == 3 ? NONE : rights;
        first = (state >> 12) % PAGES;
        end = first + 1 + (state >> 20) % (PAGES - first);
        wrong += !same();
        wrong += mappings_cover(&m, at(first), at(end)) != !count_of(first, end, false);
        wrong += mappings_free(&m, at(first), at(end)) != !count_of(first, end, true);
        wrong += mappings_gap(&m, (end - first) * PAGE, at(first / 2), at(PAGES)) !=
                 lowest_gap(end - first, first / 2);
    }
    EXPECT_EQ(wrong, 0);
}

static void full(void)
{
    unsigned made = 0;

    m.count = 0;
    while (made < 2 * MAPPINGS_MOST && mappings_set(&m, at(2 * made), at(2 * made + 1), 4))
        made++;
    EXPECT_EQ(made, MAPPINGS_MOST);
    EXPECT(!mappings_clear(&m, at(0), at(1)));
    EXPECT(mappings_find(&m, at(0)));
    EXPECT_EQ(m.count, MAPPINGS_MOST);
    EXPECT(!mappings_set(&m, at(3), at(3), 4));
}

static void no_gap(void)
{
    m.count = 0;
    EXPECT_EQ(mappings_gap(&m, PAGE, BASE, BASE + PAGE), BASE);
    EXPECT_EQ(mappings_gap(&m, 2 * PAGE, BASE, BASE + PAGE), 0);
    EXPECT_EQ(mappings_gap(&m, UINT64_MAX, BASE, UINT64_MAX), 0);
}

int main(void)
{
    RUN(random_changes);
    RUN(full);
    RUN(no_gap);
    UNIT_END();
}
