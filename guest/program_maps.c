/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc/self/maps: where a program looks for its own stack. */
#include "guest/program_files.h"

#include "hw/string.h"

static size_t put_hex(char *to, uint64_t value)
{
    size_t digits = 1;

    while (digits < 16 && value >> (4 * digits))
        digits++;
    for (size_t i = digits; i-- > 0; value >>= 4)
        to[i] = "0123456789abcdef"[value & 15];
    return digits;
}

static size_t put_text(char *to, const char *text)
{
    memcpy(to, text, strlen(text));
    return strlen(text);
}

static const char *name_of(const struct program *p, const struct mapping *m)
{
    if (m->end == PROGRAM_STACK_TOP)
        return "[stack]";
    if (m->start == p->heap && p->heap_end > p->heap)
        return "[heap]";
    for (unsigned i = 0; i < p->plan.count; i++)
        if (p->plan.segments[i].start - m->start < m->end - m->start)
            return p->start.path;
    return "";
}

static size_t put_line(const struct program *p, const struct mapping *m, char *to)
{
    const char *name = name_of(p, m);
    size_t used = put_hex(to, m->start);

    to[used++] = '-';
    used += put_hex(to + used, m->end);
    to[used++] = ' ';
    to[used++] = m->rights & ELF_READ ? 'r' : '-';
    to[used++] = m->rights & ELF_WRITE ? 'w' : '-';
    to[used++] = m->rights & ELF_EXECUTE ? 'x' : '-';
    used += put_text(to + used, "p 00000000 00:00 0 ");
    used += put_text(to + used, name);
    to[used++] = '\n';
    return used;
}

struct file_node *program_maps(struct program *p)
{
    static char line[PATH_BYTES];
    struct file_node *node = files_make(&p->files, p->files.root, "/maps", FILE_REGULAR, 0444);
    uint64_t at = 0;

    if (!node)
        return NULL;
    for (unsigned i = 0; i < p->mappings.count; i++)
        at += files_write(node, at, line, put_line(p, &p->mappings.range[i], line));
    node->opens++; /* so that it outlives its name */
    files_remove(&p->files, node);
    node->opens--;
    return node;
}
