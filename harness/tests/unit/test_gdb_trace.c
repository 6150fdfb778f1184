/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of branches and the document that GDB reads it from. */
#include "harness/tests/fakes/unit.h"

#include "harness/tests/fakes/gdb_fake.h"

/* --- the trace */

static struct btrace_branch ring[4];
static uint32_t symbols[0x400];
static struct btrace_log trace_log;

static const char *document(const char *annex, uint64_t pc, size_t part)
{
    static char text[4096];
    const char *why = btrace_open(&trace_log, annex, pc);
    size_t used = 0;
    bool last = false;

    if (why)
        return why;
    while (!last && used + part < sizeof(text))
        used += btrace_read(&trace_log, used, text + used, part, &last);
    text[used] = 0;
    return text;
}

#define DOCUMENT(blocks)                                                                       \
    "<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n<btrace version=\"1.0\">\n" blocks "</btrace>\n"
#define BLOCK(begin, end) "<block begin='0x" begin "' end='0x" end "'/>\n"

static void documents(void)
{
    for (size_t part = 1; part < 200; part++) {
        btrace_begin(&trace_log, ring, symbols, 4, 0x1000, 0x100);
        btrace_add(&trace_log, 0x104, 0x200);
        btrace_add(&trace_log, 0x208, 0x110);
        EXPECT_STR(document("delta", 0x114, part),
                   DOCUMENT(BLOCK("110", "114") BLOCK("200", "208") BLOCK("0", "104")));
        /* Nothing new: where the debugger was, it still is. */
        EXPECT_STR(document("delta", 0x114, part), DOCUMENT(BLOCK("0", "114")));
        EXPECT_STR(document("new", 0x114, part), DOCUMENT(""));
        EXPECT_STR(document("all", 0x114, part),
                   DOCUMENT(BLOCK("110", "114") BLOCK("200", "208") BLOCK("100", "104")));
        btrace_add(&trace_log, 0x120, 0x12345678);
        EXPECT_STR(document("delta", 0x12345680, part),
                   DOCUMENT(BLOCK("12345678", "12345680") BLOCK("0", "120")));
    }
}

static void overflows(void)
{
    btrace_begin(&trace_log, ring, symbols, 4, 0x1000, 0x100);
    for (unsigned i = 0; i < 6; i++)
        btrace_add(&trace_log, 0x110 + i, 0x200 + i);
    EXPECT_STR(document("delta", 0x210, 50), "E.Overflow.");
    EXPECT_STR(document("new", 0x210, 50),
               DOCUMENT(BLOCK("205", "210") BLOCK("204", "115") BLOCK("203", "114")
                            BLOCK("202", "113")));
    EXPECT_STR(document("delta", 0x210, 50), DOCUMENT(BLOCK("0", "210")));
    /* A loss right after a read is one, too. */
    btrace_lose(&trace_log);
    btrace_add(&trace_log, 0x300, 0x310);
    EXPECT_STR(document("delta", 0x318, 50), "E.Overflow.");
    EXPECT_STR(document("new", 0x318, 50), DOCUMENT(BLOCK("310", "318")));
    EXPECT_STR(document("other", 0x318, 50), "E.Bad annex.");
    btrace_end(&trace_log);
    EXPECT_STR(document("delta", 0x318, 50), "E.Btrace not enabled.");
}

/* What &NAME; stands for in a document, and in what that stands for. */
static size_t expand(const char *text, const char *document, char *to, unsigned depth)
{
    char name[16], declared[32];
    size_t used = 0;

    for (; *text && *text != '"'; text++) {
        if (*text == '\n')
            continue;
        if (*text != '&') {
            to[used++] = *text;
            continue;
        }
        EXPECT(depth < 8 && sscanf(text, "&%15[a-zA-Z0-9];", name) == 1);
        snprintf(declared, sizeof(declared), "<!ENTITY %s \"", name);
        if (!strstr(document, declared))
            return 0;
        used += expand(strstr(document, declared) + strlen(declared), document, to + used,
                       depth + 1);
        text = strchr(text, ';');
    }
    return used;
}

/* A loop costs little, and what the debugger makes of the document is every block. */
static void loops(void)
{
    static struct btrace_branch long_ring[0x400];
    static char said[1 << 16], want[1 << 16], got[1 << 16];
    char *to = want;
    size_t used = 0, count = 0;
    bool last = false;

    btrace_begin(&trace_log, long_ring, symbols, 0x3FF, 0x1000, 0x1000);
    for (unsigned i = 0; i < 800; i++)
        btrace_add(&trace_log, 0x2000 + i % 5 * 16 + 8, 0x2000 + (i + 1) % 5 * 16);
    to += sprintf(to, "<block begin='0x2000' end='0x2004'/>");
    for (unsigned i = 799; i > 0; i--)
        to += sprintf(to, "<block begin='0x%x' end='0x%x'/>", 0x2000 + i % 5 * 16,
                      0x2000 + i % 5 * 16 + 8);
    sprintf(to, "<block begin='0x0' end='0x2008'/>");
    EXPECT(!btrace_open(&trace_log, "delta", 0x2004));
    while (!last)
        used += btrace_read(&trace_log, used, said + used, 61, &last);
    said[used] = 0;
    EXPECT(used < 2000);
    count = expand(strstr(said, "version=\"1.0\">\n") + 15, said, got, 0);
    got[count] = 0;
    EXPECT(strstr(got, "</btrace>"));
    *strstr(got, "</btrace>") = 0;
    EXPECT_STR(got, want);
    /* Asked for again, a part is the same. */
    btrace_read(&trace_log, 100, got, 50, &last);
    EXPECT(memcmp(got, said + 100, 50) == 0);
}

/* A part that was asked for and not read to its end does not count as read. */
static void read_to_the_end(void)
{
    char part[70];
    bool last;

    btrace_begin(&trace_log, ring, symbols, 4, 0x1000, 0x100);
    btrace_add(&trace_log, 0x104, 0x200);
    EXPECT(!btrace_open(&trace_log, "delta", 0x208));
    btrace_read(&trace_log, 0, part, sizeof(part), &last);
    EXPECT(!last);
    EXPECT_STR(document("delta", 0x208, 50), DOCUMENT(BLOCK("200", "208") BLOCK("0", "104")));
    EXPECT_EQ(btrace_read(&trace_log, UINT64_MAX - 1, part, sizeof(part), &last), 0);
}

static void recording(void)
{
    fake_start();
    EXPECT_STR(fake_answer("qXfer:btrace-conf:read::0,ffb"),
               "l<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n"
               "<btrace-conf version=\"1.0\">\n</btrace-conf>\n");
    EXPECT_STR(fake_answer("Qbtrace:off"), "E.Branch tracing not enabled.");
    EXPECT_STR(fake_answer("qXfer:btrace:read:all:0,ffb"), "E.Btrace not enabled.");
    EXPECT_STR(fake_answer("Qbtrace-conf:bts:size=0x2000"), "OK");
    EXPECT_STR(fake_answer("Qbtrace-conf:bts:size="), "E.Bad size value.");
    fake.no_trace = "there is no BTS";
    EXPECT_STR(fake_answer("Qbtrace:bts"), "E.there is no BTS");
    fake.no_trace = NULL;
    EXPECT_STR(fake_answer("Qbtrace:bts"), "OK");
    EXPECT_STR(fake_answer("Qbtrace:bts"), "E.Btrace already enabled.");
    EXPECT(strstr(fake_answer("qXfer:btrace-conf:read::0,ffb"), "2000\"/>"));
    EXPECT_STR(fake_answer("Qbtrace:pt"), "");
    fake.stop_at[0] = 0x401200;
    fake_answer("vCont;c");
    EXPECT_STR(fake_answer("qXfer:btrace:read:delta:0,ffb"),
               "l" DOCUMENT(BLOCK("401200", "401200") BLOCK("0", "401000")));
    /* A document is of one stop. */
    fake_answer("qXfer:btrace:read:all:0,20");
    EXPECT_EQ(fake_answer("qXfer:btrace:read:all:20,20")[0], 'm');
    fake_answer("vCont;c");
    EXPECT_STR(fake_answer("qXfer:btrace:read:all:20,20"), "E.The document has changed.");
    EXPECT_STR(fake_answer("qXfer:btrace:read:all:0"), "E00");
    EXPECT_STR(fake_answer("qXfer:spu:read::0,ffb"), "");
    EXPECT_STR(fake_answer("Qbtrace:off"), "OK");
}

int main(void)
{
    RUN(documents);
    RUN(overflows);
    RUN(loops);
    RUN(read_to_the_end);
    RUN(recording);
    UNIT_END();
}
