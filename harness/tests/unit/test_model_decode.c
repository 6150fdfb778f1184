/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model's instruction decoder against objdump, the independent judge: lengths and
 * classes over compiled code (this program and its C library) and over seeded random bytes,
 * in 64-, 32- and 16-bit mode.
 *
 * Left out, because objdump itself is not a judge there: what it calls (bad) or .byte,
 * prefixes that it prints on a line of their own, WAIT merged with the x87 instruction after
 * it, more prefixes than fit in an instruction, and the test registers of the 80386.
 */
#include "harness/tests/fakes/unit.h"
#include "hw/model/processor/decode.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINE 512

struct judged {
    uint8_t bytes[32];
    size_t count;
    char text[MAX_LINE];
};

static unsigned long compared, left_out, shown;

/* One line of "objdump -w --insn-width=16": "  addr:\tbytes \ttext". */
static int parse_line(char *line, struct judged *j)
{
    char *colon = strchr(line, ':'), *tab;

    if (line[0] != ' ' || !colon || colon[1] != '\t')
        return 0;
    tab = strchr(colon + 2, '\t');
    if (!tab)
        return 0;
    *tab = 0;
    snprintf(j->text, sizeof(j->text), "%s", tab + 1);
    j->text[strcspn(j->text, "\n")] = 0;
    j->count = 0;
    for (char *at = colon + 2; *at && j->count < sizeof(j->bytes);) {
        char *end;
        unsigned long byte = strtoul(at, &end, 16);

        if (end == at)
            break;
        j->bytes[j->count++] = (uint8_t)byte;
        at = end;
    }
    return j->count > 0;
}

static int is_prefix_word(const char *word, size_t length)
{
    static const char *const words[] = {"data16",   "data32",   "addr32", "addr16", "repz",
                                        "repnz",    "lock",     "cs",     "ds",     "es",
                                        "ss",       "fs",       "gs",     "bnd",    "rep",
                                        "xacquire", "xrelease", "notrack"};

    if (length >= 3 && !strncmp(word, "rex", 3))
        return 1;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i]) == length && !strncmp(word, words[i], length))
            return 1;
    return 0;
}

/* The mnemonic without prefixes, and without ",pt" or ",pn". NULL when there is none. */
static const char *mnemonic(const char *text, size_t *length)
{
    for (;;) {
        *length = strcspn(text, " ,");
        if (!*length)
            return NULL;
        if (!is_prefix_word(text, *length))
            return text;
        text += *length;
        text += strspn(text, " ");
    }
}

static int starts(const char *word, size_t length, const char *prefix)
{
    return length >= strlen(prefix) && !strncmp(word, prefix, strlen(prefix));
}

/* The class that objdump's words stand for; INSN_PLAIN for all that needs no own class. */
static enum insn_class class_of_text(const char *word, size_t length, const char *text)
{
    static const struct {
        const char *word;
        enum insn_class class;
    } exact[] = {
        {"int3", INSN_INT3}, {"icebp", INSN_INT1},      {"int1", INSN_INT1},
        {"into", INSN_INTO}, {"hlt", INSN_HLT},         {"cli", INSN_CLI},
        {"sti", INSN_STI},   {"syscall", INSN_SYSCALL}, {"sysenter", INSN_SYSENTER},
        {"int", INSN_INT},
    };
    bool indirect = strstr(text, " *");

    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
        if (strlen(exact[i].word) == length && !strncmp(word, exact[i].word, length))
            return exact[i].class;
    if (starts(word, length, "sysret"))
        return INSN_SYSRET;
    if (starts(word, length, "sysexit"))
        return INSN_SYSEXIT;
    if (starts(word, length, "loop"))
        return INSN_LOOP;
    if (starts(word, length, "jcxz") || starts(word, length, "jecxz") ||
        starts(word, length, "jrcxz"))
        return INSN_JCXZ;
    if (starts(word, length, "ljmp"))
        return indirect ? INSN_JMP_FAR : INSN_JMP_FAR_DIRECT;
    if (starts(word, length, "lcall"))
        return indirect ? INSN_CALL_FAR : INSN_CALL_FAR_DIRECT;
    if (starts(word, length, "jmp"))
        return indirect ? INSN_JMP_INDIRECT : INSN_JMP;
    if (starts(word, length, "call"))
        return indirect ? INSN_CALL_INDIRECT : INSN_CALL;
    if (starts(word, length, "lret"))
        return INSN_RET_FAR;
    if (starts(word, length, "ret"))
        return INSN_RET;
    if (starts(word, length, "iret"))
        return INSN_IRET;
    if (starts(word, length, "pushf"))
        return INSN_PUSHF;
    if (starts(word, length, "popf"))
        return INSN_POPF;
    if (length > 1 && word[0] == 'j')
        return INSN_JCC;
    return INSN_PLAIN;
}

static int judge_is_unsure(const struct judged *j)
{
    size_t length, prefixes = 0;
    const char *word = mnemonic(j->text, &length);

    for (size_t i = 0; i < j->count; i++)
        prefixes += j->bytes[i] == 0x9B;
    return strstr(j->text, "(bad)") || strstr(j->text, ".byte") || strstr(j->text, "%tr") ||
           !word || j->count > INSN_MAX_BYTES || (prefixes && j->count > 1 && (word[0] == 'f'));
}

static void compare(const struct judged *j, enum decode_mode mode)
{
    struct insn insn;
    size_t length;
    const char *word = mnemonic(j->text, &length);
    enum decode_status status;

    if (judge_is_unsure(j)) {
        left_out++;
        return;
    }
    compared++;
    status = insn_decode(j->bytes, j->count, mode, &insn);
    int good = status == DECODE_OK && insn.length == j->count;
    enum insn_class expected = class_of_text(word, length, j->text), class = insn.class;
    /* The judge's table has no word for barriers and loads of SS. */
    if (class == INSN_BARRIER || class == INSN_MOV_SS || class == INSN_POP_SS)
        class = INSN_PLAIN;
    if (good && class == expected) {
        unit_count(true);
        return;
    }
    if (shown++ < 40) {
        fprintf(stderr, "mode %d:", (int)mode);
        for (size_t i = 0; i < j->count; i++)
            fprintf(stderr, " %02x", j->bytes[i]);
        fprintf(stderr, "  %s: status %d length %u class %d, expected length %zu class %d\n",
                j->text, status, insn.length, class, j->count, expected);
    }
    unit_count(false);
}

static void run_objdump(const char *command, enum decode_mode mode)
{
    static char line[8192];
    struct judged j;
    FILE *pipe = popen(command, "r");

    if (!EXPECT(pipe))
        return;
    while (fgets(line, sizeof(line), pipe))
        if (parse_line(line, &j))
            compare(&j, mode);
    EXPECT_EQ(pclose(pipe), 0);
}

static uint64_t random_state;

static uint8_t random_byte(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint8_t)(random_state >> 24);
}

/* Plain random bytes seldom make long prefix runs or two-byte opcodes; stir some in. */
static uint8_t stirred_byte(void)
{
    static const uint8_t spice[] = {0x0F, 0x66, 0x67, 0xF2, 0xF3, 0x48, 0x41, 0xFF,
                                    0xC4, 0xC5, 0x62, 0x8F, 0x38, 0x3A, 0x2E, 0x64};
    uint8_t choice = random_byte();

    return choice < 48 ? spice[choice & 15] : random_byte();
}

static void random_bytes(const char *machine, enum decode_mode mode, uint64_t seed,
                         size_t count)
{
    char path[] = "/tmp/waymark-decode-XXXXXX", command[256];
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "wb");

    random_state = seed;
    for (size_t i = 0; i < count; i++)
        fputc(stirred_byte(), file);
    fclose(file);
    snprintf(command, sizeof(command), "objdump -D -z -w --insn-width=16 -b binary -m %s %s",
             machine, path);
    run_objdump(command, mode);
    unlink(path);
}

static void compiled_code(void)
{
    char line[512], path[256], command[512];
    FILE *maps = fopen("/proc/self/maps", "r");

    snprintf(command, sizeof(command), "objdump -d -w --insn-width=16 /proc/%d/exe",
             (int)getpid());
    run_objdump(command, DECODE_64);
    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%*s %*s %*s %*s %*s %255s", path) == 1 && strstr(path, "/libc")) {
            snprintf(command, sizeof(command),
                     "objdump -d -w --insn-width=16 %s 2>&1 | head -300000", path);
            run_objdump(command, DECODE_64);
            break;
        }
    }
    if (maps)
        fclose(maps);
}

/* Each cut of a long instruction must ask for more, never answer. */
static void cuts(void)
{
    static const uint8_t code[] = {0x66, 0x67, 0x64, 0x48, 0xC7, 0x84, 0x88, 1,
                                   2,    3,    4,    5,    6,    7,    8};
    struct insn insn;

    for (size_t cut = 0; cut < sizeof(code); cut++)
        EXPECT_EQ(insn_decode(code, cut, DECODE_64, &insn), DECODE_SHORT);
    EXPECT_EQ(insn_decode(code, sizeof(code), DECODE_64, &insn), DECODE_OK);
    EXPECT_EQ(insn.length, 15);
}

static void too_long(void)
{
    uint8_t code[20];
    struct insn insn;

    memset(code, 0x66, sizeof(code));
    EXPECT_EQ(insn_decode(code, sizeof(code), DECODE_64, &insn), DECODE_UNDEFINED);
    code[14] = 0x90;
    EXPECT_EQ(insn_decode(code, sizeof(code), DECODE_64, &insn), DECODE_OK);
    code[14] = 0xB8; /* the immediate would be bytes 16 and 17 */
    EXPECT_EQ(insn_decode(code, sizeof(code), DECODE_64, &insn), DECODE_UNDEFINED);
}

static void fields(void)
{
    static const uint8_t jump[] = {0x3E, 0x0F, 0x85, 0xFC, 0xFF, 0xFF, 0xFF};
    static const uint8_t call[] = {0x65, 0x41, 0xFF, 0x54, 0xCB, 0x80};
    struct insn insn;

    EXPECT_EQ(insn_decode(jump, sizeof(jump), DECODE_64, &insn), DECODE_OK);
    EXPECT_EQ(insn.class, INSN_JCC);
    EXPECT_EQ(insn.immediate, (uint64_t)-4);
    EXPECT_EQ(insn.segment, SEGMENT_NONE);
    EXPECT_EQ(insn_decode(call, sizeof(call), DECODE_64, &insn), DECODE_OK);
    EXPECT_EQ(insn.class, INSN_CALL_INDIRECT);
    EXPECT_EQ(insn.segment, SEGMENT_GS);
    EXPECT_EQ(insn.rex, REX_B);
    EXPECT_EQ(insn.sib, 0xCB);
    EXPECT_EQ(insn.displacement, (uint64_t)-128);
}

/* One of each end of the list, and what lies beside it. */
static void transfers(void)
{
    EXPECT(!insn_is_transfer(INSN_PLAIN) && !insn_is_transfer(INSN_BARRIER));
    EXPECT(insn_is_transfer(INSN_JCC) && insn_is_transfer(INSN_IRET));
    EXPECT(insn_is_transfer(INSN_SYSEXIT) && !insn_is_transfer(INSN_PUSHF));
}

static void random_code(void)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        random_bytes("i386:x86-64", DECODE_64, seed * 0x9E3779B97F4A7C15u, 300000);
    random_bytes("i386", DECODE_32, 77, 100000);
    random_bytes("i8086", DECODE_16, 78, 100000);
}

int main(void)
{
    RUN(cuts);
    RUN(too_long);
    RUN(fields);
    RUN(transfers);
    RUN(compiled_code);
    RUN(random_code);
    printf("compared %lu instructions with objdump, left out %lu\n", compared, left_out);
    EXPECT(compared >= 200000);
    UNIT_END();
}
