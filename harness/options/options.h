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

struct options {
    char run[OPTION_TEXT_BYTES];   /* run=GLOB[,GLOB...]; empty = all */
    char skip[OPTION_TEXT_BYTES];  /* skip=GLOB[,GLOB...]: reported as SKIP "by option" */
    char profile[32];              /* profile=NAME, printed in the banner */
    enum option_provider provider; /* provider=auto|native|model */
    enum option_selftest selftest; /* selftest=fail|error|hang|triple|leak|corrupt */
    enum option_exit exit;         /* exit=return|debug|shutdown */
    enum option_prove prove;       /* prove=defects|policies: judge the suite by the stand-in */
    unsigned cpus;                 /* cpus=1..256: processors to use; 0 = not given */
    /* serial=com1..com4|0xPORT|mem:0xADDRESS[/STRIDE]|acpi, up to four of them, or none. */
    struct option_serial serial[OPTION_SERIAL_MAX];
    unsigned serials;
    bool serial_given; /* by the user; otherwise com1, else what ACPI names */
    uint32_t baud;     /* baud=9600..115200 */
    bool soak;         /* soak=0|1: long counts */
    /* soak=TIME, as 90s, 10m, 2h: the whole plan again and again for so long; 0 = once */
    unsigned soak_seconds;
    unsigned repeat;  /* repeat=1..1000: runs of each check in a row */
    bool order_given; /* order=SEED: the checks in an order made from it */
    uint64_t order;
    unsigned guard; /* guard=SECONDS without a line that end a check in ring 0; 0 = never */
    bool guard_given;
    bool bench;   /* bench=0|1: measure instead of judging */
    bool list;    /* list=0|1: print the checks, run none */
    bool verbose; /* verbose=0|1: detail lines on passes too */
    /* screen=auto|console|WIDTHxHEIGHT: who draws text, and in which mode of the graphics. */
    bool screen_console;
    uint16_t screen_width, screen_height; /* 0: the mode that firmware has chosen */
    bool lava;                            /* lava=0|1: a line for LAVA behind each result */
    bool journal;                         /* journal=0|1: keep one, and go on with one */
    bool upload;              /* upload=0|1: send results to the server of a network boot */
    bool x2apic;              /* x2apic=0|1: switch the local APIC where enumerated */
    uint64_t seed;            /* seed=N, decimal or 0x */
    unsigned fuzz;            /* fuzz=N: generated programs, from that seed on; 0 = few */
    struct option_serial gdb; /* gdb=PORT, as in serial=: GDB debugs the program there */
    bool gdb_given;
    /* program=NAME: trace this file of the boot volume instead of running checks */
    char program[128];
    char path[OPTION_TEXT_BYTES]; /* path=TEXT: what the trace calls it; empty = its name */
    unsigned word_count;          /* the name and the arg=WORDs, %XX decoded, NUL-ended */
    size_t words_bytes;
    char words[OPTION_WORDS_BYTES];
    bool crossings;            /* crossings=0|1: keep branches from and to the kernel */
    bool untraced;             /* untraced=0|1: run it without a trace */
    enum option_sample sample; /* sample=none|instructions|branches: profile the program */
    bool stacks;               /* stacks=0|1: each with the chain of its frame pointers */
    uint64_t period;    /* period=N: events a sample; prime, so that no loop keeps step */
    unsigned seconds;   /* seconds=N: end the program then; 0 = never */
    unsigned trace_kib; /* trace-kib=N: memory for the trace; 0 = as much as is sensible */
    /* under=PATH: start this EFI program of the volume on top of the model, which stays */
    char under[OPTION_TEXT_BYTES];
    char under_args[OPTION_WORDS_BYTES]; /* under-args=TEXT, %XX decoded; several are joined */
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

/* Shell-style pattern (* and ?) against a comma-separated list; true when any matches. */
bool glob_list_match(const char *globs, const char *name);

#endif
