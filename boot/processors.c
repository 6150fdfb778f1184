/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starting the other processors, handing them work, sending them home.
 *
 * They stay ours from the first check to the last, also while the firmware runs on the
 * processor that booted: starting them for each check would cost more than most checks do. They
 * are started without waiting, so that the boot processor can be taken over beside them. A
 * processor that waits sleeps in HLT, because one that spins would take an emulated machine's
 * time; an interrupt wakes it. Firmware sends an INIT before it starts them (or has done so
 * once), so what they bring along is what a reset leaves, unless firmware touched it.
 */
#include "boot/processors.h"

#include "boot/console.h"
#include "boot/firmware.h"
#include "boot/guard.h"
#include "boot/memory.h"
#include "boot/mp_services.h"
#include "boot/provider.h"
#include "boot/takeover.h"

#include "ds/broker.h"
#include "ds/session.h"
#include "hw/apic.h"
#include "hw/core.h"
#include "hw/cpu.h"
#include "hw/cross_call.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/trap.h"
#include "hw/user.h"

#define ARRIVAL_MS      2000
#define ARRIVAL_MS_EACH 100 /* an emulated machine runs them one after the other */
#define LEAVING_MS      4000
#define WORK_MS         20000

enum { ABSENT, READY, WORKING, LEAVING };

/* state is the only word that two processors write, by turns. */
struct slot {
    struct cpu *cpu;
    struct other_processor found;
    uint64_t (*fn)(void *);
    void *arg;
    uint64_t value, unwound;
    unsigned state;
};

static struct slot slots[CPU_MAX];
static unsigned started, arrived; /* since processors_start */
static unsigned wanted_others;
static EFI_EVENT all_back;
static struct trap_slot ipi_before, tick_before;
static bool present; /* started and not sent home yet */

uint64_t processors_tsc_khz;

unsigned processors_enabled(void)
{
    struct mp_services *mp = mp_services();
    UINTN all = 0, enabled = 0;

    if (!mp || mp->get_number_of_processors(mp, &all, &enabled) != EFI_SUCCESS || enabled == 0)
        return 1;
    return enabled < CPU_MAX ? (unsigned)enabled : CPU_MAX;
}

static unsigned state_of(const struct slot *slot)
{
    return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
}

static void set_state(struct slot *slot, unsigned state)
{
    __atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
}

/* --- on the other processor */

/* IF is 1 from STI's successor on: an interrupt sent after the test still ends the HLT. */
static void sleep_while(struct slot *slot, unsigned state)
{
    while (state_of(slot) == state)
        if (guard_is(slot->cpu->index))
            guard_sleep();
        else
            __asm__ volatile("sti\n\thlt\n\tcli" ::: "memory");
    if (guard_is(slot->cpu->index))
        guard_rest();
}

/* The registers as they are before anything of ours writes them. */
static void look(struct other_processor *found)
{
    found->core = core_ask();
    found->debugctl = found->ds_area = 0;
    msr_read_try(MSR_IA32_DEBUGCTL, &found->debugctl);
    msr_read_try(MSR_IA32_DS_AREA, &found->ds_area);
    found->lvt_perf_inside = apic_lvt_perf_read();
}

/* Out of the provider and in again, as after an INIT. */
static uint64_t renew(struct slot *slot)
{
    session_processor_leaves();
    broker_hand_back();
    provider_leave();
    slot->value = provider_enter_other(slot->cpu->index);
    look(&slot->found);
    broker_init();
    return 0;
}

static uint64_t serve(void *argument)
{
    struct slot *slot = argument;

    for (;;) {
        sleep_while(slot, READY);
        if (state_of(slot) != WORKING)
            return 0;
        slot->unwound = slot->fn ? hw_try(slot->fn, slot->arg, &slot->value) : renew(slot);
        set_state(slot, READY);
    }
}

static uint64_t inside(void *argument)
{
    struct slot *slot = argument;

    if (!provider_enter_other(slot->cpu->index))
        return 0;
    look(&slot->found);
    slot->found.apic_id = slot->cpu->apic_id;
    slot->found.index = slot->cpu->index;
    broker_init();
    set_state(slot, READY);
    __atomic_add_fetch(&arrived, 1, __ATOMIC_RELEASE);
    serve(slot);
    session_processor_leaves();
    broker_hand_back();
    provider_leave();
    return 0;
}

static void EFIAPI enter(void *argument)
{
    unsigned number = __atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
    struct slot *slot = &slots[number];

    (void)argument;
    if (number > wanted_others)
        return;
    slot->found.lvt_perf = apic_lvt_perf_read();
    takeover_run(slot->cpu, paging_kernel_space()->cr3, inside, slot);
}

/* --- on the boot processor */

static bool woken(struct trap_frame *frame, void *arg)
{
    (void)frame;
    (void)arg;
    cross_call_serve();
    return true;
}

static bool prepare(unsigned index)
{
    struct slot *slot = &slots[index];

    if (!slot->cpu) {
        /* TR keeps pointing at the TSS in there, also when the image has returned. */
        void *memory = memory_pages_kept(cpu_memory_bytes(), KERNEL_STACK_BYTES);

        if (!memory)
            return false;
        slot->cpu = cpu_init(memory, index);
    }
    slot->state = ABSENT;
    return slot->cpu && provider_prepare_other(index);
}

/* The highest number: checks of two processors take the lowest. */
static void post_guard(void)
{
    unsigned index = wanted_others;

    while (index > 0 && state_of(&slots[index]) != READY)
        index--;
    guard_post(index, index > 0 ? slots[index].found.apic_id : 0);
}

static bool start_all(unsigned wanted)
{
    struct mp_services *mp = mp_services();

    while (wanted_others + 1 < wanted && prepare(wanted_others + 1))
        wanted_others++;
    if (!mp || wanted_others == 0 ||
        firmware_boot->CreateEvent(0, 0, NULL, NULL, &all_back) != EFI_SUCCESS)
        return false;
    return mp->startup_all_aps(mp, enter, FALSE, all_back, 0, NULL, NULL) == EFI_SUCCESS;
}

unsigned processors_start(unsigned wanted)
{
    if (present)
        return arrived;
    present = true;
    started = arrived = wanted_others = 0;
    all_back = NULL;
    ipi_before = trap_set(VECTOR_IPI, woken, NULL);
    tick_before = trap_set(VECTOR_GUARD, woken, NULL);
    if (!start_all(wanted))
        return 0;
    for (unsigned ms = 0; ms < ARRIVAL_MS + ARRIVAL_MS_EACH * wanted; ms++) {
        if (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) == wanted_others)
            break;
        firmware_boot->Stall(1000);
    }
    if (arrived + 1 < wanted)
        console_print("# processors: %u of %u others came", arrived, wanted - 1);
    post_guard();
    return arrived;
}

bool processors_stop(void)
{
    bool back = !all_back || started == 0;

    if (!present)
        return true;
    present = false;
    guard_post(0, 0);
    for (unsigned i = 1; i <= wanted_others; i++)
        if (state_of(&slots[i]) == READY) {
            set_state(&slots[i], LEAVING);
            apic_send_ipi(slots[i].found.apic_id, VECTOR_IPI);
        }
    for (unsigned ms = 0; !back && ms < LEAVING_MS; ms++) {
        firmware_boot->Stall(1000);
        back = firmware_boot->CheckEvent(all_back) == EFI_SUCCESS;
    }
    if (all_back && back)
        firmware_boot->CloseEvent(all_back);
    trap_set(VECTOR_IPI, ipi_before.handler, ipi_before.arg);
    trap_set(VECTOR_GUARD, tick_before.handler, tick_before.arg);
    return back;
}

const struct other_processor *processors_found(unsigned index)
{
    bool here = index >= 1 && index <= wanted_others && state_of(&slots[index]) == READY;

    return here ? &slots[index].found : NULL;
}

bool processors_run(unsigned index, uint64_t (*fn)(void *), void *arg)
{
    struct slot *slot = &slots[index];

    if (!processors_found(index))
        return false;
    slot->fn = fn;
    slot->arg = arg;
    set_state(slot, WORKING);
    apic_send_ipi(slot->found.apic_id, VECTOR_IPI);
    return true;
}

bool processors_wait(unsigned index, uint64_t *value)
{
    struct slot *slot = &slots[index];
    uint64_t start = tsc_read(), limit = processors_tsc_khz * WORK_MS;

    while (state_of(slot) == WORKING && tsc_read() - start < limit) {
        cross_call_serve();
        cpu_pause();
    }
    if (state_of(slot) != READY)
        return false;
    *value = slot->value;
    return slot->unwound == 0;
}

bool processors_renew(unsigned index)
{
    uint64_t value = 0;

    return processors_run(index, NULL, NULL) && processors_wait(index, &value) && value;
}
