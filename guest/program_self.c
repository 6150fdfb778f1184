/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls about the program itself: who it is, what it may use, and waiting for itself.
 * There is one process with one thread, on one processor, and nobody else.
 */
#include "guest/program_parts.h"

#include "hw/msr.h"
#include "hw/string.h"

enum {
    CALL_SCHED_YIELD = 24,
    CALL_GETPID = 39,
    CALL_WAIT4 = 61,
    CALL_UNAME = 63,
    CALL_GETRLIMIT = 97,
    CALL_GETRUSAGE = 98,
    CALL_SYSINFO = 99,
    CALL_GETUID = 102,
    CALL_GETGID = 104,
    CALL_SETPGID = 109,
    CALL_GETPPID = 110,
    CALL_GETPGRP = 111,
    CALL_GETPGID = 121,
    CALL_GETSID = 124,
    CALL_PERSONALITY = 135,
    CALL_GETPRIORITY = 140,
    CALL_SETPRIORITY = 141,
    CALL_PRCTL = 157,
    CALL_ARCH_PRCTL = 158,
    CALL_SETRLIMIT = 160,
    CALL_GETTID = 186,
    CALL_FUTEX = 202,
    CALL_SCHED_SETAFFINITY = 203,
    CALL_SCHED_GETAFFINITY = 204,
    CALL_SET_TID_ADDRESS = 218,
    CALL_SET_ROBUST_LIST = 273,
    CALL_PRLIMIT64 = 302,
    CALL_GETCPU = 309,
    CALL_MEMBARRIER = 324,
    CALL_RSEQ = 334
};
enum { CALL_GETEUID = 107, CALL_GETEGID = 108, CALL_GETRESUID = 118, CALL_GETRESGID = 120 };
enum { CALL_GETGROUPS = 115 };

#define PARENT_NUMBER 1
#define NO_LIMIT      UINT64_MAX
#define LIMIT_STACK   3u
#define LIMIT_CORE    4u
#define LIMIT_FILES   7u
#define LIMITS        16u
#define MIB           (1ull << 20)
#define PRCTL_NAME    15u
#define PRCTL_GETNAME 16u
enum { SET_GS = 0x1001, SET_FS, GET_FS, GET_GS };

static uint64_t own_number(struct program *p, struct trap_frame *f)
{
    (void)p;
    (void)f;
    return PROGRAM_NUMBER;
}

static uint64_t user_number(struct program *p, struct trap_frame *f)
{
    (void)p;
    (void)f;
    return PROGRAM_USER;
}

static uint64_t parent_number(struct program *p, struct trap_frame *f)
{
    (void)p;
    (void)f;
    return PARENT_NUMBER;
}

static uint64_t zero(struct program *p, struct trap_frame *f)
{
    (void)p;
    (void)f;
    return 0;
}

static uint64_t three_numbers(struct program *p, struct trap_frame *f)
{
    const uint32_t number = PROGRAM_USER;

    return program_write(p, f->rdi, &number, sizeof(number)) &&
                   program_write(p, f->rsi, &number, sizeof(number)) &&
                   program_write(p, f->rdx, &number, sizeof(number))
               ? 0
               : ERROR(PROGRAM_EFAULT);
}

/* No child can end: there is none. */
static uint64_t wait_for_child(struct program *p, struct trap_frame *f)
{
    enum { ECHILD = 10 };

    (void)p;
    (void)f;
    return ERROR(ECHILD);
}

/* The release is one that C libraries take for new enough. */
static uint64_t get_names(struct program *p, struct trap_frame *f)
{
    static const char texts[6][65] = {
        "Linux", "waymark", "6.1.0", "served by Waymark's kernel", "x86_64", "(none)"};

    return program_write(p, f->rdi, texts, sizeof(texts)) ? 0 : ERROR(PROGRAM_EFAULT);
}

static uint64_t limit_of(uint64_t which)
{
    return which == LIMIT_STACK   ? PROGRAM_STACK_BYTES
           : which == LIMIT_CORE  ? 0
           : which == LIMIT_FILES ? FILES_OPEN_MOST
                                  : NO_LIMIT;
}

static uint64_t put_limit(struct program *p, uint64_t which, uint64_t to)
{
    const uint64_t limits[2] = {limit_of(which), limit_of(which)};

    if (which >= LIMITS)
        return ERROR(PROGRAM_EINVAL);
    return !to || program_write(p, to, limits, sizeof(limits)) ? 0 : ERROR(PROGRAM_EFAULT);
}

static uint64_t get_limit(struct program *p, struct trap_frame *f)
{
    return put_limit(p, f->rdi, f->rsi);
}

/* A new limit is taken and changes nothing: it could only be lower. */
static uint64_t change_limit(struct program *p, struct trap_frame *f)
{
    return put_limit(p, f->rsi, f->r10);
}

static uint64_t get_usage(struct program *p, struct trap_frame *f)
{
    uint64_t usage[18] = {program_now(p) / 1000000000u, program_now(p) / 1000 % 1000000u};

    return program_write(p, f->rsi, usage, sizeof(usage)) ? 0 : ERROR(PROGRAM_EFAULT);
}

/* Linux's structure of 112 bytes: up time, loads, memory in units of the last field. */
static uint64_t get_memory(struct program *p, struct trap_frame *f)
{
    struct {
        uint64_t up, loads[3], total, free, shared, buffers, swap, swap_free;
        uint16_t processes, padding;
        uint32_t more_padding;
        uint64_t high, high_free;
        uint32_t unit, end;
    } info = {.up = program_now(p) / 1000000000u,
              .total = (page_free_count() + 1) * PAGE_BYTES,
              .free = page_free_count() * PAGE_BYTES,
              .processes = 1,
              .unit = 1};

    _Static_assert(sizeof(info) == 112, "struct sysinfo");
    return program_write(p, f->rdi, &info, sizeof(info)) ? 0 : ERROR(PROGRAM_EFAULT);
}

static uint64_t control(struct program *p, struct trap_frame *f)
{
    char name[16] = "";

    switch (f->rdi) {
    case PRCTL_NAME:
        return 0;
    case PRCTL_GETNAME:
        return program_write(p, f->rsi, name, sizeof(name)) ? 0 : ERROR(PROGRAM_EFAULT);
    default:
        return ERROR(PROGRAM_EINVAL);
    }
}

static uint64_t set_base(struct program *p, struct trap_frame *f)
{
    uint64_t base = f->rdi == GET_FS ? p->fs_base : p->gs_base;

    if (f->rdi == GET_FS || f->rdi == GET_GS)
        return program_write(p, f->rsi, &base, sizeof(base)) ? 0 : ERROR(PROGRAM_EFAULT);
    if (f->rdi != SET_FS && f->rdi != SET_GS)
        return ERROR(PROGRAM_EINVAL);
    if (f->rsi >= CANONICAL_END)
        return ERROR(PROGRAM_EPERM);
    if (f->rdi == SET_FS)
        msr_write(MSR_IA32_FS_BASE, p->fs_base = f->rsi);
    else
        msr_write(MSR_IA32_GS_BASE, p->gs_base = f->rsi);
    return 0;
}

/* Nobody else wakes or is woken. Who waits without an end waits for ever. */
static uint64_t futex(struct program *p, struct trap_frame *f)
{
    enum { WAIT = 0, WAKE = 1, REQUEUE = 3, CMP_REQUEUE = 4, WAKE_OP = 5, WAIT_BITSET = 9 };
    enum { WAKE_BITSET = 10, OPERATION = 0x7F, BY_CLOCK = 0x100 };
    unsigned operation = f->rsi & OPERATION;
    int64_t time[2];
    uint32_t value;

    if (operation == WAKE || operation == WAKE_BITSET || operation == REQUEUE ||
        operation == CMP_REQUEUE || operation == WAKE_OP)
        return 0;
    if (operation != WAIT && operation != WAIT_BITSET)
        return program_refuse(p, CALL_FUTEX);
    if (!program_read(p, &value, f->rdi, sizeof(value)))
        return ERROR(PROGRAM_EFAULT);
    if (value != (uint32_t)f->rdx)
        return ERROR(PROGRAM_EAGAIN);
    if (!f->r10)
        program_stuck(p, f, "futex");
    if (!program_read(p, time, f->r10, sizeof(time)))
        return ERROR(PROGRAM_EFAULT);
    if (operation == WAIT) /* how long; with a bit set it is until when */
        program_skip(p, (uint64_t)time[0] * 1000000000u + (uint64_t)time[1]);
    else
        program_skip_until(p, f->rsi & BY_CLOCK,
                           (uint64_t)time[0] * 1000000000u + (uint64_t)time[1]);
    return ERROR(PROGRAM_ETIMEDOUT);
}

static uint64_t get_processors(struct program *p, struct trap_frame *f)
{
    const uint64_t first = 1;

    if (f->rsi < sizeof(first))
        return ERROR(PROGRAM_EINVAL);
    return program_write(p, f->rdx, &first, sizeof(first)) ? sizeof(first)
                                                           : ERROR(PROGRAM_EFAULT);
}

static uint64_t get_processor(struct program *p, struct trap_frame *f)
{
    const uint32_t number = 0;

    return (!f->rdi || program_write(p, f->rdi, &number, sizeof(number))) &&
                   (!f->rsi || program_write(p, f->rsi, &number, sizeof(number)))
               ? 0
               : ERROR(PROGRAM_EFAULT);
}

static uint64_t set_tid_address(struct program *p, struct trap_frame *f)
{
    p->clear_tid = f->rdi;
    return PROGRAM_NUMBER;
}

/* C libraries do without: their older ways need nothing from the kernel. */
static uint64_t not_here(struct program *p, struct trap_frame *f)
{
    (void)p;
    (void)f;
    return ERROR(PROGRAM_ENOSYS);
}

const struct program_call program_self_calls[] = {{CALL_SCHED_YIELD, zero},
                                                  {CALL_GETPID, own_number},
                                                  {CALL_WAIT4, wait_for_child},
                                                  {CALL_UNAME, get_names},
                                                  {CALL_GETRLIMIT, get_limit},
                                                  {CALL_GETRUSAGE, get_usage},
                                                  {CALL_SYSINFO, get_memory},
                                                  {CALL_GETUID, user_number},
                                                  {CALL_GETGID, user_number},
                                                  {CALL_GETEUID, user_number},
                                                  {CALL_GETEGID, user_number},
                                                  {CALL_GETRESUID, three_numbers},
                                                  {CALL_GETRESGID, three_numbers},
                                                  {CALL_GETGROUPS, zero},
                                                  {CALL_SETPGID, zero},
                                                  {CALL_GETPPID, parent_number},
                                                  {CALL_GETPGRP, own_number},
                                                  {CALL_GETPGID, own_number},
                                                  {CALL_GETSID, own_number},
                                                  {CALL_PERSONALITY, zero},
                                                  {CALL_GETPRIORITY, zero},
                                                  {CALL_SETPRIORITY, zero},
                                                  {CALL_PRCTL, control},
                                                  {CALL_ARCH_PRCTL, set_base},
                                                  {CALL_SETRLIMIT, zero},
                                                  {CALL_GETTID, own_number},
                                                  {CALL_FUTEX, futex},
                                                  {CALL_SCHED_SETAFFINITY, zero},
                                                  {CALL_SCHED_GETAFFINITY, get_processors},
                                                  {CALL_SET_TID_ADDRESS, set_tid_address},
                                                  {CALL_SET_ROBUST_LIST, zero},
                                                  {CALL_PRLIMIT64, change_limit},
                                                  {CALL_GETCPU, get_processor},
                                                  {CALL_MEMBARRIER, not_here},
                                                  {CALL_RSEQ, not_here},
                                                  {0, NULL}};
