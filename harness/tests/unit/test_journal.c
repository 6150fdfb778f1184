/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal's text: what is written is read back, cut at any byte, and never believed
 * wrongly.
 */
#include "harness/suite/journal.h"
#include "harness/tests/fakes/unit.h"

static char taken[2000];

static void result(const char *name, enum verdict verdict, const char *reason)
{
    snprintf(taken + strlen(taken), sizeof(taken) - strlen(taken), "%s=%d(%s) ", name,
             (int)verdict, reason);
}
static void observe(const char *name, const char *value)
{
    snprintf(taken + strlen(taken), sizeof(taken) - strlen(taken), "%s:%s ", name, value);
}
static const struct journal_reader reader = {result, observe};

static char text[2000];
static size_t text_bytes;
static const char head[] = "the header";

static void put(const char *line)
{
    text_bytes += (size_t)snprintf(text + text_bytes, sizeof(text) - text_bytes, "%s\n", line);
}

static void sample(void)
{
    text_bytes = 0;
    put(head);
    put("run 00000001");
    put("step a.one");
    put("observe a.seen=x=y");
    text_bytes += journal_result(text + text_bytes, 256, "a.one", VERDICT_PASS, "");
    put("step a.two");
    text_bytes += journal_result(text + text_bytes, 256, "a.two", VERDICT_SKIP, "no\nway \x81");
    put("step a.three");
}

static struct journal_end read_all(size_t bytes)
{
    taken[0] = 0;
    return journal_read(text, bytes, head, &reader);
}

static void what_is_written_is_read(void)
{
    struct journal_end end;
    char want[200];

    sample();
    end = read_all(text_bytes);
    snprintf(want, sizeof(want), "a.seen:x=y a.one=%d() a.two=%d(no?way ?) ", VERDICT_PASS,
             VERDICT_SKIP);
    EXPECT_STR(taken, want);
    EXPECT(end.usable);
    EXPECT_EQ(end.boots, 1);
    EXPECT_STR(end.stuck, "a.three");
}

static void a_result_ends_its_step(void)
{
    sample();
    put("fail a.three because");
    put("run 00000002");
    EXPECT_STR(read_all(text_bytes).stuck, "");
    EXPECT_EQ(read_all(text_bytes).boots, 2);
}

/* Cut anywhere, a check counts as done only when its whole line is there. */
static void cut_anywhere(void)
{
    sample();
    for (size_t bytes = 0; bytes <= text_bytes; bytes++) {
        struct journal_end end = read_all(bytes);
        bool one_done = strstr(taken, "a.one=");
        const char *line = strstr(text, "pass a.one\n");

        EXPECT_EQ(one_done, bytes >= (size_t)(line - text) + strlen("pass a.one\n"));
        EXPECT_EQ(end.usable, bytes > strlen(head));
        if (!end.usable)
            EXPECT_STR(taken, "");
    }
}

static void of_something_else(void)
{
    sample();
    text[0] = 'T';
    EXPECT(!read_all(text_bytes).usable);
    EXPECT_STR(taken, "");
    EXPECT(!journal_read("", 0, head, &reader).usable);
}

/* Clusters that were allocated and not written hold anything. */
static void garbage_ends_it(void)
{
    unsigned seed = 7;

    sample();
    put("nonsense");
    put("pass a.three");
    EXPECT_STR(read_all(text_bytes).stuck, "a.three");
    sample();
    memcpy(text + text_bytes, "\0\0\0\npass a.three\n", 17);
    EXPECT_STR(read_all(text_bytes + 17).stuck, "a.three");
    for (unsigned round = 0; round < 20000; round++) {
        sample();
        for (size_t i = strlen(head) + 1; i < text_bytes; i++)
            if ((seed = seed * 1103515245 + 12345) >> 16 & 1)
                text[i] = (char)(seed >> 20);
        struct journal_end end = read_all(text_bytes);

        if (!end.usable || strlen(end.stuck) >= sizeof(end.stuck))
            EXPECT(!"garbage behind a good header");
    }
}

static void header_tells_runs_apart(void)
{
    struct options a, b;
    char first[300], second[300];

    memset(&a, 0, sizeof(a));
    b = a;
    journal_header(first, sizeof(first), "v1", "I306C3", 10, &a);
    journal_header(second, sizeof(second), "v1", "I306C3", 10, &b);
    EXPECT_STR(first, second);
    b.selftest = SELFTEST_HANG;
    journal_header(second, sizeof(second), "v1", "I306C3", 10, &b);
    EXPECT_STR(first, second);
    b = a;
    strcpy(b.run, "bts.*");
    journal_header(second, sizeof(second), "v1", "I306C3", 10, &b);
    EXPECT(strcmp(first, second) != 0);
    strcpy(a.skip, "bts.*"); /* the same text in another option */
    journal_header(first, sizeof(first), "v1", "I306C3", 10, &a);
    EXPECT(strcmp(first, second) != 0);
    journal_header(second, sizeof(second), "v2", "I306C3", 10, &a);
    EXPECT(strcmp(first, second) != 0);
}

static void empty_lines_say_nothing(void)
{
    struct journal_end end;

    sample();
    put("");
    put("");
    put("run 00000002");
    end = read_all(text_bytes);
    EXPECT_EQ(end.boots, 2);
    EXPECT_STR(end.stuck, "a.three");
}

int main(void)
{
    RUN(what_is_written_is_read);
    RUN(a_result_ends_its_step);
    RUN(cut_anywhere);
    RUN(of_something_else);
    RUN(garbage_ends_it);
    RUN(header_tells_runs_apart);
    RUN(empty_lines_say_nothing);
    UNIT_END();
}
