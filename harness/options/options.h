/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of a run: `key=value` words from waymark.cfg and from the load options; the latter
 * win. Pure text, so it is tested on the host.
 */
#ifndef HARNESS_OPTIONS_OPTIONS_H
#define HARNESS_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTION_TEXT_BYTES  256
#define OPTION_MODEL_WORDS 32 /* policy=, defect=, cpuid= words, handed on as they are */
#define OPTION_WORDS_BYTES 2048

enum option_provider { PROVIDER_AUTO, PROVIDER_NATIVE, PROVIDER_MODEL };
enum option_selftest {
    SELFTEST_NONE,
    SELFTEST_FAIL,
    SELFTEST_ERROR,
    SELFTEST_HANG,
    SELFTEST_TRIPLE,
    SELFTEST_LEAK,
    SELFTEST_CORRUPT,
    SELFTEST_SMI,
    SELFTEST_FIRST,
};
enum option_sample { OPTION_SAMPLE_NONE, OPTION_SAMPLE_INSTRUCTIONS, OPTION_SAMPLE_BRANCHES };
enum option_prove { PROVE_NOTHING, PROVE_DEFECTS, PROVE_POLICIES };
enum option_exit { EXIT_RETURN, EXIT_DEBUG, EXIT_SHUTDOWN };

#define OPTION_SERIAL_MAX 4
struct option_serial {
    enum { SERIAL_PORT, SERIAL_MEMORY, SERIAL_ACPI } kind;
    uint64_t address;
    unsigned stride; /* bytes from one register to the next */
};

/* What the user may give stands in harness/options/option_table.c, with ranges and defaults. */
struct options {
    char run[OPTION_TEXT_BYTES]; /* empty = all */
    char skip[OPTION_TEXT_BYTES];
    char profile[32];
    enum option_provider provider;
    enum option_selftest selftest;
    enum option_exit exit;
    enum option_prove prove;
    unsigned cpus; /* 0 = not given */
    struct option_serial serial[OPTION_SERIAL_MAX];
    unsigned serials;
    bool serial_given; /* otherwise com1, and where there is none what ACPI names */
    uint32_t baud;
    bool soak;             /* long counts */
    unsigned soak_seconds; /* the whole plan again and again for so long; 0 = once */
    unsigned repeat;
    bool order_given;
    uint64_t order;
    unsigned guard; /* seconds; 0 = never */
    bool guard_given;
    bool bench, list, help;
    bool screen_console;
    uint16_t screen_width, screen_height; /* 0: the mode that firmware has chosen */
    bool lava, journal, upload, x2apic;
    uint64_t seed;
    unsigned fuzz; /* programs; 0 = few */
    struct option_serial gdb;
    bool gdb_given;
    char program[128];            /* a file of the boot volume; empty = run checks */
    char path[OPTION_TEXT_BYTES]; /* empty = its name */
    unsigned word_count;          /* the name and the arg=WORDs, %XX decoded, NUL-ended */
    size_t words_bytes;
    char words[OPTION_WORDS_BYTES];
    unsigned environment_count; /* of env=, decoded as the words are */
    size_t environment_bytes;
    char environment[OPTION_WORDS_BYTES];
    char files[128], input[128]; /* files of the boot volume; empty = none */
    char folder[128];
    bool crossings, untraced;
    enum option_sample sample;
    bool stacks;
    uint64_t period;
    unsigned seconds;                    /* 0 = never */
    unsigned trace_kib;                  /* 0 = as much as is sensible */
    char under[OPTION_TEXT_BYTES];       /* an EFI program to start on top of the model */
    char under_args[OPTION_WORDS_BYTES]; /* decoded, joined by blanks */
    unsigned model_words;
    char model_word[OPTION_MODEL_WORDS][64]; /* "policy=wrap:after", "defect=x", "cpuid=..." */
};

void options_default(struct options *o);

/*
 * Parses words separated by white space; '#' starts a comment up to the end of the line.
 * Returns true, or false with *error a line that names the word and the way out.
 */
bool options_parse(struct options *o, const char *text, size_t bytes, char *error,
                   size_t error_bytes);

/* One line an option, for help=1. */
void options_help(void (*line)(const char *format, ...) __attribute__((format(printf, 1, 2))));

/* Shell-style pattern (* and ?) against a comma-separated list; true when any matches. */
bool glob_list_match(const char *globs, const char *name);

#endif
