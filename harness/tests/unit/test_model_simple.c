/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model's software instructions against the host's own processor, the independent judge:
 * random instructions, registers, flags and memory; every register, every defined flag and
 * every byte of memory must agree. What the model refuses is not compared, but each opcode of
 * the list must be carried out often enough.
 */
#define _GNU_SOURCE
#include "harness/tests/fakes/unit.h"
#include "hw/model/emulate/emulate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TABLE_SPAN 0x200000ul /* one last-level table: the arena must not straddle two */
#define DATA_AT    0x10000    /* page tables below, data, then code */
#define DATA_BYTES 0x2000
#define CODE_AT    0x18000
#define SAVE_AT    0x19000         /* registers, flags, the C stack pointer */
#define INSN_AT    (CODE_AT + 154) /* behind what loads the registers */
#define ROUNDS     400000

static uint8_t *arena;
static struct vmcb vmcb;
static struct model_cpu cpu;

void machine_save_hidden(struct model_cpu *c)
{
    (void)c;
    abort(); /* simple instructions touch no hidden state */
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545F4914F6CDD1Du;
}

static uint64_t *word_at(uint64_t offset)
{
    return (uint64_t *)(arena + offset);
}

/* Four levels that map the data onto itself and nothing else: a store elsewhere is refused. */
static void build_tables(void)
{
    uint64_t linear = (uintptr_t)arena;
    uint64_t table = linear;

    for (unsigned level = 4; level > 1; level--) {
        uint64_t next = linear + (5 - level) * 4096;

        *(uint64_t *)(table + (linear >> (12 + 9 * (level - 1)) & 511) * 8) = next | 7;
        table = next;
    }
    for (uint64_t page = DATA_AT; page < DATA_AT + DATA_BYTES; page += 4096) {
        uint64_t at = linear + page;

        *(uint64_t *)(table + (at >> 12 & 511) * 8) = at | 7;
    }
    vmcb.save.cr3 = linear;
}

static void build_cpu(void)
{
    cpu.vmcb = &vmcb;
    cpu.top_of_map = cpu.top_of_ram = 0x100000000u;
    cpu.physical_bits = 40;
    cpu.linear_bits = 48;
    vmcb.save.cr0 = CR0_PE | CR0_PG | CR0_WP;
    vmcb.save.cr4 = CR4_PAE;
    vmcb.save.efer = EFER_LMA | EFER_LME;
    vmcb.save.cs.attributes = SEGMENT_LONG | SEGMENT_PRESENT;
    vmcb.save.ss.attributes = 3 << SEGMENT_DPL_SHIFT;
    build_tables();
    guest_forget_translations(&cpu);
}

/* --- the instruction under test */

static const uint8_t one_byte[] = {
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x10, 0x11, 0x12,
    0x13, 0x14, 0x15, 0x18, 0x19, 0x1A, 0x1B, 0x1C, 0x1D, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25,
    0x28, 0x29, 0x2A, 0x2B, 0x2C, 0x2D, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x38, 0x39, 0x3A,
    0x3B, 0x3C, 0x3D, 0x50, 0x51, 0x53, 0x54, 0x57, 0x58, 0x59, 0x5C, 0x5F, 0x63, 0x68, 0x6A,
    0x80, 0x81, 0x83, 0x84, 0x85, 0x88, 0x89, 0x8A, 0x8B, 0x8D, 0x90, 0xA8, 0xA9, 0xB0, 0xB4,
    0xB7, 0xB8, 0xBF, 0xC0, 0xC1, 0xD0, 0xD1, 0xC6, 0xC7, 0xF6, 0xF7, 0xFE, 0xFF};
static const uint8_t two_byte[] = {0xB6, 0xB7, 0xBE, 0xBF, 0x1F};
#define KINDS (sizeof(one_byte) + sizeof(two_byte))

static unsigned carried_out[KINDS];

static size_t random_instruction(uint8_t *code, unsigned kind)
{
    size_t at = 0;

    if (random64() % 4 == 0)
        code[at++] = 0x66;
    if (random64() % 2 == 0)
        code[at++] = 0x40 | (random64() & 15);
    if (kind < sizeof(one_byte)) {
        code[at++] = one_byte[kind];
    } else {
        code[at++] = 0x0F;
        code[at++] = two_byte[kind - sizeof(one_byte)];
    }
    code[at++] = (uint8_t)random64(); /* ModRM, or the immediate */
    code[at++] = (uint8_t)random64(); /* SIB */
    for (unsigned i = 0; i < 10; i++) /* displacement, near zero as often as not; immediate */
        code[at++] = random64() % 3 ? 0 : (uint8_t)random64();
    return at;
}

static uint64_t random_value(void)
{
    uint64_t middle = (uintptr_t)arena + DATA_AT + DATA_BYTES / 2;

    switch (random64() % 5) {
    case 0:
        return random64() % 7;
    case 1:
        return random64();
    case 2: /* values near the sign and carry limits */
        return (1ull << (8 << random64() % 4) % 64) * (random64() % 2) - random64() % 3 +
               (1ull << ((8 << random64() % 4) - 1));
    default:
        return middle + random64() % 512 - 256;
    }
}

/* --- the same instruction on the host */

struct image {
    uint64_t gpr[16], flags, c_stack;
};

static uint8_t *emit(uint8_t *at, const void *bytes, size_t count)
{
    memcpy(at, bytes, count);
    return at + count;
}

/* mov [address], reg (opcode 89) or mov reg, [address] (8B), address below 2 GiB. */
static uint8_t *emit_move(uint8_t *at, uint8_t opcode, unsigned reg, uint64_t address)
{
    uint8_t bytes[] = {(uint8_t)(0x48 | (reg >> 3) << 2), opcode, (uint8_t)(4 | (reg & 7) << 3),
                       0x25};
    uint32_t low = (uint32_t)address;

    at = emit(at, bytes, sizeof(bytes));
    return emit(at, &low, 4);
}

static void run_on_host(const uint8_t *code, size_t length)
{
    uint8_t *at = arena + CODE_AT;
    uint64_t save = (uintptr_t)arena + SAVE_AT;
    static const uint8_t enter[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
    static const uint8_t leave[] = {0x41, 0x5F, 0x41, 0x5E, 0x41, 0x5D,
                                    0x41, 0x5C, 0x5D, 0x5B, 0xFC, 0xC3};
    uint8_t push_flags[] = {0xFF, 0x34, 0x25, 0, 0, 0, 0, 0x9D};
    uint8_t pop_flags[] = {0x9C, 0x8F, 0x04, 0x25, 0, 0, 0, 0};
    uint32_t flags_at = (uint32_t)(save + offsetof(struct image, flags));

    memcpy(push_flags + 3, &flags_at, 4);
    memcpy(pop_flags + 4, &flags_at, 4);
    at = emit(at, enter, sizeof(enter));
    at = emit_move(at, 0x89, RSP, save + offsetof(struct image, c_stack));
    at = emit(at, push_flags, sizeof(push_flags));
    for (unsigned i = 0; i < 16; i++)
        at = emit_move(at, 0x8B, i, save + 8 * i);
    if (at != arena + INSN_AT)
        abort();
    at = emit(at, code, length);
    for (unsigned i = 0; i < 16; i++)
        at = emit_move(at, 0x89, i, save + 8 * i);
    at = emit_move(at, 0x8B, RSP, save + offsetof(struct image, c_stack));
    at = emit(at, pop_flags, sizeof(pop_flags));
    emit(at, leave, sizeof(leave));
    ((void (*)(void))(uintptr_t)(arena + CODE_AT))();
}

/* Flags that the manual leaves undefined after this instruction. */
static uint64_t undefined_flags(const struct insn *insn, uint64_t count)
{
    unsigned opcode = insn->opcode, operation = opcode >> 3;

    if (insn->map != MAP_ONE)
        return 0;
    if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83)
        operation = insn->modrm >> 3 & 7;
    else if (opcode >= 0x40)
        operation = 8;
    if (operation == 1 || operation == 4 || operation == 6)
        return FLAG_AF;
    switch (opcode) {
    case 0x84 ... 0x85:
    case 0xA8 ... 0xA9:
    case 0xF6 ... 0xF7: /* TEST; NEG and NOT define AF, but one mask will do */
        return FLAG_AF;
    case 0xC0 ... 0xC1:
        return FLAG_AF | (count != 1 ? FLAG_OF : 0);
    case 0xD0 ... 0xD1:
        return FLAG_AF;
    }
    return 0;
}

static void complain(const struct insn *insn, const uint8_t *code, const struct image *before,
                     const struct image *host)
{
    static unsigned shown;

    if (shown++ > 10)
        return;
    fprintf(stderr, "code:");
    for (unsigned i = 0; i < insn->length; i++)
        fprintf(stderr, " %02x", code[i]);
    fprintf(stderr, "  flags before %llx model %llx host %llx\n", before->flags & FLAG_STATUS,
            vmcb.save.rflags & FLAG_STATUS, host->flags & FLAG_STATUS);
    for (unsigned i = 0; i < 16; i++)
        if (cpu.gpr[i] != host->gpr[i])
            fprintf(stderr, "  r%u before %lx model %lx host %lx\n", i, before->gpr[i],
                    cpu.gpr[i], host->gpr[i]);
}

static void round_of(unsigned kind)
{
    static uint8_t data[DATA_BYTES], after[DATA_BYTES];
    uint8_t code[20];
    struct image before, *host = (struct image *)word_at(SAVE_AT);
    struct insn insn;
    size_t bytes = random_instruction(code, kind);

    if (insn_decode(code, bytes, DECODE_64, &insn) != DECODE_OK)
        return;
    for (unsigned i = 0; i < 16; i++)
        before.gpr[i] = random_value();
    before.gpr[RSP] = (uintptr_t)arena + DATA_AT + DATA_BYTES / 2 + 8 * (random64() % 32);
    before.flags = (random64() & FLAG_STATUS) | FLAG_FIXED | FLAG_IF;
    memcpy(cpu.gpr, before.gpr, sizeof(before.gpr));
    vmcb.save.rflags = before.flags;
    vmcb.save.rip = (uintptr_t)arena + INSN_AT;
    memcpy(data, arena + DATA_AT, DATA_BYTES);
    if (!carry_out_simple(&cpu, &insn)) {
        EXPECT(!memcmp(cpu.gpr, before.gpr, sizeof(before.gpr)));
        EXPECT_EQ(vmcb.save.rflags, before.flags);
        EXPECT(!memcmp(data, arena + DATA_AT, DATA_BYTES));
        return;
    }
    carried_out[kind]++;
    EXPECT_EQ(vmcb.save.rip, (uintptr_t)arena + INSN_AT + insn.length);
    memcpy(after, arena + DATA_AT, DATA_BYTES);
    memcpy(arena + DATA_AT, data, DATA_BYTES);
    *host = before;
    run_on_host(code, insn.length);
    uint64_t compared = FLAG_STATUS & ~undefined_flags(&insn, (uint64_t)insn.immediate & 63);
    int good = !memcmp(cpu.gpr, host->gpr, sizeof(host->gpr)) &&
               ((vmcb.save.rflags ^ host->flags) & compared) == 0 &&
               !memcmp(after, arena + DATA_AT, DATA_BYTES);
    if (!good)
        complain(&insn, code, &before, host);
    EXPECT(good);
}

static void agrees_with_the_host(void)
{
    unsigned long total = 0;

    uint8_t *block = mmap(NULL, 2 * TABLE_SPAN, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

    ASSERT(block != MAP_FAILED);
    arena = (uint8_t *)(((uintptr_t)block + TABLE_SPAN - 1) & ~(TABLE_SPAN - 1));
    build_cpu();
    for (uint64_t i = 0; i < DATA_BYTES / 8; i++)
        *word_at(DATA_AT + 8 * i) = random64();
    for (unsigned i = 0; i < ROUNDS; i++)
        round_of(i % KINDS);
    for (unsigned i = 0; i < KINDS; i++) {
        total += carried_out[i];
        if (!EXPECT(carried_out[i] >= 100))
            printf("kind %u: %u times\n", i, carried_out[i]);
    }
    printf("%lu instructions carried out as the host does\n", total);
}

int main(void)
{
    RUN(agrees_with_the_host);
    UNIT_END();
}
