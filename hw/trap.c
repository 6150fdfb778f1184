/* SPDX-License-Identifier: BSD-2-Clause */
/* Dispatch: from an entry's frame to the handler of its vector, and the choice of way back. */
#include "hw/trap.h"

#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/tables.h"
#include "hw/traps.h"
#include "hw/user.h"

/* hw/trap_frame.inc states these numbers for the assembly side. */
_Static_assert(offsetof(struct trap_frame, r15) == 0x00, "FRAME_R15");
_Static_assert(offsetof(struct trap_frame, rcx) == 0x60, "FRAME_RCX");
_Static_assert(offsetof(struct trap_frame, rax) == 0x70, "FRAME_RAX");
_Static_assert(offsetof(struct trap_frame, vector) == 0x78, "FRAME_VECTOR");
_Static_assert(offsetof(struct trap_frame, error) == 0x80, "FRAME_ERROR");
_Static_assert(offsetof(struct trap_frame, rip) == 0x88, "FRAME_RIP");
_Static_assert(offsetof(struct trap_frame, cs) == 0x90, "FRAME_CS");
_Static_assert(offsetof(struct trap_frame, rflags) == 0x98, "FRAME_RFLAGS");
_Static_assert(offsetof(struct trap_frame, rsp) == 0xA0, "FRAME_RSP");
_Static_assert(offsetof(struct trap_frame, ss) == 0xA8, "FRAME_SS");
_Static_assert(sizeof(struct trap_frame) == 0xB0, "FRAME_BYTES");
_Static_assert(SELECTOR_KERNEL_SS == 0x30 && SELECTOR_KERNEL_CS == 0x38, "selectors");
_Static_assert(SELECTOR_USER_SS == 0x4B && SELECTOR_USER_CS == 0x53, "selectors");
_Static_assert(TRAP_SYSCALL == 0x100 && VECTOR_COUNT == 256 && CPU_MAX == 256, "counts");

#define TRAP_ENTRY_BYTES  16
#define FIRST_APIC_VECTOR 32
/* Exceptions that a guarded access can raise: #DE, #UD, #NM, #TS to #PF, #AC. */
#define FIXUP_VECTORS (1u << VECTOR_DE | 3u << VECTOR_UD | 0x1Fu << VECTOR_TS | 1u << VECTOR_AC)

/* Distances from the field itself: see hw/fixup.inc. */
struct fixup {
    int32_t access, target;
};

#define HIDDEN __attribute__((visibility("hidden")))
extern const struct fixup __fixup_start[] HIDDEN, __fixup_end[] HIDDEN;
extern const uint8_t trap_entries[] HIDDEN, trap_iretq[] HIDDEN, syscall_sysretq[] HIDDEN;

bool syscall_return_by_iret;

static struct trap_slot slots[TRAP_SYSCALL + 1];
static uint64_t strays;

/* Nothing is left that could go on: what was said so far is already on the serial line. */
static void stop(struct trap_frame *frame)
{
    (void)frame;
    for (;;)
        __asm__ volatile("cli\n\thlt");
}

void (*trap_unexpected)(struct trap_frame *frame) = stop;
void (*trap_cut_short)(struct trap_frame *frame);
volatile bool trap_cut;

struct trap_slot trap_set(unsigned vector, trap_handler handler, void *arg)
{
    struct trap_slot before = {NULL, NULL};

    if (vector > TRAP_SYSCALL)
        return before;
    before = slots[vector];
    slots[vector].handler = NULL; /* never the new handler with the old argument */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    slots[vector].arg = arg;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    slots[vector].handler = handler;
    return before;
}

struct trap_slot trap_get(unsigned vector)
{
    return vector <= TRAP_SYSCALL ? slots[vector] : (struct trap_slot){NULL, NULL};
}

uint64_t trap_stray_count(void)
{
    return __atomic_load_n(&strays, __ATOMIC_RELAXED);
}

static bool apply_fixup(struct trap_frame *frame)
{
    for (const struct fixup *f = __fixup_start; f < __fixup_end; f++) {
        if (frame->rip != (uint64_t)&f->access + (uint64_t)(int64_t)f->access)
            continue;
        frame->rip = (uint64_t)&f->target + (uint64_t)(int64_t)f->target;
        frame->rax = frame->vector;
        frame->rdx = frame->error;
        return true;
    }
    return false;
}

static void handle(struct cpu *cpu, struct trap_frame *frame, bool interrupt)
{
    struct trap_frame *outer = cpu->frame;
    const struct trap_slot *slot = &slots[frame->vector];

    /* The same place as an outer frame: an IST stack was entered twice, the outer is gone. */
    if (frame == outer)
        trap_unexpected(frame);
    cpu->frame = frame;
    if (!slot->handler || !slot->handler(frame, slot->arg)) {
        if (!interrupt)
            trap_unexpected(frame);
        __atomic_fetch_add(&strays, 1, __ATOMIC_RELAXED);
    }
    cpu->frame = outer;
}

/*
 * Whether the frame goes back into the NMI handler of this processor, where an IRETQ would
 * unblock NMIs. RET cannot restart a stepped instruction, so TF keeps to IRETQ.
 */
static bool returns_into_nmi(const struct cpu *cpu, const struct trap_frame *frame)
{
    return (frame->rsp & ~(KERNEL_STACK_BYTES - 1)) == (uint64_t)cpu->stacks[STACK_NMI] &&
           frame->cs == SELECTOR_KERNEL_CS && !(frame->rflags & RFLAGS_TF);
}

bool trap_dispatch(struct trap_frame *frame)
{
    struct cpu *cpu = cpu_this();
    unsigned vector = (unsigned)frame->vector;
    bool interrupt = false;

    if (vector == VECTOR_NMI && trap_cut && trap_cut_short) {
        trap_cut = false;
        trap_cut_short(frame);
        return returns_into_nmi(cpu, frame);
    }
    if (vector < FIRST_APIC_VECTOR) {
        if (!trap_from_user(frame) && (FIXUP_VECTORS >> vector & 1) && apply_fixup(frame))
            return returns_into_nmi(cpu, frame);
    } else if (vector == VECTOR_SPURIOUS) {
        interrupt = true; /* delivered without an in-service bit: no EOI */
    } else if (vector != VECTOR_SYSCALL_INT && apic_isr_test((uint8_t)vector)) {
        interrupt = true; /* not an INT n: that sets no in-service bit */
        apic_eoi();
    }
    handle(cpu, frame, interrupt);
    return returns_into_nmi(cpu, frame);
}

/*
 * SYSCALL does not say which ring it came from. Ring 3 can only have fetched it from a page
 * with the user bit; RCX - 2 is the instruction itself.
 */
static bool called_from_user(const struct trap_frame *frame)
{
    struct paging_walk walk;

    if (frame->rip - USER_WINDOW <= WINDOW_BYTES)
        return true;
    return paging_walk(paging_current(), frame->rip - 2, &walk) && (walk.flags & PAGE_USER);
}

/*
 * SYSRET's own rules: it takes RIP from RCX and RFLAGS from R11, loads the fixed selectors,
 * cannot restore RF, and faults in ring 0 on a non-canonical RIP. TF is left to IRETQ, which
 * lets one instruction go by before the trap.
 */
static bool sysret_able(const struct trap_frame *frame)
{
    return frame->cs == SELECTOR_USER_CS && frame->ss == SELECTOR_USER_SS &&
           frame->rcx == frame->rip && frame->r11 == frame->rflags &&
           !(frame->rflags & (RFLAGS_TF | RFLAGS_RF)) &&
           (uint64_t)((int64_t)(frame->rip << 16) >> 16) == frame->rip;
}

bool trap_syscall(struct trap_frame *frame)
{
    if (!called_from_user(frame)) {
        frame->cs = SELECTOR_KERNEL_CS;
        frame->ss = SELECTOR_KERNEL_SS;
    }
    handle(cpu_this(), frame, false);
    return !syscall_return_by_iret && sysret_able(frame);
}

uint64_t trap_entry_address(unsigned vector)
{
    return (uint64_t)trap_entries + vector * TRAP_ENTRY_BYTES;
}

uint64_t trap_iretq_address(void)
{
    return (uint64_t)trap_iretq;
}

uint64_t syscall_entry_address(void)
{
    return msr_read(MSR_IA32_LSTAR);
}

uint64_t syscall_sysret_address(void)
{
    return (uint64_t)syscall_sysretq;
}
