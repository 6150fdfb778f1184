/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The oracle's decoder against objdump: length, branch class, condition and target, over the
 * built image, this program, and seeded random bytes. What the two may disagree on is listed
 * in `excuses` with a bound each, so that a regression cannot hide behind them.
 */
#include "harness/oracle/decode.h"
#include "harness/tests/fakes/judge_objdump.h"
#include "harness/tests/fakes/unit.h"

#include <inttypes.h>
#include <unistd.h>

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

/* Places where objdump is not the authority. */
enum excuse {
    EXCUSE_BAD,    /* objdump says (bad): undefined, our answer does not matter */
    EXCUSE_PREFIX, /* a prefix on a line of its own, before a REX that is not the last prefix */
    EXCUSE_WAIT,   /* objdump joins FWAIT with the x87 instruction behind it */
    EXCUSE_XOP,    /* AMD only: XOP, which sits on POP's opcode */
    EXCUSE_SSE4A,  /* AMD only: EXTRQ and INSERTQ with two immediates on VMREAD's opcode */
    EXCUSE_PADLOCK,       /* VIA only */
    EXCUSE_VECTOR_PREFIX, /* 66, F2, F3, F0 or REX before VEX or EVEX: undefined, objdump prints
                             it */
    EXCUSE_COUNT
};

struct tally {
    const char *name;
    unsigned long instructions, branches, lengths, classes, excused[EXCUSE_COUNT];
};

static const struct {
    const char *name;
    unsigned per_mille; /* of the instructions of a random sweep */
} excuses[EXCUSE_COUNT] = {
    {"(bad)", 200}, {"lone prefix", 50}, {"fwait joined", 1},      {"xop", 1},
    {"sse4a", 1},   {"padlock", 1},      {"prefix before vex", 1},
};

static const char *const conditions[16] = {"o", "no", "b", "ae", "e", "ne", "be", "a",
                                           "s", "ns", "p", "np", "l", "ge", "le", "g"};

struct class_name {
    const char *mnemonic;
    uint8_t branch, indirect;
};
static const struct class_name class_names[] = {
    {"jmp", BRANCH_JMP, BRANCH_JMP_INDIRECT},
    {"jmpq", BRANCH_JMP, BRANCH_JMP_INDIRECT},
    {"jmpw", BRANCH_JMP, BRANCH_JMP_INDIRECT},
    {"call", BRANCH_CALL, BRANCH_CALL_INDIRECT},
    {"callq", BRANCH_CALL, BRANCH_CALL_INDIRECT},
    {"callw", BRANCH_CALL, BRANCH_CALL_INDIRECT},
    {"ret", BRANCH_RET, 0},
    {"retq", BRANCH_RET, 0},
    {"retw", BRANCH_RET, 0},
    {"ljmp", 0, BRANCH_FAR_JMP},
    {"ljmpl", 0, BRANCH_FAR_JMP},
    {"ljmpw", 0, BRANCH_FAR_JMP},
    {"ljmpq", 0, BRANCH_FAR_JMP},
    {"lcall", 0, BRANCH_FAR_CALL},
    {"lcallw", 0, BRANCH_FAR_CALL},
    {"lcalll", 0, BRANCH_FAR_CALL},
    {"lcallq", 0, BRANCH_FAR_CALL},
    {"lret", BRANCH_FAR_RET, 0},
    {"lretw", BRANCH_FAR_RET, 0},
    {"lretl", BRANCH_FAR_RET, 0},
    {"lretq", BRANCH_FAR_RET, 0},
    {"iret", BRANCH_IRET, 0},
    {"iretw", BRANCH_IRET, 0},
    {"iretl", BRANCH_IRET, 0},
    {"iretq", BRANCH_IRET, 0},
    {"syscall", BRANCH_SYSCALL, 0},
    {"sysret", BRANCH_SYSRET, 0},
    {"sysretl", BRANCH_SYSRET, 0},
    {"sysretq", BRANCH_SYSRET, 0},
    {"sysenter", BRANCH_SYSENTER, 0},
    {"sysexit", BRANCH_SYSEXIT, 0},
    {"sysexitl", BRANCH_SYSEXIT, 0},
    {"sysexitq", BRANCH_SYSEXIT, 0},
    {"int", BRANCH_INT, 0},
    {"int3", BRANCH_INT3, 0},
    {"int1", BRANCH_INT1, 0},
    {"icebp", BRANCH_INT1, 0},
    {"loopne", BRANCH_LOOP, 0},
    {"loope", BRANCH_LOOP, 1},
    {"loop", BRANCH_LOOP, 2},
    {"jrcxz", BRANCH_LOOP, 3},
    {"jecxz", BRANCH_LOOP, 3},
};

/* What objdump's text means, in the decoder's own terms. */
static void judged_class(const struct judged *judged, struct decoded *want)
{
    bool indirect = judged->operands[0] == '*';

    *want = (struct decoded){.length = (uint8_t)judged->length};
    for (size_t i = 0; i < sizeof class_names / sizeof *class_names; i++) {
        const struct class_name *name = &class_names[i];

        /* loopl counts in ECX */
        size_t span = strlen(name->mnemonic);
        bool narrow = name->branch == BRANCH_LOOP && judged->mnemonic[span] == 'l' &&
                      judged->mnemonic[span + 1] == '\0';

        if (strncmp(judged->mnemonic, name->mnemonic, span) != 0 ||
            (judged->mnemonic[span] != '\0' && !narrow))
            continue;
        want->branch = indirect ? name->indirect : name->branch;
        if (name->branch == BRANCH_LOOP) {
            want->branch = BRANCH_LOOP;
            want->condition = name->indirect;
            want->address32 = narrow || strcmp(name->mnemonic, "jecxz") == 0;
        }
        break;
    }
    for (unsigned i = 0; i < 16 && judged->mnemonic[0] == 'j'; i++) {
        if (strcmp(judged->mnemonic + 1, conditions[i]) == 0) {
            want->branch = BRANCH_JCC;
            want->condition = (uint8_t)i;
        }
    }
    want->direct = want->branch == BRANCH_JCC || want->branch == BRANCH_LOOP ||
                   want->branch == BRANCH_JMP || want->branch == BRANCH_CALL;
    if (want->direct)
        want->displacement =
            (int64_t)(strtoull(judged->operands, NULL, 16) - judged->address - judged->length);
}

/* Index of the first opcode byte; *inside when a prefix came first that VEX carries inside. */
static size_t first_opcode(const struct judged *judged, bool *inside)
{
    size_t at = 0;

    for (*inside = false; at + 1 < judged->length; at++) {
        uint8_t byte = judged->bytes[at];

        if ((byte & 0xF0) == 0x40 || memchr("\x66\xF2\xF3\xF0", byte, 4))
            *inside = true;
        else if (!memchr("\x67\x26\x2E\x36\x3E\x64\x65", byte, 7))
            break;
    }
    return at;
}

static int excuse_for(const struct judged *judged)
{
    bool inside;
    size_t at = first_opcode(judged, &inside);
    const uint8_t *opcode = &judged->bytes[at];

    if (strstr(judged->text, "(bad)") || strncmp(judged->mnemonic, ".byte", 5) == 0)
        return EXCUSE_BAD;
    if (judged->mnemonic[0] == '\0')
        return EXCUSE_PREFIX;
    if (opcode[0] == 0x9B && at + 1 < judged->length)
        return EXCUSE_WAIT;
    if (opcode[0] == 0x8F && at + 1 < judged->length && (opcode[1] & 0x38))
        return EXCUSE_XOP;
    if (opcode[0] == 0x0F && opcode[1] == 0x78 &&
        (strcmp(judged->mnemonic, "extrq") == 0 || strcmp(judged->mnemonic, "insertq") == 0))
        return EXCUSE_SSE4A;
    if (opcode[0] == 0x0F && (opcode[1] == 0xA6 || opcode[1] == 0xA7))
        return EXCUSE_PADLOCK;
    if (inside && (opcode[0] == 0x62 || opcode[0] == 0xC4 || opcode[0] == 0xC5))
        return EXCUSE_VECTOR_PREFIX;
    return -1;
}

static void report(const struct tally *tally, const struct judged *judged,
                   const struct decoded *got, const char *what, unsigned long count)
{
    if (count > 20)
        return;
    fprintf(stderr, "%s: %s at %" PRIx64 ":", tally->name, what, judged->address);
    for (size_t i = 0; i < judged->length; i++)
        fprintf(stderr, " %02x", judged->bytes[i]);
    fprintf(stderr, " '%s': length %u class %u condition %u displacement %" PRId64 "\n",
            judged->text, got->length, got->branch, got->condition, got->displacement);
}

static void judge(const struct judged *judged, void *context)
{
    struct tally *tally = context;
    struct decoded got, want;
    int excuse = excuse_for(judged);

    tally->instructions++;
    if (excuse >= 0) {
        tally->excused[excuse]++;
        return;
    }
    judged_class(judged, &want);
    decode(judged->bytes, judged->length, &got);
    tally->branches += want.branch != BRANCH_NONE;
    if (got.length != want.length)
        report(tally, judged, &got, "length", ++tally->lengths);
    else if (got.branch != want.branch || got.condition != want.condition ||
             got.direct != want.direct || got.displacement != want.displacement ||
             got.address32 != want.address32)
        report(tally, judged, &got, "class", ++tally->classes);
}

/* What objdump cannot judge, by the manual: bytes and length. */
static void by_hand(void)
{
    static const struct {
        uint8_t bytes[16], given, length, branch;
    } cases[] = {
        /* a REX before another prefix is void, the prefixes are not */
        {{0x66, 0x48, 0x26, 0xB9, 1, 2, 3, 4, 5, 6, 7, 8}, 12, 6, BRANCH_NONE},
        {{0x67, 0x48, 0x2E, 0xA1, 1, 2, 3, 4, 5, 6, 7, 8}, 12, 8, BRANCH_NONE},
        {{0x66, 0x48, 0xB9, 1, 2, 3, 4, 5, 6, 7, 8}, 11, 11, BRANCH_NONE},
        /* the operand size of a near branch is ignored */
        {{0x66, 0xE9, 1, 2, 3, 4}, 6, 6, BRANCH_JMP},
        {{0x66, 0xE8, 1, 2, 3, 4}, 6, 6, BRANCH_CALL},
        {{0x66, 0x0F, 0x84, 1, 2, 3, 4}, 7, 7, BRANCH_JCC},
        /* 15 bytes at most */
        {{0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E,
          0x90},
         15,
         15,
         BRANCH_NONE},
        {{0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E, 0x2E,
          0x2E, 0x90},
         16,
         0,
         BRANCH_NONE},
        /* cut short */
        {{0xE9, 1, 2, 3}, 4, 0, BRANCH_NONE},
        {{0x0F}, 1, 0, BRANCH_NONE},
        {{0x66}, 1, 0, BRANCH_NONE},
        {{0}, 0, 0, BRANCH_NONE},
        /* far pointers in registers, undefined members of a group */
        {{0xFF, 0xE8}, 2, 0, BRANCH_NONE},
        {{0xFF, 0xD8}, 2, 0, BRANCH_NONE},
        {{0xFF, 0xF8}, 2, 0, BRANCH_NONE},
        {{0x48, 0xFF, 0x2F}, 3, 3, BRANCH_FAR_JMP},
        /* undefined in 64-bit mode */
        {{0xEA, 1, 2, 3, 4, 5, 6, 7}, 8, 0, BRANCH_NONE},
        {{0xCE}, 1, 0, BRANCH_NONE},
        {{0x06}, 1, 0, BRANCH_NONE},
    };
    static const uint8_t rep_movs[] = {0xF3, 0x48, 0xA5}, mov_ss[] = {0x8E, 0xD0};
    struct decoded got;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT_EQ(decode(cases[i].bytes, cases[i].given, &got), cases[i].length != 0);
        EXPECT_EQ(got.length, cases[i].length);
        EXPECT_EQ(got.branch, cases[i].branch);
    }
    EXPECT(decode(rep_movs, 3, &got) && got.repeated && !got.shadow);
    EXPECT(decode(rep_movs + 1, 2, &got) && !got.repeated);
    EXPECT(decode(mov_ss, 2, &got) && got.shadow);
}

static void conclude(struct tally *tally, unsigned long at_least)
{
    printf("decode: %s: %lu instructions, %lu branches, %lu lengths and %lu classes differ",
           tally->name, tally->instructions, tally->branches, tally->lengths, tally->classes);
    for (unsigned i = 0; i < EXCUSE_COUNT; i++) {
        printf(", %s %lu", excuses[i].name, tally->excused[i]);
        EXPECT(tally->excused[i] * 1000 <= tally->instructions * excuses[i].per_mille);
    }
    printf("\n");
    EXPECT(tally->instructions >= at_least);
    EXPECT(tally->branches > 0);
    EXPECT_EQ(tally->lengths, 0);
    EXPECT_EQ(tally->classes, 0);
}

static uint64_t random_state;

static uint8_t random_byte(void)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint8_t)(random_state >> 56);
}

/* Uniform bytes seldom reach the larger maps, so half of the input leans towards them. */
static void random_code(uint8_t *code, size_t bytes)
{
    static const uint8_t starts[][4] = {
        {1, 0x0F},       {2, 0x0F, 0x38}, {2, 0x0F, 0x3A}, {1, 0x66}, {2, 0x66, 0x0F},
        {2, 0xF3, 0x0F}, {2, 0xF2, 0x0F}, {1, 0x48},       {1, 0xC4}, {1, 0xC5},
        {1, 0x62},       {1, 0x67},       {1, 0xFF},       {1, 0xF7}, {3, 0x66, 0x48, 0x0F},
        {2, 0x62, 0xF1}};

    for (size_t i = 0; i < bytes;) {
        uint8_t choice = random_byte();

        if (choice & 1) {
            const uint8_t *start = starts[choice >> 4];

            for (unsigned k = 1; k <= start[0] && i < bytes; k++)
                code[i++] = start[k];
        }
        for (unsigned k = 0; k < 6 && i < bytes; k++)
            code[i++] = random_byte();
    }
}

static void random_sweep(uint64_t seed, size_t bytes, unsigned long at_least)
{
    char path[] = "/tmp/waymark-decode-XXXXXX", arguments[128], name[40];
    int file = mkstemp(path);
    uint8_t *code = malloc(bytes);
    struct tally tally = {.name = name};

    snprintf(name, sizeof name, "random seed %" PRIu64, seed);
    random_state = seed;
    random_code(code, bytes);
    EXPECT(file >= 0 && write(file, code, bytes) == (ssize_t)bytes);
    snprintf(arguments, sizeof arguments, "-D -b binary -m i386:x86-64 %s", path);
    EXPECT(judged_listing(arguments, judge, &tally));
    conclude(&tally, at_least);
    close(file);
    unlink(path);
    free(code);
}

static void file_sweep(const char *path, unsigned long at_least)
{
    char arguments[4200];
    struct tally tally = {.name = path};

    snprintf(arguments, sizeof arguments, "-d '%s'", path);
    EXPECT(judged_listing(arguments, judge, &tally));
    conclude(&tally, at_least);
}

int main(int argc, char **argv)
{
    char image[4096];
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const char *slash = strrchr(argv[0], '/');

    RUN(by_hand);
    unit_test = "sweep";
    file_sweep(argv[0], 1000);
    if (access(LIBC, R_OK) == 0) /* full of vector code */
        file_sweep(LIBC, 100000);
    snprintf(image, sizeof image, "%.*s../waymark.elf", slash ? (int)(slash - argv[0] + 1) : 0,
             argv[0]);
    if (access(image, R_OK) == 0)
        file_sweep(image, 1000);
    for (unsigned i = 0; i < 2; i++)
        random_sweep(seed + i, 900000, 300000);
    UNIT_END();
}
