/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of addresses kept in order: cut out, put in, joined again. */
#include "guest/mappings.h"

#include "hw/string.h"

/* The first range that ends behind the address; m->count when there is none. */
static unsigned first_behind(const struct mappings *m, uint64_t address)
{
    unsigned low = 0, high = m->count;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (m->range[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t address)
{
    unsigned at = first_behind(m, address);

    return at < m->count && m->range[at].start <= address ? &m->range[at] : NULL;
}

/* Replaces ranges [at, at + old) by `fresh` new ones, whose content the caller writes. */
static void replace(struct mappings *m, unsigned at, unsigned old, unsigned fresh)
{
    memmove(&m->range[at + fresh], &m->range[at + old],
            (m->count - at - old) * sizeof(m->range[0]));
    m->count += fresh - old;
}

/* Cuts the range out; where it was, a new one may be put. */
static unsigned cut(struct mappings *m, uint64_t start, uint64_t end)
{
    unsigned at = first_behind(m, start), old = 0, fresh = 0;
    struct mapping left = {0}, right = {0};

    while (at + old < m->count && m->range[at + old].start < end)
        old++;
    if (old > 0) {
        left = m->range[at];
        right = m->range[at + old - 1];
    }
    left.end = start;
    right.start = end;
    fresh = (old && left.start < start) + (old && right.end > end);
    replace(m, at, old, fresh);
    if (old && right.end > end)
        m->range[at + fresh - 1] = right;
    if (!old || left.start >= start)
        return at;
    m->range[at] = left;
    return at + 1;
}

/* Joins the range with the one behind it where they touch and are alike. */
static void join(struct mappings *m, unsigned at)
{
    struct mapping *range = &m->range[at];

    if (at + 1 >= m->count || range[0].end != range[1].start ||
        range[0].rights != range[1].rights)
        return;
    range[0].end = range[1].end;
    replace(m, at + 1, 1, 0);
}

bool mappings_set(struct mappings *m, uint64_t start, uint64_t end, unsigned rights)
{
    unsigned at;

    if (start >= end || m->count >= MAPPINGS_MOST)
        return false;
    at = cut(m, start, end);
    replace(m, at, 0, 1);
    m->range[at] = (struct mapping){start, end, rights};
    join(m, at);
    if (at > 0)
        join(m, at - 1);
    return true;
}

bool mappings_clear(struct mappings *m, uint64_t start, uint64_t end)
{
    if (start >= end || m->count >= MAPPINGS_MOST)
        return false;
    cut(m, start, end);
    return true;
}

bool mappings_cover(const struct mappings *m, uint64_t start, uint64_t end)
{
    for (unsigned at = first_behind(m, start); start < end; at++) {
        if (at == m->count || m->range[at].start > start)
            return false;
        start = m->range[at].end;
    }
    return true;
}

bool mappings_free(const struct mappings *m, uint64_t start, uint64_t end)
{
    unsigned at = first_behind(m, start);

    return at == m->count || m->range[at].start >= end;
}

uint64_t mappings_gap(const struct mappings *m, uint64_t bytes, uint64_t low, uint64_t high)
{
    for (unsigned at = first_behind(m, low); low < high && bytes <= high - low; at++) {
        if (at == m->count || m->range[at].start >= low + bytes)
            return low;
        low = m->range[at].end;
    }
    return 0;
}
