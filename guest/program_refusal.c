/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program's refused system calls are called, by Linux's <asm/unistd_64.h>, and why. */
#include "guest/program.h"

#include "hw/string.h"

#define NAME_BYTES 32

static const char names[] =
    "9 mmap\n22 pipe\n27 mincore\n29 shmget\n30 shmat\n31 shmctl\n36 getitimer\n37 alarm\n"
    "38 setitimer\n40 sendfile\n41 socket\n42 connect\n43 accept\n44 sendto\n45 recvfrom\n"
    "46 sendmsg\n47 recvmsg\n48 shutdown\n49 bind\n50 listen\n51 getsockname\n"
    "52 getpeername\n53 socketpair\n54 setsockopt\n55 getsockopt\n56 clone\n57 fork\n"
    "58 vfork\n59 execve\n64 semget\n65 semop\n66 semctl\n67 shmdt\n68 msgget\n69 msgsnd\n"
    "70 msgrcv\n71 msgctl\n78 getdents\n86 link\n88 symlink\n101 ptrace\n103 syslog\n"
    "105 setuid\n106 setgid\n112 setsid\n113 setreuid\n114 setregid\n116 setgroups\n"
    "117 setresuid\n119 setresgid\n122 setfsuid\n123 setfsgid\n125 capget\n126 capset\n"
    "128 rt_sigtimedwait\n129 rt_sigqueueinfo\n132 utime\n133 mknod\n134 uselib\n"
    "136 ustat\n139 sysfs\n142 sched_setparam\n143 sched_getparam\n144 sched_setscheduler\n"
    "145 sched_getscheduler\n146 sched_get_priority_max\n147 sched_get_priority_min\n"
    "148 sched_rr_get_interval\n153 vhangup\n154 modify_ldt\n155 pivot_root\n156 _sysctl\n"
    "159 adjtimex\n161 chroot\n163 acct\n164 settimeofday\n165 mount\n166 umount2\n"
    "167 swapon\n168 swapoff\n169 reboot\n170 sethostname\n171 setdomainname\n172 iopl\n"
    "173 ioperm\n174 create_module\n175 init_module\n176 delete_module\n"
    "177 get_kernel_syms\n178 query_module\n179 quotactl\n180 nfsservctl\n181 getpmsg\n"
    "182 putpmsg\n183 afs_syscall\n184 tuxcall\n185 security\n187 readahead\n188 setxattr\n"
    "189 lsetxattr\n190 fsetxattr\n191 getxattr\n192 lgetxattr\n193 fgetxattr\n"
    "194 listxattr\n195 llistxattr\n196 flistxattr\n197 removexattr\n198 lremovexattr\n"
    "199 fremovexattr\n202 futex\n205 set_thread_area\n206 io_setup\n207 io_destroy\n"
    "208 io_getevents\n209 io_submit\n210 io_cancel\n211 get_thread_area\n"
    "212 lookup_dcookie\n213 epoll_create\n214 epoll_ctl_old\n215 epoll_wait_old\n"
    "216 remap_file_pages\n219 restart_syscall\n220 semtimedop\n222 timer_create\n"
    "223 timer_settime\n224 timer_gettime\n225 timer_getoverrun\n226 timer_delete\n"
    "227 clock_settime\n232 epoll_wait\n233 epoll_ctl\n236 vserver\n237 mbind\n"
    "238 set_mempolicy\n239 get_mempolicy\n240 mq_open\n241 mq_unlink\n242 mq_timedsend\n"
    "243 mq_timedreceive\n244 mq_notify\n245 mq_getsetattr\n246 kexec_load\n247 waitid\n"
    "248 add_key\n249 request_key\n250 keyctl\n251 ioprio_set\n252 ioprio_get\n"
    "253 inotify_init\n254 inotify_add_watch\n255 inotify_rm_watch\n256 migrate_pages\n"
    "259 mknodat\n261 futimesat\n265 linkat\n266 symlinkat\n272 unshare\n"
    "274 get_robust_list\n275 splice\n276 tee\n277 sync_file_range\n278 vmsplice\n"
    "279 move_pages\n281 epoll_pwait\n282 signalfd\n283 timerfd_create\n284 eventfd\n"
    "285 fallocate\n286 timerfd_settime\n287 timerfd_gettime\n288 accept4\n289 signalfd4\n"
    "290 eventfd2\n291 epoll_create1\n293 pipe2\n294 inotify_init1\n297 rt_tgsigqueueinfo\n"
    "298 perf_event_open\n299 recvmmsg\n300 fanotify_init\n301 fanotify_mark\n"
    "303 name_to_handle_at\n304 open_by_handle_at\n305 clock_adjtime\n306 syncfs\n"
    "307 sendmmsg\n308 setns\n310 process_vm_readv\n311 process_vm_writev\n312 kcmp\n"
    "313 finit_module\n314 sched_setattr\n315 sched_getattr\n317 seccomp\n"
    "319 memfd_create\n320 kexec_file_load\n321 bpf\n322 execveat\n323 userfaultfd\n"
    "325 mlock2\n326 copy_file_range\n327 preadv2\n328 pwritev2\n329 pkey_mprotect\n"
    "330 pkey_alloc\n331 pkey_free\n333 io_pgetevents\n424 pidfd_send_signal\n"
    "425 io_uring_setup\n426 io_uring_enter\n427 io_uring_register\n428 open_tree\n"
    "429 move_mount\n430 fsopen\n431 fsconfig\n432 fsmount\n433 fspick\n434 pidfd_open\n"
    "435 clone3\n437 openat2\n438 pidfd_getfd\n440 process_madvise\n441 epoll_pwait2\n"
    "442 mount_setattr\n443 quotactl_fd\n444 landlock_create_ruleset\n"
    "445 landlock_add_rule\n446 landlock_restrict_self\n447 memfd_secret\n"
    "448 process_mrelease\n449 futex_waitv\n450 set_mempolicy_home_node\n";

/* Into text of its own: a name ends where its line does. */
static const char *cut_out(const char *from)
{
    static char name[NAME_BYTES];
    size_t used = 0;

    while (*from != '\n' && used < sizeof(name) - 1)
        name[used++] = *from++;
    name[used] = 0;
    return name;
}

const char *program_call_name(unsigned number)
{
    for (const char *at = names; *at;) {
        unsigned here = 0;

        for (; *at != ' '; at++)
            here = here * 10 + (unsigned)(*at - '0');
        at++;
        if (here == number)
            return cut_out(at);
        while (*at++ != '\n')
            continue;
    }
    return "unknown";
}

const char *program_call_reason(unsigned number)
{
    static const struct {
        unsigned number;
        const char *why;
    } reasons[] = {{9, "files cannot be shared by writing to memory"},
                   {22, "one process, no pipes"},
                   {41, "no network"},
                   {53, "no network"},
                   {56, "one thread only"},
                   {57, "one process only"},
                   {58, "one process only"},
                   {59, "one program only"},
                   {38, "no timers"},
                   {37, "no timers"},
                   {202, "one thread only"},
                   {222, "no timers"},
                   {283, "no timers"},
                   {285, "only to make a file longer"},
                   {293, "one process, no pipes"},
                   {322, "one program only"},
                   {435, "one thread only"}};

    for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].number == number)
            return reasons[i].why;
    return NULL;
}

const char *program_signal_name(unsigned number)
{
    static const char texts[][7] = {"0",     "HUP",  "INT",    "QUIT", "ILL",  "TRAP",   "ABRT",
                                    "BUS",   "FPE",  "KILL",   "USR1", "SEGV", "USR2",   "PIPE",
                                    "ALRM",  "TERM", "STKFLT", "CHLD", "CONT", "STOP",   "TSTP",
                                    "TTIN",  "TTOU", "URG",    "XCPU", "XFSZ", "VTALRM", "PROF",
                                    "WINCH", "IO",   "PWR",    "SYS"};
    static char name[12] = "SIG";

    if (number == 0 || number >= sizeof(texts) / sizeof(texts[0]))
        return "a real-time signal";
    memcpy(name + 3, texts[number], strlen(texts[number]) + 1);
    return name;
}
