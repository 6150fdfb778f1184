/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr lcov`: coverage as lcov's tracefile, one section a source file. The lines of a function
 * that was inlined elsewhere are added up.
 * Source: geninfo(1), "TRACEFILE FORMAT".
 */
#include "harness/wtr/core/cover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A source line; count is the highest of its instructions, added up over functions. */
struct source_line {
    uint32_t file, number;
    uint64_t count, in_function;
    const struct symbol *function; /* that in_function is about */
};

struct source_function {
    uint32_t file, number;
    const char *name;
    uint64_t count;
};

/* A conditional branch. */
struct source_branch {
    uint32_t file, number;
    uint64_t address, count, taken;
};

struct lcov {
    struct session *session;
    const struct symbol *symbol;
    struct map line_by_key;
    VECTOR(struct source_line) lines;
    VECTOR(struct source_function) functions;
    VECTOR(struct source_branch) branches;
};

static void take_line(struct lcov *lcov, const struct symbol *symbol, const struct line *line,
                      uint64_t count)
{
    uint32_t *index = map_at(&lcov->line_by_key, (uint64_t)line->file << 32 | line->number);
    struct source_line *source;

    if (*index == MAP_NEW) {
        *index = (uint32_t)lcov->lines.count;
        *PUSH(&lcov->lines) = (struct source_line){
            .file = line->file, .number = line->number, .function = symbol};
    }
    source = &lcov->lines.items[*index];
    if (source->function != symbol) {
        source->count += source->in_function;
        source->in_function = 0;
        source->function = symbol;
    }
    if (count > source->in_function)
        source->in_function = count;
}

static void lcov_instruction(void *context, const struct symbol *symbol,
                             const struct covered_instruction *one)
{
    struct lcov *lcov = context;

    if (!one->line)
        return;
    if (symbol != lcov->symbol) {
        lcov->symbol = symbol;
        *PUSH(&lcov->functions) = (struct source_function){.file = one->line->file,
                                                           .number = one->line->number,
                                                           .name = symbol->name,
                                                           .count = one->count};
    }
    take_line(lcov, symbol, one->line, one->count);
    if (one->conditional)
        *PUSH(&lcov->branches) = (struct source_branch){.file = one->line->file,
                                                        .number = one->line->number,
                                                        .address = one->address,
                                                        .count = one->count,
                                                        .taken = one->taken};
}

/* All three begin with file and number. */
static int by_line(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

static int by_line_and_address(const void *left, const void *right)
{
    const struct source_branch *a = left, *b = right;
    int order = by_line(left, right);

    return order ? order : a->address < b->address ? -1 : a->address > b->address;
}

static size_t put_functions(struct lcov *lcov, uint32_t file, size_t at)
{
    struct text *text = &lcov->session->text;
    size_t end = at, hit = 0;

    for (; end < lcov->functions.count && lcov->functions.items[end].file == file; end++)
        text_format(text, "FN:%" PRIu32 ",%s\n", lcov->functions.items[end].number,
                    lcov->functions.items[end].name);
    for (size_t i = at; i < end; i++) {
        text_format(text, "FNDA:%" PRIu64 ",%s\n", lcov->functions.items[i].count,
                    lcov->functions.items[i].name);
        hit += lcov->functions.items[i].count != 0;
    }
    text_format(text, "FNF:%zu\nFNH:%zu\n", end - at, hit);
    return end;
}

/* Branch 0 is the jump, branch 1 the way straight on. */
static size_t put_branches(struct lcov *lcov, uint32_t file, size_t at)
{
    struct text *text = &lcov->session->text;
    const struct source_branch *all = lcov->branches.items;
    size_t end = at, hit = 0, block = 0;

    for (; end < lcov->branches.count && all[end].file == file; end++) {
        uint64_t straight =
            all[end].count > all[end].taken ? all[end].count - all[end].taken : 0;

        block = end > at && all[end].number == all[end - 1].number ? block + 1 : 0;
        if (all[end].count)
            text_format(
                text,
                "BRDA:%" PRIu32 ",%zu,0,%" PRIu64 "\nBRDA:%" PRIu32 ",%zu,1,%" PRIu64 "\n",
                all[end].number, block, all[end].taken, all[end].number, block, straight);
        else
            text_format(text, "BRDA:%" PRIu32 ",%zu,0,-\nBRDA:%" PRIu32 ",%zu,1,-\n",
                        all[end].number, block, all[end].number, block);
        hit += (all[end].taken != 0) + (straight != 0);
    }
    text_format(text, "BRF:%zu\nBRH:%zu\n", 2 * (end - at), hit);
    return end;
}

static size_t put_lines(struct lcov *lcov, uint32_t file, size_t at)
{
    struct text *text = &lcov->session->text;
    const struct source_line *all = lcov->lines.items;
    size_t end = at, hit = 0;

    for (; end < lcov->lines.count && all[end].file == file; end++) {
        uint64_t count = all[end].count + all[end].in_function;

        text_format(text, "DA:%" PRIu32 ",%" PRIu64 "\n", all[end].number, count);
        hit += count != 0;
    }
    text_format(text, "LF:%zu\nLH:%zu\n", end - at, hit);
    return end;
}

static void put_program(struct lcov *lcov, const struct program *program)
{
    size_t function = 0, branch = 0, line = 0;

    if (lcov->lines.count)
        qsort(lcov->lines.items, lcov->lines.count, sizeof(struct source_line), by_line);
    if (lcov->functions.count)
        qsort(lcov->functions.items, lcov->functions.count, sizeof(struct source_function),
              by_line);
    if (lcov->branches.count)
        qsort(lcov->branches.items, lcov->branches.count, sizeof(struct source_branch),
              by_line_and_address);
    while (line < lcov->lines.count) {
        uint32_t file = lcov->lines.items[line].file;

        text_format(&lcov->session->text, "TN:\nSF:%s\n", program->files.items[file]);
        function = put_functions(lcov, file, function);
        branch = put_branches(lcov, file, branch);
        line = put_lines(lcov, file, line);
        text_string(&lcov->session->text, "end_of_record\n");
    }
}

bool command_lcov(struct session *session)
{
    struct covers covers;
    size_t lines = 0;

    covers_open(&covers, session);
    for (size_t i = 0; i < covers.covers.count; i++) {
        struct lcov lcov = {.session = session};

        cover_walk(&covers.covers.items[i], lcov_instruction, &lcov);
        put_program(&lcov, covers.covers.items[i].program);
        lines += lcov.lines.count;
        map_free(&lcov.line_by_key);
        free(lcov.lines.items);
        free(lcov.functions.items);
        free(lcov.branches.items);
    }
    covers_close(&covers);
    if (!lines)
        complain("%s: its program has no line numbers; build it with -g", session->trace.path);
    return lines != 0;
}
