/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records a trace without a processor that can: a static program is single-stepped by ptrace,
 * and a branch is what objdump's listing calls one and what RIP did. Ground truth for wtr.
 *
 *     record_ptrace [-s none|flat|kernel] [-t STEPS] [-n NAME] -o TRACE PROGRAM [ARGUMENTS]
 *
 * -s: no record of a system call, one from it to the next instruction, or one into a
 * kernel and one back. -t: RIP and RSP before every instruction, 8 bytes each, for judges
 * that want to see more than branches. -n: what the trace calls the program, instead of its
 * absolute path; with it no time is recorded, so that two traces of one run are equal.
 */
#include "harness/tests/fakes/judge_objdump.h"
#include "harness/tracefile/wtr_write.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define TASK         1
#define RUN_MAX      16384 /* branches kept before they are written */
#define KERNEL_ENTRY 0xFFFFFFFF81000000ull
#define KERNEL_EXIT  0xFFFFFFFF81000050ull

enum { PLAIN, CONDITIONAL, ALWAYS, SYSTEM };

struct listed {
    uint64_t address;
    uint8_t length, kind;
};

static struct {
    FILE *trace, *steps;
    char syscalls;        /* n, f, k */
    char *program, *name; /* name: NULL = the absolute path */
    struct listed *listing;
    size_t listed;
    struct wtr_branch run[RUN_MAX];
    size_t run_count;
    uint64_t records, branches, last_rip;
    uint8_t room[WTR_RECORD_MAX];
} r;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "record_ptrace: %s: ", what);
    perror(NULL);
    exit(1);
}

static void append(size_t bytes)
{
    if (!bytes || fwrite(r.room, 1, bytes, r.trace) != bytes)
        die("writing the trace");
    r.records++;
}

static void put(enum wtr_kind kind, const void *fixed, size_t fixed_bytes, const void *tail,
                size_t tail_bytes)
{
    append(wtr_put(r.room, sizeof r.room, kind, 0, TASK, fixed, fixed_bytes, tail, tail_bytes));
}

static void flush(void)
{
    size_t taken, at = 0;

    while (at < r.run_count) {
        append(wtr_pack(r.room, sizeof r.room, 0, TASK, r.run + at, r.run_count - at, &taken));
        at += taken;
    }
    r.branches += r.run_count;
    r.run_count = 0;
}

static void branch(uint64_t from, uint64_t to)
{
    if (r.run_count == RUN_MAX)
        flush();
    r.run[r.run_count++] = (struct wtr_branch){.from = from, .to = to};
}

/* --- the judge */

static void take_line(const struct judged *one, void *context)
{
    const char *m = one->mnemonic;
    struct listed *listed;

    (void)context;
    if (r.listed % 4096 == 0)
        r.listing = realloc(r.listing, (r.listed + 4096) * sizeof *r.listing);
    listed = &r.listing[r.listed++];
    *listed = (struct listed){one->address, (uint8_t)one->length, PLAIN};
    if (strncmp(m, "call", 4) == 0 || strncmp(m, "jmp", 3) == 0 || strncmp(m, "ret", 3) == 0)
        listed->kind = ALWAYS;
    else if (m[0] == 'j' || strncmp(m, "loop", 4) == 0)
        listed->kind = CONDITIONAL;
    else if (strcmp(m, "syscall") == 0)
        listed->kind = SYSTEM;
}

static const struct listed *look_up(uint64_t address)
{
    size_t low = 0, high = r.listed;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (r.listing[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && r.listing[low - 1].address == address ? &r.listing[low - 1] : NULL;
}

static void system_call(uint64_t from, uint64_t to)
{
    if (r.syscalls == 'f')
        branch(from, to);
    if (r.syscalls == 'k') {
        branch(from, KERNEL_ENTRY);
        branch(KERNEL_EXIT, to);
    }
}

static void judge(uint64_t from, uint64_t to)
{
    const struct listed *listed = look_up(from);

    if (!listed) {
        fprintf(stderr, "record_ptrace: %lx is not in the listing\n", from);
        exit(1);
    }
    if (listed->kind == SYSTEM)
        system_call(from, to);
    else if (listed->kind == ALWAYS || to != from + listed->length) {
        /* A repeated string instruction stays where it is. */
        if (listed->kind != PLAIN || to != from)
            branch(from, to);
    }
}

/* --- what the trace says about the program */

static void describe(const char *path)
{
    static struct wtr_segment segments[16];
    static uint8_t tail[sizeof segments + PATH_MAX + 64], file[1 << 20];
    char absolute[PATH_MAX], *base;
    struct wtr_image image = {0};
    struct wtr_task task = {.process = TASK};
    FILE *stream = fopen(path, "rb");
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
    const Elf64_Phdr *program;
    uint8_t *at = tail, build_id[64];

    if (!stream || !realpath(path, absolute) ||
        fread(file, 1, sizeof file, stream) < sizeof *header)
        die(path);
    fclose(stream);
    if (r.name)
        snprintf(absolute, sizeof absolute, "%s", r.name);
    program = (const Elf64_Phdr *)(file + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum && image.segment_count < 16; i++) {
        const uint8_t *note = file + program[i].p_offset;

        if (program[i].p_type == PT_LOAD)
            segments[image.segment_count++] =
                (struct wtr_segment){.start = program[i].p_vaddr,
                                     .bytes = program[i].p_memsz,
                                     .file_offset = program[i].p_offset,
                                     .flags = program[i].p_flags};
        else if (program[i].p_type == PT_NOTE && note[8] == NT_GNU_BUILD_ID && note[4] <= 64) {
            image.build_id_bytes = note[4];
            memcpy(build_id, note + 16, note[4]);
        }
    }
    image.entry = task.start = header->e_entry;
    image.path_bytes = (uint32_t)strlen(absolute) + 1;
    memcpy(at, segments, image.segment_count * sizeof *segments);
    at += image.segment_count * sizeof *segments;
    memcpy(at, build_id, image.build_id_bytes);
    at += WTR_PADDED((size_t)image.build_id_bytes);
    memcpy(at, absolute, image.path_bytes);
    put(WTR_IMAGE, &image, sizeof image, tail, (size_t)(at - tail) + image.path_bytes);
    base = strrchr(absolute, '/') ? strrchr(absolute, '/') + 1 : absolute;
    task.name_bytes = (uint32_t)strlen(base) + 1;
    put(WTR_TASK, &task, sizeof task, base, task.name_bytes);
}

static void put_arguments(char **words)
{
    char tail[4096];
    struct wtr_bytes fixed = {0};

    for (; *words && fixed.bytes + strlen(*words) < sizeof tail; words++) {
        strcpy(tail + fixed.bytes, *words);
        fixed.bytes += (uint32_t)strlen(*words) + 1;
    }
    put(WTR_ARGUMENTS, &fixed, sizeof fixed, tail, fixed.bytes);
}

static void put_time(void)
{
    struct wtr_time time = {.tsc = __rdtsc()};

    if (!r.name)
        put(WTR_TIME, &time, sizeof time, NULL, 0);
}

/* --- the run */

static pid_t start(char **words, int *output)
{
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0)
        die("pipe");
    child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(r.program, words);
        _exit(127);
    }
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *output = ends[0];
    return child;
}

static void take_output(int output)
{
    char bytes[4096];
    ssize_t got = read(output, bytes, sizeof bytes);

    if (got > 0) {
        struct wtr_bytes fixed = {.bytes = (uint32_t)got, .stream = 1};

        flush();
        put(WTR_OUTPUT, &fixed, sizeof fixed, bytes, fixed.bytes);
    }
}

static void put_exception(int signal, uint64_t rip)
{
    struct wtr_exception exception = {.rip = rip};

    exception.vector = signal == SIGILL ? 6 : signal == SIGSEGV ? 14 : 13;
    flush();
    put(WTR_EXCEPTION, &exception, sizeof exception, NULL, 0);
}

/* Steps to the end; the wait status. */
static int step_all(pid_t child, int output)
{
    struct user_regs_struct regs;
    uint64_t from = 0;
    int status, signal = 0;

    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (ptrace(PTRACE_GETREGS, child, NULL, &regs) != 0)
            die("PTRACE_GETREGS");
        /* The way into its handler is recorded as the processor would: from where it struck. */
        if (signal) {
            put_exception(signal, regs.rip);
        } else {
            if (from)
                judge(from, regs.rip);
            from = r.last_rip = regs.rip;
            if (r.steps) {
                uint64_t pair[2] = {regs.rip, regs.rsp};

                fwrite(pair, sizeof pair, 1, r.steps);
            }
        }
        if (look_up(from) && look_up(from)->kind == SYSTEM)
            take_output(output);
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)(intptr_t)signal) != 0)
            die("PTRACE_SINGLESTEP");
    }
    take_output(output);
    return status;
}

static void finish(int status)
{
    struct wtr_exit exit = {.how = WTR_EXIT_CODE, .rip = r.last_rip};
    struct wtr_end end;

    flush();
    put_time();
    if (WIFEXITED(status))
        exit.code = WEXITSTATUS(status);
    else
        exit.how = WTR_EXIT_KILLED;
    put(WTR_EXIT, &exit, sizeof exit, NULL, 0);
    end = (struct wtr_end){.records = r.records, .branches = r.branches};
    append(wtr_put(r.room, sizeof r.room, WTR_END, 0, 0, &end, sizeof end, NULL, 0));
    if (fclose(r.trace) != 0 || (r.steps && fclose(r.steps) != 0))
        die("writing");
}

int main(int argc, char **argv)
{
    char command[PATH_MAX + 16];
    int output, option;
    size_t header;
    pid_t child;

    r.syscalls = 'n';
    while ((option = getopt(argc, argv, "+n:o:s:t:")) != -1) {
        if (option == 'o')
            r.trace = fopen(optarg, "wb");
        else if (option == 's')
            r.syscalls = optarg[0];
        else if (option == 't')
            r.steps = fopen(optarg, "wb");
        else if (option == 'n')
            r.name = optarg;
    }
    if (!r.trace || optind == argc) {
        fprintf(stderr, "usage: record_ptrace [-s none|flat|kernel] [-t STEPS] [-n NAME] "
                        "-o TRACE PROGRAM [ARGUMENTS]\n");
        return 3;
    }
    r.program = argv[optind];
    snprintf(command, sizeof command, "-d '%s'", r.program);
    if (!judged_listing(command, take_line, NULL))
        die("objdump");
    header = wtr_put_header(r.room, sizeof r.room, 0, "ptrace", "record_ptrace");
    fwrite(r.room, 1, header, r.trace);
    describe(r.program);
    if (r.name)
        argv[optind] = r.name; /* it is told by which file it was run elsewhere */
    put_arguments(argv + optind);
    put_time();
    child = start(argv + optind, &output);
    finish(step_all(child, output));
    printf("%lu branches\n", r.branches);
    return 0;
}
