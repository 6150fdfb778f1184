/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options. To add one: a field in struct options and a row here, under the heading where a
 * reader would look for it; then `make docs`.
 */
#include "harness/options/option_table.h"

#include "harness/check/format.h"
#include "harness/options/option_values.h"

#define FIELD(name)                                                                            \
    .field = offsetof(struct options, name), .bytes = sizeof(((struct options *)0)->name)
#define GIVEN(name) .given = offsetof(struct options, name)

#define OPTION(what, ...)                                                                      \
    {                                                                                          \
        .kind = OPTION_##what, __VA_ARGS__                                                     \
    }

/* Order of the words of a CHOICE: that of its enumeration. */
const struct option option_table[] = {
    OPTION(HEADING, .help = "Which checks, and how often"),
    OPTION(TEXT, .name = "run", .values = "GLOB[,GLOB]", FIELD(run),
           .help = "only these checks; a pattern that matches nothing is bad usage"),
    OPTION(TEXT, .name = "skip", .values = "GLOB[,GLOB]", FIELD(skip),
           .help = "these are reported as skipped"),
    OPTION(SWITCH, .name = "list", FIELD(list),
           .help = "print the checks with their clauses, run none"),
    OPTION(SWITCH, .name = "help", FIELD(help), .help = "print the options, run no check"),
    OPTION(OTHER, .name = "soak", .values = "0|1|TIME", .set = option_set_soak,
           .help = "1: long counts instead of a hundredth; 90s, 10m, 2h: the whole plan again "
                   "and again for so long"),
    OPTION(NUMBER, .name = "repeat", FIELD(repeat), .low = 1, .high = 1000, .otherwise = "1",
           .help = "runs of each check in a row; the worst verdict counts, what differs is "
                   "named unstable"),
    OPTION(NUMBER, .name = "order", FIELD(order), GIVEN(order_given), .high = UINT64_MAX,
           .help = "the checks in an order made from this number, which the report repeats"),
    OPTION(NUMBER, .name = "guard", FIELD(guard), GIVEN(guard_given), .high = 3600,
           .help = "seconds ring 0 may run without a line before a second processor ends the "
                   "check; 25 when not given, 0 never"),

    OPTION(HEADING, .help = "Who records, and on what"),
    OPTION(CHOICE, .name = "provider", .values = "auto|native|model", FIELD(provider),
           .otherwise = "auto",
           .help = "who may record branches: the processor, the model, or which of them can"),
    OPTION(OTHER, .name = "profile", .values = "NAME", .set = option_set_profile,
           .otherwise = "hardware",
           .help = "printed in the banner; the runner judges by harness/profiles/NAME.json"),
    OPTION(NUMBER, .name = "cpus", FIELD(cpus), .low = 1, .high = 256,
           .help = "processors to use, all when not given; also how many QEMU emulates"),
    OPTION(SWITCH, .name = "x2apic", FIELD(x2apic),
           .help = "switch the local APIC to x2APIC if enumerated"),

    OPTION(HEADING, .help = "Outputs, and the end"),
    OPTION(OTHER, .name = "serial", .values = "none|PORT[,PORT]", .set = option_set_serial,
           GIVEN(serial_given), .otherwise = "com1",
           .help = "up to four of com1..com4, 0xPORT, mem:0xADDRESS[/STRIDE], acpi; without a "
                   "com1 what SPCR or DBG2 names"),
    OPTION(OTHER, .name = "baud", .values = "50..115200", .set = option_set_baud,
           .otherwise = "115200", .help = "the speed of serial lines, a divisor of 115200"),
    OPTION(OTHER, .name = "screen", .values = "auto|console|WIDTHxHEIGHT",
           .set = option_set_screen, .otherwise = "auto",
           .help = "the firmware's text, or ours, enlarged; auto: ours from 1440 lines on"),
    OPTION(SWITCH, .name = "upload", FIELD(upload), .otherwise = "1",
           .help = "send the results to the server of a network boot"),
    OPTION(SWITCH, .name = "journal", FIELD(journal), .otherwise = "1",
           .help = "keep a journal, and go on with one that an earlier boot left"),
    OPTION(SWITCH, .name = "lava", FIELD(lava),
           .help = "a line in LAVA's shape behind each result"),
    OPTION(CHOICE, .name = "exit", .values = "return|debug|shutdown", FIELD(exit),
           .otherwise = "return",
           .help = "afterwards: back to the firmware, QEMU's exit device, power off"),

    OPTION(HEADING, .help = "A program instead of checks"),
    OPTION(OTHER, .name = "program", .values = "NAME", .set = option_set_program,
           .help = "trace this file of the boot volume; %XX is a byte"),
    OPTION(OTHER, .name = "path", .values = "TEXT", .set = option_set_path,
           .help = "what the trace calls the program; before arg=; %XX is a byte"),
    OPTION(OTHER, .name = "arg", .values = "WORD", .set = option_set_arg,
           .help = "one more word for the program, as often as needed; %XX is a byte"),
    OPTION(OTHER, .name = "env", .values = "NAME=VALUE", .set = option_set_env,
           .help = "a word of its environment, as often as needed; %XX is a byte"),
    OPTION(OTHER, .name = "files", .values = "NAME", .set = option_set_files,
           .help = "a tar archive (ustar) of the boot volume: the program's files"),
    OPTION(OTHER, .name = "stdin", .values = "NAME", .set = option_set_stdin,
           .help = "a file of the boot volume: its standard input, else empty"),
    OPTION(OTHER, .name = "cwd", .values = "PATH", .set = option_set_cwd, .otherwise = "/",
           .help = "its working folder among its files"),
    OPTION(OTHER, .name = "gdb", .values = "PORT", .set = option_set_gdb, GIVEN(gdb_given),
           .help =
               "serve GDB on com1..com4, 0xPORT or mem:0xADDRESS[/STRIDE] instead of tracing "
               "to the end"),
    OPTION(CHOICE, .name = "sample", .values = "none|instructions|branches", FIELD(sample),
           .otherwise = "none",
           .help = "sample the program by these events instead of tracing it"),
    /* Prime, so that no loop keeps step with it. */
    OPTION(NUMBER, .name = "period", FIELD(period), .low = 1, .high = 1ull << 31,
           .otherwise = "10007", .help = "events from one sample to the next"),
    OPTION(SWITCH, .name = "stacks", FIELD(stacks), .otherwise = "1",
           .help = "each sample with the chain of its frame pointers"),
    OPTION(SWITCH, .name = "crossings", FIELD(crossings),
           .help = "keep branches from and to the kernel"),
    OPTION(SWITCH, .name = "untraced", FIELD(untraced),
           .help = "run the program without a trace"),
    OPTION(NUMBER, .name = "seconds", FIELD(seconds), .high = 1000000,
           .help = "end the program then; 0 never"),
    OPTION(NUMBER, .name = "trace-kib", FIELD(trace_kib), .low = 512, .high = 4194304,
           .help = "memory for the trace of a program; as much as is sensible when not given"),

    OPTION(HEADING, .help = "Another EFI program on top of the model"),
    OPTION(OTHER, .name = "under", .values = "PATH|next", .set = option_set_under,
           .help = "start this EFI program of the volume on top of the model, which stays: "
                   "docs/under.md"),
    OPTION(OTHER, .name = "under-args", .values = "WORD", .set = option_set_under_args,
           .help = "a word for that program, as often as needed; %XX is a byte"),

    OPTION(HEADING, .help = "Other work than judging"),
    OPTION(SWITCH, .name = "bench", FIELD(bench), .help = "speed figures instead of verdicts"),
    OPTION(
        NUMBER, .name = "fuzz", FIELD(fuzz), .low = 1, .high = 1000000,
        .help =
            "generated programs in oracle.generated and bts.fuzz.programs; few when not given"),
    OPTION(NUMBER, .name = "seed", FIELD(seed), .high = UINT64_MAX, .otherwise = "0",
           .help = "the first generated program; of a traced program's random numbers"),

    OPTION(HEADING, .help = "The suite judged by what it must notice"),
    OPTION(CHOICE, .name = "prove", .values = "nothing|defects|policies", FIELD(prove),
           .otherwise = "nothing",
           .help = "break the model in every way it knows, or answer every open question "
                   "otherwise"),
    OPTION(MODEL, .name = "defect", .values = "NAME", .help = "what the model does wrong"),
    OPTION(MODEL, .name = "policy", .values = "NAME:VALUE",
           .help = "how the model answers a question the manual leaves "
                   "open"),
    OPTION(MODEL, .name = "cpuid", .values = "no-NAME|netburst",
           .help = "what the model's CPUID hides"),
    OPTION(MODEL, .name = "pebs", .values = "0..4|off", .otherwise = "3",
           .help = "format of the model's PEBS records, or no PEBS"),
    OPTION(CHOICE, .name = "selftest",
           .values = "none|fail|error|hang|triple|leak|corrupt|smi|first", FIELD(selftest),
           .otherwise = "none", .help = "go wrong once, on purpose, in this way"),
};

const size_t option_count = sizeof(option_table) / sizeof(option_table[0]);

size_t option_values_text(const struct option *option, char *text, size_t size)
{
    if (option->values)
        return fmt(text, size, "%s", option->values);
    if (option->kind == OPTION_SWITCH)
        return fmt(text, size, "%s", OPTION_SWITCH_WORDS);
    if (option->high == UINT64_MAX)
        return fmt(text, size, "N");
    return fmt(text, size, "%lu..%lu", option->low, option->high);
}
