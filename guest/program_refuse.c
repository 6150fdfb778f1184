/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that are not served: counted, or the end of the run. */
#include "guest/program_parts.h"

#include "hw/user.h"

enum { CALL_CLONE = 56, CALL_FORK = 57, CALL_VFORK = 58 };

/* Programs and their C libraries read the error; these ask for another flow of control. */
static int refusal(unsigned number)
{
    switch (number) {
    case CALL_CLONE:
    case CALL_FORK:
    case CALL_VFORK:
        return PROGRAM_EAGAIN;
    default:
        return PROGRAM_ENOSYS;
    }
}

uint64_t program_refuse(struct program *p, unsigned number)
{
    unsigned i = 0;

    while (i < p->refusals && p->refused[i].number != number)
        i++;
    if (i == p->refusals && i < PROGRAM_REFUSED)
        p->refused[p->refusals++] = (struct program_refusal){.number = number};
    if (i < p->refusals)
        p->refused[i].count++;
    return ERROR(refusal(number));
}

_Noreturn void program_stuck(struct program *p, struct trap_frame *frame, const char *call)
{
    p->stuck_at = call;
    user_leave(frame, PROGRAM_STUCK);
}
