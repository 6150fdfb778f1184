/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one table of options. The parser, what it says of a wrong word, help=1 and
 * docs/options.md all follow from a row; docs/options.md is made anew by `make docs`.
 */
#ifndef HARNESS_OPTIONS_OPTION_TABLE_H
#define HARNESS_OPTIONS_OPTION_TABLE_H

#include "harness/options/options.h"

enum option_kind {
    OPTION_HEADING, /* of the rows behind it */
    OPTION_SWITCH,  /* 0 or 1, to a bool */
    OPTION_NUMBER,  /* decimal or 0x, to an unsigned number of 4 or 8 bytes */
    OPTION_CHOICE,  /* one of `values`, its place there to an enumeration */
    OPTION_TEXT,    /* not empty, to an array of characters */
    OPTION_MODEL,   /* key and value handed on to the model, which knows what it takes */
    OPTION_OTHER    /* by a function of its own */
};

/* Of a switch; the place of each is its value. */
#define OPTION_SWITCH_WORDS "0|1"

/* What the value would have had to be; NULL when it was taken. */
typedef const char *option_setter(struct options *o, const char *value);

struct option {
    const char *name;
    const char *values;    /* what stands behind "=", alternatives with '|'; NULL: by kind */
    const char *otherwise; /* the value in force without the option, NULL: zero or none */
    const char *help;      /* one line; of a heading its title */
    option_setter *set;
    uint64_t low, high;    /* of a number, both included */
    uint16_t field, bytes; /* the place in struct options */
    uint16_t given;        /* place of a bool that says the user gave it; 0 = nobody asks */
    uint8_t kind;          /* enum option_kind */
};

extern const struct option option_table[];
extern const size_t option_count;

/* What may stand behind "=", for readers, such as "1..256"; returns the bytes written. */
size_t option_values_text(const struct option *option, char *text, size_t size);

#endif
