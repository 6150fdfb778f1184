/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of the program that is debugged. */
#include "harness/gdb/machine.h"

#include "hw/string.h"

#define USER_END 0x800000000000ull

/* --- memory: by a walk of the program's tables, so that nothing can fault */

/* The byte at an address of ring 3, NULL when it has none there; *room up to the page's end. */
static uint8_t *byte_at(const struct gdb_machine *m, uint64_t address, size_t *room)
{
    struct paging_walk walk;

    if (!paging_walk(m->program.space.cr3, address, &walk) || !(walk.flags & PAGE_USER))
        return NULL;
    *room = PAGE_BYTES - (address & (PAGE_BYTES - 1));
    return (uint8_t *)walk.phys;
}

size_t gdb_machine_read(void *context, uint64_t address, void *to, size_t count)
{
    size_t done = 0, room;

    while (done < count) {
        const uint8_t *from = byte_at(context, address + done, &room);

        if (!from)
            break;
        if (room > count - done)
            room = count - done;
        memcpy((uint8_t *)to + done, from, room);
        done += room;
    }
    return done;
}

bool gdb_machine_write(void *context, uint64_t address, const void *from, size_t count)
{
    size_t done = 0, room;

    while (done < count) {
        uint8_t *to = byte_at(context, address + done, &room);

        if (!to)
            return false;
        if (room > count - done)
            room = count - done;
        memcpy(to, (const uint8_t *)from + done, room);
        done += room;
    }
    return true;
}

/* --- what there is of it */

/* The page of ring 3 at an address: false when there is none; *next is where to look then. */
static bool page_at(const struct gdb_machine *m, uint64_t at, struct gdb_mapping *page,
                    uint64_t *next)
{
    struct paging_walk walk;
    bool there = paging_walk(m->program.space.cr3, at, &walk) && (walk.flags & PAGE_USER);

    *next = walk.bytes ? (at | (walk.bytes - 1)) + 1 : USER_END;
    *page = (struct gdb_mapping){.start = at,
                                 .end = *next,
                                 .write = walk.flags & PAGE_WRITE,
                                 .execute = !(walk.flags & PAGE_NX)};
    return there;
}

bool gdb_machine_mapping(void *context, uint64_t from, struct gdb_mapping *to)
{
    const struct gdb_machine *m = context;
    struct gdb_mapping page;
    uint64_t at = from & ~(PAGE_BYTES - 1);

    while (at < USER_END && !page_at(m, at, to, &at))
        ;
    if (at >= USER_END)
        return false;
    while (at < USER_END && page_at(m, at, &page, &at) && page.write == to->write &&
           page.execute == to->execute)
        to->end = page.end;
    /* A debugger that asks for an address inside wants to know where all of it begins. */
    while (to->start > 0 && page_at(m, to->start - PAGE_BYTES, &page, &at) &&
           page.write == to->write && page.execute == to->execute && page.end == to->start)
        to->start -= PAGE_BYTES;
    return true;
}
