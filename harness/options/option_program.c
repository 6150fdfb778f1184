/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that name a program to trace or to start, and what it gets. */
#include "harness/options/option_values.h"

#include "hw/string.h"

static const char not_a_byte[] = "%XX with two hexadecimal digits, not 00, for any byte";

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/*
 * %XX stands for a byte, so that words may hold blanks. False: no hexadecimal follows, or 00.
 */
static bool decode_word(char *text)
{
    char *to = text;

    for (; *text; text++, to++) {
        *to = *text;
        if (*text != '%')
            continue;
        if (hex_digit(text[1]) < 0 || hex_digit(text[2]) < 0)
            return false;
        *to = (char)(hex_digit(text[1]) << 4 | hex_digit(text[2]));
        if (!*to)
            return false;
        text += 2;
    }
    *to = 0;
    return true;
}

static const char *add_text(char *texts, size_t *bytes, unsigned *count, const char *value)
{
    char *to = texts + *bytes;

    if (strlen(value) + 1 > OPTION_WORDS_BYTES - *bytes || *count == 64)
        return "less: 64 words of 2000 bytes in all";
    memcpy(to, value, strlen(value) + 1);
    if (!decode_word(to))
        return not_a_byte;
    *bytes += strlen(to) + 1;
    ++*count;
    return NULL;
}

static const char *add_word(struct options *o, const char *value)
{
    return add_text(o->words, &o->words_bytes, &o->word_count, value);
}

static const char *set_name(char *to, size_t room, const char *value)
{
    if (!*value || strlen(value) >= room)
        return "the name of a file, shorter than that";
    memcpy(to, value, strlen(value) + 1);
    return decode_word(to) ? NULL : not_a_byte;
}

/* The file's name, or what the trace calls it: word 0, by which the program is called. */
static const char *name_program(struct options *o, char *to, size_t room, const char *value)
{
    const char *wrong = set_name(to, room, value);

    if (wrong)
        return wrong;
    o->word_count = 0;
    o->words_bytes = 0;
    return add_word(o, value);
}

const char *option_set_program(struct options *o, const char *value)
{
    return name_program(o, o->program, sizeof(o->program), value);
}

const char *option_set_path(struct options *o, const char *value)
{
    /* Words behind word 0 would be lost. */
    if (o->word_count > 1)
        return "its place before arg=";
    return name_program(o, o->path, sizeof(o->path), value);
}

const char *option_set_arg(struct options *o, const char *value)
{
    return o->word_count ? add_word(o, value) : "a program= before it";
}

const char *option_set_env(struct options *o, const char *value)
{
    const char *equals = strchr(value, '=');

    if (!equals || equals == value)
        return "NAME=VALUE";
    return add_text(o->environment, &o->environment_bytes, &o->environment_count, value);
}

const char *option_set_files(struct options *o, const char *value)
{
    return set_name(o->files, sizeof(o->files), value);
}

const char *option_set_stdin(struct options *o, const char *value)
{
    return set_name(o->input, sizeof(o->input), value);
}

const char *option_set_cwd(struct options *o, const char *value)
{
    return set_name(o->folder, sizeof(o->folder), value);
}

const char *option_set_under(struct options *o, const char *value)
{
    if (!*value || strlen(value) >= sizeof(o->under))
        return "the path of an EFI program, or next";
    memcpy(o->under, value, strlen(value) + 1);
    o->under_args[0] = 0;
    return decode_word(o->under) ? NULL : not_a_byte;
}

/* Joined by blanks to one text, which is how an EFI program gets its words. */
const char *option_set_under_args(struct options *o, const char *value)
{
    size_t used = strlen(o->under_args), bytes = strlen(value);
    char *to = o->under_args + used;

    if (!o->under[0])
        return "an under= before it";
    if (used + bytes + 2 > sizeof(o->under_args))
        return "less: 2000 bytes in all";
    if (used > 0)
        *to++ = ' ';
    memcpy(to, value, bytes + 1);
    return decode_word(to) ? NULL : not_a_byte;
}
