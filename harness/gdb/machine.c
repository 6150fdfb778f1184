/* SPDX-License-Identifier: BSD-2-Clause */
/* Running a program in ring 3 for a debugger. */
#include "harness/gdb/machine.h"

#include "ds/broker.h"
#include "hw/apic.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/tables.h"

#define HEARTBEAT      500000u /* APIC timer ticks between looks at the line */
#define SYSCALL_BYTES  2
#define DR6_CONDITIONS 0xFull
#define NO_SUCH_CALL   38 /* Linux's ENOSYS: what rax holds before a call has a result */

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
    r->gs_base = m->program.gs_base;
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

/*
 * An emulator may raise the trap of a data breakpoint behind that of a step, in the entry of
 * the first one's handler (QEMU does). On an IST both would take the same place.
 */
static void load_watches(const struct gdb_machine *m)
{
    if (!m->dr7)
        return;
    tables_debug_stack(false);
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
    if (now && m->calling)
        m->returned = p->pause_wanted = true;
    if (!m->tracing || m->off_os)
        return;
    if (now)
        bts_stop(&m->bts);
    else
        bts_start(&m->bts);
}

/* A system call that was shown before it began goes through now. */
static bool on_held(struct program *p, uint64_t number)
{
    struct gdb_machine *m = machine_of(p);
    bool hold = !m->calling && gdb_catches(m->gdb, (uint32_t)number);

    m->number = (uint32_t)number;
    return hold;
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

/* A debug register of the debugger's that was hit; 4 = none. */
static uint8_t hit(const struct gdb_machine *m, uint64_t dr6)
{
    uint8_t i = 0;

    while (i < 4 && !((dr6 >> i & 1) && (m->dr7 >> (2 * i) & 3)))
        i++;
    return i;
}

static struct gdb_stop fault(struct gdb_machine *m, uint64_t dr6)
{
    uint64_t vector = m->program.frame.vector;

    if (vector == VECTOR_BP)
        return (struct gdb_stop){GDB_BREAKPOINT, 0, 0};
    if (vector == VECTOR_DB && (dr6 & DR6_BS))
        return (struct gdb_stop){GDB_STEPPED, 0, 0};
    return (struct gdb_stop){GDB_SIGNALLED, signal_of(vector), 0};
}

/* Shown as Linux does: behind the instruction, with no result yet. */
static struct gdb_stop hold(struct gdb_machine *m)
{
    m->program.frame.rax = (uint64_t)-NO_SUCH_CALL;
    m->held_rip = m->program.frame.rip;
    return (struct gdb_stop){GDB_CALLING, 0, m->number};
}

/* Why it came back. An exit is shown before it happens: at the system call. */
static struct gdb_stop stop_of(struct gdb_machine *m, uint64_t dr6)
{
    struct program *p = &m->program;
    bool trapped = p->end == PROGRAM_FAULTED && p->frame.vector == VECTOR_DB;

    /* Of a step and a data breakpoint at once, the breakpoint is the news. */
    if ((trapped || p->end == PROGRAM_PAUSED) && hit(m, dr6) < 4)
        return (struct gdb_stop){GDB_WATCHED, hit(m, dr6), 0};
    switch (p->end) {
    case PROGRAM_PAUSED:
        if (m->returned)
            return (struct gdb_stop){GDB_CALLED, 0, m->number};
        return (struct gdb_stop){m->called ? GDB_STEPPED : GDB_INTERRUPTED, 0, 0};
    case PROGRAM_CALLING:
        return hold(m);
    case PROGRAM_EXITED:
        p->frame.rip -= SYSCALL_BYTES;
        return (struct gdb_stop){GDB_EXITING, (uint8_t)p->code, 0};
    case PROGRAM_FAULTED:
        return fault(m, dr6);
    case PROGRAM_SIGNALLED:
        return (struct gdb_stop){GDB_SIGNALLED, (uint8_t)p->signal, 0};
    default:
        return (struct gdb_stop){GDB_LOST, 0, 0};
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
    p->held = on_held;
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
        gdb_machine_empty(m);
    if (p->end == PROGRAM_FAULTED && p->frame.vector == VECTOR_DB)
        broker_db_taken();
    broker_clear(BROKER_BLOCK_STEP);
    dr7_write(DR7_FIXED);
    tables_debug_stack(true);
    trap_set(VECTOR_TIMER, timer.handler, timer.arg);
}

static struct gdb_stop resume(void *context, struct gdb *gdb, bool step)
{
    struct gdb_machine *m = context;
    struct gdb_stop stop;
    uint64_t dr6;

    put_registers(m, &gdb->registers);
    m->stepping = step;
    m->called = m->returned = false;
    m->calling = gdb->stop.kind == GDB_CALLING && m->program.frame.rip == m->held_rip;
    if (m->calling) {
        m->program.frame.rip -= SYSCALL_BYTES;
        m->program.frame.rax = gdb->stop.number;
    }
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

const struct gdb_target gdb_machine_target = {.read = gdb_machine_read,
                                              .write = gdb_machine_write,
                                              .resume = resume,
                                              .record = gdb_machine_record,
                                              .record_end = gdb_machine_record_end,
                                              .block_step = block_step,
                                              .watch = watch,
                                              .mapping = gdb_machine_mapping};
