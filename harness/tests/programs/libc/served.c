/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What C libraries ask of a kernel, with every answer printed that does not depend on the
 * machine: the same file run under Linux must print the same and leave the same files. It ends
 * by abort, in a handler that goes on, so that the last word is the kernel's.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The value of an expression, and what it left in errno. */
#define SHOW(call)                                                                             \
    do {                                                                                       \
        long value;                                                                            \
                                                                                               \
        errno = 0;                                                                             \
        value = (long)(call);                                                                  \
        printf("%s = %ld errno %d\n", #call, value, errno);                                    \
    } while (0)
#define PAGE 4096

static void memory(void)
{
    char *reserved = mmap(NULL, 1l << 36, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *fixed = mmap(reserved + 16 * PAGE, 4 * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    char *grown;

    printf("fixed %td\n", fixed - reserved);
    strcpy(fixed, "kept");
    SHOW(mprotect(fixed, PAGE, PROT_NONE));
    SHOW(mprotect(fixed, PAGE, PROT_READ));
    puts(fixed);
    SHOW(mremap(fixed, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
    SHOW(mprotect(fixed, PAGE, PROT_READ | PROT_WRITE));
    grown = mremap(fixed, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
    printf("moved %d, %s, %d\n", grown != fixed, grown, grown[63 * PAGE]);
    SHOW(madvise(grown, PAGE, MADV_DONTNEED));
    printf("gone %d\n", grown[0]);
    SHOW(munmap(grown, 64 * PAGE));
    SHOW(munmap(reserved, 1l << 36));
    SHOW(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 99, 0) == MAP_FAILED);
    for (size_t bytes = 1; bytes < 64 << 20; bytes *= 7) {
        char *block = malloc(bytes);

        block[bytes - 1] = 1;
        free(block);
    }
}

static void myself(void)
{
    struct utsname names;
    struct rlimit limit;
    struct sysinfo info;
    cpu_set_t set;
    char buffer[300];

    SHOW(getpid() == getpid() && getpid() > 0);
    SHOW(uname(&names));
    printf("%s %s\n", names.sysname, names.machine);
    SHOW(getrlimit(RLIMIT_STACK, &limit));
    SHOW(limit.rlim_cur >= 8 << 20);
    SHOW(sysinfo(&info));
    SHOW(info.totalram >= info.freeram && info.freeram > 0);
    SHOW(sched_getaffinity(0, sizeof(set), &set));
    SHOW(CPU_COUNT(&set) > 0);
    SHOW(readlink("/proc/self/exe", buffer, sizeof(buffer)) > 0);
    SHOW(getenv("GREETING") ? puts(getenv("GREETING")) : 0);
    SHOW(getrandom(buffer, 16, 0));
    SHOW(isatty(0));
    SHOW(isatty(1));
}

static void times_and_waits(void)
{
    struct timespec before, after, pause = {.tv_nsec = 2000000};
    struct timeval now;
    struct pollfd out = {.fd = 1, .events = POLLOUT | POLLIN}, none = {.fd = 77};
    fd_set in;

    clock_gettime(CLOCK_MONOTONIC, &before);
    SHOW(nanosleep(&pause, NULL));
    SHOW(poll(NULL, 0, 3));
    clock_gettime(CLOCK_MONOTONIC, &after);
    SHOW((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec >=
         5000000);
    SHOW(gettimeofday(&now, NULL));
    SHOW(now.tv_sec - time(NULL) <= 1);
    SHOW(clock_gettime(999, &before));
    SHOW(poll(&out, 1, -1));
    printf("revents %d\n", out.revents & POLLOUT);
    SHOW(poll(&none, 1, -1));
    printf("revents %d\n", none.revents);
    FD_ZERO(&in);
    FD_SET(0, &in);
    SHOW(select(1, &in, NULL, NULL, NULL));
}

static void text_files(void)
{
    char buffer[64] = "";
    struct stat status;
    struct iovec parts[2] = {{"scatter", 7}, {"ed\n", 3}};
    int file = open("in/notes.txt", O_RDONLY);

    SHOW(read(file, buffer, 5));
    puts(buffer);
    SHOW(lseek(file, -4, SEEK_END));
    SHOW(read(file, buffer, 60));
    SHOW(pread(file, buffer, 3, 1));
    SHOW(fstat(file, &status));
    printf("size %ld mode %o\n", (long)status.st_size, status.st_mode & S_IFMT);
    SHOW(write(file, "x", 1));
    SHOW(close(file));
    SHOW(close(file));
    SHOW(open("nothing", O_RDONLY));
    SHOW(open("in/notes.txt/deeper", O_RDONLY));
    SHOW(open("in", O_WRONLY));
    SHOW(open("in/notes.txt", O_CREAT | O_EXCL | O_RDWR, 0600));
    file = open("made.txt", O_CREAT | O_RDWR | O_TRUNC, 0644);
    SHOW(writev(file, parts, 2));
    SHOW(pwrite(file, "S", 1, 0));
    SHOW(lseek(file, 6000, SEEK_SET));
    SHOW(write(file, "end", 3));
    SHOW(ftruncate(file, 6002));
    SHOW(dup2(file, 40));
    SHOW(lseek(40, 0, SEEK_CUR));
    SHOW(read(40, buffer, 64));
    SHOW(fcntl(40, F_GETFL) & O_ACCMODE);
    SHOW(close(file));
    file = open("in/notes.txt", O_RDWR | O_APPEND);
    SHOW(write(file, "appended\n", 9));
    SHOW(fsync(file));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void folders(void)
{
    struct dirent **entries;
    char path[300];
    struct stat status;
    int count = scandir("in", &entries, NULL, by_name);

    for (int i = 0; i < count; i++)
        printf("entry %s type %d\n", entries[i]->d_name, entries[i]->d_type);
    SHOW(mkdir("new", 0755));
    SHOW(mkdir("new", 0755));
    SHOW(rmdir("in"));
    SHOW(chdir("new"));
    SHOW(open("../in/notes.txt", O_RDONLY) > 2);
    SHOW(fclose(fopen("inner", "w")));
    SHOW(rename("inner", "../renamed"));
    SHOW(access("inner", F_OK));
    SHOW(access("../renamed", R_OK | W_OK));
    SHOW(unlink("../in/old"));
    SHOW(stat("../in/old", &status));
    SHOW(chdir(".."));
    SHOW(rename("in", "in/deeper"));
    SHOW(strcmp(getcwd(path, sizeof(path)) + strlen(path) - 1, "/") == 0 || path[0] == '/');
    SHOW(stat("new", &status));
    printf("folder %d\n", S_ISDIR(status.st_mode));
}

static void input(void)
{
    char line[80];
    int sum = 0, number;

    while (fgets(line, sizeof(line), stdin))
        sum += sscanf(line, "%d", &number) == 1 ? number : 0;
    printf("sum %d\n", sum);
}

static void mapped_file(void)
{
    int file = open("in/notes.txt", O_RDONLY);
    char *text = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);

    printf("%.5s %d\n", text, text[PAGE - 1]);
    text[0] = 'N';
    printf("%.5s\n", text);
}

static sigjmp_buf back;
static volatile int seen;

static void note(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;

    seen++;
    printf("signal %d code %d address %d\n", number, info->si_code,
           number == SIGSEGV ? info->si_addr == (void *)8 : 0);
    if (number == SIGILL)
        at->uc_mcontext.gregs[REG_RIP] += 2;
    else if (number != SIGUSR1)
        siglongjmp(back, number);
}

static void signals(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigset_t set, old;
    volatile double kept = 1.5;

    SHOW(sigaltstack(&alternate, NULL));
    SHOW(sigaction(SIGSEGV, &action, NULL));
    SHOW(sigaction(SIGFPE, &action, NULL));
    SHOW(sigaction(SIGILL, &action, NULL));
    SHOW(sigaction(SIGUSR1, &action, NULL));
    SHOW(sigaction(SIGKILL, &action, NULL));
    if (!sigsetjmp(back, 1))
        *(volatile int *)8 = 1;
    if (!sigsetjmp(back, 1))
        __asm__ volatile("xor %%ecx, %%ecx; div %%ecx" : : "a"(1), "d"(0) : "rcx");
    __asm__ volatile("ud2");
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    SHOW(sigprocmask(SIG_BLOCK, &set, &old));
    SHOW(raise(SIGUSR1));
    SHOW(seen);
    SHOW(sigpending(&set));
    SHOW(sigismember(&set, SIGUSR1));
    SHOW(sigsuspend(&old));
    SHOW(seen);
    SHOW(sigprocmask(SIG_SETMASK, &old, NULL));
    SHOW(kill(getpid(), 0));
    SHOW(kill(getpid(), 99));
    signal(SIGUSR2, SIG_IGN);
    SHOW(raise(SIGUSR2));
    printf("%g\n", kept * 2);
}

static void once(void)
{
    puts("once");
}

int main(int argc, char **argv)
{
    static pthread_once_t control = PTHREAD_ONCE_INIT;

    printf("%d words, last %s\n", argc, argv[argc - 1]);
    memory();
    myself();
    times_and_waits();
    text_files();
    folders();
    mapped_file();
    input();
    pthread_once(&control, once);
    signals();
    fflush(stdout);
    fprintf(stderr, "last words\n");
    abort();
}
