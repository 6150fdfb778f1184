/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Workloads run here, stepped by RFLAGS.TF, and each record that a branch trace should hold of
 * them is written down. Signal handlers play the kernel of guest/workload.h. Linux on x86-64
 * only; include it after _GNU_SOURCE is defined.
 */
#ifndef HARNESS_TESTS_FAKES_GUEST_HOST_H
#define HARNESS_TESTS_FAKES_GUEST_HOST_H

#include "guest/abi.h"
#include "guest/region.h"
#include "harness/fuzz/generate.h"
#include "harness/oracle/decode.h"
#include "harness/tests/fakes/guest_fake.h"
#include "harness/tests/fakes/unit.h"
#include "hw/paging.h"
#include "hw/regs.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define CODE_BYTES      ((size_t)(__guest_end - __guest_start))
#define GENERATED_BYTES (GENERATE_PAGES * PAGE_BYTES)
#define STACK_BYTES     0x10000u
#define RECORD_MAX      100000u
#define STEP_MAX        3000000u

struct record {
    uint64_t from, to;
};

static uint8_t *code, *data, *generated, *stack;
static struct record records[RECORD_MAX];
static size_t record_count, steps;
static uint64_t before;            /* where the step that ends at the next trap began */
static mcontext_t home;            /* of the raise() that entered the workload */
static const struct workload *now; /* NULL when none runs */
static const char *trouble;        /* why the run was given up */
static uint64_t trouble_at, result, argument;

static void put(uint64_t from, uint64_t to)
{
    if (record_count < RECORD_MAX)
        records[record_count++] = (struct record){from, to};
}

static void leave(mcontext_t *m, const char *why)
{
    trouble = why;
    trouble_at = (uint64_t)m->gregs[REG_RIP];
    result = (uint64_t)m->gregs[REG_RDI];
    memcpy(m->gregs, home.gregs, sizeof(home.gregs));
}

static bool in_code(uint64_t address)
{
    return address - (uint64_t)code < CODE_BYTES ||
           address - (uint64_t)generated < GENERATED_BYTES;
}

/* The instruction that was stepped: a record when it was a taken branch. */
static void account(mcontext_t *m, uint64_t after)
{
    struct decoded d;

    if (!decode((const uint8_t *)before, 15, &d)) {
        leave(m, "undecodable");
        return;
    }
    /* MOV SS holds its trap back: this one is of the instruction behind it. */
    if (d.shadow) {
        before += d.length;
        if (!decode((const uint8_t *)before, 15, &d)) {
            leave(m, "undecodable");
            return;
        }
    }
    if (after == before && d.repeated)
        return;
    if (d.branch != BRANCH_NONE &&
        branch_taken(&d, (uint64_t)m->gregs[REG_EFL], (uint64_t)m->gregs[REG_RCX]))
        put(before, after);
    else if (after != before + d.length)
        leave(m, "went elsewhere without a taken branch");
}

/* Services at rip, one after the other, without letting this machine's kernel see them. */
static void serve(mcontext_t *m)
{
    for (;;) {
        uint64_t rip = (uint64_t)m->gregs[REG_RIP];
        bool syscall = in_code(rip) && memcmp((void *)rip, "\x0F\x05", 2) == 0;
        bool interrupt = in_code(rip) && memcmp((void *)rip, "\xCD\x80", 2) == 0;

        if (!syscall && !interrupt)
            return;
        put(rip, syscall ? syscall_entry_address() : trap_entry_address(VECTOR_SYSCALL_INT));
        if (m->gregs[REG_RAX] == SERVICE_EXIT) {
            leave(m, NULL);
            return;
        }
        if (m->gregs[REG_RAX] != SERVICE_NOP) {
            leave(m, "service");
            return;
        }
        m->gregs[REG_RAX] = m->gregs[REG_RDI] + 1;
        before = rip + 2;
        m->gregs[REG_RIP] = (greg_t)before;
        put(syscall ? syscall_sysret_address() : trap_iretq_address(), before);
    }
}

static void on_exception(mcontext_t *m, unsigned vector)
{
    uint64_t rip = (uint64_t)m->gregs[REG_RIP];
    uint64_t offset = (uint64_t)m->gregs[REG_CR2] - (uint64_t)data;
    uint8_t *page = data + (offset & ~0xFFFull);

    /* INT3 is a trap: `before` is where it stands. */
    put(vector == VECTOR_BP ? before : rip, trap_entry_address(vector));
    if (vector == VECTOR_PF && (page == data + DATA_DEMAND || page == data + DATA_READ_ONLY))
        mprotect(page, 0x1000, PROT_READ | PROT_WRITE);
    else
        m->gregs[REG_RIP] = m->gregs[REG_R15];
    before = (uint64_t)m->gregs[REG_RIP];
    put(trap_iretq_address(), before);
    m->gregs[REG_EFL] |= RFLAGS_TF;
    if (!in_code(before))
        leave(m, "unexpected exception");
    else
        serve(m);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    uint64_t after = (uint64_t)m->gregs[REG_RIP];

    (void)info;
    if (!now)
        abort(); /* the test itself is at fault */
    if (signal != SIGTRAP || m->gregs[REG_TRAPNO] == VECTOR_BP) {
        on_exception(m, (unsigned)m->gregs[REG_TRAPNO]);
        return;
    }
    if (++steps > STEP_MAX) {
        leave(m, "step budget");
        return;
    }
    account(m, after);
    before = after;
    if ((uint64_t)m->gregs[REG_RIP] == after)
        m->gregs[REG_EFL] |= RFLAGS_TF; /* POPF may have cleared it */
    if ((uint64_t)m->gregs[REG_RIP] == after)
        serve(m);
}

static void on_enter(int signal, siginfo_t *info, void *context)
{
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    uint64_t back = (uint64_t)code + (uint64_t)(guest_exit - __guest_start);

    (void)signal;
    (void)info;
    home = *m;
    memcpy(stack + STACK_BYTES - 8, &back, 8);
    before = (uint64_t)code + (uint64_t)now->entry;
    m->gregs[REG_RIP] = (greg_t)before;
    m->gregs[REG_RSP] = (greg_t)(stack + STACK_BYTES - 8);
    m->gregs[REG_RDI] = (greg_t)data;
    m->gregs[REG_EFL] |= RFLAGS_TF;
    put(trap_iretq_address(), before);
    serve(m);
}

/* raise() is declared as one that never calls back; the handlers here do write statics. */
static int (*volatile enter)(int) = raise;

static void run(const struct workload *w)
{
    now = w;
    trouble = "did not run";
    record_count = steps = 0;
    mprotect(data, DATA_NEVER, PROT_READ | PROT_WRITE);
    memset(data, 0, DATA_NEVER);
    memcpy(data, &argument, sizeof(argument));
    mprotect(data + DATA_DEMAND, 0x1000, PROT_NONE);
    mprotect(data + DATA_READ_ONLY, 0x1000, PROT_READ);
    enter(SIGUSR1);
    now = NULL;
    if (trouble)
        printf("%s: %s at +0x%lx after %zu records\n", w->name, trouble,
               trouble_at - (uint64_t)code, record_count);
    EXPECT(!trouble);
}

static void set_up(void)
{
    static const int signals[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    static uint8_t handler_stack[0x10000];
    stack_t alternative = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    code = mmap(NULL, CODE_BYTES + DATA_BYTES + GENERATED_BYTES,
                PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT(code != MAP_FAILED && stack != MAP_FAILED);
    data = code + CODE_BYTES;
    generated = data + DATA_BYTES;
    memcpy(code, __guest_start, CODE_BYTES);
    mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC);
    mprotect(data + DATA_NEVER, 0x1000, PROT_NONE);
    sigaltstack(&alternative, NULL);
    action.sa_sigaction = on_signal;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
    action.sa_sigaction = on_enter;
    sigaction(SIGUSR1, &action, NULL);
}

static struct guest_place place_here(void)
{
    return (struct guest_place){
        .base = (uint64_t)code,
        .data = (uint64_t)data,
        .ring = 3,
        .argument = argument,
        .caller = trap_iretq_address(),
        .back = (uint64_t)code + (uint64_t)(guest_exit - __guest_start),
    };
}

/* The records of the last run against these edges. */
static bool compare(const char *name, const struct expected_edge *expected, size_t count)
{
    for (size_t i = 0; i < count && i < record_count; i++) {
        if (records[i].from == expected[i].from && records[i].to == expected[i].to)
            continue;
        printf("%s: record %zu is +0x%lx -> +0x%lx, expected %s +0x%lx -> +0x%lx\n", name, i,
               records[i].from - (uint64_t)code, records[i].to - (uint64_t)code,
               edge_kind_name(expected[i].kind), expected[i].from - (uint64_t)code,
               expected[i].to - (uint64_t)code);
        return EXPECT(!"the record matches its edge");
    }
    if (EXPECT_EQ(record_count, count))
        return true;
    printf("in %s\n", name);
    return false;
}

#endif
