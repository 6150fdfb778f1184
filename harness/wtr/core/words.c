/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words for branches and events, the same in every command.
 */
#include "harness/wtr/core/wtr.h"

#include <inttypes.h>

const char *branch_name(const struct place *from, bool event)
{
    static const char *const names[] = {[BRANCH_NONE] = "event",
                                        [BRANCH_JCC] = "jcc",
                                        [BRANCH_LOOP] = "loop",
                                        [BRANCH_JMP] = "jmp",
                                        [BRANCH_JMP_INDIRECT] = "jmp*",
                                        [BRANCH_CALL] = "call",
                                        [BRANCH_CALL_INDIRECT] = "call*",
                                        [BRANCH_RET] = "ret",
                                        [BRANCH_FAR_JMP] = "far jmp",
                                        [BRANCH_FAR_CALL] = "far call",
                                        [BRANCH_FAR_RET] = "far ret",
                                        [BRANCH_IRET] = "iret",
                                        [BRANCH_SYSCALL] = "syscall",
                                        [BRANCH_SYSRET] = "sysret",
                                        [BRANCH_SYSENTER] = "sysenter",
                                        [BRANCH_SYSEXIT] = "sysexit",
                                        [BRANCH_INT] = "int",
                                        [BRANCH_INT3] = "int3",
                                        [BRANCH_INT1] = "int1"};

    if (!from->code)
        return "?";
    return names[event ? BRANCH_NONE : from->branch];
}

static void lost_text(const struct event *event, char *out, size_t room)
{
    static const char *const reasons[] = {"reason unknown", "the buffer was full",
                                          "memory or volume was full", "recording was off",
                                          "the file is damaged here"};
    const char *what = event->kind == WTR_LOST ? "lost" : "wrapped, older ones gone";
    const char *reason =
        event->lost.reason <= WTR_REASON_DAMAGE ? reasons[event->lost.reason] : reasons[0];

    if (event->lost.count == WTR_UNKNOWN)
        snprintf(out, room, "%s: an unknown number of branches (%s)", what, reason);
    else
        snprintf(out, room, "%s: %" PRIu64 " branches (%s)", what, event->lost.count, reason);
}

static void exit_text(const struct event *event, char *out, size_t room)
{
    if (event->exit.how == WTR_EXIT_CODE)
        snprintf(out, room, "task %" PRIu32 " exits with %" PRId32, event->task,
                 event->exit.code);
    else if (event->exit.how == WTR_EXIT_EXCEPTION)
        snprintf(out, room, "task %" PRIu32 " ends by exception %" PRId32, event->task,
                 event->exit.code);
    else if (event->exit.how == WTR_EXIT_SIGNAL)
        snprintf(out, room, "task %" PRIu32 " ends by signal %" PRId32, event->task,
                 event->exit.code);
    else if (event->exit.how == WTR_EXIT_STUCK)
        snprintf(out, room, "task %" PRIu32 " waits for what cannot come", event->task);
    else
        snprintf(out, room, "task %" PRIu32 " is killed", event->task);
}

void event_text(const struct event *event, char *out, size_t room)
{
    out[0] = '\0';
    switch (event->kind) {
    case WTR_ARRIVES:
    case WTR_DEPARTS:
        snprintf(out, room, "task %" PRIu32 " %s on cpu %u, tsc %" PRIu64, event->task,
                 event->kind == WTR_ARRIVES ? "arrives" : "departs", event->cpu,
                 event->time.tsc);
        break;
    case WTR_LOST:
    case WTR_WRAP:
        lost_text(event, out, room);
        break;
    case WTR_MODE:
        snprintf(out, room, "now at CPL %" PRIu32 ", interrupts %s", event->mode.cpl,
                 event->mode.interrupts ? "on" : "off");
        break;
    case WTR_MIGRATE:
        snprintf(out, room, "task %" PRIu32 " moves from cpu %" PRIu32 " to %" PRIu32,
                 event->task, event->migrate.from_cpu, event->migrate.to_cpu);
        break;
    case WTR_EXCEPTION:
        snprintf(out, room, "exception %" PRIu32 " at %" PRIx64 ", error code %" PRIx32,
                 event->exception.vector, event->exception.rip, event->exception.error);
        break;
    case WTR_EXIT:
        exit_text(event, out, room);
        break;
    case WTR_SIGNAL:
        snprintf(out, room,
                 event->signal.number ? "signal %" PRIu32 " enters %" PRIx64
                                      : "%.0" PRIu32 "a handler is left for %" PRIx64,
                 event->signal.number, event->signal.to);
        break;
    case WTR_TIME:
        snprintf(out, room, "tsc %" PRIu64, event->time.tsc);
        break;
    default:
        break;
    }
}
