/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of a workload: what is set up before the call, what is read after it. */
#include "guest/run.h"

#include "guest/abi.h"
#include "guest/low_view.h"
#include "guest/region.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/tables.h"
#include "hw/user.h"

static uint64_t enter_user(void *arg)
{
    struct guest_run *run = arg;

    run->end = (enum guest_end)user_run(&run->frame);
    return run->frame.rdi; /* SERVICE_EXIT's argument */
}

/* The outer rings. The inner two of them may use supervisor pages, and do. */
static void prepare_outer(struct guest *g, struct guest_run *run)
{
    static const uint8_t selectors[][2] = {{SELECTOR_RING1_CS, SELECTOR_RING1_SS},
                                           {SELECTOR_RING2_CS, SELECTOR_RING2_SS},
                                           {SELECTOR_USER_CS, SELECTOR_USER_SS}};
    struct guest_place place = guest_place(g, run->ring, 0);
    uint8_t *top = g->stack[GUEST_STACK_PAGES - 1] + PAGE_BYTES;
    uint64_t rsp = run->ring == 3 ? g->stack_top : (uint64_t)top;

    /* The stack looks as after a CALL from the exit trampoline. */
    memcpy(top - sizeof(place.back), &place.back, sizeof(place.back));
    user_frame_init(&run->frame, place.base + (uint64_t)(int64_t)run->workload->entry,
                    rsp - sizeof(place.back), run->interrupts);
    run->frame.cs = selectors[run->ring - 1][0];
    run->frame.ss = selectors[run->ring - 1][1];
    run->frame.rdi = place.data;
    if (run->step)
        run->frame.rflags |= RFLAGS_TF;
}

static void prepare_compat(struct guest *g, struct guest_run *run)
{
    low_reset(g, run->argument);
    low_frame(run, &run->frame);
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
        if (run->ring == GUEST_COMPAT)
            prepare_compat(g, run);
        else
            prepare_outer(g, run);
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
    apic_timer_stop();
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
