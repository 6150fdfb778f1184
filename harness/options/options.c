/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of a run, from text, by the table of them. */
#include "harness/options/options.h"

#include "harness/check/format.h"
#include "harness/options/option_table.h"
#include "harness/options/option_values.h"
#include "hw/string.h"

/* --- one function a kind; each returns whether it took the value, or says what it wanted */

struct wanted {
    char text[160];
};

/* "one|two|three" as "one, two or three". */
static void say_choice(const char *words, struct wanted *wanted)
{
    size_t used = 0;

    while (strchr(words, '|')) {
        const char *end = strchr(words, '|');

        used += fmt(wanted->text + used, sizeof(wanted->text) - used, "%s%.*s",
                    used ? ", " : "", (int)(end - words), words);
        words = end + 1;
    }
    fmt(wanted->text + used, sizeof(wanted->text) - used, " or %s", words);
}

static bool take_word(const char *words, const char *value, unsigned *word,
                      struct wanted *wanted)
{
    if (option_word(value, words, word))
        return true;
    say_choice(words, wanted);
    return false;
}

static bool take_switch(void *field, const char *value, struct wanted *wanted)
{
    unsigned word;

    if (!take_word(OPTION_SWITCH_WORDS, value, &word, wanted))
        return false;
    *(bool *)field = word != 0;
    return true;
}

static bool take_number(const struct option *option, void *field, const char *value,
                        struct wanted *wanted)
{
    uint64_t number;

    if (option_number(value, &number) && number >= option->low && number <= option->high) {
        /* The low bytes come first. */
        memcpy(field, &number, option->bytes);
        return true;
    }
    if (option->high == UINT64_MAX)
        fmt(wanted->text, sizeof(wanted->text), "a number, decimal or 0x");
    else
        fmt(wanted->text, sizeof(wanted->text), "a number from %lu to %lu", option->low,
            option->high);
    return false;
}

static bool take_text(const struct option *option, void *field, const char *value,
                      struct wanted *wanted)
{
    if (*value && strlen(value) < option->bytes) {
        fmt(field, option->bytes, "%s", value);
        return true;
    }
    fmt(wanted->text, sizeof(wanted->text), "a text of 1 to %u characters", option->bytes - 1u);
    return false;
}

/* Handed on to the model as they are: it knows its own names. */
static bool take_model(const struct option *option, struct options *o, const char *value,
                       struct wanted *wanted)
{
    if (!*value || strlen(option->name) + strlen(value) + 2 > sizeof(o->model_word[0])) {
        fmt(wanted->text, sizeof(wanted->text), "a name of at most 50 characters");
    } else if (o->model_words == OPTION_MODEL_WORDS) {
        fmt(wanted->text, sizeof(wanted->text), "at most %u such words", OPTION_MODEL_WORDS);
    } else {
        fmt(o->model_word[o->model_words++], sizeof(o->model_word[0]), "%s=%s", option->name,
            value);
        return true;
    }
    return false;
}

static bool take_other(const struct option *option, struct options *o, const char *value,
                       struct wanted *wanted)
{
    const char *said = option->set(o, value);

    if (said)
        fmt(wanted->text, sizeof(wanted->text), "%s", said);
    return !said;
}

static bool take(const struct option *option, struct options *o, const char *value,
                 struct wanted *wanted)
{
    void *field = (char *)o + option->field;

    switch ((enum option_kind)option->kind) {
    case OPTION_SWITCH:
        return take_switch(field, value, wanted);
    case OPTION_CHOICE:
        return take_word(option->values, value, field, wanted);
    case OPTION_NUMBER:
        return take_number(option, field, value, wanted);
    case OPTION_TEXT:
        return take_text(option, field, value, wanted);
    case OPTION_MODEL:
        return take_model(option, o, value, wanted);
    case OPTION_OTHER:
        return take_other(option, o, value, wanted);
    case OPTION_HEADING:
        break;
    }
    return false;
}

void options_default(struct options *o)
{
    struct wanted ignored;

    memset(o, 0, sizeof(*o));
    for (size_t i = 0; i < option_count; i++)
        /* What goes to the model is its own default. */
        if (option_table[i].otherwise && option_table[i].kind != OPTION_MODEL)
            take(&option_table[i], o, option_table[i].otherwise, &ignored);
}

/* --- words */

static const struct option *find(const char *name)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].name && strcmp(option_table[i].name, name) == 0)
            return &option_table[i];
    return NULL;
}

/* The known option that begins most like it: all of them do not fit into one line. */
static const char *nearest(const char *word)
{
    const char *best = "help";
    size_t best_same = 0;

    for (size_t i = 0; i < option_count; i++) {
        const char *name = option_table[i].name;
        size_t same = 0;

        while (name && name[same] && name[same] == word[same])
            same++;
        if (same > best_same) {
            best = name;
            best_same = same;
        }
    }
    return best;
}

static bool parse_one(struct options *o, char *word, char *error, size_t error_bytes)
{
    char *equals = strchr(word, '=');
    const struct option *option;
    struct wanted wanted;

    if (!equals || equals == word) {
        fmt(error, error_bytes, "option '%.60s' is not of the form key=value", word);
        return false;
    }
    *equals = 0;
    option = find(word);
    if (!option) {
        fmt(error, error_bytes,
            "unknown option '%.40s': did you mean %s=? help=1 lists them all", word,
            nearest(word));
        return false;
    }
    if (!take(option, o, equals + 1, &wanted)) {
        fmt(error, error_bytes, "option '%.20s' has the value '%.40s', wanted %s", word,
            equals + 1, wanted.text);
        return false;
    }
    if (option->given)
        *((bool *)o + option->given) = true;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void options_help(void (*line)(const char *format, ...))
{
    char values[80];

    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (!option->name)
            continue;
        option_values_text(option, values, sizeof(values));
        line("# option %s=%s: %s%s%s", option->name, values, option->help,
             option->otherwise ? "; default " : "", option->otherwise ? option->otherwise : "");
    }
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
