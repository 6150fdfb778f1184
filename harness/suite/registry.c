/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of checks, in run order. */
#include "harness/suite/registry.h"

#include "hw/string.h"

extern const struct check *const __checks_start[], *const __checks_end[];

static struct result results[CHECKS_MAX];
static size_t total, selected;
static struct result trials[CHECKS_MAX];
static size_t trial_count;

/* Group first ("NN title"), then the place in the file. */
static int order(const struct check *a, const struct check *b)
{
    int by_group = strcmp(a->group, b->group);
    int by_file = strcmp(a->file, b->file);

    if (by_group)
        return by_group;
    return by_file ? by_file : a->line - b->line;
}

static void insert_sorted(const struct check *check)
{
    size_t at = total++;

    for (; at > 0 && order(check, results[at - 1].check) < 0; at--)
        results[at] = results[at - 1];
    results[at] = (struct result){.check = check};
}

static void number(void)
{
    selected = 0;
    for (size_t i = 0; i < total; i++)
        if (results[i].selected)
            results[i].number = (unsigned)++selected;
}

/* Fisher and Yates, on a linear congruence whose upper half is used. */
void registry_shuffle(uint64_t seed)
{
    uint64_t state = seed * 2654435761u + 1;

    for (size_t left = total; left > 1; left--) {
        struct result held = results[left - 1];
        size_t with;

        state = state * 6364136223846793005u + 1442695040888963407u;
        with = (size_t)((state >> 32) % left);
        results[left - 1] = results[with];
        results[with] = held;
    }
    number();
}

size_t registry_init(const struct options *options)
{
    total = selected = trial_count = 0;
    for (const struct check *const *c = __checks_start; c < __checks_end; c++)
        insert_sorted(*c);
    for (size_t i = 0; i < total; i++) {
        struct result *r = &results[i];

        r->selected = !options->run[0] || glob_list_match(options->run, r->check->name);
        r->skip_by_option = options->skip[0] && glob_list_match(options->skip, r->check->name);
    }
    if (options->order_given)
        registry_shuffle(options->order);
    number();
    return selected;
}

static bool names_some(const char *glob)
{
    for (size_t i = 0; i < total; i++)
        if (glob_list_match(glob, results[i].check->name))
            return true;
    return false;
}

bool registry_unknown(const char *globs, char *text, size_t bytes)
{
    size_t used = 0;

    for (;; globs++) {
        if (*globs && *globs != ',') {
            if (used + 1 < bytes)
                text[used++] = *globs;
            continue;
        }
        text[used] = 0;
        if (used > 0 && !names_some(text))
            return true;
        if (!*globs)
            return false;
        used = 0;
    }
}

size_t registry_total(void)
{
    return total;
}

size_t registry_selected(void)
{
    return selected;
}

struct result *registry_at(size_t index)
{
    return &results[index];
}

bool registry_add_trial(const struct check *trial)
{
    if (trial_count == CHECKS_MAX)
        return false;
    trials[trial_count] =
        (struct result){.check = trial, .selected = true, .number = (unsigned)trial_count + 1};
    trial_count++;
    return true;
}

size_t registry_reported(void)
{
    return trial_count ? trial_count : selected;
}

struct result *registry_report_at(size_t index)
{
    if (trial_count)
        return &trials[index];
    for (size_t i = 0; i < total; i++)
        if (results[i].selected && index-- == 0)
            return &results[i];
    return NULL;
}
