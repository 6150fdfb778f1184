/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest/elf.c on made-up files: each thing that can be wrong, alone, gives its own error; what
 * is right gives the plan; and a real program's plan is the one that its own headers say.
 */
#include "guest/elf.h"
#include "harness/tests/fakes/unit.h"

#include <elf.h>
#include <stddef.h>

#define MOST  (64ull << 20)
#define BYTES 16384

/* A program of three segments, as gcc -static makes it; judged by the C library's <elf.h>. */
static struct {
    union {
        uint8_t file[BYTES];
        Elf64_Ehdr h;
    };
    Elf64_Phdr *p;
    struct elf_plan plan;
} t;

static Elf64_Phdr load(uint64_t offset, uint64_t address, uint64_t bytes, uint32_t flags)
{
    return (Elf64_Phdr){.p_type = PT_LOAD,
                        .p_flags = flags,
                        .p_offset = offset,
                        .p_vaddr = address,
                        .p_filesz = bytes,
                        .p_memsz = bytes};
}

static void make(void)
{
    static const uint32_t note[] = {4, 8, NT_GNU_BUILD_ID, 0x554E47, 0x04030201, 0x08070605};

    memset(&t, 0, sizeof t);
    memcpy(t.h.e_ident, ELFMAG, SELFMAG);
    t.h.e_ident[EI_CLASS] = ELFCLASS64;
    t.h.e_ident[EI_DATA] = ELFDATA2LSB;
    t.h.e_type = ET_EXEC;
    t.h.e_machine = EM_X86_64;
    t.h.e_entry = 0x401010;
    t.h.e_phoff = sizeof t.h;
    t.h.e_phentsize = sizeof(Elf64_Phdr);
    t.h.e_phnum = 4;
    t.p = (Elf64_Phdr *)(t.file + sizeof t.h);
    t.p[0] = load(0, 0x400000, 0x300, PF_R);
    t.p[1] = load(0x1000, 0x401000, 0x500, PF_R | PF_X);
    t.p[2] = load(0x2000, 0x404800, 0x100, PF_R | PF_W);
    t.p[2].p_memsz = 0x2000;
    t.p[3] = load(0x200, 0x400200, sizeof note, PF_R);
    t.p[3].p_type = PT_NOTE;
    memcpy(t.file + 0x200, note, sizeof note);
}

/* In a block of exactly its size, so that the sanitizer sees a byte too many. */
static enum elf_error judge_bytes(size_t bytes)
{
    uint8_t *exact = malloc(bytes ? bytes : 1);
    enum elf_error error;

    memcpy(exact, t.file, bytes);
    error = elf_plan(exact, bytes, MOST, &t.plan);
    free(exact);
    return error;
}

static enum elf_error judge(void)
{
    return judge_bytes(BYTES);
}

static void good_program(void)
{
    make();
    ASSERT(judge() == ELF_OK);
    EXPECT_EQ(t.plan.count, 3);
    EXPECT_EQ(t.plan.entry, 0x401010);
    EXPECT_EQ(t.plan.segments[2].start, 0x404800);
    EXPECT_EQ(t.plan.segments[2].bytes, 0x2000);
    EXPECT_EQ(t.plan.segments[2].file_bytes, 0x100);
    EXPECT_EQ(t.plan.segments[1].flags, ELF_READ | ELF_EXECUTE);
    EXPECT_EQ(t.plan.headers, 0x400040);
    EXPECT_EQ(t.plan.header_count, 4);
    EXPECT_EQ(t.plan.end, 0x406800);
    EXPECT_EQ(t.plan.bytes, 0x1000 + 0x1000 + 0x3000);
    EXPECT_EQ(t.plan.build_id_bytes, 8);
    EXPECT_EQ(t.plan.build_id[7], 8);
}

/* The order in the file does not matter. */
static void any_order(void)
{
    Elf64_Phdr first;

    make();
    first = t.p[0];
    t.p[0] = t.p[2];
    t.p[2] = first;
    ASSERT(judge() == ELF_OK);
    EXPECT_EQ(t.plan.segments[0].start, 0x400000);
    EXPECT_EQ(t.plan.segments[2].start, 0x404800);
}

#define WRONG(error, change)                                                                   \
    do {                                                                                       \
        make();                                                                                \
        change;                                                                                \
        EXPECT_EQ(judge(), error);                                                             \
        seen |= 1u << (error);                                                                 \
    } while (0)

static uint32_t seen;

static void wrong_headers(void)
{
    WRONG(ELF_NOT_ELF, t.file[3] = 'G');
    WRONG(ELF_NOT_64_BIT, t.h.e_ident[EI_CLASS] = ELFCLASS32);
    WRONG(ELF_BYTE_ORDER, t.h.e_ident[EI_DATA] = ELFDATA2MSB);
    WRONG(ELF_MACHINE, t.h.e_machine = EM_AARCH64);
    WRONG(ELF_NOT_A_PROGRAM, t.h.e_type = ET_REL);
    WRONG(ELF_NOT_A_PROGRAM, t.h.e_type = ET_CORE);
    WRONG(ELF_HEADERS, t.h.e_phentsize = 55);
    WRONG(ELF_NO_SEGMENTS, t.h.e_phnum = 0);
    WRONG(ELF_TRUNCATED, t.h.e_phoff = BYTES - 100);
    WRONG(ELF_TRUNCATED, t.h.e_phoff = UINT64_MAX - 8);
    WRONG(ELF_TRUNCATED, t.h.e_phnum = 0xFFFF);
    WRONG(ELF_ENTRY, t.h.e_entry = 0x400010);
    WRONG(ELF_ENTRY, t.h.e_entry = 0x401500);
    WRONG(ELF_ENTRY, t.h.e_entry = 0);
}

static void wrong_segments(void)
{
    WRONG(ELF_DYNAMIC, t.p[3].p_type = PT_INTERP);
    WRONG(ELF_NO_SEGMENTS, t.p[0].p_type = t.p[1].p_type = t.p[2].p_type = PT_NULL);
    WRONG(ELF_SIZES, t.p[1].p_memsz = 0x4FF);
    WRONG(ELF_TRUNCATED, t.p[1].p_offset = BYTES - 0x4FF);
    WRONG(ELF_TRUNCATED, t.p[1].p_offset = UINT64_MAX - 0x100);
    WRONG(ELF_RANGE, t.p[0].p_vaddr = 0);
    WRONG(ELF_RANGE, t.p[0].p_vaddr = 0xF000);
    WRONG(ELF_RANGE, t.p[0].p_vaddr = 0xFEE00000);
    WRONG(ELF_RANGE, t.p[0].p_vaddr = 0x400000000000);
    WRONG(ELF_RANGE, t.p[0].p_vaddr = 0xFFFFFFFF80000000);
    WRONG(ELF_RANGE, t.p[0].p_vaddr = UINT64_MAX - 0x10);
    WRONG(ELF_RANGE, t.p[2].p_memsz = 0xC0000000);
    WRONG(ELF_RANGE, t.p[2].p_memsz = UINT64_MAX);
    WRONG(ELF_TOO_BIG, t.p[2].p_memsz = MOST);
    WRONG(ELF_TOO_BIG, t.p[2].p_memsz = 0xB0000000);
    WRONG(ELF_OVERLAP, t.p[1].p_vaddr = 0x4002FF);
    WRONG(ELF_OVERLAP, t.p[0].p_vaddr = t.p[1].p_vaddr);
}

static void many_segments(void)
{
    make();
    t.h.e_phnum = 17;
    for (unsigned i = 0; i < 17; i++)
        t.p[i] = load(0x1000, 0x401000 + i * 0x1000, 0x20, PF_R | PF_X);
    EXPECT_EQ(judge(), ELF_MANY_SEGMENTS);
    seen |= 1u << ELF_MANY_SEGMENTS;
    t.h.e_phnum = 16;
    EXPECT_EQ(judge(), ELF_OK);
}

/* It goes up as a whole, whatever tells it how to relocate itself; a stack may keep code. */
static void position_independent(void)
{
    make();
    t.h.e_type = ET_DYN;
    t.p[3].p_type = PT_DYNAMIC;
    ASSERT(judge() == ELF_OK);
    EXPECT_EQ(t.plan.bias, ELF_HIGH);
    EXPECT_EQ(t.plan.entry, ELF_HIGH + 0x401010);
    EXPECT_EQ(t.plan.segments[2].start, ELF_HIGH + 0x404800);
    EXPECT_EQ(t.plan.headers, ELF_HIGH + 0x400040);
    EXPECT_EQ(t.plan.end, ELF_HIGH + 0x406800);
    EXPECT(!t.plan.stack_executes);
    t.p[3].p_type = PT_GNU_STACK;
    t.p[3].p_flags = PF_R | PF_W | PF_X;
    ASSERT(judge() == ELF_OK);
    EXPECT(t.plan.stack_executes);
    t.h.e_entry = (0 - ELF_HIGH) + 0x401010;
    EXPECT_EQ(judge(), ELF_ENTRY);
}

/* Two segments may share a page, one may be written and executed, one without bytes is none. */
static void odd_but_good(void)
{
    make();
    t.p[2].p_vaddr = 0x401800;
    t.p[2].p_flags = PF_R | PF_W | PF_X;
    EXPECT_EQ(judge(), ELF_OK);
    make();
    t.p[2].p_memsz = t.p[2].p_filesz = 0;
    t.p[2].p_vaddr = 0;
    ASSERT(judge() == ELF_OK);
    EXPECT_EQ(t.plan.count, 2);
    make();
    t.p[3].p_filesz = 20; /* the note's bytes are cut off */
    ASSERT(judge() == ELF_OK);
    EXPECT_EQ(t.plan.build_id_bytes, 0);
}

/* Cut anywhere: never good before the last byte that is loaded, never a byte too many. */
static void cut_anywhere(void)
{
    make();
    for (size_t bytes = 0; bytes < 0x2100; bytes++) {
        enum elf_error error = judge_bytes(bytes);

        if (error != (bytes < 4 ? ELF_NOT_ELF : ELF_TRUNCATED)) {
            EXPECT_EQ(bytes, 0x2100);
            return;
        }
    }
    EXPECT_EQ(judge_bytes(0x2100), ELF_OK);
}

/* Every error has been made above, and says something of its own with a way out. */
static void every_error(void)
{
    for (unsigned i = 1; i < ELF_ERRORS; i++) {
        const char *text = elf_error_text(i);

        EXPECT(seen & 1u << i);
        EXPECT(strchr(text, ':') && strlen(text) < 80);
        for (unsigned k = 0; k < i; k++)
            EXPECT(strcmp(text, elf_error_text(k)) != 0);
    }
    EXPECT_STR(elf_error_text(ELF_ERRORS), "is refused");
}

int main(void)
{
    RUN(good_program);
    RUN(any_order);
    RUN(wrong_headers);
    RUN(wrong_segments);
    RUN(many_segments);
    RUN(position_independent);
    RUN(odd_but_good);
    RUN(cut_anywhere);
    RUN(every_error);
    UNIT_END();
}
