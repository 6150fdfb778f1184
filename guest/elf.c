/* SPDX-License-Identifier: BSD-2-Clause */
/* A program file judged: header, program headers, segments, entry, in this order. */
#include "guest/elf.h"

#include "hw/string.h"

#define PAGE 4096ull

/* The file's own structures, all little-endian; copied out, since nothing aligns them. */
struct file_header {
    uint8_t magic[4], class, order, version, abi[9];
    uint16_t type, machine;
    uint32_t version_again;
    uint64_t entry, program_headers, section_headers;
    uint32_t flags;
    uint16_t header_bytes, program_entry_bytes, program_entries;
    uint16_t section_entry_bytes, section_entries, names;
};
_Static_assert(sizeof(struct file_header) == 64, "Elf64_Ehdr");

struct program_header {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_bytes, bytes, alignment;
};
_Static_assert(sizeof(struct program_header) == 56, "Elf64_Phdr");

struct note_header {
    uint32_t name_bytes, bytes, type;
};

enum { CLASS_64 = 2, ORDER_LITTLE = 1, TYPE_EXEC = 2, TYPE_DYN = 3, MACHINE_X86_64 = 62 };
enum { SEGMENT_LOAD = 1, SEGMENT_INTERP = 3, SEGMENT_NOTE = 4 };
enum { SEGMENT_STACK = 0x6474E551 }; /* PT_GNU_STACK: its flags are the stack's */
enum { NOTE_BUILD_ID = 3 };

/* Bytes offset to offset + wanted lie inside count; written so that nothing wraps. */
static bool inside(uint64_t offset, uint64_t wanted, uint64_t count)
{
    return offset <= count && wanted <= count - offset;
}

static enum elf_error judge_header(const uint8_t *file, size_t count, struct file_header *h)
{
    if (count < 4 || memcmp(file, "\177ELF", 4) != 0)
        return ELF_NOT_ELF;
    if (count < sizeof(*h))
        return ELF_TRUNCATED;
    memcpy(h, file, sizeof(*h));
    if (h->class != CLASS_64)
        return ELF_NOT_64_BIT;
    if (h->order != ORDER_LITTLE)
        return ELF_BYTE_ORDER;
    if (h->machine != MACHINE_X86_64)
        return ELF_MACHINE;
    if (h->type != TYPE_EXEC && h->type != TYPE_DYN)
        return ELF_NOT_A_PROGRAM;
    if (h->program_entries == 0)
        return ELF_NO_SEGMENTS;
    if (h->program_entry_bytes != sizeof(struct program_header))
        return ELF_HEADERS;
    if (!inside(h->program_headers,
                (uint64_t)h->program_entries * sizeof(struct program_header), count))
        return ELF_TRUNCATED;
    return ELF_OK;
}

static bool in_range(uint64_t start, uint64_t bytes)
{
    if (start >= ELF_HIGH)
        return inside(start, bytes, ELF_HIGH_END);
    return start >= ELF_LOWEST && inside(start, bytes, ELF_LOW_END);
}

static uint64_t page_down(uint64_t address)
{
    return address & ~(PAGE - 1);
}

static uint64_t page_up(uint64_t address)
{
    return page_down(address + PAGE - 1);
}

static enum elf_error judge_segment(const struct program_header *p, size_t count)
{
    if (p->file_bytes > p->bytes)
        return ELF_SIZES;
    if (!inside(p->offset, p->file_bytes, count))
        return ELF_TRUNCATED;
    if (!in_range(p->address, p->bytes))
        return ELF_RANGE;
    return ELF_OK;
}

/* Kept in order; the file's own order does not matter. */
static enum elf_error add_segment(struct elf_plan *plan, const struct program_header *p)
{
    unsigned at = plan->count;

    if (at == ELF_SEGMENTS_MAX)
        return ELF_MANY_SEGMENTS;
    for (; at > 0 && plan->segments[at - 1].start > p->address; at--)
        plan->segments[at] = plan->segments[at - 1];
    plan->segments[at] = (struct elf_segment){.start = p->address,
                                              .bytes = p->bytes,
                                              .file_offset = p->offset,
                                              .file_bytes = p->file_bytes,
                                              .flags = p->flags & 7};
    plan->count++;
    return ELF_OK;
}

/* A note is a header, its name and its bytes, the last two each rounded up to 4. */
static void find_build_id(struct elf_plan *plan, const uint8_t *at, uint64_t left)
{
    struct note_header note;

    while (left >= sizeof(note)) {
        uint64_t name, bytes;

        memcpy(&note, at, sizeof(note));
        name = (note.name_bytes + 3ull) & ~3ull;
        bytes = (note.bytes + 3ull) & ~3ull;
        if (!inside(sizeof(note) + name, bytes, left))
            return;
        if (note.type == NOTE_BUILD_ID && note.name_bytes == 4 &&
            note.bytes <= ELF_BUILD_ID_MAX && memcmp(at + sizeof(note), "GNU", 4) == 0) {
            plan->build_id_bytes = note.bytes;
            memcpy(plan->build_id, at + sizeof(note) + name, note.bytes);
            return;
        }
        at += sizeof(note) + name + bytes;
        left -= sizeof(note) + name + bytes;
    }
}

static enum elf_error take(struct elf_plan *plan, struct program_header *p,
                           const struct file_header *h, const uint8_t *file, size_t count)
{
    enum elf_error error;

    if (p->type == SEGMENT_INTERP)
        return ELF_DYNAMIC;
    if (p->type == SEGMENT_STACK)
        plan->stack_executes = p->flags & ELF_EXECUTE;
    if (p->type == SEGMENT_NOTE && inside(p->offset, p->file_bytes, count))
        find_build_id(plan, file + p->offset, p->file_bytes);
    if (p->type != SEGMENT_LOAD || p->bytes == 0)
        return ELF_OK;
    p->address += plan->bias;
    error = judge_segment(p, count);
    if (error)
        return error;
    if (h->program_headers >= p->offset &&
        inside(h->program_headers - p->offset,
               (uint64_t)h->program_entries * sizeof(struct program_header), p->file_bytes))
        plan->headers = p->address + (h->program_headers - p->offset);
    return add_segment(plan, p);
}

/* What concerns two segments, or all of them. */
static enum elf_error judge_plan(struct elf_plan *plan, uint64_t most_bytes)
{
    bool entry_good = false;

    if (plan->count == 0)
        return ELF_NO_SEGMENTS;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct elf_segment *s = &plan->segments[i], *before = s - 1;
        uint64_t end = s->start + s->bytes;

        if (i > 0 && before->start + before->bytes > s->start)
            return ELF_OVERLAP;
        plan->bytes += page_up(end) - page_down(s->start);
        if (plan->bytes > most_bytes)
            return ELF_TOO_BIG;
        entry_good |= (s->flags & ELF_EXECUTE) && plan->entry - s->start < s->bytes;
        if (end <= ELF_LOW_END || plan->end == 0 || plan->end > ELF_LOW_END)
            plan->end = end;
    }
    return entry_good ? ELF_OK : ELF_ENTRY;
}

enum elf_error elf_plan(const uint8_t *file, size_t count, uint64_t most_bytes,
                        struct elf_plan *plan)
{
    struct file_header h;
    struct program_header p;
    enum elf_error error = judge_header(file, count, &h);

    memset(plan, 0, sizeof(*plan));
    if (error)
        return error;
    plan->bias = h.type == TYPE_DYN ? ELF_HIGH : 0;
    plan->entry = h.entry + plan->bias;
    plan->header_count = h.program_entries;
    for (unsigned i = 0; i < h.program_entries; i++) {
        memcpy(&p, file + h.program_headers + i * sizeof(p), sizeof(p));
        error = take(plan, &p, &h, file, count);
        if (error)
            return error;
    }
    return judge_plan(plan, most_bytes);
}

const char *elf_error_text(enum elf_error error)
{
    static const char *const texts[ELF_ERRORS] = {
        [ELF_OK] = "can be loaded",
        [ELF_NOT_ELF] = "is not an ELF file: give the program, not its source or a script",
        [ELF_NOT_64_BIT] = "is a 32-bit program: compile with -m64",
        [ELF_BYTE_ORDER] = "is big-endian: compile for x86-64",
        [ELF_MACHINE] = "is for another processor: compile for x86-64",
        [ELF_NOT_A_PROGRAM] = "is not linked: link it with gcc -static",
        [ELF_DYNAMIC] = "needs shared libraries: link it with -static (or -static-pie)",
        [ELF_TRUNCATED] = "is cut short: copy it again",
        [ELF_HEADERS] = "has program headers of an unknown size: link it again",
        [ELF_NO_SEGMENTS] = "has no segment to load: link it with gcc -static",
        [ELF_MANY_SEGMENTS] = "has more than 16 segments: link without a script of your own",
        [ELF_SIZES] = "has a segment larger in the file than in memory: link it again",
        [ELF_RANGE] =
            "has a segment at 0 or in the kernel's range: link at the default address",
        [ELF_TOO_BIG] = "needs more memory than there is: give the machine more",
        [ELF_OVERLAP] = "has segments that overlap: link without a script of your own",
        [ELF_ENTRY] = "does not start in executable memory: define _start, or use -e",
    };

    return error < ELF_ERRORS ? texts[error] : "is refused";
}
