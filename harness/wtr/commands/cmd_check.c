/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr check`: is the trace whole, and is it one that the program can have run? Every branch
 * must start at an instruction, and a straight way must lead there from the one before.
 */
#include "harness/wtr/core/wtr.h"

#include <inttypes.h>

#define TOLD_MAX 10

struct audit {
    struct session *session;
    uint64_t branches, unseen, broken, wrong_target, events, lost;
};

static void tell(struct audit *audit, const struct step *step, const char *what)
{
    struct space *space = &audit->session->space;

    if (audit->broken + audit->wrong_target > TOLD_MAX)
        return;
    text_format(&audit->session->text, "branch %" PRIu64 ": %s: %" PRIx64 " %s",
                step->branch->index, what, step->branch->from, place_text(space, step->from));
    if (step->begin != NO_PLACE)
        text_format(&audit->session->text, ", after %" PRIx64 " %s",
                    space->places.items[step->begin].address, place_text(space, step->begin));
    text_char(&audit->session->text, '\n');
}

static void check_step(void *context, const struct step *step)
{
    struct audit *audit = context;
    const struct place *places = audit->session->space.places.items;
    const struct place *from = &places[step->from], *to = &places[step->to];

    audit->branches += !step->moved;
    audit->events += step->event && !step->moved;
    audit->unseen += !from->code;
    if (step->run == RUN_BROKEN) {
        audit->broken++;
        tell(audit, step, "no straight way leads there");
    }
    /* Where an exception or interrupt strikes at a branch, the kernel's handler is next. */
    if (step->event && !step->moved && from->direct && to->image != NO_IMAGE) {
        audit->wrong_target++;
        tell(audit, step, "went elsewhere than its instruction says");
    }
}

static void check_event(void *context, const struct event *event)
{
    struct audit *audit = context;

    audit->lost += event->kind == WTR_LOST || event->kind == WTR_WRAP;
}

bool command_check(struct session *session)
{
    static const struct flow flow = {.step = check_step, .event = check_event};
    struct audit audit = {.session = session};
    bool good;

    flow_walk(&session->space, &flow, session->options->task, &audit);
    good = !audit.broken && !audit.wrong_target;
    text_format(&session->text,
                "%s: %" PRIu64 " branches, %" PRIu64 " events among them, %" PRIu64
                " from code without a file, %" PRIu64 " gaps, %" PRIu64 " breaks, %" PRIu64
                " wrong targets\n",
                !good        ? "not ok"
                : audit.lost ? "not whole"
                             : "ok",
                audit.branches, audit.events, audit.unseen, audit.lost, audit.broken,
                audit.wrong_target);
    session->partial |= !good;
    return true;
}
