/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a program. A range is the program's by its mappings; a page comes when it is
 * touched, by the program or for it. Pages are reached through their identity address; the
 * program's own addresses may cover that of other frames, not of its own.
 */
#include "guest/program_parts.h"

#include "hw/overlay.h"
#include "hw/regs.h"
#include "hw/string.h"

#define PAGE_OFFSET(address) ((address) & (PAGE_BYTES - 1))
#define ANY_RIGHT            (ELF_READ | ELF_WRITE | ELF_EXECUTE)

/* A page without rights stays where it is and is not present. */
static unsigned page_flags(unsigned rights)
{
    /* A and D are preset: whoever sets them first must not show in a trace. */
    unsigned flags = PAGE_PRESENT | PAGE_USER | PAGE_ACCESSED;

    if (!(rights & ANY_RIGHT))
        return 0;
    flags |= rights & ELF_WRITE ? PAGE_WRITE | PAGE_DIRTY : 0;
    return flags | (rights & ELF_EXECUTE ? 0 : PAGE_NX);
}

static uint8_t *page_at(const struct program *p, uint64_t address)
{
    return overlay_page(&p->space, address, NULL);
}

static bool new_page(struct program *p, uint64_t address, unsigned rights)
{
    void *page = page_alloc();

    if (!page)
        return false;
    if (overlay_map(&p->space, address & ~(PAGE_BYTES - 1), (uint64_t)page, page_flags(rights)))
        return true;
    page_free(page);
    return false;
}

/* Everything that can be read can be read for the program; x86 has no page to write only. */
static bool may(unsigned rights, unsigned wanted)
{
    return wanted == ELF_READ ? rights & ANY_RIGHT : (rights & wanted) == wanted;
}

bool program_bring(struct program *p, uint64_t address, unsigned rights)
{
    const struct mapping *m = mappings_find(&p->mappings, address);

    return m && may(m->rights, rights) && !page_at(p, address) &&
           new_page(p, address, m->rights);
}

uint8_t *program_byte(struct program *p, uint64_t address, unsigned rights)
{
    const struct mapping *m = mappings_find(&p->mappings, address);
    uint8_t *page;

    if (!m || !may(m->rights, rights))
        return NULL;
    page = page_at(p, address);
    if (!page && new_page(p, address, m->rights))
        page = page_at(p, address);
    return page ? page + PAGE_OFFSET(address) : NULL;
}

static bool copy(struct program *p, uint64_t at, void *own, size_t bytes, bool write)
{
    uint8_t *mine = own;

    while (bytes > 0) {
        size_t room = PAGE_BYTES - PAGE_OFFSET(at), part = bytes < room ? bytes : room;
        uint8_t *theirs = program_byte(p, at, write ? ELF_WRITE : ELF_READ);

        if (!theirs)
            return false;
        memcpy(write ? theirs : mine, write ? mine : theirs, part);
        at += part;
        mine += part;
        bytes -= part;
    }
    return true;
}

bool program_read(struct program *p, void *to, uint64_t from, size_t bytes)
{
    return copy(p, from, to, bytes, false);
}

bool program_write(struct program *p, uint64_t to, const void *from, size_t bytes)
{
    return copy(p, to, (void *)from, bytes, true);
}

int program_text(struct program *p, char *to, uint64_t from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (!program_read(p, to + i, from + i, 1))
            return PROGRAM_EFAULT;
        if (!to[i])
            return 0;
    }
    return PROGRAM_ENAMETOOLONG;
}

void program_unmap(struct program *p, uint64_t start, uint64_t bytes)
{
    uint64_t end = start + bytes;

    for (uint64_t at = overlay_next(&p->space, start, end); at < end;
         at = overlay_next(&p->space, at + PAGE_BYTES, end)) {
        void *page = page_at(p, at);

        overlay_unmap(&p->space, at);
        page_free(page);
    }
}

void program_protect(struct program *p, uint64_t start, uint64_t bytes, unsigned rights)
{
    uint64_t end = start + bytes;

    for (uint64_t at = overlay_next(&p->space, start, end); at < end;
         at = overlay_next(&p->space, at + PAGE_BYTES, end))
        overlay_map(&p->space, at, (uint64_t)page_at(p, at), page_flags(rights));
}

bool program_move(struct program *p, uint64_t to, uint64_t from, uint64_t bytes)
{
    uint64_t end = from + bytes;

    for (uint64_t at = overlay_next(&p->space, from, end); at < end;
         at = overlay_next(&p->space, at + PAGE_BYTES, end)) {
        unsigned flags;
        void *page = overlay_page(&p->space, at, &flags);

        if (!overlay_map(&p->space, at - from + to, (uint64_t)page, flags))
            return false;
        overlay_unmap(&p->space, at);
    }
    return true;
}

/* --- the file */

/* Works on pages that the program itself may only read. */
static bool fill(struct program *p, uint64_t to, const uint8_t *from, uint64_t bytes)
{
    while (bytes > 0) {
        uint64_t room = PAGE_BYTES - PAGE_OFFSET(to), part = bytes < room ? bytes : room;
        uint8_t *page = page_at(p, to);

        if (!page && new_page(p, to, ELF_READ))
            page = page_at(p, to);
        if (!page)
            return false;
        memcpy(page + PAGE_OFFSET(to), from, part);
        to += part;
        from += part;
        bytes -= part;
    }
    return true;
}

/* In rising order: of a page that two segments share the higher one decides, as with Linux. */
static bool load(struct program *p)
{
    for (unsigned i = 0; i < p->plan.count; i++) {
        const struct elf_segment *s = &p->plan.segments[i];
        uint64_t start = s->start & ~(PAGE_BYTES - 1);
        uint64_t end = (s->start + s->bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);

        if (!mappings_set(&p->mappings, start, end, s->flags & ANY_RIGHT) ||
            !fill(p, s->start, p->start.file + s->file_offset, s->file_bytes))
            return false;
        program_protect(p, start, end - start, s->flags & ANY_RIGHT);
    }
    return true;
}

/* Below the stack one page stays nobody's, so that a stack that is too deep ends by a fault. */
static bool reserve_stack(struct program *p)
{
    uint64_t lowest = PROGRAM_STACK_TOP - PROGRAM_STACK_BYTES;
    unsigned rights = ELF_READ | ELF_WRITE | (p->plan.stack_executes ? ELF_EXECUTE : 0);

    return mappings_set(&p->mappings, lowest - PAGE_BYTES, lowest, 0) &&
           mappings_set(&p->mappings, lowest, PROGRAM_STACK_TOP, rights);
}

bool program_load(struct program *p)
{
    return paging_space_create(&p->space) && load(p) && reserve_stack(p);
}
