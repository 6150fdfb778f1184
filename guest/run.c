/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of a workload: what is set up before the call, what is read after it. */
#include "guest/run.h"

#include "guest/abi.h"
#include "guest/region.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/user.h"

static uint64_t enter_user(void *arg)
{
    struct guest_run *run = arg;

    run->end = (enum guest_end)user_run(&run->frame);
    return run->frame.rdi; /* SERVICE_EXIT's argument */
}

static void prepare_user(struct guest *g, struct guest_run *run)
{
    uint64_t back = g->user.back;

    /* The stack looks as after a CALL from the exit trampoline. */
    memcpy(g->stack[GUEST_STACK_PAGES - 1] + PAGE_BYTES - sizeof(back), &back, sizeof(back));
    user_frame_init(&run->frame, g->user.base + (uint64_t)(int64_t)run->workload->entry,
                    g->stack_top - sizeof(back), run->interrupts);
    run->frame.rdi = g->data;
    if (run->step)
        run->frame.rflags |= RFLAGS_TF;
}

struct guest_call guest_prepare(struct guest *g, struct guest_run *run)
{
    run->end = 0;
    run->result = 0;
    run->faults = run->syscalls = run->interrupts_taken = 0;
    env_reset(g, run->argument);
    g->timer_asked = false;
    g->run = run;
    if (run->ring) {
        prepare_user(g, run);
        events_arm_watchdog(g);
        return (struct guest_call){enter_user, run};
    }
    memset(&run->frame, 0, sizeof(run->frame));
    return (struct guest_call){
        (uint64_t(*)(void *))(g->kernel.base + (uint64_t)(int64_t)run->workload->entry),
        (void *)g->kernel_data};
}

void guest_finish(struct guest *g, struct guest_run *run, uint64_t returned)
{
    apic_timer_oneshot(0);
    service_drop_nmi(g);
    g->run = NULL;
    if (!run->ring)
        run->end = GUEST_RETURNED; /* any other end unwinds past this */
    run->result = returned;
}

/* A workload keeps rsp and nothing else. */
static uint64_t call_ring0(struct guest_call call)
{
    uint64_t rax = (uint64_t)call.fn, rdi = (uint64_t)call.arg;

    __asm__ volatile("push %%rbp\n\tcall *%%rax\n\tpop %%rbp"
                     : "+a"(rax), "+D"(rdi)
                     :
                     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13",
                       "r14", "r15", "memory", "cc");
    return rax;
}

enum guest_end guest_run(struct guest *g, struct guest_run *run)
{
    struct guest_call call = guest_prepare(g, run);
    uint64_t returned = run->ring ? call.fn(call.arg) : call_ring0(call);

    guest_finish(g, run, returned);
    return run->end;
}
