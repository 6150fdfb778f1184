/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr btrace`: the document that a remote target would give GDB for one task: annex `all` of
 * qXfer:btrace:read. Blocks from the target of a branch to the source of the next, the newest
 * first. Source: the GDB manual, "Branch Trace Format".
 *
 * The format knows no gap, so it begins behind the last one. It knows no kernel either: what
 * leads out of the program's files and straight back leaves nothing, as if a system call were
 * an instruction like others; what comes back elsewhere, as to a handler, is one branch.
 */
#include "harness/wtr/core/flow.h"
#include "harness/wtr/core/wtr.h"

#include <inttypes.h>
#include <stdlib.h>

struct pair {
    uint64_t from, to;
};

struct document {
    struct session *session;
    VECTOR(struct pair) branches;
    bool begun, headed; /* headed: the first block begins at head, else that is not known */
    uint64_t head;
    bool away; /* in no file, having left at left */
    uint32_t left;
    bool ended;
    uint64_t end; /* where it stands after the last branch */
};

static const struct place *place_of(const struct document *d, uint32_t place)
{
    return &d->session->space.places.items[place];
}

/* Without any file nothing can be told from the kernel. */
static bool is_program(const struct document *d, const struct place *place)
{
    return place->image != NO_IMAGE || !d->session->space.images.count;
}

static void begin(struct document *d, bool headed, uint64_t head)
{
    d->branches.count = 0;
    d->begun = true;
    d->headed = headed;
    d->head = head;
    d->away = false;
}

static void come_back(struct document *d, uint64_t to)
{
    const struct place *left = place_of(d, d->left);

    if (!d->away)
        begin(d, true, to); /* nobody knows from where in the program */
    else if (to != left->address && !(left->code && to == left->address + left->length))
        *PUSH(&d->branches) = (struct pair){left->address, to};
    d->away = false;
}

static void take_step(void *context, const struct step *step)
{
    struct document *d = context;
    const struct place *from = place_of(d, step->from), *to = place_of(d, step->to);

    if (step->begin == NO_PLACE)
        begin(d, false, 0);
    else if (!d->begun)
        begin(d, true, place_of(d, step->begin)->address);
    if (is_program(d, from) && is_program(d, to)) {
        *PUSH(&d->branches) = (struct pair){from->address, to->address};
    } else if (is_program(d, from)) {
        d->away = true;
        d->left = step->from;
    } else if (is_program(d, to)) {
        come_back(d, to->address);
    }
}

static void take_last(void *context, const struct step *step)
{
    struct document *d = context;

    if (step->from == NO_PLACE || !is_program(d, place_of(d, step->from)))
        return;
    d->ended = true;
    d->end = place_of(d, step->from)->address;
}

static void put_block(struct document *d, uint64_t from, uint64_t to)
{
    text_format(&d->session->text, "<block begin=\"0x%" PRIx64 "\" end=\"0x%" PRIx64 "\"/>\n",
                from, to);
}

static void put_blocks(struct document *d)
{
    const struct pair *branches = d->branches.items;
    size_t count = d->branches.count;
    uint64_t newest = count ? branches[count - 1].to : d->head;

    if (!count && !d->headed)
        return;
    if (!d->ended)
        d->end = d->away ? place_of(d, d->left)->address : newest;
    put_block(d, newest, d->end);
    for (size_t i = count; i-- > 1;)
        put_block(d, branches[i - 1].to, branches[i].from);
    if (count && d->headed)
        put_block(d, d->head, branches[0].from);
}

/* The task that is meant: the only one that ran, where none is named. */
static bool choose(const struct session *session, uint32_t *chosen)
{
    unsigned ran = 0;

    *chosen = session->options->task;
    for (size_t i = 0; i < session->space.tasks.count && !session->options->task; i++) {
        if (!session->space.tasks.items[i].branches)
            continue;
        *chosen = session->space.tasks.items[i].number;
        ran++;
    }
    if (ran > 1)
        complain("%s: %u tasks ran, and GDB takes one: choose it with --task, see wtr info",
                 session->trace.path, ran);
    return ran <= 1;
}

bool command_btrace(struct session *session)
{
    static const struct flow flow = {.step = take_step, .last = take_last};
    struct document d = {.session = session};
    uint32_t task;

    if (!choose(session, &task))
        return false;
    flow_walk(&session->space, &flow, task, &d);
    text_string(&session->text, "<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n"
                                "<btrace version=\"1.0\">\n");
    put_blocks(&d);
    text_string(&session->text, "</btrace>\n");
    free(d.branches.items);
    return true;
}
