/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls about memory: a change of the mappings, and of the pages that are there. */
#include "guest/program_parts.h"

#include "hw/string.h"

enum {
    CALL_MMAP = 9,
    CALL_MPROTECT = 10,
    CALL_MUNMAP = 11,
    CALL_BRK = 12,
    CALL_MREMAP = 25,
    CALL_MSYNC = 26,
    CALL_MADVISE = 28,
    CALL_MLOCK = 149,
    CALL_MUNLOCK = 150,
    CALL_MLOCKALL = 151,
    CALL_MUNLOCKALL = 152
};

/* PROT_, MAP_, MREMAP_ and MADV_ values. */
#define PROT_READ           1u
#define PROT_WRITE          2u
#define PROT_EXECUTE        4u
#define MAP_SHARED          1u
#define MAP_PRIVATE         2u
#define MAP_FIXED           0x10u
#define MAP_ANONYMOUS       0x20u
#define MAP_FIXED_NOREPLACE 0x100000u
#define REMAP_MAY_MOVE      1u
#define REMAP_FIXED         2u
#define ADVICE_DONTNEED     4u

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static unsigned rights_of(uint64_t protection)
{
    return (protection & PROT_READ ? ELF_READ : 0) | (protection & PROT_WRITE ? ELF_WRITE : 0) |
           (protection & PROT_EXECUTE ? ELF_EXECUTE : 0);
}

static bool inside(uint64_t start, uint64_t bytes, uint64_t low, uint64_t high)
{
    return start >= low && start < high && bytes <= high - start;
}

/* Where the kernel has nothing: as for the segments of a file, and the upper user addresses. */
bool program_may_lie(const struct program *p, uint64_t start, uint64_t bytes)
{
    if (start % PAGE_BYTES || bytes == 0)
        return false;
    if (inside(start, bytes, ELF_LOWEST, ELF_LOW_END))
        return !p->reserved(start, bytes);
    return inside(start, bytes, ELF_HIGH, KERNEL_WINDOW);
}

static uint64_t move_break(struct program *p, struct trap_frame *f)
{
    uint64_t wanted = f->rdi, old = whole_pages(p->heap_end), new = whole_pages(wanted);

    if (wanted < p->heap || wanted - p->heap > WINDOW_BYTES)
        return p->heap_end;
    if (new > old &&
        (!program_may_lie(p, old, new - old) || !mappings_free(&p->mappings, old, new) ||
         !mappings_set(&p->mappings, old, new, ELF_READ | ELF_WRITE)))
        return p->heap_end;
    if (new < old) {
        if (!mappings_clear(&p->mappings, new, old))
            return p->heap_end;
        program_unmap(p, new, old - new);
    }
    p->heap_end = wanted;
    return wanted;
}

/* The program's wish, else the lowest hole; 0 = there is none. */
static uint64_t place(struct program *p, uint64_t wish, uint64_t bytes, uint64_t flags)
{
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        return program_may_lie(p, wish, bytes) ? wish : 0;
    if (wish && program_may_lie(p, wish, bytes) &&
        mappings_free(&p->mappings, wish, wish + bytes))
        return wish;
    return mappings_gap(&p->mappings, bytes, PROGRAM_MAPPINGS, PROGRAM_MAPPED_END);
}

/* A private copy of a file's pages, made at once: nobody else can change the file. */
static bool copy_file(struct program *p, uint64_t start, uint64_t bytes,
                      const struct file_node *node, uint64_t offset, unsigned rights)
{
    for (uint64_t done = 0; done < bytes && offset + done < node->bytes; done += PAGE_BYTES) {
        uint8_t *page = program_byte(p, start + done, 0);

        if (!page)
            return false;
        files_read(node, offset + done, page, PAGE_BYTES);
    }
    program_protect(p, start, bytes, rights);
    return true;
}

static void drop(struct program *p, uint64_t start, uint64_t bytes)
{
    mappings_clear(&p->mappings, start, start + bytes);
    program_unmap(p, start, bytes);
}

/* The file behind it, NULL for none; an error number where it cannot be mapped. */
static int backing(struct program *p, const struct trap_frame *f, struct file_node **node)
{
    struct open_file *open;

    *node = NULL;
    if (f->r10 & MAP_ANONYMOUS)
        return 0;
    open = program_open_file(p, f->r8);
    if (!open)
        return PROGRAM_EBADF;
    if (open->node->kind == FILE_ZERO)
        return 0;
    if (open->node->kind != FILE_REGULAR)
        return PROGRAM_ENODEV;
    *node = open->node;
    /* Writing to shared pages would have to reach the file. */
    return (f->r10 & MAP_SHARED) && (f->rdx & PROT_WRITE) ? PROGRAM_ENODEV : 0;
}

static uint64_t map(struct program *p, struct trap_frame *f)
{
    uint64_t bytes = whole_pages(f->rsi), start;
    unsigned rights = rights_of(f->rdx);
    struct file_node *node;
    int error = backing(p, f, &node);

    if (bytes == 0 || f->rsi > bytes || f->r9 % PAGE_BYTES ||
        !(f->r10 & (MAP_PRIVATE | MAP_SHARED)))
        return ERROR(PROGRAM_EINVAL);
    if (error == PROGRAM_ENODEV)
        program_refuse(p, CALL_MMAP);
    if (error)
        return ERROR(error);
    start = place(p, f->rdi, bytes, f->r10);
    if (!start)
        return ERROR(PROGRAM_ENOMEM);
    if ((f->r10 & MAP_FIXED_NOREPLACE) && !mappings_free(&p->mappings, start, start + bytes))
        return ERROR(PROGRAM_EEXIST);
    if (!mappings_set(&p->mappings, start, start + bytes, rights))
        return ERROR(PROGRAM_ENOMEM);
    program_unmap(p, start, bytes);
    if (node && !copy_file(p, start, bytes, node, f->r9, rights)) {
        drop(p, start, bytes);
        return ERROR(PROGRAM_ENOMEM);
    }
    return start;
}

static uint64_t protect(struct program *p, struct trap_frame *f)
{
    uint64_t bytes = whole_pages(f->rsi), end = f->rdi + bytes;

    if (f->rdi % PAGE_BYTES || end < f->rdi)
        return ERROR(PROGRAM_EINVAL);
    if (bytes == 0)
        return 0;
    if (!mappings_cover(&p->mappings, f->rdi, end) ||
        !mappings_set(&p->mappings, f->rdi, end, rights_of(f->rdx)))
        return ERROR(PROGRAM_ENOMEM);
    program_protect(p, f->rdi, bytes, rights_of(f->rdx));
    return 0;
}

static uint64_t unmap(struct program *p, struct trap_frame *f)
{
    uint64_t bytes = whole_pages(f->rsi);

    if (f->rdi % PAGE_BYTES || bytes == 0 || !inside(f->rdi, bytes, 0, CANONICAL_END))
        return ERROR(PROGRAM_EINVAL);
    if (!mappings_clear(&p->mappings, f->rdi, f->rdi + bytes))
        return ERROR(PROGRAM_ENOMEM);
    program_unmap(p, f->rdi, bytes);
    return 0;
}

static uint64_t grow_elsewhere(struct program *p, const struct trap_frame *f, uint64_t old,
                               uint64_t new, unsigned rights)
{
    uint64_t start =
        f->r10 & REMAP_FIXED ? place(p, f->r8, new, MAP_FIXED) : place(p, 0, new, 0);

    if (!start || !mappings_set(&p->mappings, start, start + new, rights))
        return ERROR(PROGRAM_ENOMEM);
    program_unmap(p, start, new);
    if (!program_move(p, start, f->rdi, old < new ? old : new))
        return ERROR(PROGRAM_ENOMEM);
    drop(p, f->rdi, old);
    return start;
}

static uint64_t remap(struct program *p, struct trap_frame *f)
{
    uint64_t old = whole_pages(f->rsi), new = whole_pages(f->rdx), end = f->rdi + old;
    const struct mapping *m = mappings_find(&p->mappings, f->rdi);

    if (f->rdi % PAGE_BYTES || old == 0 || new < f->rdx || new == 0 || end < f->rdi)
        return ERROR(PROGRAM_EINVAL);
    if (!m || m->end < end)
        return ERROR(PROGRAM_EFAULT);
    if ((f->r10 & REMAP_FIXED) && f->r8 < end && f->rdi < f->r8 + new)
        return ERROR(PROGRAM_EINVAL); /* the two overlap */
    if (f->r10 & REMAP_FIXED)
        return grow_elsewhere(p, f, old, new, m->rights);
    if (new < old)
        drop(p, f->rdi + new, old - new);
    if (new <= old)
        return f->rdi;
    if (program_may_lie(p, end, new - old) && mappings_free(&p->mappings, end, f->rdi + new) &&
        mappings_set(&p->mappings, end, f->rdi + new, m->rights))
        return f->rdi;
    return f->r10 & REMAP_MAY_MOVE ? grow_elsewhere(p, f, old, new, m->rights)
                                   : ERROR(PROGRAM_ENOMEM);
}

/* What is not needed is zeros when it is touched again; other advice changes nothing. */
static uint64_t advise(struct program *p, struct trap_frame *f)
{
    uint64_t bytes = whole_pages(f->rsi);

    if (f->rdi % PAGE_BYTES || !inside(f->rdi, bytes, 0, CANONICAL_END))
        return ERROR(PROGRAM_EINVAL);
    if (!mappings_cover(&p->mappings, f->rdi, f->rdi + bytes))
        return ERROR(PROGRAM_ENOMEM);
    if (f->rdx == ADVICE_DONTNEED)
        program_unmap(p, f->rdi, bytes);
    return 0;
}

static uint64_t nothing(struct program *p, struct trap_frame *f)
{
    (void)p;
    (void)f;
    return 0;
}

const struct program_call program_memory_calls[] = {
    {CALL_MMAP, map},         {CALL_MPROTECT, protect},   {CALL_MUNMAP, unmap},
    {CALL_BRK, move_break},   {CALL_MREMAP, remap},       {CALL_MSYNC, nothing},
    {CALL_MADVISE, advise},   {CALL_MLOCK, nothing},      {CALL_MUNLOCK, nothing},
    {CALL_MLOCKALL, nothing}, {CALL_MUNLOCKALL, nothing}, {0, NULL}};
