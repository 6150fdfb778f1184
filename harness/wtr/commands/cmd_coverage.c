/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr coverage`: how much of each function was reached: instructions, source lines, and the
 * two directions of every conditional branch.
 */
#include "harness/wtr/core/cover.h"

#include <inttypes.h>
#include <stdlib.h>

struct part {
    uint64_t reached, total;
};

struct summary {
    struct part instructions, lines, directions;
};

/* Lines of the function at hand, by file and number: 1 seen, 2 reached. */
struct coverage {
    struct session *session;
    const struct symbol *symbol;
    const struct line *where; /* of its first instruction */
    struct summary now, all;
    struct part functions;
    struct map lines;
    VECTOR(uint64_t) keys;
    const struct program *program;
};

static void put_part(struct text *text, const struct part *part)
{
    text_format(text, " %6" PRIu64 "/%-6" PRIu64, part->reached, part->total);
    if (part->total)
        text_format(text, " %3" PRIu64 "%%", 100 * part->reached / part->total);
    else
        text_string(text, "    -");
}

static void put_summary(struct text *text, const struct summary *summary)
{
    put_part(text, &summary->instructions);
    put_part(text, &summary->lines);
    put_part(text, &summary->directions);
    text_string(text, "  ");
}

static void add(struct part *to, const struct part *from)
{
    to->reached += from->reached;
    to->total += from->total;
}

/* The lines were marked one by one; now they are counted, and forgotten. */
static void settle_lines(struct coverage *c)
{
    for (size_t i = 0; i < c->keys.count; i++) {
        uint32_t *state = map_at(&c->lines, c->keys.items[i]);

        c->now.lines.total++;
        c->now.lines.reached += *state == 2;
        *state = MAP_NEW;
    }
    c->keys.count = 0;
}

static void end_function(struct coverage *c)
{
    struct text *text = &c->session->text;

    if (!c->symbol)
        return;
    settle_lines(c);
    c->functions.total++;
    c->functions.reached += c->now.instructions.reached != 0;
    add(&c->all.instructions, &c->now.instructions);
    add(&c->all.lines, &c->now.lines);
    add(&c->all.directions, &c->now.directions);
    if (c->now.instructions.reached || c->session->options->all) {
        put_summary(text, &c->now);
        text_string(text, c->symbol->name);
        if (c->where)
            text_format(text, "  %s:%" PRIu32,
                        base_name(c->program->files.items[c->where->file]), c->where->number);
        text_char(text, '\n');
    }
    c->now = (struct summary){0};
}

static void mark_line(struct coverage *c, const struct line *line, bool reached)
{
    uint64_t key = (uint64_t)line->file << 32 | line->number;
    uint32_t *state = map_at(&c->lines, key);

    if (*state == MAP_NEW) {
        *state = 1;
        *PUSH(&c->keys) = key;
    }
    if (reached)
        *state = 2;
}

static void cover_instruction(void *context, const struct symbol *symbol,
                              const struct covered_instruction *one)
{
    struct coverage *c = context;

    if (symbol != c->symbol) {
        end_function(c);
        c->symbol = symbol;
        c->where = one->line;
    }
    c->now.instructions.total++;
    c->now.instructions.reached += one->count != 0;
    if (one->line)
        mark_line(c, one->line, one->count != 0);
    if (one->conditional) {
        c->now.directions.total += 2;
        c->now.directions.reached += (one->taken != 0) + (one->count > one->taken);
    }
}

bool command_coverage(struct session *session)
{
    struct coverage c = {.session = session};
    struct covers covers;

    covers_open(&covers, session);
    text_string(&session->text, "       instructions              lines         directions  "
                                "function\n");
    for (size_t i = 0; i < covers.covers.count; i++) {
        c.program = covers.covers.items[i].program;
        cover_walk(&covers.covers.items[i], cover_instruction, &c);
        end_function(&c);
        c.symbol = NULL;
        map_free(&c.lines);
    }
    put_summary(&session->text, &c.all);
    text_format(&session->text, "all, %" PRIu64 " of %" PRIu64 " functions reached\n",
                c.functions.reached, c.functions.total);
    covers_close(&covers);
    free(c.keys.items);
    return true;
}
