/* SPDX-License-Identifier: BSD-2-Clause */
/* A whole debugging session, in one take-over. */
#include "harness/gdb/session.h"

#include "ds/broker.h"
#include "harness/check/capability.h"
#include "harness/check/check.h"
#include "harness/check/out.h"
#include "harness/gdb/machine.h"
#include "harness/suite/suite.h"
#include "hw/regs.h"

static struct {
    const struct program_services *with;
    const struct options *options;
    const struct gdb_line *line;
    struct gdb_machine machine;
    struct gdb gdb;
    const char *trouble;
} session;

static bool time_is_up(void)
{
    return session.machine.deadline && tsc_read() > session.machine.deadline;
}

/* NULL, or why it cannot be started. */
static const char *open_program(const char *words, unsigned count)
{
    static struct elf_plan plan;
    struct program_start start = harness_program_start(session.with, session.options);
    struct gdb_machine *m = &session.machine;

    elf_plan(session.with->file, session.with->file_bytes, session.with->page_bytes, &plan);
    start.words = words;
    start.word_count = count;
    m->program.reserved = session.with->reserved;
    /* The debugger sees a fault before a handler of the program does. */
    m->program.stops_at_faults = true;
    return program_open(&m->program, &plan, &start);
}

static const char *restart(void *context, const char *words, unsigned count,
                           struct gdb_registers *registers)
{
    struct gdb_machine *m = context;
    const char *why;

    program_close(&m->program);
    why = open_program(count ? words : session.options->words,
                       count ? count : session.options->word_count);
    if (!why)
        gdb_machine_registers(m, registers);
    return why;
}

/* Nothing but the debugger's packets happens here, and it may take its time. */
static void serve_all(void)
{
    struct gdb *gdb = &session.gdb;
    struct gdb_registers registers = {0};
    struct gdb_target target = gdb_machine_target;

    target.context = &session.machine;
    target.restart = restart;
    target.file = session.with->file;
    target.file_bytes = session.with->file_bytes;
    target.path = session.options->words;
    session.machine.gdb = gdb;
    gdb_machine_registers(&session.machine, &registers);
    gdb_init(gdb, &target, &registers, session.line->get, session.line->write, NULL);
    out_line("# gdb waits at rip=%lx", registers.core[GDB_RIP]);
    while (!gdb->ended && !time_is_up()) {
        gdb_serve(gdb);
        cpu_pause();
    }
    gdb_record_end(gdb);
}

static uint64_t debug(void *arg)
{
    (void)arg;
    session.trouble = open_program(session.options->words, session.options->word_count);
    if (!session.trouble)
        serve_all();
    program_close(&session.machine.program);
    return 0;
}

void harness_gdb(const struct program_services *services, const struct options *options,
                 const struct gdb_line *line)
{
    const struct platform *platform = suite_state()->platform;
    struct gdb_machine *m = &session.machine;

    session.with = services;
    session.options = options;
    session.line = line;
    m->memory = services->memory;
    m->memory_bytes = services->memory_bytes;
    m->off_os = capability()->have & NEED_DS_CPL;
    m->no_trace = capability()->have & NEED_BTS ? NULL : capability_missing(NEED_BTS);
    m->kernel_low = platform->image_base;
    m->kernel_high = platform->image_base + platform->image_bytes;
    if (options->seconds)
        m->deadline = tsc_read() + platform->tsc_khz * 1000 * (uint64_t)options->seconds;
    platform->take_over(debug, NULL);
    if (session.trouble)
        out_line("# program trouble: %s", session.trouble);
    else
        out_line("# gdb ended: %s",
                 session.gdb.ended ? "by the debugger or the program" : "its seconds are over");
}
