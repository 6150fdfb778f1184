/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens an ELF file for wtr: what is loaded where, and the build-id.
 */
#include "harness/wtr/core/program.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *read_segments(struct program *program, const GElf_Ehdr *elf)
{
    size_t count;
    uint64_t total = 0;

    /* libelf counts none where they lie outside the file. */
    if (elf_getphdrnum(program->elf, &count) != 0 || (!count && elf->e_phnum))
        return "its program headers cannot be read; build or copy it again";
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        struct segment *segment;

        if (!gelf_getphdr(program->elf, (int)i, &header))
            return "its program headers cannot be read; build or copy it again";
        if (header.p_type != PT_LOAD || !header.p_memsz)
            continue;
        if (header.p_offset > program->size ||
            header.p_filesz > program->size - header.p_offset ||
            header.p_filesz > header.p_memsz ||
            header.p_vaddr + header.p_memsz < header.p_vaddr)
            return "a segment lies outside the file; build or copy it again";
        segment = PUSH(&program->segments);
        segment->start = header.p_vaddr;
        segment->end = header.p_vaddr + header.p_memsz;
        segment->file_offset = header.p_offset;
        segment->flags = header.p_flags;
        segment->bytes = program->bytes + header.p_offset;
        segment->file_bytes = header.p_filesz;
        /* Many segments of the same bytes would cost more memory than the file is worth. */
        total += header.p_filesz;
        if (total > 2 * (uint64_t)program->size)
            return "its segments overlap; build or copy it again";
    }
    return program->segments.count ? NULL : "it has nothing to load; give the linked program";
}

static void take_build_id(struct program *program, Elf_Data *data)
{
    size_t at = 0, name_at, text_at;
    GElf_Nhdr note;

    while (data && (at = gelf_getnote(data, at, &note, &name_at, &text_at)) > 0) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            memcmp((char *)data->d_buf + name_at, "GNU", 4) != 0 || note.n_descsz == 0 ||
            note.n_descsz > BUILD_ID_MAX)
            continue;
        memcpy(program->build_id, (char *)data->d_buf + text_at, note.n_descsz);
        program->build_id_bytes = note.n_descsz;
        return;
    }
}

static void read_build_id(struct program *program)
{
    size_t count;

    if (elf_getphdrnum(program->elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && !program->build_id_bytes; i++) {
        GElf_Phdr header;

        if (gelf_getphdr(program->elf, (int)i, &header) && header.p_type == PT_NOTE)
            take_build_id(program, elf_getdata_rawchunk(
                                       program->elf, (int64_t)header.p_offset, header.p_filesz,
                                       header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
    }
}

static const char *read_elf(struct program *program)
{
    GElf_Ehdr header;
    const char *why;

    if (program->size < SELFMAG || memcmp(program->bytes, ELFMAG, SELFMAG) != 0)
        return "not an ELF file; give the program that was traced";
    program->elf = elf_memory((char *)program->bytes, program->size);
    if (!program->elf || !gelf_getehdr(program->elf, &header))
        return "a damaged ELF file; build or copy it again";
    if (gelf_getclass(program->elf) != ELFCLASS64 || header.e_machine != EM_X86_64)
        return "not an x86-64 program; give the one that was traced";
    program->entry = header.e_entry;
    why = read_segments(program, &header);
    if (why)
        return why;
    read_build_id(program);
    symbols_read(program);
    lines_read(program);
    sweep(program);
    return NULL;
}

const char *program_adopt(struct program *program, const char *path, uint8_t *bytes,
                          size_t size)
{
    const char *why;
    char *absolute = realpath(path, NULL);

    *program = (struct program){.bytes = bytes, .size = size};
    program->path = absolute ? absolute : text_copy(path, strlen(path));
    elf_version(EV_CURRENT);
    why = read_elf(program);
    if (why)
        program_close(program);
    return why;
}

const char *program_open(struct program *program, const char *path)
{
    const char *why;
    size_t size;
    uint8_t *bytes = file_read(path, &size, &why);

    return bytes ? program_adopt(program, path, bytes, size) : why;
}

void program_close(struct program *program)
{
    if (program->dwarf)
        dwarf_end(program->dwarf);
    if (program->elf)
        elf_end(program->elf);
    for (size_t i = 0; i < program->segments.count; i++) {
        free(program->segments.items[i].starts);
        free(program->segments.items[i].stops);
        free(program->segments.items[i].starts_before);
        free(program->segments.items[i].stops_before);
    }
    for (size_t i = 0; i < program->files.count; i++)
        free(program->files.items[i]);
    free(program->segments.items);
    free(program->symbols.items);
    free(program->lines.items);
    free(program->files.items);
    free(program->path);
    free(program->bytes);
    *program = (struct program){0};
}

struct segment *program_segment(struct program *program, uint64_t address)
{
    for (size_t i = 0; i < program->segments.count; i++) {
        struct segment *segment = &program->segments.items[i];

        if (address >= segment->start && address < segment->end)
            return segment;
    }
    return NULL;
}
