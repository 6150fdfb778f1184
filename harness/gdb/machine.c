/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running a program in ring 3 for a debugger, and recording its branches.
 *
 * The BTS buffer is a ring without an interrupt. At each stop it is emptied into the log, which
 * has room for what the debugger asked for.
 */
#include "harness/gdb/machine.h"

#include "ds/broker.h"
#include "hw/apic.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"

#define HEARTBEAT      500000u /* APIC timer ticks between looks at the line */
#define SYSCALL_BYTES  2
#define RECORDS_LEAST  4u
#define RECORDS_MOST   (1u << 20)
#define DR6_CONDITIONS 0xFull
/* Beside the program's own: the way out of ring 3 and back, where that cannot be left out. */
#define KERNEL_RECORDS 4096u

/* --- registers */

void gdb_machine_registers(const struct gdb_machine *m, struct gdb_registers *r)
{
    const struct trap_frame *f = &m->program.frame;
    const uint64_t core[GDB_CORE_REGISTERS] = {
        f->rax, f->rbx, f->rcx, f->rdx, f->rsi, f->rdi, f->rbp, f->rsp,    f->r8, f->r9,
        f->r10, f->r11, f->r12, f->r13, f->r14, f->r15, f->rip, f->rflags, f->cs, f->ss};

    memcpy(r->core, core, sizeof(core));
    memcpy(r->fx, m->program.fpu.bytes, sizeof(r->fx));
    r->fs_base = m->program.fs_base;
    r->gs_base = 0;
}

static void put_registers(struct gdb_machine *m, const struct gdb_registers *r)
{
    struct trap_frame *f = &m->program.frame;
    uint64_t *const to[] = {&f->rax, &f->rbx, &f->rcx, &f->rdx, &f->rsi, &f->rdi,
                            &f->rbp, &f->rsp, &f->r8,  &f->r9,  &f->r10, &f->r11,
                            &f->r12, &f->r13, &f->r14, &f->r15, &f->rip, &f->rflags};

    for (unsigned i = 0; i < sizeof(to) / sizeof(to[0]); i++)
        *to[i] = r->core[i];
    memcpy(m->program.fpu.bytes, r->fx, sizeof(r->fx));
    m->program.fs_base = r->fs_base;
}

/* --- memory: by a walk of the program's tables, so that nothing can fault */

/* The byte at an address of ring 3, NULL when it has none there; *room up to the page's end. */
static uint8_t *byte_at(const struct gdb_machine *m, uint64_t address, size_t *room)
{
    struct paging_walk walk;

    if (!paging_walk(m->program.space.cr3, address, &walk) || !(walk.flags & PAGE_USER))
        return NULL;
    *room = PAGE_BYTES - (address & (PAGE_BYTES - 1));
    return (uint8_t *)walk.phys;
}

static size_t read_memory(void *context, uint64_t address, void *to, size_t count)
{
    size_t done = 0, room;

    while (done < count) {
        const uint8_t *from = byte_at(context, address + done, &room);

        if (!from)
            break;
        if (room > count - done)
            room = count - done;
        memcpy((uint8_t *)to + done, from, room);
        done += room;
    }
    return done;
}

static bool write_memory(void *context, uint64_t address, const void *from, size_t count)
{
    size_t done = 0, room;

    while (done < count) {
        uint8_t *to = byte_at(context, address + done, &room);

        if (!to)
            return false;
        if (room > count - done)
            room = count - done;
        memcpy(to, (const uint8_t *)from + done, room);
        done += room;
    }
    return true;
}

/* --- recording */

static bool in_kernel(const struct gdb_machine *m, uint64_t address)
{
    return address - m->kernel_low < m->kernel_high - m->kernel_low;
}

static void take_records(void *context, const struct bts_record *records, size_t count)
{
    struct gdb_machine *m = context;

    /* What leads into the kernel and out again leaves the program where it was. */
    for (; count > 0; records++, count--)
        if (!in_kernel(m, records->from) && !in_kernel(m, records->to))
            btrace_add(&m->gdb->trace, records->from, records->to);
}

/* Records of the processor's buffer for so many of the log. */
static uint64_t buffer_records(const struct gdb_machine *m, uint64_t records)
{
    return records + (m->off_os ? 0 : KERNEL_RECORDS);
}

/* The size asked for, made one that there is room for. */
static uint64_t fitting(const struct gdb_machine *m, uint64_t bytes)
{
    const uint64_t each = sizeof(struct bts_record) + sizeof(struct btrace_branch);
    uint64_t most = (m->memory_bytes - PAGE_BYTES) / each - KERNEL_RECORDS;

    most = most < RECORDS_MOST ? most : RECORDS_MOST;
    if (bytes > most * sizeof(struct bts_record))
        return most * sizeof(struct bts_record);
    if (bytes < RECORDS_LEAST * sizeof(struct bts_record))
        return RECORDS_LEAST * sizeof(struct bts_record);
    return bytes;
}

static const char *record(void *context, struct btrace_log *log, uint64_t bytes, uint64_t pc)
{
    struct gdb_machine *m = context;
    uint64_t size = fitting(m, bytes), records = size / sizeof(struct bts_record);
    struct bts_config config = {.base = (uint64_t)m->memory + PAGE_BYTES,
                                .bytes = buffer_records(m, records) * sizeof(struct bts_record),
                                .off_os = m->off_os,
                                .tables = &m->program.space.cr3,
                                .table_count = 1};
    const char *why = "the processor's trace is in use";

    if (m->no_trace)
        return m->no_trace;
    if (bts_setup(&m->bts, (struct ds_area *)m->memory, &config, &why) != DS_OK)
        return why;
    m->tracing = true;
    btrace_begin(log, (struct btrace_branch *)(config.base + config.bytes), records, size, pc);
    return NULL;
}

static void record_end(void *context)
{
    struct gdb_machine *m = context;

    m->tracing = false;
    bts_teardown(&m->bts);
}

static void empty_buffer(struct gdb_machine *m)
{
    bts_stop(&m->bts);
    if (bts_wrapped(&m->bts))
        btrace_lose(&m->gdb->trace);
    bts_drain(&m->bts, take_records, m, NULL);
}

/* --- debug registers */

static bool block_step(void *context, bool on)
{
    struct gdb_machine *m = context;
    bool good = !on || broker_set(BROKER_BLOCK_STEP, DEBUGCTL_BTF) == DS_OK;

    m->block = on && good;
    broker_clear(BROKER_BLOCK_STEP);
    return good;
}

static bool watch(void *context, unsigned number, uint64_t address, unsigned access,
                  unsigned bytes)
{
    static const uint8_t lengths[] = {0, 0, 1, 0, 3, 0, 0, 0, 2}; /* DR7's LEN, by bytes */
    struct gdb_machine *m = context;
    uint64_t condition = access | (uint64_t)lengths[bytes] << 2;

    if ((uint64_t)((int64_t)(address << 16) >> 16) != address)
        return false;
    m->watched[number] = address;
    m->dr7 &= ~(3ull << (2 * number) | 15ull << (16 + 4 * number));
    if (bytes)
        m->dr7 |= DR7_G0 << (2 * number) | condition << (16 + 4 * number);
    return true;
}

static void load_watches(const struct gdb_machine *m)
{
    if (!m->dr7)
        return;
    dr0_write(m->watched[0]);
    dr1_write(m->watched[1]);
    dr2_write(m->watched[2]);
    dr3_write(m->watched[3]);
    dr7_write(DR7_FIXED | m->dr7);
}

/* --- runs */

static bool is_late(const struct gdb_machine *m)
{
    return m->deadline && tsc_read() > m->deadline;
}

static bool on_timer(struct trap_frame *frame, void *arg)
{
    struct gdb_machine *m = arg;
    bool running = m->tracing && !m->off_os && bts_running(&m->bts);

    if (running)
        bts_stop(&m->bts);
    m->program.pause_wanted |= gdb_poll(m->gdb);
    m->program.kill_wanted |= is_late(m);
    apic_timer_oneshot(HEARTBEAT);
    if (trap_from_user(frame))
        program_leave(&m->program, frame);
    if (running)
        bts_start(&m->bts);
    return true;
}

static struct gdb_machine *machine_of(struct program *p)
{
    return p->context;
}

/*
 * RFLAGS.TF is off during a system call, and after it would let one more instruction go by; so
 * a step over one ends inside. Where CPL 0 cannot be left out the kernel's own loops would fill
 * the buffer.
 */
static void on_kernel(struct program *p, bool now)
{
    struct gdb_machine *m = machine_of(p);

    if (now && m->stepping)
        m->called = p->pause_wanted = true;
    if (!m->tracing || m->off_os)
        return;
    if (now)
        bts_stop(&m->bts);
    else
        bts_start(&m->bts);
}

static void on_output(struct program *p, unsigned stream, const uint8_t *bytes, size_t count)
{
    (void)stream;
    gdb_output(machine_of(p)->gdb, bytes, count);
}

static uint8_t signal_of(uint64_t vector)
{
    switch (vector) {
    case VECTOR_DE:
    case VECTOR_MF:
    case VECTOR_OF:
    case 19: /* SIMD floating point */
        return GDB_SIGFPE;
    case VECTOR_UD:
    case VECTOR_NM:
        return GDB_SIGILL;
    case VECTOR_AC:
        return GDB_SIGBUS;
    case VECTOR_DB:
    case VECTOR_BP:
        return GDB_SIGTRAP;
    default:
        return GDB_SIGSEGV;
    }
}

static struct gdb_stop fault(struct gdb_machine *m, uint64_t dr6)
{
    uint64_t vector = m->program.frame.vector;

    if (vector == VECTOR_BP)
        return (struct gdb_stop){GDB_BREAKPOINT, 0};
    if (vector == VECTOR_DB) {
        for (uint8_t i = 0; i < 4; i++)
            if ((dr6 >> i & 1) && (m->dr7 >> (2 * i) & 3))
                return (struct gdb_stop){GDB_WATCHED, i};
        if (dr6 & DR6_BS)
            return (struct gdb_stop){GDB_STEPPED, 0};
    }
    return (struct gdb_stop){GDB_SIGNALLED, signal_of(vector)};
}

/* Why it came back. An exit is shown before it happens: at the system call. */
static struct gdb_stop stop_of(struct gdb_machine *m, uint64_t dr6)
{
    struct program *p = &m->program;

    switch (p->end) {
    case PROGRAM_PAUSED:
        return (struct gdb_stop){m->called ? GDB_STEPPED : GDB_INTERRUPTED, 0};
    case PROGRAM_EXITED:
        p->frame.rip -= SYSCALL_BYTES;
        return (struct gdb_stop){GDB_EXITING, (uint8_t)p->code};
    case PROGRAM_FAULTED:
        return fault(m, dr6);
    default:
        return (struct gdb_stop){GDB_LOST, 0};
    }
}

static void run(struct gdb_machine *m)
{
    struct program *p = &m->program;
    struct trap_slot timer = trap_set(VECTOR_TIMER, on_timer, m);

    /* Runs shorter than a heartbeat never see the timer. */
    p->kill_wanted |= is_late(m);
    p->context = m;
    p->output = on_output;
    p->in_kernel = on_kernel;
    if (m->stepping) {
        p->frame.rflags |= RFLAGS_TF;
        if (m->block)
            broker_set(BROKER_BLOCK_STEP, DEBUGCTL_BTF);
    }
    load_watches(m);
    if (m->tracing)
        bts_start(&m->bts);
    apic_timer_oneshot(HEARTBEAT);
    program_run(p);
    apic_timer_oneshot(0);
    if (m->tracing)
        empty_buffer(m);
    if (p->end == PROGRAM_FAULTED && p->frame.vector == VECTOR_DB)
        broker_db_taken();
    broker_clear(BROKER_BLOCK_STEP);
    dr7_write(DR7_FIXED);
    trap_set(VECTOR_TIMER, timer.handler, timer.arg);
}

static struct gdb_stop resume(void *context, struct gdb *gdb, bool step)
{
    struct gdb_machine *m = context;
    struct gdb_stop stop;
    uint64_t dr6;

    put_registers(m, &gdb->registers);
    m->stepping = step;
    m->called = false;
    /* Its bits are only ever set by the processor. */
    dr6_write(dr6_read() & ~(DR6_BS | DR6_CONDITIONS));
    run(m);
    dr6 = dr6_read();
    dr6_write(dr6 & ~(DR6_BS | DR6_CONDITIONS));
    stop = stop_of(m, dr6);
    m->program.frame.rflags &= ~RFLAGS_TF;
    gdb_machine_registers(m, &gdb->registers);
    return stop;
}

const struct gdb_target gdb_machine_target = {.read = read_memory,
                                              .write = write_memory,
                                              .resume = resume,
                                              .record = record,
                                              .record_end = record_end,
                                              .block_step = block_step,
                                              .watch = watch};
