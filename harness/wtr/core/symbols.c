/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of an ELF file, one for each address. Code written in assembly often has
 * labels without type or size: they count where no function covers them, up to the next symbol.
 */
#include "harness/wtr/core/program.h"

#include <stdlib.h>
#include <string.h>

/*
 * Of several names for one address perf takes the one with a size, not weak, global, with the
 * fewest underscores in front, the longest: the same here, so that both tools say the same.
 */
static uint8_t rank_of(const GElf_Sym *symbol)
{
    return (uint8_t)((GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE) << 3 |
                     (symbol->st_size != 0) << 2 |
                     (GELF_ST_BIND(symbol->st_info) != STB_WEAK) << 1 |
                     (GELF_ST_BIND(symbol->st_info) == STB_GLOBAL));
}

static size_t underscores(const char *name)
{
    return strspn(name, "_");
}

static int by_address(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    size_t a_length, b_length;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    if (underscores(a->name) != underscores(b->name))
        return underscores(a->name) < underscores(b->name) ? -1 : 1;
    a_length = strlen(a->name);
    b_length = strlen(b->name);
    if (a_length != b_length)
        return a_length > b_length ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* A symbol without a size reaches no further than its section. */
static uint64_t section_end(const struct program *program, const GElf_Sym *symbol,
                            uint64_t otherwise)
{
    Elf_Scn *section = elf_getscn(program->elf, symbol->st_shndx);
    GElf_Shdr header;

    if (!section || !gelf_getshdr(section, &header) || symbol->st_value < header.sh_addr ||
        symbol->st_value - header.sh_addr >= header.sh_size)
        return otherwise;
    return header.sh_addr + header.sh_size < otherwise ? header.sh_addr + header.sh_size
                                                       : otherwise;
}

static void take_symbol(struct program *program, const GElf_Sym *symbol, const char *name)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    const struct segment *segment = program_segment(program, symbol->st_value);
    struct symbol *taken;

    if (!name || !name[0] || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || !segment ||
        !(segment->flags & PF_X))
        return;
    taken = PUSH(&program->symbols);
    taken->start = symbol->st_value;
    taken->end = section_end(program, symbol, segment->end);
    taken->sized = symbol->st_size != 0;
    if (taken->sized && symbol->st_size < taken->end - taken->start)
        taken->end = taken->start + symbol->st_size;
    taken->name = name;
    taken->function = type != STT_NOTYPE;
    taken->rank = rank_of(symbol);
}

static void take_table(struct program *program, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    GElf_Sym symbol;

    for (size_t i = 0; data && i < count && i <= INT32_MAX; i++) {
        if (!gelf_getsym(data, (int)i, &symbol))
            break;
        take_symbol(program, &symbol,
                    elf_strptr(program->elf, header->sh_link, symbol.st_name));
    }
}

/*
 * Drops second names and labels inside functions, and ends each symbol where the next starts.
 */
static void settle(struct program *program)
{
    struct symbol *all = program->symbols.items;
    size_t kept = 0;
    uint64_t covered = 0;

    for (size_t i = 0; i < program->symbols.count; i++) {
        if (kept && all[kept - 1].start == all[i].start)
            continue;
        if (!all[i].function && all[i].start < covered)
            continue;
        if (all[i].function && all[i].sized && all[i].end > covered)
            covered = all[i].end;
        all[kept++] = all[i];
    }
    program->symbols.count = kept;
    for (size_t i = 0; i + 1 < kept; i++) {
        if (all[i].end > all[i + 1].start)
            all[i].end = all[i + 1].start;
    }
}

/* Code of the linker, such as .plt, has no symbols: then the section gives its name. */
static void name_section(struct program *program, const GElf_Shdr *header, const char *name)
{
    const struct segment *segment = program_segment(program, header->sh_addr);
    struct symbol *taken;

    if (!(header->sh_flags & SHF_EXECINSTR) || header->sh_type != SHT_PROGBITS || !name ||
        !segment || !(segment->flags & PF_X) ||
        header->sh_size > segment->end - header->sh_addr || !header->sh_size)
        return;
    taken = PUSH(&program->symbols);
    taken->start = header->sh_addr;
    taken->end = header->sh_addr + header->sh_size;
    taken->name = name;
}

void symbols_read(struct program *program)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    size_t names;
    bool named = elf_getshdrstrndx(program->elf, &names) == 0;

    while ((section = elf_nextscn(program->elf, section))) {
        if (!gelf_getshdr(section, &header))
            continue;
        if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
            take_table(program, section, &header);
        else if (named)
            name_section(program, &header, elf_strptr(program->elf, names, header.sh_name));
    }
    if (!program->symbols.count)
        return;
    qsort(program->symbols.items, program->symbols.count, sizeof(struct symbol), by_address);
    settle(program);
}

const struct symbol *program_symbol(const struct program *program, uint64_t address)
{
    const struct symbol *all = program->symbols.items;
    size_t low = 0, high = program->symbols.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (all[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < all[low - 1].end ? &all[low - 1] : NULL;
}
