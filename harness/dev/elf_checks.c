/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the declarations of checks out of the linked image. A pointer there is an address of
 * the image linked at 0, and stands in the file as it is: packed relocations (DT_RELR) keep
 * their addends in place.
 */
#include "harness/dev/elf_checks.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char *bytes;
    size_t size;
} file;

static bool read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    bool good = stream && fseek(stream, 0, SEEK_END) == 0;

    if (good) {
        file.size = (size_t)ftell(stream);
        rewind(stream);
        /* A last byte of 0 ends every text. */
        file.bytes = calloc(1, file.size + 1);
        good = file.bytes && fread(file.bytes, 1, file.size, stream) == file.size &&
               file.size > sizeof(Elf64_Ehdr) && memcmp(file.bytes, ELFMAG, SELFMAG) == 0;
    }
    if (stream)
        fclose(stream);
    return good;
}

/* Where the file holds what is at an address of the image; NULL when it does not. */
static void *at(uint64_t address, size_t bytes)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file.bytes;

    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *p = (const Elf64_Phdr *)(file.bytes + header->e_phoff) + i;

        if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
            address + bytes <= p->p_vaddr + p->p_filesz &&
            p->p_offset + p->p_filesz <= file.size)
            return file.bytes + p->p_offset + (address - p->p_vaddr);
    }
    return NULL;
}

/* The value of a symbol, which may be local to the image; 0 when there is none. */
static uint64_t symbol(const char *name)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file.bytes;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(file.bytes + header->e_shoff);

    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Sym *symbols = (const Elf64_Sym *)(file.bytes + sections[i].sh_offset);
        const char *names = file.bytes + sections[sections[i].sh_link].sh_offset;

        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        for (size_t k = 0; k < sections[i].sh_size / sizeof(*symbols); k++)
            if (strcmp(names + symbols[k].st_name, name) == 0)
                return symbols[k].st_value;
    }
    return 0;
}

static bool follow(const char **text)
{
    *text = at((uint64_t)(uintptr_t)*text, 1);
    return *text;
}

size_t elf_checks(const char *path, const struct check **checks, size_t room)
{
    size_t count = 0;
    uint64_t address, end;

    if (!read_file(path)) {
        fprintf(stderr, "%s: cannot be read, or is no ELF file\n", path);
        return 0;
    }
    address = symbol("__checks_start");
    end = symbol("__checks_end");
    for (; address < end && count < room; address += sizeof(uint64_t)) {
        const uint64_t *pointer = at(address, sizeof(*pointer));
        struct check *check = pointer ? at(*pointer, sizeof(*check)) : NULL;

        if (!check || !follow(&check->name) || !follow(&check->clauses) ||
            !follow(&check->group) || !follow(&check->file)) {
            fprintf(stderr, "%s: the list of checks is damaged at 0x%lx\n", path, address);
            return 0;
        }
        checks[count++] = check;
    }
    if (count == 0)
        fprintf(stderr, "%s: has no checks\n", path);
    return count;
}
