/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program traced to its end, in pieces: whenever the memory for the trace is nearly full, the
 * program stands still, the machine goes back to firmware, the trace goes into the file, and
 * the program goes on where it was.
 */
#include "harness/program/program.h"

#include "ds/broker.h"
#include "guest/program.h"
#include "harness/check/capability.h"
#include "harness/check/check.h"
#include "harness/check/format.h"
#include "harness/check/out.h"
#include "harness/program/program_export.h"
#include "harness/program/program_file.h"
#include "harness/program/program_print.h"
#include "harness/program/program_record.h"
#include "harness/program/program_sample.h"
#include "harness/suite/suite.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/string.h"

#define CAPACITY   16384u /* records of the BTS buffer, where memory is not scarce */
#define SHARE      16u    /* of the memory that the buffer may take */
#define AREA_BYTES PAGE_BYTES
#define LAST_BYTES 0x10000u  /* of the file: kept for the records at the end */
#define HEARTBEAT  16000000u /* APIC timer ticks between looks at the clock */

static struct {
    struct program_services with;
    const struct options *options;
    const struct platform *platform;
    struct elf_plan plan;
    struct program_start start;
    struct program program;
    struct recorder recorder;
    struct bts bts;
    struct pmi pmi;
    struct sampler sampler;
    size_t capacity, store_bytes; /* the buffer's records; it and the area */
    bool open, traced, sampled, off_os;
    const char *trouble; /* the suite's own means failed */
    unsigned pieces;
    uint64_t program_ticks, deadline;
    size_t file_bytes;
} state;

/* --- before the run */

const char *harness_program_check(const struct program_services *services,
                                  const struct options *options)
{
    static char line[OUT_LINE_BYTES];
    enum elf_error error =
        elf_plan(services->file, services->file_bytes, services->page_bytes, &state.plan);

    state.with = *services;
    state.options = options;
    if (error) {
        fmt(line, sizeof(line), "%s %s", options->program, elf_error_text(error));
        return line;
    }
    for (unsigned i = 0; i < state.plan.count; i++) {
        const struct elf_segment *s = &state.plan.segments[i];

        if (services->reserved(s->start & ~(PAGE_BYTES - 1), s->bytes + PAGE_BYTES)) {
            fmt(line, sizeof(line), "%s lies where the kernel is here (%lx): link it with %s",
                options->program, s->start, "-Wl,-Ttext-segment=0x10000000000");
            return line;
        }
    }
    return NULL;
}

/* --- during it */

static struct recorder *recorder(void)
{
    return &state.recorder;
}

static bool memory_low(void)
{
    return recorder()->bytes - recorder()->used < 2 * recorder_worst(state.capacity);
}

static bool on_pmi(struct trap_frame *frame, void *arg)
{
    struct program *p = arg;

    if (state.sampled)
        sampler_interrupt(&state.sampler);
    else
        pmi_handle(&state.pmi);
    p->pause_wanted |= memory_low();
    if (trap_from_user(frame))
        program_leave(p, frame);
    return true;
}

static bool on_timer(struct trap_frame *frame, void *arg)
{
    struct program *p = arg;

    p->kill_wanted |= state.deadline && tsc_read() > state.deadline;
    apic_timer_oneshot(HEARTBEAT);
    if (trap_from_user(frame))
        program_leave(p, frame);
    return true;
}

/*
 * Into the trace. A full buffer takes no more: where no interrupt came in time, nobody knows
 * how many branches are missing, but that some are.
 */
static void take_records(void)
{
    size_t count = 0;

    bts_drain(&state.bts, recorder_sink, recorder(), &count);
    if (count >= state.capacity)
        recorder_lost(recorder(), WTR_UNKNOWN, WTR_REASON_OVERFLOW);
}

/* What is recorded next stands in the trace behind the branches that led to it. */
static void drain(void)
{
    bool running = state.traced && bts_running(&state.bts);

    if (!state.traced)
        return;
    bts_stop(&state.bts);
    take_records();
    if (running)
        bts_start(&state.bts);
}

static void on_signal(struct program *p, unsigned number, uint64_t from, uint64_t to)
{
    const struct wtr_signal body = {.from = from, .to = to, .number = number};

    drain();
    recorder_put(recorder(), WTR_SIGNAL, &body, sizeof(body), NULL, 0);
    p->pause_wanted |= memory_low();
}

static void on_output(struct program *p, unsigned stream, const uint8_t *bytes, size_t count)
{
    drain();
    recorder_output(recorder(), stream, bytes, count);
    p->pause_wanted |= memory_low();
}

/* Where the processor cannot leave CPL 0 out, the kernel's own loops would fill the buffer. */
static void on_kernel(struct program *p, bool now)
{
    (void)p;
    if (now)
        bts_stop(&state.bts);
    else
        bts_start(&state.bts);
}

static bool open_program(void)
{
    struct program *p = &state.program;

    state.open = true;
    p->output = on_output;
    p->signalled = on_signal;
    p->reserved = state.with.reserved;
    p->in_kernel = state.traced && !state.off_os ? on_kernel : NULL;
    state.start = harness_program_start(&state.with, state.options);
    state.trouble = program_open(p, &state.plan, &state.start);
    return !state.trouble;
}

static bool start_sampling(void)
{
    state.trouble = sampler_start(&state.sampler, (struct ds_area *)state.with.memory,
                                  state.with.memory + AREA_BYTES);
    return !state.trouble;
}

/* Every take-over begins with an empty broker, so the Debug Store is set up anew. */
static bool start_trace(void)
{
    struct program *p = &state.program;
    const struct bts_config config = {
        .base = (uint64_t)state.with.memory + AREA_BYTES,
        .bytes = state.capacity * sizeof(struct bts_record),
        .threshold_records = state.off_os ? state.capacity / 4 * 3 : state.capacity / 2,
        .interrupt = true,
        .off_os = state.off_os,
        .tables = &p->space.cr3,
        .table_count = 1,
    };
    const char *why = "the local APIC refuses the performance entry";

    state.pmi = (struct pmi){.bts = &state.bts, .sink = recorder_sink, .context = recorder()};
    recorder()->pmi = &state.pmi;
    recorder()->losses = 0;
    if (bts_setup(&state.bts, (struct ds_area *)state.with.memory, &config, &why) != DS_OK ||
        pmi_arm(&state.pmi, LVT_DELIVERY_FIXED | VECTOR_PMI) != DS_OK ||
        bts_start(&state.bts) != DS_OK) {
        state.trouble = why;
        return false;
    }
    return true;
}

static void stop_trace(void)
{
    bts_stop(&state.bts);
    take_records();
    pmi_disarm(&state.pmi);
    bts_teardown(&state.bts);
}

static uint64_t run_piece(void *arg)
{
    struct program *p = &state.program;
    struct trap_slot pmi, timer;
    uint64_t start;

    (void)arg;
    if (!state.open && !open_program())
        return 0;
    pmi = trap_set(VECTOR_PMI, on_pmi, p);
    timer = trap_set(VECTOR_TIMER, on_timer, p);
    recorder_time(recorder(), WTR_ARRIVES);
    apic_timer_oneshot(HEARTBEAT);
    if (state.sampled ? start_sampling() : !state.traced || start_trace()) {
        start = tsc_read();
        program_run(p);
        state.program_ticks += tsc_read() - start;
    }
    if (state.sampled)
        sampler_stop(&state.sampler);
    if (state.traced)
        stop_trace();
    apic_timer_oneshot(0);
    recorder_time(recorder(), WTR_DEPARTS);
    trap_set(VECTOR_PMI, pmi.handler, pmi.arg);
    trap_set(VECTOR_TIMER, timer.handler, timer.arg);
    return 0;
}

static uint64_t close_program(void *arg)
{
    (void)arg;
    program_close(&state.program);
    return 0;
}

/* --- the file */

static bool write_out(void)
{
    struct recorder *r = recorder();

    if (r->used > 0 && !state.with.append(r->memory, r->used)) {
        state.trouble = "trace.wtr cannot be written to the boot volume";
        return false;
    }
    state.file_bytes += r->used;
    r->used = 0;
    return true;
}

/* The memory of the next piece: never more than the file can take. */
static void next_piece(void)
{
    uint64_t room = state.with.room(), most = state.with.memory_bytes - state.store_bytes;

    room = room > LAST_BYTES ? room - LAST_BYTES : 0;
    if (room < 3 * recorder_worst(state.capacity))
        recorder()->dropping = true;
    recorder()->bytes = recorder()->dropping || room > most ? most : room;
}

/* --- the whole of it */

static void print_result(uint64_t ticks)
{
    const struct program *p = &state.program;
    uint64_t khz = state.platform->tsc_khz ? state.platform->tsc_khz : 1;

    program_print_end(p, state.options);
    out_line("# program branches=%lu lost=%lu left_out=%lu bytes=%zu pieces=%u calls=%lu",
             recorder()->branches, recorder()->dropped, recorder()->left_out, state.file_bytes,
             state.pieces, p->calls);
    out_line("# program microseconds=%lu with_file=%lu traced=%d",
             (state.program_ticks * 1000 / khz), (ticks * 1000 / khz), state.traced);
}

static void print_sampling(void)
{
    const struct sampler *s = &state.sampler;

    out_line("# program samples=%lu dropped=%lu events=%lu asked=%lu period=%lu doubled=%u",
             s->samples, s->dropped, s->events, s->asked, s->next_period, s->doubled);
}

/* Once nothing of it runs any more; the trace is in its file already. */
static void export_files(void)
{
    int count = state.open
                    ? program_export(&state.program, state.with.begin_file, state.with.append)
                    : 0;

    if (count < 0)
        state.trouble = "files.tar cannot be written to the boot volume";
    else if (count > 0)
        out_line("# program files=%d", count);
}

static void run_pieces(void)
{
    uint64_t start = tsc_read();

    if (state.options->seconds)
        state.deadline =
            start + state.platform->tsc_khz * 1000 * (uint64_t)state.options->seconds;
    program_file_begin(recorder(), &state.plan, state.options, state.with.epoch,
                       state.traced || state.sampled);
    do {
        state.pieces++;
        state.platform->take_over(run_piece, NULL);
        if (state.sampled && state.program.end != PROGRAM_PAUSED)
            sampler_finish(&state.sampler);
        if (!state.trouble && state.program.end != PROGRAM_PAUSED)
            program_file_end(recorder(), &state.program);
        if (!state.trouble && !write_out())
            break;
        next_piece();
        out_line("# program piece=%u branches=%lu", state.pieces, recorder()->branches);
    } while (!state.trouble && state.program.end == PROGRAM_PAUSED);
    if (!state.trouble)
        print_result(tsc_read() - start);
    if (!state.trouble && state.sampled)
        print_sampling();
    if (!state.trouble)
        export_files();
    if (state.open)
        state.platform->take_over(close_program, NULL);
}

static void prepare_sampling(void)
{
    state.sampler = (struct sampler){
        .recorder = recorder(),
        .program = &state.program,
        .pmc = &capability()->pmc,
        .event = state.options->sample,
        .asked = state.options->period,
        .stacks = state.options->stacks,
    };
    sampler_prepare(&state.sampler);
    if (!(capability()->have & NEED_PEBS))
        state.trouble = capability_missing(NEED_PEBS);
}

void harness_program(void)
{
    state.platform = suite_state()->platform;
    state.sampled = state.options->sample != OPTION_SAMPLE_NONE;
    state.traced = !state.options->untraced && !state.sampled;
    state.capacity = state.sampled ? SAMPLER_BUFFER_BYTES : state.with.memory_bytes / SHARE;
    state.capacity /= sizeof(struct bts_record);
    if (state.capacity > CAPACITY)
        state.capacity = CAPACITY;
    state.store_bytes = AREA_BYTES + state.capacity * sizeof(struct bts_record);
    state.off_os = (capability()->have & NEED_DS_CPL) && !state.options->crossings;
    *recorder() = (struct recorder){
        .memory = state.with.memory + state.store_bytes,
        .crossings = state.options->crossings,
        .kernel_low = state.platform->image_base,
        .kernel_high = state.platform->image_base + state.platform->image_bytes,
        .pmi = &state.pmi,
    };
    if (state.traced && !(capability()->have & NEED_BTS))
        state.trouble = capability_missing(NEED_BTS);
    if (state.sampled)
        prepare_sampling();
    next_piece();
    if (!state.trouble)
        run_pieces();
    if (state.trouble)
        out_line("# program trouble: %s", state.trouble);
}
