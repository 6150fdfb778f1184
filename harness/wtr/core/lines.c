/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source lines of an ELF file, from DWARF through libdw, as one table by address.
 */
#include "harness/wtr/core/program.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Names are compared by content: compilation units repeat them. */
struct file_names {
    struct map by_hash;
    struct program *program;
    const char *last; /* as libdw gave it, in the unit at hand */
    uint32_t last_number;
};

static uint64_t hash_name(const char *name)
{
    uint64_t hash = 14695981039346656037ull;

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 1099511628211ull;
    return hash;
}

static uint32_t file_number(struct file_names *names, const char *name)
{
    uint64_t hash = hash_name(name);
    uint32_t *found;

    /* Two names of one hash: the next number is tried. */
    while (*(found = map_at(&names->by_hash, hash)) != MAP_NEW) {
        if (strcmp(names->program->files.items[*found], name) == 0)
            return *found;
        hash++;
    }
    *found = (uint32_t)names->program->files.count;
    *PUSH(&names->program->files) = text_copy(name, strlen(name));
    return *found;
}

static char *full_name(Dwarf_Die *unit, const char *name)
{
    Dwarf_Attribute attribute;
    const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    char *full;

    while (strncmp(name, "./", 2) == 0)
        name += 2;
    if (name[0] == '/' || !folder || strcmp(folder, ".") == 0)
        return text_copy(name, strlen(name));
    full = allocate(strlen(folder) + strlen(name) + 2, 1);
    strcpy(full, folder);
    strcat(full, "/");
    strcat(full, name);
    return full;
}

static void take_line(struct file_names *names, Dwarf_Die *unit, Dwarf_Line *stored)
{
    struct line line = {0};
    Dwarf_Addr address;
    int number = 0;
    bool ends = false;
    const char *name = dwarf_linesrc(stored, NULL, NULL);

    if (dwarf_lineaddr(stored, &address) != 0 || dwarf_lineno(stored, &number) != 0 ||
        dwarf_lineendsequence(stored, &ends) != 0 || !name)
        return;
    dwarf_linebeginstatement(stored, &line.statement);
    if (name != names->last) {
        char *full = full_name(unit, name);

        names->last_number = file_number(names, full);
        names->last = name;
        free(full);
    }
    line.address = address;
    line.file = names->last_number;
    line.number = ends || number < 0 ? 0 : (uint32_t)number;
    *PUSH(&names->program->lines) = line;
}

/* At one address the end of one sequence comes before the start of another. */
static int by_address(const void *left, const void *right)
{
    const struct line *a = left, *b = right;

    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->number != 0) - (b->number != 0);
}

/* A merge sort keeps the order of equal lines: the last one at an address is the one meant. */
static void sort_lines(struct line *lines, struct line *spare, size_t count)
{
    size_t half = count / 2, left = 0, right = half;

    if (count < 2)
        return;
    sort_lines(lines, spare, half);
    sort_lines(lines + half, spare, count - half);
    for (size_t i = 0; i < count; i++) {
        bool take_left =
            right == count || (left < half && by_address(&lines[left], &lines[right]) <= 0);

        spare[i] = lines[take_left ? left++ : right++];
    }
    memcpy(lines, spare, count * sizeof *lines);
}

void lines_read(struct program *program)
{
    struct file_names names = {.program = program};
    Dwarf_Off offset = 0, next;
    size_t header_bytes;
    struct line *spare;

    program->dwarf = dwarf_begin_elf(program->elf, DWARF_C_READ, NULL);
    while (program->dwarf &&
           dwarf_nextcu(program->dwarf, offset, &next, &header_bytes, NULL, NULL, NULL) == 0) {
        Dwarf_Die unit;
        Dwarf_Lines *lines;
        size_t count;

        names.last = NULL;
        if (dwarf_offdie(program->dwarf, offset + header_bytes, &unit) &&
            dwarf_getsrclines(&unit, &lines, &count) == 0) {
            for (size_t i = 0; i < count; i++)
                take_line(&names, &unit, dwarf_onesrcline(lines, i));
        }
        offset = next;
    }
    map_free(&names.by_hash);
    spare = allocate(program->lines.count, sizeof *spare);
    sort_lines(program->lines.items, spare, program->lines.count);
    free(spare);
}

const struct line *program_line(const struct program *program, uint64_t address)
{
    const struct line *all = program->lines.items;
    size_t low = 0, high = program->lines.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (all[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && all[low - 1].number ? &all[low - 1] : NULL;
}
