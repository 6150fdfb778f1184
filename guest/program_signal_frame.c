/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of a signal handler on the program's stack. */
#include "guest/program_signal.h"

#include "guest/program_parts.h"
#include "hw/regs.h"
#include "hw/string.h"

#define RED_ZONE      128u /* below the stack pointer, the interrupted function's own */
#define ON_STACK      0x08000000ull
#define NO_DEFER      0x40000000ull
#define ONE_SHOT      0x80000000ull
#define RESTORER      0x04000000ull
#define FRAME_ALIGN   64u /* of the x87 and SSE state */
#define MXCSR_OFFSET  24
#define SYSCALL_BYTES 2
#define MXCSR_BITS    0xFFFFu
/* What a program may change in RFLAGS: the arithmetic flags, TF, DF, AC, ID. */
#define FLAGS_OWN 0x240DD5ull

/* struct sigcontext, with the registers in its order */
struct context {
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
    uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, vector, old_mask, address, fpu;
    uint64_t reserved[8];
};

struct signal_frame {
    uint64_t back; /* where the handler returns to: the C library's call of rt_sigreturn */
    /* ucontext_t */
    uint64_t flags, link;
    struct signal_stack stack;
    struct context context;
    uint64_t mask;
    /* siginfo_t */
    int32_t number, error, code, padding;
    uint64_t value[14]; /* address of a fault; who sent it */
};
_Static_assert(sizeof(struct context) == 256, "struct sigcontext");
_Static_assert(sizeof(struct signal_frame) == 8 + 304 + 128, "pretcode, ucontext_t, siginfo_t");

void signal_of_fault(const struct program *p, const struct trap_frame *f,
                     struct signal_cause *cause)
{
    enum { KERNEL = 0x80, DIVIDED_BY_0 = 1, INVALID_FLOAT = 7, BAD_OPERAND = 2 };
    enum { NOT_MAPPED = 1, NOT_ALLOWED = 2, ALIGNMENT = 1 };

    cause->code = KERNEL;
    switch (f->vector) {
    case VECTOR_DE:
    case VECTOR_MF:
    case VECTOR_XM:
        cause->number = SIGNAL_FPE;
        cause->code = f->vector == VECTOR_DE ? DIVIDED_BY_0 : INVALID_FLOAT;
        cause->address = f->rip;
        return;
    case VECTOR_UD:
        cause->number = SIGNAL_ILL;
        cause->code = BAD_OPERAND;
        cause->address = f->rip;
        return;
    case VECTOR_DB:
    case VECTOR_BP:
        cause->number = SIGNAL_TRAP;
        return;
    case VECTOR_AC:
    case VECTOR_SS:
    case VECTOR_NP:
        cause->number = SIGNAL_BUS;
        cause->code = f->vector == VECTOR_AC ? ALIGNMENT : KERNEL;
        return;
    case VECTOR_PF:
        cause->code = mappings_find(&p->mappings, p->address) ? NOT_ALLOWED : NOT_MAPPED;
        cause->address = p->address;
        /* fall through */
    default:
        cause->number = SIGNAL_SEGV;
    }
}

static void save(const struct trap_frame *f, struct context *c)
{
    *c = (struct context){.r8 = f->r8,
                          .r9 = f->r9,
                          .r10 = f->r10,
                          .r11 = f->r11,
                          .r12 = f->r12,
                          .r13 = f->r13,
                          .r14 = f->r14,
                          .r15 = f->r15,
                          .rdi = f->rdi,
                          .rsi = f->rsi,
                          .rbp = f->rbp,
                          .rbx = f->rbx,
                          .rdx = f->rdx,
                          .rax = f->rax,
                          .rcx = f->rcx,
                          .rsp = f->rsp,
                          .rip = f->rip,
                          .rflags = f->rflags,
                          .cs = (uint16_t)f->cs,
                          .ss = (uint16_t)f->ss};
}

static void put_back(struct trap_frame *f, const struct context *c)
{
    f->r8 = c->r8;
    f->r9 = c->r9;
    f->r10 = c->r10;
    f->r11 = c->r11;
    f->r12 = c->r12;
    f->r13 = c->r13;
    f->r14 = c->r14;
    f->r15 = c->r15;
    f->rdi = c->rdi;
    f->rsi = c->rsi;
    f->rbp = c->rbp;
    f->rbx = c->rbx;
    f->rdx = c->rdx;
    f->rax = c->rax;
    f->rcx = c->rcx;
    f->rsp = c->rsp;
    f->rip = c->rip;
    f->rflags = (f->rflags & ~FLAGS_OWN) | (c->rflags & FLAGS_OWN);
}

/* On the alternate stack when the action asks for it and it is not in use already. */
static uint64_t stack_for(const struct program *p, const struct trap_frame *f, uint64_t flags)
{
    const struct program_signals *s = &p->signals;

    if ((flags & ON_STACK) && s->alternate_bytes && f->rsp - s->alternate >= s->alternate_bytes)
        return s->alternate + s->alternate_bytes;
    return f->rsp - RED_ZONE;
}

static void describe(const struct program *p, const struct signal_cause *cause,
                     struct signal_frame *frame)
{
    const struct program_signals *s = &p->signals;

    frame->stack = (struct signal_stack){.start = s->alternate,
                                         .flags = s->alternate_bytes ? 0 : 2,
                                         .bytes = s->alternate_bytes};
    frame->number = (int32_t)cause->number;
    frame->code = cause->code;
    frame->value[0] =
        cause->code > 0 ? cause->address : PROGRAM_NUMBER | (uint64_t)PROGRAM_USER << 32;
    frame->context.vector = cause->vector;
    frame->context.error = cause->error;
    frame->context.address = cause->address;
}

/* One that faulted has not happened; a system call has. */
static uint64_t last_instruction(const struct trap_frame *f)
{
    return f->rip - (f->vector == TRAP_SYSCALL ? SYSCALL_BYTES : 0);
}

bool signal_enter(struct program *p, struct trap_frame *f, const struct signal_cause *cause,
                  uint64_t mask)
{
    static struct fpu_image fpu;
    static struct signal_frame frame;
    struct program_action *action = &p->signals.action[cause->number];
    uint64_t at = stack_for(p, f, action->flags);

    memset(&frame, 0, sizeof(frame));
    save(f, &frame.context);
    describe(p, cause, &frame);
    frame.back = action->restorer;
    frame.mask = frame.context.old_mask = mask;
    at = (at - sizeof(fpu)) & ~(uint64_t)(FRAME_ALIGN - 1);
    frame.context.fpu = at;
    fpu_save(&fpu);
    if (!(action->flags & RESTORER) || action->handler >= CANONICAL_END ||
        !program_write(p, at, &fpu, sizeof(fpu)))
        return false;
    at = ((at - sizeof(frame)) & ~15ull) - 8; /* as after a CALL: 8 modulo 16 */
    if (!program_write(p, at, &frame, sizeof(frame)))
        return false;
    if (p->signalled)
        p->signalled(p, cause->number, last_instruction(f), action->handler);
    f->rdi = cause->number;
    f->rsi = at + offsetof(struct signal_frame, number);
    f->rdx = at + offsetof(struct signal_frame, flags);
    f->rax = 0;
    f->rsp = at;
    f->rip = action->handler;
    f->rflags &= ~(RFLAGS_TF | RFLAGS_DF);
    p->signals.mask |= action->mask;
    if (!(action->flags & NO_DEFER))
        p->signals.mask |= 1ull << (cause->number - 1);
    if (action->flags & ONE_SHOT)
        action->handler = 0;
    return true;
}

bool signal_return(struct program *p, struct trap_frame *f)
{
    static struct fpu_image fpu;
    static struct signal_frame frame;
    uint32_t mxcsr;

    /* The handler's RET has taken the first word. */
    if (!program_read(p, &frame, f->rsp - sizeof(frame.back), sizeof(frame)) ||
        frame.context.rip >= CANONICAL_END)
        return false;
    if (p->signalled)
        p->signalled(p, 0, last_instruction(f), frame.context.rip);
    put_back(f, &frame.context);
    p->signals.mask = frame.mask;
    if (!frame.context.fpu)
        return true;
    if (!program_read(p, &fpu, frame.context.fpu, sizeof(fpu)))
        return false;
    memcpy(&mxcsr, fpu.bytes + MXCSR_OFFSET, sizeof(mxcsr));
    mxcsr &= MXCSR_BITS; /* a reserved bit would be #GP */
    memcpy(fpu.bytes + MXCSR_OFFSET, &mxcsr, sizeof(mxcsr));
    fpu_load(&fpu);
    return true;
}
