/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's GDB server on the host: the same code over TCP, with a program under ptrace in
 * place of one in ring 3. Every instruction is single-stepped, and a branch is what the step
 * oracle's decoder calls one. A line that drops may be dialled again.
 *
 *     gdb_host PROGRAM [ARGUMENTS]      prints `port N`, serves until the program has ended
 */
#include "harness/gdb/stub.h"
#include "harness/oracle/decode.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define INT3          0xCC
#define RING_MOST     (1u << 20)
#define POLL_STEPS    256u
#define CALL_EXIT     60
#define CALL_EXIT_ALL 231

static struct {
    pid_t child;
    int memory, listening, line;
    struct gdb gdb;
    struct btrace_branch ring[RING_MOST];
    uint32_t symbols[RING_MOST + 1];
    bool block_step;
} host = {.line = -1};

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

/* --- the line */

static int get(void *context)
{
    struct pollfd wait = {.events = POLLIN};
    uint8_t byte;

    (void)context;
    wait.fd = host.line < 0 ? host.listening : host.line;
    if (poll(&wait, 1, host.gdb.running ? 0 : 20) <= 0)
        return -1;
    if (host.line < 0) {
        host.line = accept(host.listening, NULL, NULL);
        return -1;
    }
    if (read(host.line, &byte, 1) == 1)
        return byte;
    close(host.line);
    host.line = -1;
    return -1;
}

static void line_write(void *context, const char *bytes, size_t count)
{
    (void)context;
    while (host.line >= 0 && count > 0) {
        ssize_t sent = send(host.line, bytes, count, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        bytes += sent;
        count -= (size_t)sent;
    }
}

static unsigned start_listening(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);

    host.listening = socket(AF_INET, SOCK_STREAM, 0);
    if (host.listening < 0 || bind(host.listening, (void *)&address, bytes) != 0 ||
        listen(host.listening, 4) != 0 ||
        getsockname(host.listening, (void *)&address, &bytes) != 0)
        die("socket");
    return ntohs(address.sin_port);
}

/* --- the program */

static size_t read_memory(void *context, uint64_t address, void *to, size_t count)
{
    ssize_t got = pread(host.memory, to, count, (off_t)address);

    (void)context;
    return got > 0 ? (size_t)got : 0;
}

static bool write_memory(void *context, uint64_t address, const void *from, size_t count)
{
    (void)context;
    return count == 0 || pwrite(host.memory, from, count, (off_t)address) == (ssize_t)count;
}

static void take_registers(const struct user_regs_struct *u, struct gdb_registers *r)
{
    const uint64_t core[] = {u->rax, u->rbx,    u->rcx, u->rdx, u->rsi, u->rdi, u->rbp, u->rsp,
                             u->r8,  u->r9,     u->r10, u->r11, u->r12, u->r13, u->r14, u->r15,
                             u->rip, u->eflags, u->cs,  u->ss,  u->ds,  u->es,  u->fs,  u->gs};

    memcpy(r->core, core, sizeof(core));
    r->fs_base = u->fs_base;
    r->gs_base = u->gs_base;
}

static void put_registers(const struct gdb_registers *r, struct user_regs_struct *u)
{
    unsigned long long *const to[] = {&u->rax, &u->rbx, &u->rcx, &u->rdx, &u->rsi, &u->rdi,
                                      &u->rbp, &u->rsp, &u->r8,  &u->r9,  &u->r10, &u->r11,
                                      &u->r12, &u->r13, &u->r14, &u->r15, &u->rip, &u->eflags};

    for (unsigned i = 0; i < sizeof(to) / sizeof(to[0]); i++)
        *to[i] = r->core[i];
    u->fs_base = r->fs_base;
}

static uint8_t signal_for_gdb(int number)
{
    return number == SIGSEGV  ? GDB_SIGSEGV
           : number == SIGFPE ? GDB_SIGFPE
           : number == SIGILL ? GDB_SIGILL
           : number == SIGBUS ? GDB_SIGBUS
                              : GDB_SIGTRAP;
}

/* Whether the instruction at the old place, decoded before it ran, stored a record. */
static bool branched(const struct decoded *d, const struct user_regs_struct *before,
                     const struct user_regs_struct *after)
{
    if (d->branch == BRANCH_JCC || d->branch == BRANCH_LOOP)
        return branch_taken(d, d->branch == BRANCH_JCC ? before->eflags : after->eflags,
                            after->rcx);
    return d->branch >= BRANCH_JMP && d->branch <= BRANCH_RET;
}

/* One instruction. True when the program stops there; *branch tells whether it was one. */
static bool step_one(struct user_regs_struct *u, struct gdb_stop *stop, bool *branch)
{
    struct user_regs_struct before = *u;
    uint8_t code[15] = {0};
    struct decoded d = {0};
    int status;

    *branch = false;
    decode(code, read_memory(NULL, u->rip, code, sizeof(code)), &d);
    if (d.branch == BRANCH_SYSCALL && (u->rax == CALL_EXIT || u->rax == CALL_EXIT_ALL)) {
        *stop = (struct gdb_stop){GDB_EXITING, (uint8_t)u->rdi, 0};
        return true;
    }
    if (ptrace(PTRACE_SINGLESTEP, host.child, NULL, NULL) != 0 ||
        waitpid(host.child, &status, 0) != host.child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_GETREGS, host.child, NULL, u) != 0) {
        *stop = (struct gdb_stop){GDB_LOST, 0, 0};
        return true;
    }
    if (code[0] == INT3) {
        *stop = (struct gdb_stop){GDB_BREAKPOINT, 0, 0};
        return true;
    }
    if (WSTOPSIG(status) != SIGTRAP) {
        *stop = (struct gdb_stop){GDB_SIGNALLED, signal_for_gdb(WSTOPSIG(status)), 0};
        return true;
    }
    *branch = branched(&d, &before, u);
    if (*branch && host.gdb.trace.on)
        btrace_add(&host.gdb.trace, before.rip, u->rip);
    return false;
}

static struct gdb_stop resume(void *context, struct gdb *gdb, bool step)
{
    struct gdb_stop stop = {GDB_STEPPED, 0, 0};
    struct user_regs_struct u;
    bool branch;

    (void)context;
    if (ptrace(PTRACE_GETREGS, host.child, NULL, &u) != 0)
        return (struct gdb_stop){GDB_LOST, 0, 0};
    put_registers(&gdb->registers, &u);
    ptrace(PTRACE_SETREGS, host.child, NULL, &u);
    for (unsigned steps = 1; !step_one(&u, &stop, &branch); steps++) {
        if (step && (branch || !host.block_step))
            break;
        if (steps % POLL_STEPS == 0 && gdb_poll(gdb)) {
            stop.kind = GDB_INTERRUPTED;
            break;
        }
    }
    take_registers(&u, &gdb->registers);
    return stop;
}

static const char *record(void *context, struct btrace_log *log, uint64_t bytes, uint64_t pc)
{
    size_t capacity = bytes / 24;

    (void)context;
    if (getenv("GDB_HOST_NO_BTS"))
        return "BTS is not available here";
    if (capacity < 2)
        capacity = 2;
    btrace_begin(log, host.ring, host.symbols, capacity < RING_MOST ? capacity : RING_MOST,
                 bytes, pc);
    return NULL;
}

static void record_end(void *context)
{
    (void)context;
}

static bool block_step(void *context, bool on)
{
    (void)context;
    host.block_step = on;
    return true;
}

static bool mapping(void *context, uint64_t from, struct gdb_mapping *to)
{
    char path[32], line[512], kind[5];
    unsigned long start, end;
    bool found = false;
    FILE *file;

    (void)context;
    snprintf(path, sizeof(path), "/proc/%d/maps", host.child);
    file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof(line), file)) {
        found = sscanf(line, "%lx-%lx %4s", &start, &end, kind) == 3 && end > from;
        if (found)
            *to = (struct gdb_mapping){start, end, kind[1] == 'w', kind[2] == 'x'};
    }
    if (file)
        fclose(file);
    return found;
}

static void start(char **words)
{
    char path[32];
    int status;

    host.child = fork();
    if (host.child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(words[0], words);
        _exit(127);
    }
    if (waitpid(host.child, &status, 0) != host.child || !WIFSTOPPED(status))
        die(words[0]);
    ptrace(PTRACE_SETOPTIONS, host.child, NULL, (void *)PTRACE_O_EXITKILL);
    snprintf(path, sizeof(path), "/proc/%d/mem", host.child);
    host.memory = open(path, O_RDWR);
    if (host.memory < 0)
        die(path);
}

int main(int argc, char **argv)
{
    static const struct gdb_target target = {
        .read = read_memory,
        .write = write_memory,
        .resume = resume,
        .record = record,
        .record_end = record_end,
        .block_step = block_step,
        .mapping = mapping,
    };
    struct gdb_registers registers = {0};
    struct user_regs_struct u;

    if (argc < 2) {
        fprintf(stderr, "usage: gdb_host PROGRAM [ARGUMENTS]\n");
        return 3;
    }
    start(argv + 1);
    if (ptrace(PTRACE_GETREGS, host.child, NULL, &u) != 0)
        die("PTRACE_GETREGS");
    take_registers(&u, &registers);
    gdb_init(&host.gdb, &target, &registers, get, line_write, NULL);
    printf("port %u\n", start_listening());
    fflush(stdout);
    while (!host.gdb.ended)
        gdb_serve(&host.gdb);
    kill(host.child, SIGKILL);
    printf("ended\n");
    return 0;
}
