/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wtr: looks at a branch trace. Usage and exit statuses are in usage() below.
 */
#include "harness/wtr/core/wtr.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct command {
    const char *name;
    bool (*run)(struct session *session);
    bool needs_program;  /* useless without the ELF file */
    const char *options; /* letters of those it takes, see take_option() */
    const char *about;
};

static const struct command commands[] = {
    {"info", command_info, false, "", "what the trace is and holds"},
    {"list", command_list, false, "tfnr", "every branch, with function and source line"},
    {"tree", command_tree, false, "td", "who called whom, how often, at what cost"},
    {"fold", command_fold, false, "tdw", "stacks, one a line, for flame graph programs"},
    {"profile", command_profile, false, "td", "which functions the samples fell into"},
    {"coverage", command_coverage, true, "ta", "what of each function was reached"},
    {"lcov", command_lcov, true, "t", "the same as an lcov file, for genhtml"},
    {"html", command_html, false, "td", "timeline and call tree as one web page"},
    {"perf", command_perf, false, "tsedp", "perf.data, for perf script --itrace=b"},
    {"btrace", command_btrace, false, "t", "the document that GDB reads a recording from"},
    {"bts", command_bts, false, "t", "the branches as the processor's 24-byte records"},
    {"output", command_output, false, "t", "what the traced program wrote"},
    {"check", command_check, false, "t", "is the trace whole and possible?"},
};
#define COMMANDS (sizeof commands / sizeof *commands)

static void usage(FILE *to)
{
    fputs("usage: wtr COMMAND [OPTIONS] TRACE\n\ncommands:\n", to);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-10s%s\n", commands[i].name, commands[i].about);
    fputs("\noptions:\n"
          "  --elf FILE      a traced program that is not at its path of the trace\n"
          "  -o FILE         write there instead of to standard output\n"
          "  --task N        this task only\n"
          "  --first N       list: begin at branch N\n"
          "  --count N       list: so many branches\n"
          "  --raw           list: only from and to, in hexadecimal\n"
          "  --depth N       tree, fold, html, perf, profile: calls nested deeper are one\n"
          "                  with their caller; 1 to 1024, default 128\n"
          "  --weight WORD   fold: instructions (default), branches or calls; of a profile\n"
          "                  events (default) or samples\n"
          "  --all           coverage: also functions that were not reached\n"
          "  --samples       perf: ordinary samples with call chains and branch stacks\n"
          "  --every N       perf --samples: branches a sample; 1 to 1024, default 32\n"
          "  --as-recorded   perf: programs keep the path of the trace, wherever they are now\n"
          "\nTRACE may be - for standard input.\n"
          "exit status: 0 all is well; 1 the trace is damaged, incomplete or impossible, and\n"
          "what could be read was shown; 2 the input cannot be used; 3 wrong usage; 4 the\n"
          "file is sound, and says that the recorder lost branches\n",
          to);
}

static bool number(const char *option, const char *text, uint64_t low, uint64_t high,
                   uint64_t *value)
{
    char *end;

    errno = 0;
    *value = text ? strtoull(text, &end, 0) : 0;
    if (text && isdigit((unsigned char)text[0]) && !*end && !errno && *value >= low &&
        *value <= high)
        return true;
    complain("%s wants a number from %lu to %lu; see wtr --help", option, low, high);
    return false;
}

static bool take_elf(struct options *options, const char *path)
{
    for (size_t i = 0; i < WTR_ELF_MAX; i++) {
        if (!options->elf[i]) {
            options->elf[i] = path;
            return true;
        }
    }
    complain("at most %d times --elf; see wtr --help", WTR_ELF_MAX);
    return false;
}

static bool take_weight(struct options *options, const char *word)
{
    static const char *const words[] = {"instructions", "branches", "calls", "events",
                                        "samples"};

    options->weight = word;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    complain("--weight %s: instructions, branches, calls, events or samples; see wtr --help",
             word);
    return false;
}

/* Sets the option of that letter; value is NULL for those without one. */
static bool take_option(struct options *o, char letter, const char *name, const char *value)
{
    uint64_t n = 0;

    switch (letter) {
    case 'E':
        return take_elf(o, value);
    case 'O':
        o->out = value;
        return true;
    case 't':
        return number(name, value, 1, UINT32_MAX, &n) && (o->task = (uint32_t)n, true);
    case 'f':
        return number(name, value, 0, UINT64_MAX - 1, &o->first);
    case 'n':
        return number(name, value, 1, UINT64_MAX - 1, &o->count);
    case 'd':
        return number(name, value, 1, DEPTH_LIMIT, &n) && (o->depth = (uint32_t)n, true);
    case 'e':
        return number(name, value, 1, 1024, &n) && (o->every = (uint32_t)n, true);
    case 'w':
        return take_weight(o, value);
    case 'r':
        return o->raw = true;
    case 'a':
        return o->all = true;
    case 'p':
        return o->as_recorded = true;
    default:
        return o->samples = true;
    }
}

static const struct {
    const char *name;
    char letter;
    bool value;
} option_names[] = {
    {"--elf", 'E', true},   {"-o", 'O', true},         {"--task", 't', true},
    {"--first", 'f', true}, {"--count", 'n', true},    {"--depth", 'd', true},
    {"--every", 'e', true}, {"--weight", 'w', true},   {"--raw", 'r', false},
    {"--all", 'a', false},  {"--samples", 's', false}, {"--as-recorded", 'p', false},
};
#define OPTIONS (sizeof option_names / sizeof *option_names)

/* One option at argv[*at]; false with a complaint. */
static bool parse_option(const struct command *command, struct options *options, char **argv,
                         int argc, int *at)
{
    const char *word = argv[*at];

    for (size_t i = 0; i < OPTIONS; i++) {
        char letter = option_names[i].letter;

        if (strcmp(word, option_names[i].name) != 0)
            continue;
        if (islower((unsigned char)letter) && !strchr(command->options, letter)) {
            complain("%s does not take %s; see wtr --help", command->name, word);
            return false;
        }
        if (!option_names[i].value)
            return take_option(options, letter, word, NULL);
        if (*at + 1 == argc) {
            complain("%s wants a value; see wtr --help", word);
            return false;
        }
        return take_option(options, letter, word, argv[++*at]);
    }
    complain("unknown option %s; see wtr --help", word);
    return false;
}

/* True when path is the file itself, whatever it is called: writing would destroy it. */
static bool is_output(const struct options *options, const char *path)
{
    struct stat from, to;

    if (!path || !options->out || stat(path, &from) != 0 || stat(options->out, &to) != 0 ||
        !S_ISREG(to.st_mode) || from.st_dev != to.st_dev || from.st_ino != to.st_ino)
        return false;
    complain("-o %s would overwrite what is read; give another file", options->out);
    return true;
}

static bool keeps_input(const struct options *options)
{
    for (size_t i = 0; i < WTR_ELF_MAX; i++) {
        if (is_output(options, options->elf[i]))
            return false;
    }
    return !is_output(options, options->path);
}

static bool parse(const struct command *command, struct options *options, int argc, char **argv)
{
    bool plain = false;

    for (int i = 2; i < argc; i++) {
        if (!plain && strcmp(argv[i], "--") == 0) {
            plain = true;
        } else if (!plain && argv[i][0] == '-' && argv[i][1]) {
            if (!parse_option(command, options, argv, argc, &i))
                return false;
        } else if (options->path) {
            complain("one trace at a time: %s and %s; see wtr --help", options->path, argv[i]);
            return false;
        } else {
            options->path = argv[i];
        }
    }
    if (!options->path)
        complain("%s wants a trace, for example out/trace.wtr; see wtr --help", command->name);
    return options->path;
}

static bool task_known(const struct session *session)
{
    uint32_t wanted = session->options->task;

    for (size_t i = 0; i < session->space.tasks.count; i++) {
        if (!wanted || session->space.tasks.items[i].number == wanted)
            return true;
    }
    if (wanted)
        complain("%s: no task %u in it; see wtr info", session->trace.path, wanted);
    return !wanted;
}

static enum status perform(const struct command *command, struct session *session)
{
    bool complete = space_complete(&session->space), done;

    if (!task_known(session))
        return STATUS_BAD;
    if (command->needs_program && (!complete || !session->space.images.count)) {
        if (!session->space.images.count)
            complain("%s: it records no program, so nothing can be covered",
                     session->trace.path);
        return STATUS_BAD;
    }
    if (!text_open(&session->text, session->options->out))
        return STATUS_BAD;
    done = command->run(session);
    if (!text_close(&session->text) || !done)
        return STATUS_BAD;
    return session->partial ? STATUS_PARTIAL : session->gaps ? STATUS_GAPS : STATUS_GOOD;
}

static enum status run(const struct command *command, const struct options *options)
{
    struct session *session = allocate(1, sizeof *session);
    enum status status = STATUS_BAD;

    session->options = options;
    if (trace_open(&session->trace, options->path)) {
        session->partial = !trace_whole(&session->trace);
        session->gaps = trace_has_gaps(&session->trace);
        if (space_open(&session->space, &session->trace, options->elf)) {
            session->space.as_recorded = options->as_recorded;
            status = perform(command, session);
            space_close(&session->space);
        }
        trace_close(&session->trace);
    }
    free(session);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {.depth = DEPTH_DEFAULT, .every = 32};

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
        usage(stdout);
        return STATUS_GOOD;
    }
    for (size_t i = 0; argc > 1 && i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        if (!parse(&commands[i], &options, argc, argv) || !keeps_input(&options))
            return STATUS_USAGE;
        return run(&commands[i], &options);
    }
    if (argc > 1)
        complain("unknown command %s; see wtr --help", argv[1]);
    else
        usage(stderr);
    return STATUS_USAGE;
}
