/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of one modelled processor: registers, memory, segments, and the real one below. */
#ifndef HW_MODEL_PROCESSOR_CPU_H
#define HW_MODEL_PROCESSOR_CPU_H

#include "hw/model/model.h"
#include "hw/model/processor/counters.h"
#include "hw/model/processor/decode.h"
#include "hw/model/processor/vmcb.h"
#include "hw/model/processor/x86.h"

#define HOST_STACK_BYTES  16384
#define TRANSLATION_SLOTS 64
#define DECODED_SLOTS     2048
#define RUN_SLOTS         256
#define WINDOW_NONE       0xFFFFFFFFu
#define LBR_DEPTH         16

/* Words at any address, of memory that belongs to the guest. */
typedef uint16_t __attribute__((may_alias, aligned(1))) loose16;
typedef uint32_t __attribute__((may_alias, aligned(1))) loose32;
typedef uint64_t __attribute__((may_alias, aligned(1))) loose64;

struct table_register {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

/* An exception that an instruction, or the delivery of another event, has met. */
struct fault {
    uint8_t vector;
    uint32_t error;
    uint64_t address; /* for CR2 */
};

/* One remembered page: key is the linear page with the access in its low bits. */
struct translation {
    uint64_t key;
    uint64_t physical;
};

/* One remembered instruction, valid while its bytes are the same. */
struct decoded {
    uint64_t linear;
    uint64_t bytes[2];
    uint8_t mode; /* enum decode_mode */
    struct insn insn;
};

/* Straight code from linear to the instruction at stop; sum is over that one too. */
struct known_run {
    uint64_t linear, stop, bytes, sum;
    uint64_t last; /* address of the last of count instructions before the stop */
    unsigned count;
    uint8_t mode; /* enum decode_mode */
};

/* What model_leave() loads, in the order svm.asm reads it. */
struct bare_state {
    struct table_register gdtr, idtr;
    uint16_t ds, es;
    uint64_t cr3, rip, cs, rflags, rsp, ss;
    uint64_t efer;
};

/* What VMRUN looks at, as it was before the last entry. */
struct entry_state {
    uint64_t rip, efer, cr0, cr3, cr4, dr6, dr7, event, cs_base;
    uint16_t cs_attributes;
};

struct model_cpu {
    /* Known to svm.asm by offset. */
    uint64_t gpr[16]; /* of the guest, in encoding order */
    uint64_t vmcb_physical;
    uint64_t host_cr3;
    uint64_t host_stack_top;
    struct table_register host_gdtr, host_idtr;
    uint32_t window_vector; /* vector the window took, or WINDOW_NONE */
    uint32_t window_nmi;    /* the window took an NMI */
    uint64_t stop_at;       /* linear address of the breakpoint for the next entry */
    uint64_t stop_armed;
    struct bare_state bare;

    struct vmcb *vmcb;
    uint64_t saved_efer, saved_hsave, host_save;
    uint64_t top_of_map; /* exclusive end of what the host maps */
    uint64_t top_of_ram;
    uint64_t physical_offset; /* from physical to usable address: 0 but in tests */
    uint8_t *nowhere;         /* a page that stands for absent memory */
    unsigned physical_bits;
    bool has_sysenter;    /* in IA-32e mode */
    unsigned linear_bits; /* that the processor implements: 48 or 57 */

    /* Registers of the modelled processor. */
    uint64_t debugctl, ds_area, misc_enable, update_signature;
    uint64_t dr[4], dr6, dr7; /* valid while stepping */

    bool stepping;      /* instructions are looked at one by one */
    bool coast_over;    /* a kernel on its own has come to where it may leave ring 0 */
    bool shadow;        /* of STI or MOV SS: no interrupt before the next instruction */
    bool halted;        /* waits for an interrupt */
    bool halting;       /* is about to, while only time is counted */
    bool from_legacy;   /* the instruction being carried out is not 64-bit code */
    bool task_switched; /* it has switched tasks */
    bool branched;      /* the instruction just carried out took a branch */
    bool area_known;
    struct fault fault;
    unsigned watch_hits; /* data breakpoints that wait for the boundary, as in DR6 */
    uint64_t insn_rip;   /* of the instruction stepped last */
    uint64_t area_at_enable;
    uint64_t fields_at_enable[4], index_at_enable;
    bool btf_before; /* the MSR access being carried out */
    uint64_t last_exit_rip;
    unsigned exits_in_place; /* exits in a row without progress */
    uint64_t run_start;
    unsigned simple_run; /* instructions carried out by software since the last branch */
    struct translation translations[TRANSLATION_SLOTS];
    struct decoded decoded[DECODED_SLOTS];
    struct known_run runs[RUN_SLOTS];
    uint64_t long_runs[RUN_SLOTS]; /* where many instructions lie before a branch */
    uint64_t first_record_linear;  /* with the next one, for a defect */
    uint64_t first_record_page;    /* physical */
    bool drop_next;                /* for a defect */
    bool after_enable;             /* for a defect */
    uint64_t tables_seen;          /* CR3 of the last record, for a defect */
    bool pmi_owed;                 /* by a policy: the next record asks */
    uint64_t held_place;           /* of a record that a policy holds back, 0 = none */
    uint8_t held_bytes[24], held_count;
    uint64_t record_count;
    uint64_t random; /* for a defect */
    struct entry_state entry;

    /* branch_stack.c */
    uint64_t lbr_select, lbr_top, lbr_from[LBR_DEPTH], lbr_to[LBR_DEPTH];
    /* smm.c */
    uint64_t area_late, index_kept; /* for defects */
    bool in_smm, lose_next;         /* lose_next: for a defect */
    uint64_t smi_count;
    bool lbr_leaks; /* for a defect: frozen, and yet it moves */
    struct perfmon perf;
    unsigned interrupt_causes; /* INTERRUPT_...: one is due at the next boundary */
};

/* walk.c - the guest's memory through its page tables */
enum access {
    ACCESS_WRITE = 1,
    ACCESS_USER = 2,
    ACCESS_FETCH = 4,
    ACCESS_IMPLICIT = 8, /* descriptor tables, TSS, the recording area: never with CPL 3 */
    ACCESS_STACK = 16,   /* a non-canonical address gives #SS instead of #GP */
    ACCESS_KEEP_AD = 32, /* leave accessed and dirty bits alone */
    ACCESS_AREA = 64     /* of the recording itself; for watch_access alone */
};
bool guest_canonical(const struct model_cpu *cpu, uint64_t linear);
/* Each returns false with cpu->fault set, and then nothing was read or written. */
bool guest_translate(struct model_cpu *cpu, uint64_t linear, unsigned access,
                     uint64_t *physical);
bool guest_read(struct model_cpu *cpu, uint64_t linear, void *to, size_t bytes,
                unsigned access);
bool guest_write(struct model_cpu *cpu, uint64_t linear, const void *from, size_t bytes,
                 unsigned access);
/* Whether the page's accessed and dirty bits are set already. */
bool guest_page_used(struct model_cpu *cpu, uint64_t linear);
/* Whether it selects no other memory type than the first. */
bool guest_page_cached(struct model_cpu *cpu, uint64_t linear);
void guest_forget_translations(struct model_cpu *cpu);
/* Memory that can be read and written twice without harm: no device, no legacy hole. */
bool guest_is_ram(const struct model_cpu *cpu, uint64_t physical);
void *guest_physical(const struct model_cpu *cpu, uint64_t physical);
/* Always false, for "return fault_raise(...)". */
static inline bool fault_raise(struct model_cpu *cpu, enum vector vector, uint32_t error)
{
    cpu->fault = (struct fault){.vector = (uint8_t)vector, .error = error};
    return false;
}

/* state.c - the guest's registers */
static inline bool guest_long_code(const struct model_cpu *cpu)
{
    return cpu->vmcb->save.efer & EFER_LMA && cpu->vmcb->save.cs.attributes & SEGMENT_LONG;
}
/* The CPL is SS's DPL; one emulator looks at nothing else. */
static inline unsigned guest_cpl(const struct model_cpu *cpu)
{
    return cpu->vmcb->save.ss.attributes >> SEGMENT_DPL_SHIFT & 3;
}
static inline unsigned guest_user_access(const struct model_cpu *cpu)
{
    return guest_cpl(cpu) == 3 ? ACCESS_USER : 0;
}
static inline enum decode_mode guest_mode(const struct model_cpu *cpu)
{
    if (guest_long_code(cpu))
        return DECODE_64;
    return cpu->vmcb->save.cs.attributes & SEGMENT_BIG ? DECODE_32 : DECODE_16;
}
static inline uint64_t truncate_to(uint64_t value, unsigned bytes)
{
    return bytes >= 8 ? value : value & ((1ull << (8 * bytes)) - 1);
}
uint64_t guest_code_linear(const struct model_cpu *cpu, uint64_t rip);
uint64_t guest_next_rip(const struct model_cpu *cpu, const struct insn *insn);
uint64_t guest_segment_base(struct model_cpu *cpu, unsigned segment);

/* segment.c - descriptors */
struct descriptor {
    uint16_t selector;
    uint16_t attributes;
    uint32_t limit;
    uint64_t base;
    uint64_t linear; /* of the descriptor itself */
};
bool descriptor_read(struct model_cpu *cpu, uint16_t selector, uint32_t error_extra,
                     struct descriptor *out);
void descriptor_load(struct model_cpu *cpu, struct vmcb_segment *segment,
                     const struct descriptor *descriptor, uint16_t selector);
unsigned descriptor_dpl(uint16_t attributes);
void segment_load_null(struct vmcb_segment *segment, uint16_t selector, unsigned dpl);
void cpl_set(struct model_cpu *cpu, unsigned cpl);
/* CS:IP of real mode; limit and attributes stay. */
void code_load_real(struct model_cpu *cpu, uint16_t segment, uint64_t ip);

/* watch.c - data breakpoints while stepping; hits gather in cpu->watch_hits */
bool watch_any(const struct model_cpu *cpu);
void watch_access(struct model_cpu *cpu, uint64_t linear, size_t bytes, unsigned access);
/* Lends DR1 to DR3 to the guest's watches; returns their bits of DR7. */
uint64_t watch_arm(struct model_cpu *cpu);
/* What the processor found, by its DR6. */
void watch_taken(struct model_cpu *cpu, uint64_t dr6);
/* Is a data breakpoint among the causes in DR6? One whose R/W field is 0 waits for code. */
bool watch_caused(const struct model_cpu *cpu);

/* machine.c and svm.asm - what only the real processor can do */
void machine_save_hidden(struct model_cpu *cpu); /* FS, GS, TR, LDTR, SYSCALL MSRs to VMCB */
void machine_load_hidden(struct model_cpu *cpu);
void machine_unblock_nmi(void);
_Noreturn void machine_shutdown(void);
_Noreturn void machine_refused(struct model_cpu *cpu);
_Noreturn void machine_panic(struct model_cpu *cpu, const char *reason, uint64_t detail);

#endif
