/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr tree`: who called whom, how often, and how many branches and instructions that took.
 * `wtr fold`: the same as one line a stack, for flame graph programs.
 */
#include "harness/wtr/commands/cmd_profile.h"

#include <stdlib.h>
#include <string.h>

static void tree_step(void *context, const struct step *step)
{
    calls_step(context, step);
}

static void tree_last(void *context, const struct step *step)
{
    calls_last(context, step);
}

void calls_of(struct session *session, struct calls *calls)
{
    static const struct flow flow = {.step = tree_step, .last = tree_last};

    calls_open(calls, &session->space, session->options->depth);
    flow_walk(&session->space, &flow, session->options->task, calls);
    calls_sum(calls);
}

static void put_node(struct session *session, const struct node *node, uint64_t total)
{
    struct text *text = &session->text;

    text_columns(text, node->all_branches, 12);
    text_columns(text, node->branches, 12);
    text_columns(text, node->all_instructions, 14);
    text_columns(text, node->calls, 10);
    text_format(text, " %5.1f%%  ",
                total ? 100.0 * (double)node->all_branches / (double)total : 0.0);
    for (uint32_t i = 0; i < node->depth; i++)
        text_string(text, "  ");
    text_string(text, session->space.functions.items[node->function].name);
    text_char(text, '\n');
}

/* Depth first without recursion: down, else along, else up and along. */
static void put_below(struct session *session, const struct calls *calls, uint32_t root)
{
    const struct node *nodes = calls->nodes.items;
    uint32_t at = root;

    for (;;) {
        put_node(session, &nodes[at], nodes[root].all_branches);
        if (nodes[at].first_child != NO_NODE) {
            at = nodes[at].first_child;
            continue;
        }
        while (at != root && nodes[at].next_sibling == NO_NODE)
            at = nodes[at].parent;
        if (at == root)
            return;
        at = nodes[at].next_sibling;
    }
}

bool command_tree(struct session *session)
{
    struct calls calls;

    calls_of(session, &calls);
    text_string(&session->text, "    branches      itself  instructions     calls  share  "
                                "function\n");
    for (uint32_t i = 0; i < calls.nodes.count; i++) {
        if (calls.nodes.items[i].parent == NO_NODE)
            put_below(session, &calls, i);
    }
    if (calls.unwound || calls.unmatched)
        text_format(&session->text,
                    "# %lu frames left without a return, %lu returns to a caller not seen\n",
                    calls.unwound, calls.unmatched);
    calls_close(&calls);
    return true;
}

static uint64_t weight_of(const struct node *node, const char *weight)
{
    if (strcmp(weight, "calls") == 0)
        return node->calls;
    return strcmp(weight, "branches") == 0 ? node->branches : node->instructions;
}

static void put_stack(struct session *session, const struct calls *calls, uint32_t at)
{
    const char *names[DEPTH_LIMIT + 1];
    size_t count = 0;

    for (; at != NO_NODE; at = calls->nodes.items[at].parent)
        names[count++] = session->space.functions.items[calls->nodes.items[at].function].name;
    while (count-- > 0) {
        text_string(&session->text, names[count]);
        text_char(&session->text, count ? ';' : ' ');
    }
}

/* Asked for, or the only thing there is. */
static bool folds_samples(const struct session *session, const char *weight)
{
    if (weight)
        return strcmp(weight, "samples") == 0 || strcmp(weight, "events") == 0;
    return session->trace.kinds[WTR_SAMPLES] && !session->trace.branches;
}

bool command_fold(struct session *session)
{
    struct calls calls;
    const char *weight = session->options->weight;
    uint64_t instructions = 0;

    if (folds_samples(session, weight)) {
        profile_fold(session, weight && strcmp(weight, "samples") == 0);
        return true;
    }
    calls_of(session, &calls);
    for (uint32_t i = 0; i < calls.nodes.count; i++)
        instructions += calls.nodes.items[i].instructions;
    if (!weight)
        weight = instructions ? "instructions" : "branches";
    for (uint32_t i = 0; i < calls.nodes.count; i++) {
        uint64_t own = weight_of(&calls.nodes.items[i], weight);

        if (!own)
            continue;
        put_stack(session, &calls, i);
        text_decimal(&session->text, own);
        text_char(&session->text, '\n');
    }
    calls_close(&calls);
    return true;
}
