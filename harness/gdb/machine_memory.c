/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of the program that is debugged. */
#include "harness/gdb/machine.h"

#include "hw/string.h"

/* --- memory: by the program's mappings, so that nothing can fault */

/* The byte at an address of ring 3, NULL when it has none there; *room up to the page's end. */
static uint8_t *byte_at(struct gdb_machine *m, uint64_t address, size_t *room)
{
    *room = PAGE_BYTES - (address & (PAGE_BYTES - 1));
    return program_byte(&m->program, address, 0);
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

/* What nobody may touch is reserved, and nothing is there. */
bool gdb_machine_mapping(void *context, uint64_t from, struct gdb_mapping *to)
{
    const struct gdb_machine *m = context;
    const struct mappings *all = &m->program.mappings;

    for (unsigned i = 0; i < all->count; i++) {
        const struct mapping *range = &all->range[i];

        if (range->end <= from || !range->rights)
            continue;
        *to = (struct gdb_mapping){.start = range->start,
                                   .end = range->end,
                                   .write = range->rights & ELF_WRITE,
                                   .execute = range->rights & ELF_EXECUTE};
        return true;
    }
    return false;
}
