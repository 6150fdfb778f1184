/* SPDX-License-Identifier: BSD-2-Clause */
/* Running a program: entering it, its exceptions, and leaving it. */
#include "guest/program.h"

#include "guest/program_parts.h"
#include "hw/msr.h"
#include "hw/overlay.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/user.h"

/* Prefixes of instructions that have an AVX or AVX-512 encoding, in 64-bit mode. */
#define VEX_2 0xC5
#define VEX_3 0xC4
#define EVEX  0x62

#define DR6_WATCHED 0xFull /* B0 to B3 */

static void in_kernel(struct program *p, bool now)
{
    if (p->in_kernel)
        p->in_kernel(p, now);
}

void program_leave(struct program *p, struct trap_frame *frame)
{
    if (p->kill_wanted)
        user_leave(frame, PROGRAM_KILLED);
    if (p->pause_wanted)
        user_leave(frame, PROGRAM_PAUSED);
}

static bool is_avx(struct program *p, uint64_t rip)
{
    struct paging_walk walk;
    uint8_t byte;

    if (!paging_walk(p->space.cr3, rip, &walk) || !(walk.flags & PAGE_USER))
        return false;
    byte = *(const uint8_t *)walk.phys;
    return byte == VEX_2 || byte == VEX_3 || byte == EVEX;
}

/*
 * A data breakpoint that the program hit and that an emulator reports one boundary late, in the
 * entry of another trap or of an interrupt. DR6 keeps it for whoever set it.
 */
static bool is_late(struct program *p, const struct trap_frame *frame)
{
    bool late = frame->vector == VECTOR_DB && (dr6_read() & DR6_WATCHED);

    p->pause_wanted |= late;
    return late;
}

/* Bits of a page fault's error code. */
#define ERROR_WRITE   (1u << 1)
#define ERROR_EXECUTE (1u << 4)

static bool is_first_touch(struct program *p, const struct trap_frame *frame)
{
    unsigned rights = frame->error & ERROR_EXECUTE ? ELF_EXECUTE
                      : frame->error & ERROR_WRITE ? ELF_WRITE
                                                   : ELF_READ;

    return frame->vector == VECTOR_PF && program_bring(p, p->address, rights);
}

static bool on_fault(struct trap_frame *frame, void *arg)
{
    struct program *p = arg;

    if (!trap_from_user(frame))
        return is_late(p, frame);
    p->address = frame->vector == VECTOR_PF ? cr2_read() : 0;
    if (is_first_touch(p, frame))
        return true;
    p->avx = frame->vector == VECTOR_UD && is_avx(p, frame->rip);
    if (!program_fault_signal(p, frame))
        user_leave(frame, PROGRAM_FAULTED);
    return true;
}

static bool on_call(struct trap_frame *frame, void *arg)
{
    struct program *p = arg;

    if (!trap_from_user(frame))
        return false;
    if (p->held && p->held(p, frame->rax))
        user_leave(frame, PROGRAM_CALLING);
    in_kernel(p, true);
    p->calls++;
    if (frame->vector == TRAP_SYSCALL)
        program_call(p, frame);
    else
        frame->rax = (uint64_t)-PROGRAM_ENOSYS;
    program_leave(p, frame);
    in_kernel(p, false);
    return true;
}

static const uint16_t fault_vectors[] = {
    VECTOR_DE, VECTOR_DB, VECTOR_BP, VECTOR_OF, VECTOR_BR, VECTOR_UD, VECTOR_NM, VECTOR_TS,
    VECTOR_NP, VECTOR_SS, VECTOR_GP, VECTOR_PF, VECTOR_MF, VECTOR_AC, VECTOR_XM,
};
#define FAULT_VECTORS (sizeof(fault_vectors) / sizeof(fault_vectors[0]))
_Static_assert(FAULT_VECTORS + 2 <= PROGRAM_VECTORS, "room for the handlers it replaces");

static void install(struct program *p)
{
    for (unsigned i = 0; i < FAULT_VECTORS; i++)
        p->outer[i] = trap_set(fault_vectors[i], on_fault, p);
    p->outer[FAULT_VECTORS] = trap_set(TRAP_SYSCALL, on_call, p);
    p->outer[FAULT_VECTORS + 1] = trap_set(VECTOR_SYSCALL_INT, on_call, p);
}

static void put_back(unsigned vector, const struct trap_slot *slot)
{
    trap_set(vector, slot->handler, slot->arg);
}

static void remove_handlers(struct program *p)
{
    for (unsigned i = 0; i < FAULT_VECTORS; i++)
        put_back(fault_vectors[i], &p->outer[i]);
    put_back(TRAP_SYSCALL, &p->outer[FAULT_VECTORS]);
    put_back(VECTOR_SYSCALL_INT, &p->outer[FAULT_VECTORS + 1]);
}

enum program_end program_run(struct program *p)
{
    uint64_t outer_cr3 = paging_current();

    p->pause_wanted = false;
    install(p);
    paging_load(p->space.cr3);
    msr_write(MSR_IA32_FS_BASE, p->fs_base);
    msr_write(MSR_IA32_GS_BASE, p->gs_base);
    fpu_load(&p->fpu);
    p->end = (enum program_end)user_run(&p->frame);
    fpu_save(&p->fpu);
    msr_write(MSR_IA32_GS_BASE, 0);
    paging_load(outer_cr3);
    remove_handlers(p);
    if (p->end == PROGRAM_EXITED)
        p->code = (uint8_t)p->frame.rdi;
    return p->end;
}
