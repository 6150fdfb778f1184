/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system calls of a program: number in rax, arguments in rdi, rsi, rdx, r10, r8, r9, result
 * or a negated error number in rax. Source: System V ABI, AMD64 supplement, "Linux
 * Conventions". What each call does is Linux's manual pages, section 2, for a machine on which
 * nothing else runs.
 */
#include "guest/program_parts.h"

#include "hw/user.h"

enum { CALL_EXIT = 60, CALL_EXIT_GROUP = 231 };

static const struct program_call *const tables[] = {
    program_memory_calls, program_file_calls,   program_name_calls,
    program_number_calls, program_signal_calls, program_self_calls,
    program_stat_calls,   program_time_calls,   program_wait_calls};

static program_call_fn *find(uint64_t number)
{
    for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct program_call *call = tables[i]; call->serve; call++)
            if (call->number == number)
                return call->serve;
    return NULL;
}

void program_call(struct program *p, struct trap_frame *f)
{
    program_call_fn *serve = find(f->rax);

    if (f->rax == CALL_EXIT || f->rax == CALL_EXIT_GROUP)
        user_leave(f, PROGRAM_EXITED);
    f->rax = serve ? serve(p, f) : program_refuse(p, f->rax < 4096 ? (unsigned)f->rax : 4096);
    if (p->signals.pending)
        program_signals_happen(p, f);
}
