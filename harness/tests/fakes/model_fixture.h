/* SPDX-License-Identifier: BSD-2-Clause */
/* A processor of the model on the host: memory, and what it says when a branch is recorded. */
#ifndef HARNESS_TESTS_FAKES_MODEL_FIXTURE_H
#define HARNESS_TESTS_FAKES_MODEL_FIXTURE_H

#include "hw/model/bts/bts.h"
#include "hw/model/perfmon/perfmon.h"
#include "unit.h"

#include <sys/mman.h>

#define ARENA_BYTES 0x40000ul
#define TRANSFERS   8

static uint8_t *arena; /* physical address 0 on */
static struct vmcb vmcb;
static struct model_cpu cpu;
static struct transfer transfers[TRANSFERS];
static unsigned transfer_count;

/* Hidden state is the emulator's: nothing here needs it. */
void machine_save_hidden(struct model_cpu *c)
{
    (void)c;
}

void machine_load_hidden(struct model_cpu *c)
{
    (void)c;
}

void interrupt_send(struct model_cpu *c)
{
    (void)c;
}

bool record_transfer(struct model_cpu *c, const struct transfer *t)
{
    (void)c;
    if (transfer_count < TRANSFERS)
        transfers[transfer_count] = *t;
    transfer_count++;
    return true;
}

static inline bool map_arena(void)
{
    arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return arena != MAP_FAILED;
}

/* Empty memory, nothing set; segments, tables and RIP are the test's. */
static inline void fresh_cpu(void)
{
    memset(arena, 0, ARENA_BYTES);
    memset(&cpu, 0, sizeof(cpu));
    memset(&vmcb, 0, sizeof(vmcb));
    model_reset_config();
    transfer_count = 0;
    cpu.vmcb = &vmcb;
    cpu.physical_offset = (uintptr_t)arena;
    cpu.top_of_map = cpu.top_of_ram = ARENA_BYTES;
    cpu.nowhere = arena + ARENA_BYTES - 4096;
    cpu.physical_bits = 40;
    cpu.stepping = true;
    vmcb.save.rflags = FLAG_FIXED | FLAG_IF;
}

/* The transfer of that number, the first is 0. */
static inline void expect_edge(unsigned which, uint64_t from, uint64_t to)
{
    EXPECT(which < transfer_count);
    EXPECT_EQ(transfers[which].from, from);
    EXPECT_EQ(transfers[which].to, to);
}

#define RUN_BYTES(...) run((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

#endif
