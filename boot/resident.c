/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copying the model to where it stays.
 *
 * Its code reaches its constants and variables by their distance, so the copy keeps the
 * distances of the four parts that linker.ld has gathered; what lies between them in the copy
 * goes back to the firmware. Pointers in its variables are moved by the ELF relocations, as
 * boot/entry.asm does for the whole image. Source: System V gABI, "Relative Relocation Table";
 * UEFI Specification, "Memory Type Usage after ExitBootServices()".
 */
#include "boot/resident.h"

#include "boot/memory.h"

#include "hw/irq.h"
#include "hw/model/model.h"
#include "hw/paging.h"
#include "hw/string.h"

/* From linker.ld. */
#pragma GCC visibility push(hidden)
extern uint8_t __kept_text_start[], __text_end[], __kept_rodata_start[], __kept_rodata_end[];
extern uint8_t __kept_data_start[], __data_end[], __bss_start[], __kept_bss_end[];
extern const uint64_t __relr_start[], __relr_end[];
#pragma GCC visibility pop

#define TEXT_RVA   0x1000u /* of .text when linked; linker.ld asserts it */
#define RELR_BITS  63      /* quadwords that one bitmap covers */
#define PARTS      4
#define PAGE_ALIGN ((uintptr_t)PAGE_BYTES - 1)

extern uint8_t __text_start[] __attribute__((visibility("hidden")));

struct part {
    uintptr_t start, end; /* start on a page */
};

static uint8_t *copy; /* of the first part; NULL: there is none */
static void *block;   /* of the processor */
static size_t block_bytes;
static uint64_t top;

static void find_parts(struct part parts[PARTS])
{
    parts[0] = (struct part){(uintptr_t)__kept_text_start, (uintptr_t)__text_end};
    parts[1] = (struct part){(uintptr_t)__kept_rodata_start, (uintptr_t)__kept_rodata_end};
    parts[2] = (struct part){(uintptr_t)__kept_data_start, (uintptr_t)__data_end};
    parts[3] = (struct part){(uintptr_t)__bss_start, (uintptr_t)__kept_bss_end};
}

static uintptr_t page_end(uintptr_t address)
{
    return (address + PAGE_ALIGN) & ~PAGE_ALIGN;
}

static size_t span_bytes(const struct part parts[PARTS])
{
    return page_end(parts[PARTS - 1].end) - parts[0].start;
}

static bool stays(const struct part parts[PARTS], uintptr_t address)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (address >= parts[i].start && address <= parts[i].end)
            return true;
    return false;
}

/*
 * A pointer of the image, if it is the model's, gets its new value in the copy. False when what
 * it points to does not stay.
 */
static bool move_pointer(const struct part parts[PARTS], uintptr_t address, uintptr_t shift)
{
    uintptr_t target;

    if (address < parts[2].start || address >= parts[2].end)
        return true;
    target = *(const uintptr_t *)address;
    *(uintptr_t *)(address + shift) = target + shift;
    return stays(parts, target);
}

/*
 * An even word is the place of a pointer; an odd one has a bit for each of those that follow.
 */
static bool move_pointers(const struct part parts[PARTS], uintptr_t shift)
{
    uintptr_t base = (uintptr_t)__text_start - TEXT_RVA, next = 0;
    bool good = true;

    for (const uint64_t *word = __relr_start; word < __relr_end; word++) {
        if (!(*word & 1)) {
            good &= move_pointer(parts, base + *word, shift);
            next = base + *word + sizeof(uint64_t);
            continue;
        }
        for (unsigned bit = 0; bit < RELR_BITS; bit++)
            if (*word >> (bit + 1) & 1)
                good &= move_pointer(parts, next + bit * sizeof(uint64_t), shift);
        next += RELR_BITS * sizeof(uint64_t);
    }
    return good;
}

static void free_gaps(const struct part parts[PARTS], uintptr_t shift)
{
    for (unsigned i = 0; i + 1 < PARTS; i++) {
        uintptr_t gap = page_end(parts[i].end);

        memory_give_back((void *)(gap + shift), parts[i + 1].start - gap);
    }
}

static bool make_copy(void)
{
    struct part parts[PARTS];
    uintptr_t shift;

    find_parts(parts);
    copy = memory_resident(span_bytes(parts), true);
    if (!copy)
        return false;
    shift = (uintptr_t)copy - parts[0].start;
    for (unsigned i = 0; i < PARTS; i++)
        memcpy((void *)(parts[i].start + shift), (const void *)parts[i].start,
               parts[i].end - parts[i].start);
    free_gaps(parts, shift);
    return move_pointers(parts, shift);
}

const char *resident_prepare(uint64_t top_of_ram)
{
    const char *why = NULL;

    top = top_of_ram;
    block_bytes = model_memory_bytes(top);
    block = memory_resident(block_bytes, false);
    if (!block || !make_copy())
        why = "firmware has too little memory for the model to stay";
    if (why)
        resident_release();
    return why;
}

size_t resident_bytes(void)
{
    struct part parts[PARTS];
    size_t bytes = page_end(block_bytes);

    find_parts(parts);
    for (unsigned i = 0; i < PARTS; i++)
        bytes += page_end(parts[i].end) - parts[i].start;
    return bytes;
}

bool resident_enter(void)
{
    uintptr_t shift = (uintptr_t)copy - (uintptr_t)__kept_text_start;
    __typeof__(&model_enter) enter = (__typeof__(&model_enter))((uintptr_t)model_enter + shift);
    irqflags_t flags = irq_save();
    bool inside = enter(block, block_bytes, top) == MODEL_OK;

    irq_restore(flags);
    return inside;
}

void resident_leave(void)
{
    irqflags_t flags = irq_save();

    model_leave();
    irq_restore(flags);
}

void resident_release(void)
{
    struct part parts[PARTS];
    uintptr_t shift = (uintptr_t)copy - (uintptr_t)__kept_text_start;

    find_parts(parts);
    for (unsigned i = 0; copy && i < PARTS; i++)
        memory_give_back((void *)(parts[i].start + shift),
                         page_end(parts[i].end) - parts[i].start);
    if (block)
        memory_give_back(block, page_end(block_bytes));
    copy = NULL;
    block = NULL;
}
