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
#include "boot/mp_services.h"

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

#define LEAVE_MICROSECONDS 2000000

static uint8_t *copy;   /* of the first part; NULL: there is none */
static void *low_page;  /* where other processors start; NULL: there are none */
static uint8_t *blocks; /* one for each processor, then what all share */
static size_t block_bytes, shared_bytes;
static size_t processors;
static uint32_t apic_ids[MODEL_SEATS_MAX];
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
    copy = memory_resident(span_bytes(parts), RESIDENT_CODE);
    if (!copy)
        return false;
    shift = (uintptr_t)copy - parts[0].start;
    for (unsigned i = 0; i < PARTS; i++)
        memcpy((void *)(parts[i].start + shift), (const void *)parts[i].start,
               parts[i].end - parts[i].start);
    free_gaps(parts, shift);
    return move_pointers(parts, shift);
}

/* A function of the model, in the copy. */
#define COPIED(function) ((__typeof__(&(function)))((uintptr_t)(function) + copy_shift()))

static uintptr_t copy_shift(void)
{
    return (uintptr_t)copy - (uintptr_t)__kept_text_start;
}

static size_t blocks_bytes(void)
{
    return processors * block_bytes + shared_bytes;
}

/* The parts of the copy, then the blocks, then the page below 1 MiB. */
#define RANGES (PARTS + 2)

static void find_ranges(struct model_range ranges[RANGES])
{
    struct part parts[PARTS];

    find_parts(parts);
    for (unsigned i = 0; i < PARTS; i++)
        ranges[i] = (struct model_range){.start = parts[i].start + copy_shift(),
                                         .bytes = page_end(parts[i].end) - parts[i].start,
                                         .code = i < 2};
    ranges[PARTS] = (struct model_range){.start = (uintptr_t)blocks, .bytes = blocks_bytes()};
    ranges[PARTS + 1] =
        (struct model_range){.start = (uintptr_t)low_page, .bytes = low_page ? PAGE_BYTES : 0};
}

/* Other processors come up inside the model, whenever the guest starts them. */
static bool seat_processors(void)
{
    static struct model_seat seats[MODEL_SEATS_MAX];
    struct model_range ranges[RANGES];

    for (size_t i = 0; i < processors; i++)
        seats[i] = (struct model_seat){apic_ids[i], blocks + i * block_bytes};
    find_ranges(ranges);
    return COPIED(model_stay)(&(struct model_stay){
               .top_of_ram = top,
               .seats = seats,
               .seat_count = processors,
               .low_page = low_page,
               .shared = blocks + processors * block_bytes,
               .shared_bytes = shared_bytes,
               .kept = ranges,
               .kept_count = RANGES,
           }) == MODEL_OK;
}

static bool prepare_all(void)
{
    block_bytes = page_end(model_memory_bytes(top));
    shared_bytes = 0;
    if (processors > 1)
        shared_bytes = model_shared_bytes(top, RANGES, processors * block_bytes);
    blocks = memory_resident(blocks_bytes(), RESIDENT_DATA);
    if (!blocks || !make_copy())
        return false;
    if (processors == 1)
        return true;
    low_page = memory_resident(PAGE_BYTES, RESIDENT_LOW);
    return low_page && seat_processors();
}

const char *resident_prepare(uint64_t top_of_ram)
{
    top = top_of_ram;
    processors = mp_apic_ids(apic_ids, MODEL_SEATS_MAX);
    if (processors == 0)
        processors = 1;
    if (prepare_all())
        return NULL;
    resident_release();
    return "firmware has too little memory for the model to stay";
}

size_t resident_bytes(void)
{
    struct model_range ranges[RANGES];
    size_t bytes = 0;

    find_ranges(ranges);
    for (unsigned i = 0; i < RANGES; i++)
        bytes += ranges[i].bytes;
    return bytes;
}

size_t resident_processors(void)
{
    return processors;
}

bool resident_enter(void)
{
    irqflags_t flags = irq_save();
    bool inside = COPIED(model_enter)(blocks, block_bytes, top) == MODEL_OK;

    irq_restore(flags);
    return inside;
}

static void EFIAPI leave_there(void *argument)
{
    (void)argument;
    model_leave();
}

void resident_leave(void)
{
    irqflags_t flags = irq_save();

    model_leave();
    irq_restore(flags);
    /* Firmware wakes them by an INIT, which takes them out of the model, or in another way. */
    if (processors > 1)
        mp_run(leave_there, LEAVE_MICROSECONDS);
}

void resident_release(void)
{
    struct model_range ranges[RANGES];

    find_ranges(ranges);
    for (unsigned i = copy ? 0 : PARTS; i < RANGES; i++)
        if (ranges[i].start)
            memory_give_back((void *)(uintptr_t)ranges[i].start, ranges[i].bytes);
    copy = NULL;
    low_page = NULL;
    blocks = NULL;
}
