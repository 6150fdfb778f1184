/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's signals: set up, raised by itself or by its exceptions, delivered. Nobody else
 * sends any, so they happen at the end of a system call and at exceptions only.
 */
#include "guest/program_signal.h"
#include "guest/program_parts.h"

#include "hw/string.h"
#include "hw/user.h"

enum {
    CALL_RT_SIGACTION = 13,
    CALL_RT_SIGPROCMASK = 14,
    CALL_RT_SIGRETURN = 15,
    CALL_PAUSE = 34,
    CALL_KILL = 62,
    CALL_RT_SIGPENDING = 127,
    CALL_RT_SIGSUSPEND = 130,
    CALL_SIGALTSTACK = 131,
    CALL_TKILL = 200,
    CALL_TGKILL = 234
};

#define BIT(number)    (1ull << ((number)-1))
#define UNBLOCKABLE    (BIT(SIGNAL_KILL) | BIT(SIGNAL_STOP))
#define BY_KILL        0
#define BY_TKILL       (-6)
#define DEFAULT_ACTION 0
#define IGNORE         1

static bool is_ignored(const struct program *p, unsigned number)
{
    uint64_t handler = p->signals.action[number].handler;

    if (handler == DEFAULT_ACTION)
        return number == SIGNAL_CHLD || number == SIGNAL_CONT || number == SIGNAL_URG ||
               number == SIGNAL_WINCH;
    return handler == IGNORE;
}

/* Whether one of these would be delivered. */
static bool signal_waits(const struct program *p, uint64_t mask)
{
    return p->signals.pending & ~mask;
}

_Noreturn static void end_by(struct program *p, struct trap_frame *f, unsigned number)
{
    p->signal = number;
    user_leave(f, PROGRAM_SIGNALLED);
}

/* The mask to go back to is the one before a call that waited with another. */
static void enter(struct program *p, struct trap_frame *f, const struct signal_cause *cause)
{
    struct program_signals *s = &p->signals;
    uint64_t mask = s->restore ? s->restored_mask : s->mask;

    s->restore = false;
    if (!signal_enter(p, f, cause, mask))
        end_by(p, f, SIGNAL_SEGV);
}

void program_signals_happen(struct program *p, struct trap_frame *f)
{
    struct program_signals *s = &p->signals;

    for (unsigned number = 1; number < PROGRAM_SIGNALS; number++) {
        struct signal_cause cause = {.number = number, .code = s->code[number]};

        if (!(s->pending & ~s->mask & BIT(number)))
            continue;
        s->pending &= ~BIT(number);
        if (is_ignored(p, number))
            continue;
        if (s->action[number].handler == DEFAULT_ACTION)
            end_by(p, f, number);
        enter(p, f, &cause);
    }
}

bool program_fault_signal(struct program *p, struct trap_frame *f)
{
    const struct program_signals *s = &p->signals;
    struct signal_cause cause = {.vector = (unsigned)f->vector, .error = f->error};

    signal_of_fault(p, f, &cause);
    if (p->stops_at_faults || s->action[cause.number].handler <= IGNORE ||
        (s->mask & BIT(cause.number)))
        return false;
    enter(p, f, &cause);
    return true;
}

/* --- system calls */

static uint64_t set_action(struct program *p, struct trap_frame *f)
{
    uint64_t number = f->rdi;
    struct program_action new;

    if (number == 0 || number >= PROGRAM_SIGNALS || f->r10 != sizeof(new.mask))
        return ERROR(PROGRAM_EINVAL);
    if (f->rsi && !program_read(p, &new, f->rsi, sizeof(new)))
        return ERROR(PROGRAM_EFAULT);
    if (f->rsi && (BIT(number) & UNBLOCKABLE))
        return ERROR(PROGRAM_EINVAL);
    if (f->rdx && !program_write(p, f->rdx, &p->signals.action[number], sizeof(new)))
        return ERROR(PROGRAM_EFAULT);
    if (f->rsi) {
        p->signals.action[number] = new;
        if (is_ignored(p, (unsigned)number))
            p->signals.pending &= ~BIT(number);
    }
    return 0;
}

static uint64_t change_mask(struct program *p, struct trap_frame *f)
{
    enum { BLOCK, UNBLOCK, SET };
    struct program_signals *s = &p->signals;
    uint64_t set = 0, old = s->mask;

    if (f->r10 != sizeof(set) || (f->rsi && f->rdi > SET))
        return ERROR(PROGRAM_EINVAL);
    if (f->rsi && !program_read(p, &set, f->rsi, sizeof(set)))
        return ERROR(PROGRAM_EFAULT);
    if (f->rdx && !program_write(p, f->rdx, &old, sizeof(old)))
        return ERROR(PROGRAM_EFAULT);
    if (f->rsi)
        s->mask = (f->rdi == BLOCK     ? old | set
                   : f->rdi == UNBLOCK ? old & ~set
                                       : set) &
                  ~UNBLOCKABLE;
    return 0;
}

static uint64_t raise(struct program *p, uint64_t number, int32_t code)
{
    if (number >= PROGRAM_SIGNALS)
        return ERROR(PROGRAM_EINVAL);
    if (number && !is_ignored(p, (unsigned)number)) {
        p->signals.pending |= BIT(number);
        p->signals.code[number] = code;
    }
    return 0;
}

/* 0 is the own group, -1 is everybody. */
static uint64_t kill_process(struct program *p, struct trap_frame *f)
{
    int32_t whom = (int32_t)f->rdi;

    if (whom != PROGRAM_NUMBER && whom != 0 && whom != -1 && whom != -PROGRAM_NUMBER)
        return ERROR(PROGRAM_ESRCH);
    return raise(p, (uint32_t)f->rsi, BY_KILL);
}

static uint64_t kill_thread(struct program *p, struct trap_frame *f)
{
    return (uint32_t)f->rdi == PROGRAM_NUMBER ? raise(p, (uint32_t)f->rsi, BY_TKILL)
                                              : ERROR(PROGRAM_ESRCH);
}

static uint64_t kill_thread_of(struct program *p, struct trap_frame *f)
{
    if ((uint32_t)f->rdi != PROGRAM_NUMBER || (uint32_t)f->rsi != PROGRAM_NUMBER)
        return ERROR(PROGRAM_ESRCH);
    return raise(p, (uint32_t)f->rdx, BY_TKILL);
}

static uint64_t get_pending(struct program *p, struct trap_frame *f)
{
    return program_write(p, f->rdi, &p->signals.pending, sizeof(uint64_t))
               ? 0
               : ERROR(PROGRAM_EFAULT);
}

static uint64_t suspend(struct program *p, struct trap_frame *f)
{
    struct program_signals *s = &p->signals;
    uint64_t mask;

    if (f->rsi != sizeof(mask) || !program_read(p, &mask, f->rdi, sizeof(mask)))
        return ERROR(f->rsi == sizeof(mask) ? PROGRAM_EFAULT : PROGRAM_EINVAL);
    mask &= ~UNBLOCKABLE;
    if (!signal_waits(p, mask))
        program_stuck(p, f, "rt_sigsuspend");
    s->restored_mask = s->mask;
    s->restore = true;
    s->mask = mask;
    return ERROR(PROGRAM_EINTR);
}

static uint64_t pause(struct program *p, struct trap_frame *f)
{
    program_stuck(p, f, "pause");
}

static uint64_t alternate_stack(struct program *p, struct trap_frame *f)
{
    enum { ON_STACK = 1, DISABLE = 2, LEAST = 2048 };
    struct program_signals *s = &p->signals;
    bool on = f->rsp - s->alternate < s->alternate_bytes;
    struct signal_stack old = {.start = s->alternate,
                               .flags = on                   ? ON_STACK
                                        : s->alternate_bytes ? 0
                                                             : DISABLE,
                               .bytes = s->alternate_bytes},
                        new;

    if (f->rdi && !program_read(p, &new, f->rdi, sizeof(new)))
        return ERROR(PROGRAM_EFAULT);
    if (f->rsi && !program_write(p, f->rsi, &old, sizeof(old)))
        return ERROR(PROGRAM_EFAULT);
    if (!f->rdi)
        return 0;
    if (on)
        return ERROR(PROGRAM_EPERM);
    if (!(new.flags &DISABLE) && new.bytes < LEAST)
        return ERROR(PROGRAM_ENOMEM);
    s->alternate = new.flags &DISABLE ? 0 : new.start;
    s->alternate_bytes = new.flags &DISABLE ? 0 : new.bytes;
    return 0;
}

static uint64_t return_from(struct program *p, struct trap_frame *f)
{
    if (!signal_return(p, f))
        end_by(p, f, SIGNAL_SEGV);
    p->signals.mask &= ~UNBLOCKABLE;
    return f->rax; /* as the handler found it */
}

const struct program_call program_signal_calls[] = {{CALL_RT_SIGACTION, set_action},
                                                    {CALL_RT_SIGPROCMASK, change_mask},
                                                    {CALL_RT_SIGRETURN, return_from},
                                                    {CALL_PAUSE, pause},
                                                    {CALL_KILL, kill_process},
                                                    {CALL_RT_SIGPENDING, get_pending},
                                                    {CALL_RT_SIGSUSPEND, suspend},
                                                    {CALL_SIGALTSTACK, alternate_stack},
                                                    {CALL_TKILL, kill_thread},
                                                    {CALL_TGKILL, kill_thread_of},
                                                    {0, NULL}};
