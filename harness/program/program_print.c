/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines about a program's end: registers of an exception, a signal, what was refused. */
#include "harness/program/program_print.h"

#include "harness/check/format.h"
#include "harness/check/out.h"

static void print_fault(const struct program *p)
{
    const struct trap_frame *f = &p->frame;
    const uint64_t *r = &f->r15;

    out_line("# program fault vector=%lu error=0x%lx rip=0x%lx address=0x%lx", f->vector,
             f->error, f->rip, p->address);
    if (p->avx)
        out_line(
            "# program AVX is off here: compile without -mavx, -march=native and the like");
    out_line("# program rax=%lx rbx=%lx rcx=%lx rdx=%lx rsi=%lx rdi=%lx", f->rax, f->rbx,
             f->rcx, f->rdx, f->rsi, f->rdi);
    out_line("# program rbp=%lx rsp=%lx rflags=%lx", f->rbp, f->rsp, f->rflags);
    out_line("# program r15..r8=%lx %lx %lx %lx %lx %lx %lx %lx", r[0], r[1], r[2], r[3], r[4],
             r[5], r[6], r[7]);
}

/* "refused: clone x1 (one thread only), socket x2" */
static void print_refused(const struct program *p)
{
    char line[OUT_LINE_BYTES];
    size_t used = fmt(line, sizeof(line), "# program refused:");

    for (unsigned i = 0; i < p->refusals && used < sizeof(line) - 1; i++) {
        const char *why = program_call_reason(p->refused[i].number);

        used += fmt(line + used, sizeof(line) - used, "%s %s x%u%s%s%s", i ? "," : "",
                    program_call_name(p->refused[i].number), p->refused[i].count,
                    why ? " (" : "", why ? why : "", why ? ")" : "");
    }
    if (p->refusals)
        out_line("%s", line);
}

void program_print_end(const struct program *p, const struct options *options)
{
    print_refused(p);
    switch (p->end) {
    case PROGRAM_FAULTED:
        print_fault(p);
        return;
    case PROGRAM_EXITED:
        out_line("# program exit=%d", p->code);
        return;
    case PROGRAM_SIGNALLED:
        out_line("# program signal=%u name=%s rip=0x%lx", p->signal,
                 program_signal_name(p->signal), p->frame.rip);
        return;
    case PROGRAM_STUCK:
        out_line("# program stuck=%s rip=0x%lx", p->stuck_at, p->frame.rip);
        return;
    default:
        out_line("# program killed after %u seconds", options->seconds);
    }
}
