/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system calls of a program: number in rax, arguments in rdi, rsi, rdx, r10, r8, r9, result
 * or a negated error number in rax. Source: System V ABI, AMD64 supplement, "Linux
 * Conventions".
 */
#include "guest/program_parts.h"

#include "hw/msr.h"
#include "hw/user.h"

enum {
    CALL_READ = 0,
    CALL_WRITE = 1,
    CALL_MMAP = 9,
    CALL_MPROTECT = 10,
    CALL_MUNMAP = 11,
    CALL_BRK = 12,
    CALL_EXIT = 60,
    CALL_ARCH_PRCTL = 158,
    CALL_EXIT_GROUP = 231
};
#define ERROR(number) ((uint64_t) - (number))

/* mmap and mprotect: PROT_ and MAP_ bits. */
#define PROT_READ     1u
#define PROT_WRITE    2u
#define PROT_EXECUTE  4u
#define MAP_PRIVATE   2u
#define MAP_FIXED     0x10u
#define MAP_ANONYMOUS 0x20u
#define SET_FS        0x1002u

#define CANONICAL_END 0x800000000000ull

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static uint64_t write_out(struct program *p, const struct trap_frame *f)
{
    uint64_t count = f->rdx < PROGRAM_WRITE_MOST ? f->rdx : PROGRAM_WRITE_MOST;

    if (f->rdi != 1 && f->rdi != 2)
        return ERROR(PROGRAM_EBADF);
    if (!program_readable(p, f->rsi, count))
        return ERROR(PROGRAM_EFAULT);
    if (count > 0)
        p->output(p, (unsigned)f->rdi, (const uint8_t *)f->rsi, count);
    return count;
}

/* Shrinking keeps the pages: what the program finds there later is not promised to be 0. */
static uint64_t move_break(struct program *p, uint64_t wanted)
{
    unsigned flags = program_page_flags(ELF_READ | ELF_WRITE);

    if (wanted < p->heap || wanted - p->heap > WINDOW_BYTES ||
        (p->heap < ELF_LOW_END && wanted > ELF_LOW_END))
        return p->heap_end;
    if (wanted > p->heap_end && (p->reserved(p->heap_end, wanted - p->heap_end) ||
                                 !program_map(p, p->heap_end, wanted - p->heap_end, flags)))
        return p->heap_end;
    p->heap_end = wanted;
    return wanted;
}

/* PROT_ bits as page flags; 0 when pages would be writable and executable, or unreachable. */
static unsigned flags_of(uint64_t protection)
{
    unsigned elf = (protection & PROT_READ ? ELF_READ : 0) |
                   (protection & PROT_WRITE ? ELF_WRITE : 0) |
                   (protection & PROT_EXECUTE ? ELF_EXECUTE : 0);

    return (elf & ELF_WRITE) && (elf & ELF_EXECUTE) ? 0 : program_page_flags(elf);
}

static uint64_t map_memory(struct program *p, const struct trap_frame *f)
{
    uint64_t bytes = whole_pages(f->rsi), start = p->mapped_end;
    unsigned flags = flags_of(f->rdx);

    if (!(f->r10 & MAP_ANONYMOUS) || !(f->r10 & MAP_PRIVATE) || (f->r10 & MAP_FIXED) ||
        bytes == 0 || !flags)
        return ERROR(PROGRAM_EINVAL);
    if (bytes > PROGRAM_STACK_TOP - PROGRAM_STACK_BYTES - PAGE_BYTES - start)
        return ERROR(PROGRAM_ENOMEM);
    if (!program_map(p, start, bytes, flags)) {
        program_unmap(p, start, bytes);
        return ERROR(PROGRAM_ENOMEM);
    }
    p->mapped_end = start + bytes;
    return start;
}

static bool own_range(uint64_t start, uint64_t bytes)
{
    return start % PAGE_BYTES == 0 && bytes <= WINDOW_BYTES && start < CANONICAL_END - bytes;
}

static uint64_t protect(struct program *p, const struct trap_frame *f)
{
    unsigned flags = flags_of(f->rdx);

    if (!own_range(f->rdi, f->rsi))
        return ERROR(PROGRAM_EINVAL);
    if (!flags)
        return ERROR(PROGRAM_EACCES);
    return program_protect(p, f->rdi, f->rsi, flags) ? 0 : ERROR(PROGRAM_ENOMEM);
}

static uint64_t unmap(struct program *p, const struct trap_frame *f)
{
    if (!own_range(f->rdi, f->rsi) || f->rdi < PROGRAM_MAPPINGS ||
        f->rdi + f->rsi > p->mapped_end)
        return ERROR(PROGRAM_EINVAL);
    program_unmap(p, f->rdi, f->rsi);
    return 0;
}

static uint64_t set_base(struct program *p, const struct trap_frame *f)
{
    if (f->rdi != SET_FS || f->rsi >= CANONICAL_END)
        return ERROR(PROGRAM_EINVAL);
    p->fs_base = f->rsi;
    msr_write(MSR_IA32_FS_BASE, p->fs_base);
    return 0;
}

void program_call(struct program *p, struct trap_frame *f)
{
    switch (f->rax) {
    case CALL_READ:
        f->rax = 0;
        return;
    case CALL_WRITE:
        f->rax = write_out(p, f);
        return;
    case CALL_MMAP:
        f->rax = map_memory(p, f);
        return;
    case CALL_MPROTECT:
        f->rax = protect(p, f);
        return;
    case CALL_MUNMAP:
        f->rax = unmap(p, f);
        return;
    case CALL_BRK:
        f->rax = move_break(p, f->rdi);
        return;
    case CALL_ARCH_PRCTL:
        f->rax = set_base(p, f);
        return;
    case CALL_EXIT:
    case CALL_EXIT_GROUP:
        user_leave(f, PROGRAM_EXITED);
    default:
        f->rax = ERROR(PROGRAM_ENOSYS);
    }
}
