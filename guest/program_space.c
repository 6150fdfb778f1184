/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a program: segments, stack, heap. Pages are reached through their identity
 * address; the program's own addresses may cover that of other frames, not of its own.
 */
#include "guest/program_parts.h"

#include "hw/overlay.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/user.h"

#define PAGE_OFFSET(address) ((address) & (PAGE_BYTES - 1))

/* Auxiliary vector: System V ABI, AMD64 supplement, "Process Initialization". */
enum { AT_NULL, AT_PHDR = 3, AT_PHENT = 4, AT_PHNUM = 5, AT_PAGESZ = 6, AT_ENTRY = 9 };
enum { AT_SECURE = 23, AT_RANDOM = 25 };
#define PROGRAM_HEADER_BYTES 56

/* The page's identity address, NULL when ring 3 has none there. */
static uint8_t *page_at(const struct program *p, uint64_t linear, unsigned *flags)
{
    struct paging_walk walk;

    if (!paging_walk(p->space.cr3, linear, &walk) || !(walk.flags & PAGE_USER))
        return NULL;
    if (flags)
        *flags = walk.flags;
    return (uint8_t *)(walk.phys & ~(PAGE_BYTES - 1));
}

unsigned program_page_flags(unsigned elf_flags)
{
    /* A and D are preset: whoever sets them first must not show in a trace. */
    unsigned flags = PAGE_PRESENT | PAGE_USER | PAGE_ACCESSED;

    if (!(elf_flags & (ELF_READ | ELF_WRITE | ELF_EXECUTE)))
        return 0;
    flags |= elf_flags & ELF_WRITE ? PAGE_WRITE | PAGE_DIRTY : 0;
    return flags | (elf_flags & ELF_EXECUTE ? 0 : PAGE_NX);
}

bool program_map(struct program *p, uint64_t start, uint64_t bytes, unsigned flags)
{
    for (uint64_t at = start - PAGE_OFFSET(start); at < start + bytes; at += PAGE_BYTES) {
        void *page;

        if (page_at(p, at, NULL))
            continue;
        page = page_alloc();
        if (!page)
            return false;
        if (!overlay_map(&p->space, at, (uint64_t)page, flags)) {
            page_free(page);
            return false;
        }
    }
    return true;
}

void program_unmap(struct program *p, uint64_t start, uint64_t bytes)
{
    for (uint64_t at = start - PAGE_OFFSET(start); at < start + bytes; at += PAGE_BYTES) {
        void *page = page_at(p, at, NULL);

        if (!page)
            continue;
        overlay_unmap(&p->space, at);
        page_free(page);
    }
}

bool program_protect(struct program *p, uint64_t start, uint64_t bytes, unsigned flags)
{
    for (uint64_t at = start - PAGE_OFFSET(start); at < start + bytes; at += PAGE_BYTES) {
        void *page = page_at(p, at, NULL);

        if (!page || !overlay_map(&p->space, at, (uint64_t)page, flags))
            return false;
    }
    return true;
}

bool program_readable(const struct program *p, uint64_t start, uint64_t bytes)
{
    if (start + bytes < start)
        return false;
    for (uint64_t at = start - PAGE_OFFSET(start); at < start + bytes; at += PAGE_BYTES)
        if (!page_at(p, at, NULL))
            return false;
    return true;
}

bool program_grow_stack(struct program *p, uint64_t address)
{
    uint64_t lowest = PROGRAM_STACK_TOP - PROGRAM_STACK_BYTES;

    return address - lowest < PROGRAM_STACK_BYTES && !page_at(p, address, NULL) &&
           program_map(p, address, 1, program_page_flags(ELF_READ | ELF_WRITE));
}

/* Works before the space is loaded, and on pages that ring 3 may only read. */
static void copy_in(struct program *p, uint64_t to, const void *from, uint64_t count)
{
    const uint8_t *bytes = from;

    while (count > 0) {
        uint64_t offset = PAGE_OFFSET(to), room = PAGE_BYTES - offset;
        uint64_t now = count < room ? count : room;

        memcpy(page_at(p, to, NULL) + offset, bytes, now);
        to += now;
        bytes += now;
        count -= now;
    }
}

/* Pages without access are left out; a page of two segments belongs to equal ones. */
static bool load(struct program *p, const uint8_t *file)
{
    for (unsigned i = 0; i < p->plan.count; i++) {
        const struct elf_segment *s = &p->plan.segments[i];
        unsigned flags = program_page_flags(s->flags);

        if (!flags)
            continue;
        if (!program_map(p, s->start, s->bytes, flags))
            return false;
        copy_in(p, s->start, file + s->file_offset, s->file_bytes);
    }
    return true;
}

#define STACK_AT_START 0x10000ull /* pages that are there from the start; words, vectors */
#define WORDS_MAX      64

/*
 * From the top down: the words, 16 bytes for AT_RANDOM (always the same: a run can be
 * repeated), auxiliary vector, no environment, pointers to the words, their number.
 */
static bool build_stack(struct program *p, const char *words, unsigned count)
{
    uint64_t vector[1 + WORDS_MAX + 2 + 2 * 9],
        random[2] = {0x243F6A8885A308D3, 0x13198A2E03707344};
    uint64_t at = PROGRAM_STACK_TOP, bytes = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < count; i++)
        bytes += strlen(words + bytes) + 1;
    if (count > WORDS_MAX || bytes > STACK_AT_START / 2 ||
        !program_map(p, at - STACK_AT_START, STACK_AT_START,
                     program_page_flags(ELF_READ | ELF_WRITE)))
        return false;
    at -= bytes;
    p->arguments = at;
    copy_in(p, at, words, bytes);
    vector[n++] = count;
    for (unsigned i = 0; i < count; i++) {
        vector[n++] = at;
        at += strlen(words) + 1;
        words += strlen(words) + 1;
    }
    vector[n++] = 0; /* behind the words */
    vector[n++] = 0; /* the environment */
    at = (p->arguments & ~15ull) - sizeof(random);
    copy_in(p, at, random, sizeof(random));
    const uint64_t auxiliary[][2] = {{AT_PHDR, p->plan.headers},
                                     {AT_PHENT, PROGRAM_HEADER_BYTES},
                                     {AT_PHNUM, p->plan.header_count},
                                     {AT_PAGESZ, PAGE_BYTES},
                                     {AT_ENTRY, p->plan.entry},
                                     {AT_SECURE, 0},
                                     {AT_RANDOM, at},
                                     {AT_NULL, 0}};
    for (unsigned i = 0; i < sizeof(auxiliary) / sizeof(auxiliary[0]); i++) {
        vector[n++] = auxiliary[i][0];
        vector[n++] = auxiliary[i][1];
    }
    at = (at - n * sizeof(vector[0])) & ~15ull;
    copy_in(p, at, vector, n * sizeof(vector[0]));
    user_frame_init(&p->frame, p->plan.entry, at, true);
    return true;
}

bool program_open(struct program *p, const struct elf_plan *plan, const uint8_t *file,
                  const char *words, unsigned count)
{
    p->plan = *plan;
    p->fs_base = 0;
    p->heap = p->heap_end = (plan->end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    p->mapped_end = PROGRAM_MAPPINGS;
    p->end = PROGRAM_PAUSED;
    p->code = 0;
    p->address = p->calls = 0;
    p->avx = p->pause_wanted = p->kill_wanted = false;
    fpu_start(&p->fpu);
    return paging_space_create(&p->space) && load(p, file) && build_stack(p, words, count);
}

void program_close(struct program *p)
{
    if (!p->space.cr3)
        return;
    for (unsigned i = 0; i < p->plan.count; i++)
        program_unmap(p, p->plan.segments[i].start, p->plan.segments[i].bytes);
    program_unmap(p, p->heap, p->heap_end - p->heap);
    program_unmap(p, PROGRAM_MAPPINGS, p->mapped_end - PROGRAM_MAPPINGS);
    program_unmap(p, PROGRAM_STACK_TOP - PROGRAM_STACK_BYTES, PROGRAM_STACK_BYTES);
    overlay_free(&p->space);
    paging_space_destroy(&p->space);
}
