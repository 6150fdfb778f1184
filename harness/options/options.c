/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of a run, from text. */
#include "harness/options/options.h"

#include "harness/check/format.h"
#include "harness/options/option_values.h"
#include "harness/options/options_program.h"
#include "hw/string.h"

void options_default(struct options *o)
{
    memset(o, 0, sizeof(*o));
    fmt(o->profile, sizeof(o->profile), "hardware");
    o->serial[0] = (struct option_serial){SERIAL_PORT, 0x3F8, 1};
    o->serials = 1;
    o->baud = 115200;
    o->journal = true;
    o->repeat = 1;
    o->upload = true;
    o->period = 10007;
    o->stacks = true;
}

/* --- values */

bool option_number(const char *text, uint64_t *value)
{
    unsigned base = 10;
    uint64_t result = 0;

    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    }
    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = *text >= '0' && *text <= '9'   ? (unsigned)(*text - '0')
                         : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a' + 10)
                         : *text >= 'A' && *text <= 'F' ? (unsigned)(*text - 'A' + 10)
                                                        : 99;

        if (digit >= base || result > (UINT64_MAX - digit) / base)
            return false;
        result = result * base + digit;
    }
    *value = result;
    return true;
}

bool option_word(const char *text, const char *const *words, unsigned *value)
{
    for (unsigned i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = i;
            return true;
        }
    return false;
}

static bool parse_bool(const char *text, bool *value)
{
    if ((text[0] != '0' && text[0] != '1') || text[1])
        return false;
    *value = text[0] == '1';
    return true;
}

/* --- one handler per option; each returns what it would have taken, NULL when satisfied */

static const char *const provider_words[] = {"auto", "native", "model", NULL};
static const char *const selftest_words[] = {"none", "fail",    "error", "hang",  "triple",
                                             "leak", "corrupt", "smi",   "first", NULL};
static const char *const prove_words[] = {"nothing", "defects", "policies", NULL};
static const char *const sample_words[] = {"none", "instructions", "branches", NULL};
static const char *const exit_words[] = {"return", "debug", "shutdown", NULL};

static const char *set_text(char *to, size_t size, const char *value)
{
    if (!*value || strlen(value) >= size)
        return "a text that is not empty and not longer than 250 characters";
    fmt(to, size, "%s", value);
    return NULL;
}

static const char *set_profile(struct options *o, const char *value)
{
    for (const char *c = value; *c; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '-')
            return "a name of a-z, 0-9 and -";
    return set_text(o->profile, sizeof(o->profile), value) ? "a name of at most 30 characters"
                                                           : NULL;
}

static const char *set_numeric(struct options *o, const char *key, const char *value)
{
    uint64_t number;

    if (!option_number(value, &number))
        return "a number, decimal or 0x";
    if (strcmp(key, "seed") == 0) {
        o->seed = number;
    } else if (strcmp(key, "cpus") == 0) {
        if (number < 1 || number > 256)
            return "a number from 1 to 256";
        o->cpus = (unsigned)number;
    } else if (strcmp(key, "fuzz") == 0) {
        if (number < 1 || number > 1000000)
            return "a number from 1 to 1000000";
        o->fuzz = (unsigned)number;
    } else if (strcmp(key, "seconds") == 0) {
        if (number > 1000000)
            return "a number up to 1000000";
        o->seconds = (unsigned)number;
    } else if (strcmp(key, "period") == 0) {
        if (number < 1 || number > 1ull << 31)
            return "a number from 1 to 2147483648";
        o->period = number;
    } else if (strcmp(key, "trace-kib") == 0) {
        if (number < 512 || number > 4194304)
            return "a number from 512 to 4194304";
        o->trace_kib = (unsigned)number;
    } else {
        if (number < 50 || number > 115200 || 115200 % number != 0)
            return "a divisor of 115200 that is at least 50";
        o->baud = (uint32_t)number;
    }
    return NULL;
}

static const char *set_choice(struct options *o, const char *key, const char *value)
{
    unsigned word;

    if (strcmp(key, "provider") == 0) {
        if (!option_word(value, provider_words, &word))
            return "auto, native or model";
        o->provider = (enum option_provider)word;
    } else if (strcmp(key, "selftest") == 0) {
        if (!option_word(value, selftest_words, &word))
            return "none, fail, error, hang, triple, leak, corrupt, smi or first";
        o->selftest = (enum option_selftest)word;
    } else if (strcmp(key, "prove") == 0) {
        if (!option_word(value, prove_words, &word))
            return "nothing, defects or policies";
        o->prove = (enum option_prove)word;
    } else if (strcmp(key, "sample") == 0) {
        if (!option_word(value, sample_words, &word))
            return "none, instructions or branches";
        o->sample = (enum option_sample)word;
    } else {
        if (!option_word(value, exit_words, &word))
            return "return, debug or shutdown";
        o->exit = (enum option_exit)word;
    }
    return NULL;
}

static bool *switch_of(struct options *o, const char *key)
{
    if (strcmp(key, "bench") == 0)
        return &o->bench;
    if (strcmp(key, "list") == 0)
        return &o->list;
    if (strcmp(key, "verbose") == 0)
        return &o->verbose;
    if (strcmp(key, "lava") == 0)
        return &o->lava;
    if (strcmp(key, "journal") == 0)
        return &o->journal;
    if (strcmp(key, "upload") == 0)
        return &o->upload;
    if (strcmp(key, "crossings") == 0)
        return &o->crossings;
    if (strcmp(key, "untraced") == 0)
        return &o->untraced;
    if (strcmp(key, "stacks") == 0)
        return &o->stacks;
    return strcmp(key, "x2apic") == 0 ? &o->x2apic : NULL;
}

/* Handed on to the model as they are: it knows its own names. */
static const char *add_model_word(struct options *o, const char *key, const char *value)
{
    if (!*value || strlen(key) + strlen(value) + 2 > sizeof(o->model_word[0]))
        return "a name of at most 50 characters";
    if (o->model_words == OPTION_MODEL_WORDS)
        return "at most 32 such words";
    fmt(o->model_word[o->model_words++], sizeof(o->model_word[0]), "%s=%s", key, value);
    return NULL;
}

static bool is_one_of(const char *key, const char *const *keys)
{
    unsigned ignored;

    return option_word(key, keys, &ignored);
}

/* Sets *unknown when there is no such option; otherwise as the handlers return. */
static const char *set_option(struct options *o, const char *key, const char *value,
                              bool *unknown)
{
    static const char *const numeric[] = {"seed",    "cpus",      "fuzz",   "baud",
                                          "seconds", "trace-kib", "period", NULL};
    static const char *const choice[] = {"provider", "selftest", "prove",
                                         "exit",     "sample",   NULL};
    static const char *const model[] = {"policy", "defect", "cpuid", "pebs", NULL};
    static const char *const program[] = {"program", "path", "arg", NULL};
    static const char *const under[] = {"under", "under-args", NULL};
    static const char *const pace[] = {"soak", "repeat", "order", "guard", NULL};
    bool *flag = switch_of(o, key);

    if (flag)
        return parse_bool(value, flag) ? NULL : "0 or 1";
    if (is_one_of(key, numeric))
        return set_numeric(o, key, value);
    if (is_one_of(key, choice))
        return set_choice(o, key, value);
    if (is_one_of(key, model))
        return add_model_word(o, key, value);
    if (is_one_of(key, program))
        return options_set_program(o, key, value);
    if (is_one_of(key, under))
        return options_set_under(o, key, value);
    if (is_one_of(key, pace))
        return option_set_pace(o, key, value);
    if (strcmp(key, "run") == 0)
        return set_text(o->run, sizeof(o->run), value);
    if (strcmp(key, "skip") == 0)
        return set_text(o->skip, sizeof(o->skip), value);
    if (strcmp(key, "profile") == 0)
        return set_profile(o, value);
    if (strcmp(key, "screen") == 0)
        return option_set_screen(o, value);
    if (strcmp(key, "serial") == 0)
        return option_set_serial(o, value);
    if (strcmp(key, "gdb") == 0)
        return option_set_gdb(o, value);
    *unknown = true;
    return NULL;
}

/* --- words */

/* The known option that begins most like it: all of them do not fit into one line. */
static const char *nearest(const char *word)
{
    static const char *const known[] = {
        "run",     "skip",   "profile", "provider",  "selftest", "prove",     "exit",
        "cpus",    "serial", "baud",    "soak",      "repeat",   "order",     "guard",
        "bench",   "list",   "verbose", "x2apic",    "journal",  "upload",    "lava",
        "screen",  "seed",   "fuzz",    "policy",    "defect",   "cpuid",     "pebs",
        "program", "path",   "arg",     "crossings", "untraced", "seconds",   "trace-kib",
        "gdb",     "sample", "period",  "stacks",    "under",    "under-args"};
    size_t best = 0, best_same = 0;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t same = 0;

        while (known[i][same] && known[i][same] == word[same])
            same++;
        if (same > best_same) {
            best = i;
            best_same = same;
        }
    }
    return known[best];
}

static bool parse_one(struct options *o, char *word, char *error, size_t error_bytes)
{
    char *equals = strchr(word, '=');
    bool unknown = false;
    const char *wanted;

    if (!equals || equals == word) {
        fmt(error, error_bytes, "option '%.60s' is not of the form key=value", word);
        return false;
    }
    *equals = 0;
    wanted = set_option(o, word, equals + 1, &unknown);
    if (unknown)
        fmt(error, error_bytes,
            "unknown option '%.40s': did you mean %s=? docs/options.md lists them all", word,
            nearest(word));
    else if (wanted)
        fmt(error, error_bytes, "option '%.20s' has the value '%.40s', wanted %s", word,
            equals + 1, wanted);
    return !unknown && !wanted;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool options_parse(struct options *o, const char *text, size_t bytes, char *error,
                   size_t error_bytes)
{
    char word[4 * OPTION_TEXT_BYTES];
    size_t used;

    for (size_t at = 0; at < bytes && text[at];) {
        if (is_space(text[at])) {
            at++;
            continue;
        }
        if (text[at] == '#') {
            while (at < bytes && text[at] && text[at] != '\n')
                at++;
            continue;
        }
        for (used = 0; at < bytes && text[at] && !is_space(text[at]); at++) {
            if (text[at] < ' ' || text[at] > '~') {
                fmt(error, error_bytes,
                    "the options are not plain text: byte 0x%02x at offset %zu",
                    (unsigned char)text[at], at);
                return false;
            }
            if (used + 1 < sizeof(word))
                word[used++] = text[at];
        }
        word[used] = 0;
        if (!parse_one(o, word, error, error_bytes))
            return false;
    }
    return true;
}

/* --- patterns */

/* One pattern of `bytes` bytes; * backtracks to its last position only, so time is bounded. */
static bool glob_match(const char *glob, size_t bytes, const char *name)
{
    size_t at = 0, star = (size_t)-1;
    const char *retry = NULL;

    while (*name) {
        if (at < bytes && glob[at] == '*') {
            star = at++;
            retry = name;
        } else if (at < bytes && (glob[at] == '?' || glob[at] == *name)) {
            at++;
            name++;
        } else if (retry) {
            at = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (at < bytes && glob[at] == '*')
        at++;
    return at == bytes;
}

bool glob_list_match(const char *globs, const char *name)
{
    while (*globs) {
        size_t bytes = 0;

        while (globs[bytes] && globs[bytes] != ',')
            bytes++;
        if (glob_match(globs, bytes, name))
            return true;
        globs += bytes + (globs[bytes] == ',');
    }
    return false;
}
