/* SPDX-License-Identifier: BSD-2-Clause */
/* The formatter against the C library's, and its bounds. */
#include "harness/check/format.h"
#include "harness/tests/fakes/unit.h"

#include <limits.h>

/* One format and its arguments through both. */
#define SAME(...)                                                                              \
    do {                                                                                       \
        char ours[256], theirs[256];                                                           \
        size_t used = fmt(ours, sizeof(ours), __VA_ARGS__);                                    \
        snprintf(theirs, sizeof(theirs), __VA_ARGS__);                                         \
        EXPECT_STR(ours, theirs);                                                              \
        EXPECT_EQ(used, strlen(theirs));                                                       \
    } while (0)

static void integers(void)
{
    static const long long values[] = {0,   1,     -1,      9,         10,
                                       255, 65536, INT_MAX, LLONG_MAX, LLONG_MIN};

    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        SAME("%lld|%llu|%llx|%llX", values[i], values[i], values[i], values[i]);
        SAME("%d|%u|%x", (int)values[i], (unsigned)values[i], (unsigned)values[i]);
        SAME("%20lld|%-20lld|%020lld", values[i], values[i], values[i]);
        SAME("%zu|%016llx|%5d|%-5d|", (size_t)values[i], values[i], (int)values[i],
             (int)values[i]);
    }
}

static void strings(void)
{
    SAME("%s|%10s|%-10s|%.2s|%.*s", "abc", "abc", "abc", "abc", 1, "abc");
    SAME("%c%c|%%|%5c", 'x', 'y', 'z');
    SAME("nothing to do");
    SAME("%s", "");
}

static void bounds(void)
{
    char small[8];

    memset(small, 'x', sizeof(small));
    EXPECT_EQ(fmt(small, 5, "%s", "abcdefgh"), 4);
    EXPECT_STR(small, "abcd");
    EXPECT_EQ(small[5], 'x');
    EXPECT_EQ(fmt(small, 0, "%s", "abc"), 0);
    EXPECT_EQ(small[0], 'a');
    EXPECT_EQ(fmt(small, sizeof(small), "%20d", 7), 7);
}

int main(void)
{
    RUN(integers);
    RUN(strings);
    RUN(bounds);
    UNIT_END();
}
