/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files share that keep every processor of a machine inside the model. */
#ifndef HW_MODEL_HOST_STAY_H
#define HW_MODEL_HOST_STAY_H

#include "hw/model/processor/cpu.h"

#define APIC_PAGE 0xFEE00000ull

/* nested.c - the second level of address translation, the same for all processors */
uint64_t nested_pages(uint64_t top_of_ram, size_t kept, uint64_t kept_bytes);
void nested_build(void *pages, uint64_t count, uint64_t top_of_ram);
/* Guest-physical pages that read as nothing and swallow writes; or may be read only. */
void nested_hide(uint64_t start, uint64_t bytes);
void nested_read_only(uint64_t start, uint64_t bytes);
/* Into the VMCB; nothing where processors do not stay. */
void nested_use(struct model_cpu *cpu);
void nested_exit(struct model_cpu *cpu);

/* seats.c - processors that the guest starts; known to startup.asm by its layout */
struct seat {
    uint32_t apic_id;
    uint32_t page; /* where the guest wants it */
    uint64_t stack_top;
    void *memory;
};
extern struct seat startup_seats[MODEL_SEATS_MAX];
extern uint32_t startup_seat_count;
extern uint8_t *startup_page_used; /* NULL: processors are left alone */
bool startup_watched(void);        /* whether the guest's commands must be seen */
/* A command for the interrupt command register, in its x2APIC shape; what to send instead. */
uint32_t startup_command(uint32_t destination, uint32_t command);

/* startup.asm */
#define STARTUP_SEAT_BYTES 24
void startup_fill(void *page, uint64_t cr3);

/* apic_page.c - a write to the local APIC's page */
void apic_page_write(struct model_cpu *cpu, uint64_t physical);
bool apic_command_write(struct model_cpu *cpu, uint64_t value); /* WRMSR; false: a fault */

#endif
