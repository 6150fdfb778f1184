/* SPDX-License-Identifier: BSD-2-Clause */
/* Options: every key, bad values that must name word and way out, patterns, arbitrary bytes. */
#include "harness/options/option_table.h"
#include "harness/options/options.h"
#include "harness/tests/fakes/unit.h"

#include <stdarg.h>
#include <stdio.h>

static struct options options;
static char error[200];

static bool parse(const char *text)
{
    options_default(&options);
    error[0] = 0;
    return options_parse(&options, text, strlen(text), error, sizeof(error));
}

static void good_words(void)
{
    ASSERT(parse("run=bts.*,hw.* cpus=2\r\nprovider=model # a comment run=x\n seed=0x10"));
    EXPECT_STR(options.run, "bts.*,hw.*");
    EXPECT_EQ(options.cpus, 2);
    EXPECT_EQ(options.provider, PROVIDER_MODEL);
    EXPECT_EQ(options.seed, 16);
    ASSERT(parse("serial=none exit=debug soak=1 selftest=leak baud=9600 profile=qemu"));
    EXPECT_EQ(options.serials, 0);
    EXPECT_EQ(options.exit, EXIT_DEBUG);
    EXPECT(options.soak);
    EXPECT_EQ(options.selftest, SELFTEST_LEAK);
    EXPECT_EQ(options.baud, 9600);
    ASSERT(parse("serial=0x2e8 serial=com2 policy=wrap:after defect=x"));
    EXPECT_EQ(options.serial[0].address, 0x2F8);
    EXPECT(!options.gdb_given);
    ASSERT(parse("program=x gdb=com2"));
    EXPECT(options.gdb_given);
    EXPECT_EQ(options.gdb.address, 0x2F8);
    EXPECT_EQ(options.serial[0].address, 0x3F8);
    EXPECT_EQ(options.serials, 1);
    ASSERT(parse("serial=com3,mem:0xfe034000/4,acpi screen=1920x1080 journal=0 lava=1 "
                 "upload=0"));
    EXPECT_EQ(options.serials, 3);
    EXPECT_EQ(options.serial[0].address, 0x3E8);
    EXPECT_EQ(options.serial[1].kind, SERIAL_MEMORY);
    EXPECT_EQ(options.serial[1].address, 0xFE034000);
    EXPECT_EQ(options.serial[1].stride, 4);
    EXPECT_EQ(options.serial[2].kind, SERIAL_ACPI);
    EXPECT_EQ(options.screen_width, 1920);
    EXPECT_EQ(options.screen_height, 1080);
    EXPECT(!options.journal && !options.upload && options.lava);
    ASSERT(parse("policy=wrap:after defect=x"));
    EXPECT_EQ(options.model_words, 2);
    EXPECT_STR(options.model_word[0], "policy=wrap:after");
    ASSERT(parse("soak=90s repeat=3 order=0 guard=0"));
    EXPECT_EQ(options.soak_seconds, 90);
    EXPECT(!options.soak);
    EXPECT_EQ(options.repeat, 3);
    EXPECT(options.order_given && options.guard_given);
    ASSERT(parse("soak=2h soak=168h"));
    EXPECT_EQ(options.soak_seconds, 7 * 24 * 3600);
    ASSERT(parse("soak=10m soak=1"));
    EXPECT(options.soak);
    EXPECT_EQ(options.soak_seconds, 0);
    ASSERT(parse("selftest=smi"));
    EXPECT_EQ(options.selftest, SELFTEST_SMI);
    ASSERT(parse("selftest=first"));
    EXPECT_EQ(options.selftest, SELFTEST_FIRST);
    EXPECT_EQ(options.repeat, 1);
    EXPECT(!options.order_given);
    EXPECT(parse(""));
}

static void bad_words(void)
{
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"rum=x", "rum"},
        {"rum=x", "did you mean run=?"},
        {"serials=none", "did you mean serial=?"},
        {"zzz=1", "help=1 lists them all"},
        {"verbose=1", "unknown option 'verbose'"},
        {"list=2", "wanted 0 or 1"},
        {"provider=bochs", "wanted auto, native or model"},
        {"repeat=0", "wanted a number from 1 to 1000"},
        {"seed=x", "wanted a number, decimal or 0x"},
        {"run=", "wanted a text of 1 to 255 characters"},
        {"run", "run"},
        {"=x", "=x"},
        {"run=", "run"},
        {"cpus=0", "cpus"},
        {"cpus=257", "cpus"},
        {"cpus=2x", "2x"},
        {"fuzz=0", "fuzz"},
        {"fuzz=1000001", "fuzz"},
        {"seed=", "seed"},
        {"seed=0x", "seed"},
        {"seed=18446744073709551616", "seed"},
        {"soak=2", "soak"},
        {"soak=0s", "soak"},
        {"soak=m", "soak"},
        {"soak=9d", "9d"},
        {"soak=169h", "169h"},
        {"soak=99999999999999999999s", "soak"},
        {"soak=", "soak"},
        {"repeat=0", "repeat"},
        {"repeat=1001", "repeat"},
        {"repeat=x", "repeat"},
        {"order=", "order"},
        {"order=random", "order"},
        {"guard=3601", "guard"},
        {"guard=-1", "guard"},
        {"provider=intel", "intel"},
        {"selftest=yes", "yes"},
        {"exit=now", "now"},
        {"serial=com9", "com9"},
        {"gdb=acpi", "com1 to com4"},
        {"gdb=com1,com2", "com1 to com4"},
        {"serial=", "serial"},
        {"serial=com1,,com2", "com1,,com2"},
        {"serial=com1,com2,com3,com4,0x3f8", "0x3f8"},
        {"serial=mem:", "mem:"},
        {"serial=mem:0x100", "mem:0x100"},
        {"serial=mem:0xfe000000/3", "/3"},
        {"screen=800", "800"},
        {"screen=800x", "800x"},
        {"screen=99999999x600", "screen"},
        {"screen=10x10", "10x10"},
        {"baud=7", "baud"},
        {"profile=A", "profile"},
        {"run=\x80", "0x80"},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        EXPECT(!parse(cases[i].text));
        EXPECT(strstr(error, cases[i].names));
        EXPECT(strlen(error) > strlen(cases[i].names) + 10);
    }
}

static void long_words(void)
{
    char text[1200];

    memset(text, 'a', sizeof(text));
    memcpy(text, "run=", 4);
    text[4 + 250] = 0;
    EXPECT(parse(text));
    text[4 + 250] = 'a';
    text[sizeof(text) - 1] = 0;
    EXPECT(!parse(text));
    /* More model words than there is room for. */
    text[0] = 0;
    for (unsigned i = 0; i < OPTION_MODEL_WORDS; i++)
        strcat(text, "defect=d ");
    EXPECT(parse(text));
    strcat(text, "defect=d");
    EXPECT(!parse(text));
}

/* Words for a program: any byte by %XX, word 0 its name or path. */
static void program_words(void)
{
    ASSERT(parse("program=a.elf arg=one%20two arg=%25 arg= seconds=5 crossings=1"));
    EXPECT_STR(options.program, "a.elf");
    EXPECT_EQ(options.word_count, 4);
    EXPECT_EQ(options.words_bytes, 6 + 8 + 2 + 1);
    EXPECT(memcmp(options.words, "a.elf\0one two\0%\0", 17) == 0);
    EXPECT(options.seconds == 5 && options.crossings && !options.untraced);
    ASSERT(parse("program=a.elf path=/x/a%23b arg=c"));
    EXPECT_STR(options.path, "/x/a#b");
    EXPECT(options.word_count == 2 && strcmp(options.words, "/x/a#b") == 0);
    EXPECT(!parse("arg=one"));
    EXPECT(!parse("program=a arg=b path=c"));
    EXPECT(!parse("program=a arg=%2"));
    EXPECT(!parse("program=a arg=%00"));
    EXPECT(!parse("program=a arg=%zz"));
    ASSERT(parse("program=a env=A=b%20c env=B= files=f.tar stdin=in cwd=/a%2Fb seed=9"));
    EXPECT_EQ(options.environment_count, 2);
    EXPECT(memcmp(options.environment, "A=b c\0B=", 9) == 0);
    EXPECT_STR(options.files, "f.tar");
    EXPECT_STR(options.input, "in");
    EXPECT_STR(options.folder, "/a/b");
    EXPECT(!parse("program=a env=A"));
    EXPECT(!parse("program=a env==b"));
    EXPECT(!parse("program=a files="));
    EXPECT(!parse("program=a cwd=%g0"));
    EXPECT(!parse("program="));
    EXPECT(!parse("trace-kib=511"));
}

/* A path and one text of words for a program on top of the model. */
static void under_words(void)
{
    char text[4096] = "under=x";

    ASSERT(parse("under=/EFI/a%20b.efi under-args=one%20two under-args=%25 pebs=4"));
    EXPECT_STR(options.under, "/EFI/a b.efi");
    EXPECT_STR(options.under_args, "one two %");
    EXPECT_EQ(options.model_words, 1);
    ASSERT(parse("under=a under-args=x under=b"));
    EXPECT_STR(options.under, "b");
    EXPECT_STR(options.under_args, "");
    EXPECT(!parse("under-args=one"));
    EXPECT(strstr(error, "under="));
    EXPECT(!parse("under="));
    EXPECT(!parse("under=a%0"));
    EXPECT(!parse("under=a under-args=%00"));
    for (unsigned i = 0; i < 25; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " under-args=%0100u", i);
    EXPECT(!parse(text));
    EXPECT(strstr(error, "2000 bytes"));
}

static void many_program_words(void)
{
    char text[4096] = "program=p";

    for (unsigned i = 0; i < 63; i++)
        strcat(text, " arg=w");
    EXPECT(parse(text));
    strcat(text, " arg=w");
    EXPECT(!parse(text));
    strcpy(text, "program=p");
    for (unsigned i = 0; i < 3; i++) {
        strcat(text, " arg=");
        memset(text + strlen(text), 'x', 700);
    }
    EXPECT(!parse(text));
}

static void patterns(void)
{
    EXPECT(glob_list_match("bts.*", "bts.record.size"));
    EXPECT(!glob_list_match("bts.*", "hw.trap"));
    EXPECT(glob_list_match("x,bts.record.size", "bts.record.size"));
    EXPECT(!glob_list_match("bts.record", "bts.record.size"));
    EXPECT(glob_list_match("*.si?e", "bts.record.size"));
    EXPECT(glob_list_match("*a*b*c*", "xxaxxbxxcxx"));
    EXPECT(!glob_list_match("*a*b*c", "xxaxxbxxcxx"));
    EXPECT(!glob_list_match("", "x"));
    EXPECT(!glob_list_match(",,", "x"));
    EXPECT(glob_list_match("*", "x"));
}

/* Whatever a boot entry holds, parsing ends, and a refusal says something. */
static void arbitrary_bytes(void)
{
    static const char alphabet[] = "run=cpus,*? \n#\x01\xff\x00policy:0x1";
    char text[96];
    unsigned state = 12345, refused = 0;

    for (unsigned round = 0; round < 50000; round++) {
        size_t bytes;

        state = state * 1664525 + 1013904223;
        bytes = (state >> 20) % sizeof(text);

        for (size_t i = 0; i < bytes; i++) {
            state = state * 1664525 + 1013904223;
            text[i] = alphabet[(state >> 16) % (sizeof(alphabet) - 1)];
        }
        options_default(&options);
        error[0] = 0;
        if (!options_parse(&options, text, bytes, error, sizeof(error))) {
            refused++;
            ASSERT(error[0] != 0);
        }
    }
    EXPECT(refused > 1000);
}

/* --- the table */

/* A field of every row lies in the structure, and no name is there twice. */
static void rows(void)
{
    unsigned named = 0;

    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        bool has_field = option->kind == OPTION_SWITCH || option->kind == OPTION_NUMBER ||
                         option->kind == OPTION_CHOICE || option->kind == OPTION_TEXT;

        EXPECT(option->help && option->help[0]);
        EXPECT_EQ(option->bytes != 0, has_field);
        EXPECT(option->field + option->bytes <= sizeof(struct options));
        EXPECT((option->kind == OPTION_OTHER) == !!option->set);
        if (option->kind == OPTION_SWITCH)
            EXPECT_EQ(option->bytes, sizeof(bool));
        if (option->kind == OPTION_NUMBER)
            EXPECT(option->low <= option->high && (option->bytes == 4 || option->bytes == 8));
        if (option->kind == OPTION_HEADING)
            continue;
        named++;
        for (size_t other = 0; other < i; other++)
            EXPECT(!option_table[other].name ||
                   strcmp(option_table[other].name, option->name) != 0);
    }
    EXPECT(named > 30);
}

/* What a row says it takes is what it takes; a default is taken as if it were given. */
static void rows_keep_their_word(void)
{
    char text[100];

    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (option->otherwise) {
            snprintf(text, sizeof(text), "%s=%s", option->name, option->otherwise);
            EXPECT(parse(text));
        }
        if (option->kind != OPTION_NUMBER)
            continue;
        snprintf(text, sizeof(text), "%s=%lu", option->name, (unsigned long)option->high);
        EXPECT(parse(text));
        snprintf(text, sizeof(text), "%s=%lu", option->name, (unsigned long)option->high + 1);
        EXPECT(parse(text) == (option->high == UINT64_MAX && option->low == 0));
        if (option->low == 0)
            continue;
        snprintf(text, sizeof(text), "%s=%lu", option->name, (unsigned long)option->low - 1);
        EXPECT(!parse(text));
    }
    /* A default is nothing that the user gave. */
    ASSERT(parse(""));
    EXPECT(!options.serial_given && !options.gdb_given && !options.order_given &&
           !options.guard_given);
    EXPECT_STR(options.profile, "hardware");
    EXPECT(options.journal && options.upload && options.stacks && !options.list);
    EXPECT_EQ(options.baud, 115200);
    ASSERT(parse("serial=com1"));
    EXPECT(options.serial_given);
}

static char help_text[16384];

static void keep_line(const char *format, ...)
{
    size_t used = strlen(help_text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(help_text + used, sizeof(help_text) - used, format, arguments);
    va_end(arguments);
    /* What out_line would cut. */
    EXPECT(strlen(help_text + used) < 200);
    strcat(help_text, "\n");
}

static void help_names_all(void)
{
    help_text[0] = 0;
    options_help(keep_line);
    EXPECT(strstr(help_text, "# option repeat=1..1000: runs of each check"));
    EXPECT(strstr(help_text, "# option journal=0|1: "));
    EXPECT(strstr(help_text, "; default 115200\n"));
    for (size_t i = 0; i < option_count; i++) {
        char start[60];

        if (!option_table[i].name)
            continue;
        snprintf(start, sizeof(start), "# option %s=", option_table[i].name);
        EXPECT(strstr(help_text, start));
    }
}

int main(void)
{
    RUN(rows);
    RUN(rows_keep_their_word);
    RUN(help_names_all);
    RUN(good_words);
    RUN(bad_words);
    RUN(long_words);
    RUN(program_words);
    RUN(under_words);
    RUN(many_program_words);
    RUN(patterns);
    RUN(arbitrary_bytes);
    UNIT_END();
}
