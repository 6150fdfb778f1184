/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * harness/oracle/step.c on real code: a child is single-stepped by ptrace, and the edges are
 * compared with what objdump's listing and the sequence of RIPs say. The judge knows mnemonics,
 * not flags: a conditional branch went elsewhere or it did not, and those few that lead
 * straight on are known by label.
 */
#include "harness/oracle/step.h"
#include "harness/tests/fakes/judge_objdump.h"
#include "harness/tests/fakes/unit.h"
#include "hw/trap.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS_MAX  400000
#define EDGES_MAX  200000
#define IRETQ_AT   0xFFFF8000000000F0ull
#define SYSRETQ_AT 0xFFFF8000000000F8ull
#define SYSCALL_AT 0xFFFF800000001000ull
#define UD2_BYTES  2

void snippet_conditional(void);
void snippet_straight(void);
void snippet_transfers(void);
void snippet_events(void);
extern const uint8_t snippet_zero_taken[], snippet_zero_jmp[], snippet_zero_call[],
    snippet_zero_loop[];

/* --- a compiled program; it calls nothing outside the listing */

static volatile unsigned sink;

__attribute__((noinline)) static unsigned collatz(unsigned n)
{
    return n <= 1 ? 0 : 1 + collatz(n & 1 ? 3 * n + 1 : n / 2);
}

__attribute__((noinline)) static unsigned dispatch(unsigned op, unsigned value)
{
    switch (op % 8) {
    case 0:
        return value + 1;
    case 1:
        return value * 3;
    case 2:
        return value ^ op;
    case 3:
        return value >> 1;
    case 4:
        return collatz(value % 50 + 1);
    case 5:
        return ~value;
    case 6:
        return value - op;
    default:
        return value << 2;
    }
}

static void compiled(void)
{
    unsigned (*volatile indirect)(unsigned, unsigned) = dispatch;
    unsigned value = 7;
    char text[64];

    for (unsigned i = 0; i < 300; i++)
        value = indirect(i * 5 + value % 3, value);
    for (unsigned i = 0; i < sizeof text; i++)
        ((volatile char *)text)[i] = i + 1 < sizeof text ? 'a' : '\0';
    for (const char *p = text; *p; p++)
        value += (unsigned)*p;
    sink = value;
}

/* --- the judge: objdump's listing of this very program */

enum judged_class {
    JUDGED_STRAIGHT,
    JUDGED_CONDITIONAL,
    JUDGED_ALWAYS,
    JUDGED_SHADOW,
    JUDGED_REPEATED
};

struct listed {
    uint64_t address;
    uint8_t length, class;
};
static struct listed *listing;
static size_t listed_count, listed_room;

static enum judged_class class_of(const struct judged *j)
{
    if (strncmp(j->mnemonic, "jmp", 3) == 0 || strncmp(j->mnemonic, "call", 4) == 0 ||
        strncmp(j->mnemonic, "ret", 3) == 0 || strncmp(j->mnemonic, "lret", 4) == 0 ||
        strncmp(j->mnemonic, "ljmp", 4) == 0 || strncmp(j->mnemonic, "iret", 4) == 0)
        return JUDGED_ALWAYS;
    if (j->mnemonic[0] == 'j' || strncmp(j->mnemonic, "loop", 4) == 0)
        return JUDGED_CONDITIONAL;
    if (strcmp(j->mnemonic, "mov") == 0 && strstr(j->operands, ",%ss"))
        return JUDGED_SHADOW;
    return strncmp(j->text, "rep", 3) == 0 ? JUDGED_REPEATED : JUDGED_STRAIGHT;
}

static void list(const struct judged *j, void *context)
{
    (void)context;
    if (listed_count == listed_room) {
        listed_room = listed_room ? 2 * listed_room : 4096;
        listing = realloc(listing, listed_room * sizeof *listing);
    }
    listing[listed_count++] =
        (struct listed){j->address, (uint8_t)j->length, (uint8_t)class_of(j)};
}

static int by_address(const void *a, const void *b)
{
    const struct listed *left = a, *right = b;

    return left->address < right->address ? -1 : left->address > right->address;
}

static const struct listed *look_up(uint64_t address)
{
    struct listed key = {.address = address};

    return bsearch(&key, listing, listed_count, sizeof key, by_address);
}

/* --- the same edges by both ways */

struct run {
    struct expected_edge edges[EDGES_MAX]; /* the stepper's */
    struct {
        uint64_t from, to;
    } judged[EDGES_MAX];
    size_t judged_count, steps;
    struct stepper stepper;
    uint64_t at; /* the judge's own idea of where the program stands */
    unsigned unknown;
};
static struct run run;
static struct step_slot slots[STEP_SLOTS];

static void judged_edge(uint64_t from, uint64_t to)
{
    if (run.judged_count < EDGES_MAX) {
        run.judged[run.judged_count].from = from;
        run.judged[run.judged_count].to = to;
    }
    run.judged_count++;
}

static bool leads_straight_on(uint64_t at)
{
    return at == (uint64_t)snippet_zero_taken || at == (uint64_t)snippet_zero_jmp ||
           at == (uint64_t)snippet_zero_call || at == (uint64_t)snippet_zero_loop;
}

static void judge_step(uint64_t rip)
{
    const struct listed *l = look_up(run.at);

    if (l && l->class == JUDGED_SHADOW)
        l = look_up(run.at = l->address + l->length);
    if (!l)
        run.unknown++;
    else if (l->class == JUDGED_ALWAYS || leads_straight_on(run.at) ||
             (l->class == JUDGED_CONDITIONAL && rip != run.at + l->length))
        judged_edge(run.at, rip);
    else if (rip != run.at + l->length && !(l->class == JUDGED_REPEATED && rip == run.at))
        run.unknown++;
    run.at = rip;
}

static size_t fetch_own(void *context, uint64_t linear, uint8_t bytes[15])
{
    (void)context;
    memcpy(bytes, (const void *)linear, 15);
    return 15;
}

static uint64_t entry_of(unsigned vector)
{
    return 0xFFFF800000002000ull + vector * 16;
}

static void event(unsigned vector, uint64_t from, const struct user_regs_struct *r,
                  uint64_t resume_at)
{
    bool syscall = vector == TRAP_SYSCALL;

    EXPECT(step_event(&run.stepper, vector, r->rip, r->eflags, r->rcx));
    step_resume(&run.stepper, resume_at, syscall);
    judged_edge(from, syscall ? SYSCALL_AT : entry_of(vector));
    judged_edge(syscall ? SYSRETQ_AT : IRETQ_AT, resume_at);
    run.at = resume_at;
}

/* One stop of the child; false when stepping is over. */
static bool follow(pid_t child, int signal, uint64_t end)
{
    struct user_regs_struct r;
    const struct listed *l = look_up(run.at);
    const uint8_t *code = (const uint8_t *)run.at;

    ptrace(PTRACE_GETREGS, child, NULL, &r);
    if (signal == SIGILL) {
        event(VECTOR_UD, r.rip, &r, r.rip + UD2_BYTES);
        r.rip += UD2_BYTES;
        ptrace(PTRACE_SETREGS, child, NULL, &r);
        return true;
    }
    if (signal != SIGTRAP)
        return EXPECT(signal == SIGTRAP) && false;
    if (l && code[0] == 0x0F && code[1] == 0x05) {
        event(TRAP_SYSCALL, run.at, &r, r.rip);
    } else if (l && code[0] == 0xCC) {
        event(VECTOR_BP, run.at, &r, r.rip);
    } else {
        judge_step(r.rip);
        if (!step_to(&run.stepper, r.rip, r.eflags, r.rcx))
            return false;
    }
    return r.rip != end && ++run.steps < STEPS_MAX;
}

static void __attribute__((noinline)) arrived(void)
{
    __asm__ volatile("");
}

static void step_through(void (*program)(void))
{
    uint64_t end = (uint64_t)arrived;
    pid_t child = fork();
    int status;

    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        program();
        arrived();
        _exit(0);
    }
    waitpid(child, &status, 0);
    while (WIFSTOPPED(status)) {
        struct user_regs_struct r;

        /* The way out of raise is not ours: start where the program does. */
        ptrace(PTRACE_GETREGS, child, NULL, &r);
        if (r.rip == (uint64_t)program)
            break;
        ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
        waitpid(child, &status, 0);
    }
    step_start(&run.stepper, (uint64_t)program);
    run.at = (uint64_t)program;
    judged_edge(IRETQ_AT, (uint64_t)program);
    do {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) < 0)
            break;
        waitpid(child, &status, 0);
    } while (WIFSTOPPED(status) && follow(child, WSTOPSIG(status), end));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

static void check_program(void (*program)(void), const char *name, size_t at_least)
{
    size_t differ = 0;

    memset(&run, 0, sizeof run);
    run.stepper = (struct stepper){
        .slots = slots,
        .fetch = fetch_own,
        .places = {IRETQ_AT, SYSRETQ_AT, SYSCALL_AT, entry_of},
        .edges = run.edges,
        .max = EDGES_MAX,
    };
    step_through(program);
    if (!EXPECT(!run.stepper.error))
        printf("    %s: %s at %lx\n", name, run.stepper.error, run.stepper.error_rip);
    EXPECT_EQ(run.unknown, 0);
    EXPECT(run.stepper.count >= at_least && run.stepper.count <= EDGES_MAX);
    EXPECT_EQ(run.stepper.count, run.judged_count);
    for (size_t i = 0; i < run.stepper.count && i < run.judged_count; i++) {
        if (run.edges[i].from == run.judged[i].from && run.edges[i].to == run.judged[i].to)
            continue;
        if (differ++ == 0)
            printf("    %s: edge %zu: %lx -> %lx, judge %lx -> %lx\n", name, i,
                   run.edges[i].from, run.edges[i].to, run.judged[i].from, run.judged[i].to);
    }
    EXPECT_EQ(differ, 0);
    printf("oracle: %s: %zu steps, %zu edges\n", name, run.steps, run.stepper.count);
}

static void kinds_of_events(void)
{
    static const uint8_t want[] = {EDGE_IRET, EDGE_SYSCALL, EDGE_SYSRET, EDGE_EXCEPTION,
                                   EDGE_IRET, EDGE_INT3,    EDGE_IRET,   EDGE_EXCEPTION,
                                   EDGE_IRET, EDGE_JMP,     EDGE_RET};

    check_program(snippet_events, "events", sizeof want);
    for (size_t i = 0; i < sizeof want; i++)
        EXPECT_EQ(run.edges[i].kind, want[i]);
    EXPECT_EQ(run.edges[1].cpl_after, 0);
    EXPECT_EQ(run.edges[2].cpl_after, 3);
    EXPECT_EQ(run.edges[5].flags & EDGE_FROM_ALT, EDGE_FROM_ALT);
    EXPECT_EQ(run.edges[5].from_alt, run.edges[5].from + 1);
}

static void programs(void)
{
    check_program(snippet_conditional, "conditional", 15);
    check_program(snippet_straight, "straight", 3);
    check_program(snippet_transfers, "transfers", 14);
    check_program(compiled, "compiled", 2000);
}

/* --- where there is no thread to follow, it must say so */

static uint8_t code[64];

static size_t fetch_code(void *context, uint64_t linear, uint8_t bytes[15])
{
    size_t count = 0;

    (void)context;
    for (; count < 15 && linear + count < sizeof code; count++)
        bytes[count] = code[linear + count];
    return count;
}

static bool follows(const uint8_t *instruction, size_t bytes, uint64_t rip, uint64_t rflags)
{
    memset(code, 0x90, sizeof code);
    memcpy(code, instruction, bytes);
    run.stepper.fetch = fetch_code;
    step_start(&run.stepper, 0);
    return step_to(&run.stepper, rip, rflags, 0);
}

/* The same from the cache, where the way is another one. */
static bool follows_warm(const uint8_t *instruction, size_t bytes, uint64_t first_rip,
                         uint64_t first_rflags, uint64_t rip, uint64_t rflags)
{
    if (!EXPECT(follows(instruction, bytes, first_rip, first_rflags)))
        return false;
    run.stepper.at = 0;
    return step_to(&run.stepper, rip, rflags, 0);
}

static void lost_from_the_cache(void)
{
    static const uint8_t nop[] = {0x90}, je[] = {0x74, 0x10}, je_next[] = {0x74, 0};

    EXPECT(follows_warm(nop, 1, 1, 0, 1, 0));
    EXPECT(!follows_warm(nop, 1, 1, 0, 2, 0));
    EXPECT(follows_warm(je, 2, 2, 0, 0x12, 0x40));
    EXPECT_EQ(run.stepper.count, 2);
    EXPECT(follows_warm(je, 2, 0x12, 0x40, 2, 0));
    EXPECT_EQ(run.stepper.count, 2);
    EXPECT(!follows_warm(je, 2, 2, 0, 2, 0x40));
    EXPECT(!follows_warm(je, 2, 2, 0, 0x12, 0));
    EXPECT(!follows_warm(je, 2, 2, 0, 0x13, 0x40));
    EXPECT(follows_warm(je_next, 2, 2, 0, 2, 0x40));
    EXPECT_EQ(run.stepper.count, 2);
}

static void lost_threads(void)
{
    static const uint8_t nop[] = {0x90}, je[] = {0x74, 0x10}, jmp[] = {0xEB, 0x10},
                         bad[] = {0x06}, syscall[] = {0x0F, 0x05}, movs[] = {0xA4},
                         rep_movs[] = {0xF3, 0xA4};

    EXPECT(follows(nop, 1, 1, 0));
    EXPECT(!follows(nop, 1, 2, 0));
    EXPECT(!follows(nop, 1, 0, 0));
    EXPECT(follows(je, 2, 2, 0));
    EXPECT(!follows(je, 2, 2, 0x40));
    EXPECT(follows(je, 2, 0x12, 0x40));
    EXPECT(!follows(je, 2, 0x12, 0));
    EXPECT(!follows(jmp, 2, 2, 0));
    EXPECT(!follows(bad, 1, 1, 0));
    EXPECT(!follows(syscall, 2, 2, 0));
    EXPECT(!follows(movs, 1, 0, 0));
    EXPECT(follows(rep_movs, 2, 0, 0));
    EXPECT(!run.stepper.error && run.stepper.count == 1);
    /* Rewritten code is decoded afresh. */
    EXPECT(follows(nop, 1, 1, 0));
    memcpy(code, jmp, sizeof jmp);
    run.stepper.at = 0;
    EXPECT(step_to(&run.stepper, 0x12, 0, 0));
    EXPECT_EQ(run.edges[1].kind, EDGE_JMP);
}

static void events_are_told_apart(void)
{
    static const uint8_t int80[] = {0xCD, 0x80}, nop[] = {0x90};

    follows(nop, 1, 1, 0);
    EXPECT(step_event(&run.stepper, VECTOR_TEST, 1, 0, 0)); /* between two instructions */
    EXPECT_EQ(run.edges[1].kind, EDGE_INTERRUPT);
    EXPECT(step_event(&run.stepper, VECTOR_NMI, 2, 0, 0)); /* the step's #DB was overtaken */
    EXPECT_EQ(run.edges[2].from, 2);
    EXPECT(!step_event(&run.stepper, VECTOR_UD, 9, 0, 0));
    EXPECT(!step_event(&run.stepper, TRAP_SYSCALL, 4, 0, 0));

    memset(code, 0x90, sizeof code);
    memcpy(code, int80, sizeof int80);
    step_start(&run.stepper, 0);
    EXPECT(step_event(&run.stepper, VECTOR_GP, 0, 0, 0)); /* its gate refused ring 3 */
    EXPECT_EQ(run.edges[1].kind, EDGE_EXCEPTION);
    EXPECT(step_event(&run.stepper, VECTOR_SYSCALL_INT, 2, 0, 0));
    EXPECT_EQ(run.edges[2].kind, EDGE_INT);
    EXPECT_EQ(run.edges[2].from, 0);
    EXPECT_EQ(run.edges[2].from_alt, 2);
}

int main(int argc, char **argv)
{
    char arguments[4200];

    (void)argc;
    snprintf(arguments, sizeof arguments, "-d '%s'", argv[0]);
    if (!EXPECT(judged_listing(arguments, list, NULL)))
        UNIT_END();
    qsort(listing, listed_count, sizeof *listing, by_address);
    RUN(programs);
    RUN(kinds_of_events);
    RUN(lost_threads);
    RUN(lost_from_the_cache);
    RUN(events_are_told_apart);
    free(listing);
    UNIT_END();
}
