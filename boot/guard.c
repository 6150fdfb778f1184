/* SPDX-License-Identifier: BSD-2-Clause */
/* Watching, and the NMI. */
#include "boot/guard.h"

#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/regs.h"
#include "hw/trap.h"

/* Of the APIC timer behind its divider: 64 ms at 1 GHz, a second or two on slow buses. */
#define TICK_COUNT   4000000u
#define LEAVE_MS     200 /* for the guard to answer; an NMI on its way takes far less */
#define SETTLE_READS 64u

static uint64_t limit_ticks; /* of this processor's counter, 0 = no guard */
static uint64_t khz;
static unsigned posted;
static uint32_t posted_apic_id, watched_apic_id;
static unsigned beats;
static bool wanted, watching;

/* The guard's own memory of the beats, so that two counters never need to agree. */
static unsigned seen;
static uint64_t since;

void guard_init(unsigned seconds, uint64_t tsc_khz)
{
    khz = tsc_khz;
    limit_ticks = tsc_khz * 1000 * seconds;
}

bool guard_is(unsigned index)
{
    return posted != 0 && posted == index;
}

void guard_post(unsigned index, uint32_t apic_id)
{
    posted = limit_ticks ? index : 0;
    posted_apic_id = apic_id;
}

void guard_beat(void)
{
    __atomic_add_fetch(&beats, 1, __ATOMIC_RELAXED);
}

void guard_enter(void)
{
    if (!posted)
        return;
    guard_beat();
    watched_apic_id = apic_id();
    __atomic_store_n(&wanted, true, __ATOMIC_RELEASE);
    apic_send_ipi(posted_apic_id, VECTOR_IPI);
}

void guard_leave(void)
{
    uint64_t start = tsc_read();

    if (!posted)
        return;
    __atomic_store_n(&wanted, false, __ATOMIC_RELEASE);
    if (__atomic_load_n(&watching, __ATOMIC_ACQUIRE))
        apic_send_ipi(posted_apic_id, VECTOR_IPI);
    while (__atomic_load_n(&watching, __ATOMIC_ACQUIRE) && tsc_read() - start < khz * LEAVE_MS)
        cpu_pause();
    for (unsigned i = 0; i < SETTLE_READS; i++)
        apic_id();
}

static void look(void)
{
    unsigned now_beats = __atomic_load_n(&beats, __ATOMIC_RELAXED);
    uint64_t now = tsc_read();

    if (!__atomic_load_n(&watching, __ATOMIC_RELAXED) || now_beats != seen) {
        __atomic_store_n(&watching, true, __ATOMIC_RELEASE);
        seen = now_beats;
        since = now;
    } else if (now - since > limit_ticks) {
        since = now;
        trap_cut = true;
        apic_send_nmi(watched_apic_id);
    }
}

void guard_sleep(void)
{
    if (!__atomic_load_n(&wanted, __ATOMIC_ACQUIRE)) {
        guard_rest();
        /* IF is 1 from STI's successor on: an interrupt sent after the test ends the HLT. */
        __asm__ volatile("sti\n\thlt\n\tcli" ::: "memory");
        return;
    }
    look();
    apic_timer_oneshot_on(VECTOR_GUARD, TICK_COUNT);
    __asm__ volatile("sti\n\thlt\n\tcli" ::: "memory");
    apic_timer_oneshot_on(VECTOR_GUARD, 0);
    /* A tick that came together with another interrupt must not reach what runs next. */
    if (apic_irr_test(VECTOR_GUARD))
        __asm__ volatile("sti\n\tnop\n\tcli" ::: "memory");
}

void guard_rest(void)
{
    __atomic_store_n(&watching, false, __ATOMIC_RELEASE);
}
