/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * objdump as an independent judge of decoders: its listing, line by line.
 * AT&T names are used because they tell near from far branches (jmp, ljmp).
 */
#ifndef HARNESS_TESTS_FAKES_JUDGE_OBJDUMP_H
#define HARNESS_TESTS_FAKES_JUDGE_OBJDUMP_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct judged {
    uint64_t address;
    uint8_t bytes[32];
    size_t length;
    char text[128];    /* as printed after the bytes */
    char mnemonic[32]; /* without prefixes, hint and comments; "" for lone prefixes */
    char operands[80];
};

static inline bool judged_prefix(const char *word)
{
    static const char *const names[] = {
        "rep", "repz", "repnz", "lock", "bnd",    "notrack", "cs",       "ds",
        "es",  "ss",   "fs",    "gs",   "data16", "addr32",  "xacquire", "xrelease"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(word, names[i]) == 0)
            return true;
    }
    return strncmp(word, "rex", 3) == 0 && (word[3] == '\0' || word[3] == '.');
}

/* Splits "repz jmp *%rax" into mnemonic and operands. */
static inline void judged_split(struct judged *out)
{
    const char *at = out->text;

    out->mnemonic[0] = out->operands[0] = '\0';
    for (;;) {
        size_t span;

        at += strspn(at, " ");
        span = strcspn(at, " ");
        if (span == 0 || span >= sizeof out->mnemonic)
            return;
        memcpy(out->mnemonic, at, span);
        out->mnemonic[span] = '\0';
        at += span;
        if (!judged_prefix(out->mnemonic))
            break;
        out->mnemonic[0] = '\0';
    }
    out->mnemonic[strcspn(out->mnemonic, ",")] = '\0';
    snprintf(out->operands, sizeof out->operands, "%s", at + strspn(at, " "));
}

/* "    4010:\t66 90\txchg ..."; false for headings and blank lines. */
static inline bool judged_parse(const char *line, struct judged *out)
{
    char *end;
    const char *at;

    out->address = strtoull(line, &end, 16);
    if (end == line || end[0] != ':' || end[1] != '\t')
        return false;
    at = end + 2;
    for (out->length = 0; out->length < sizeof out->bytes; out->length++) {
        if (!isxdigit((unsigned char)at[0]) || !isxdigit((unsigned char)at[1]))
            break;
        out->bytes[out->length] = (uint8_t)strtoul(at, &end, 16);
        at = end + (*end == ' ');
    }
    at = strchr(at, '\t');
    snprintf(out->text, sizeof out->text, "%s", at ? at + 1 : "");
    out->text[strcspn(out->text, "\n#")] = '\0';
    judged_split(out);
    return out->length > 0;
}

/* Calls visit for each instruction of `objdump ARGUMENTS`; false when objdump did not run. */
static inline bool judged_listing(const char *arguments,
                                  void (*visit)(const struct judged *, void *), void *context)
{
    char line[4400];
    struct judged one;
    FILE *pipe;

    snprintf(line, sizeof line, "objdump -w -M intel64 %s", arguments);
    pipe = popen(line, "r");
    if (!pipe)
        return false;
    while (fgets(line, sizeof line, pipe)) {
        if (judged_parse(line, &one))
            visit(&one, context);
    }
    return pclose(pipe) == 0;
}

#endif
