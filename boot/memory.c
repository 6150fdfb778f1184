/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocation through the firmware, and where RAM ends. */
#include "boot/memory.h"

#include "boot/firmware.h"

#include "hw/cpu.h"
#include "hw/paging.h"
#include "hw/string.h"

#define BLOCKS_MAX (CPU_MAX + 32) /* one for each stand-in processor, and the rest */
#define FOUR_GIB   (1ull << 32)
#define TWO_MIB    (2ull << 20)

static struct {
    EFI_PHYSICAL_ADDRESS address;
    UINTN pages;
} blocks[BLOCKS_MAX];
static unsigned block_count;
/* Everything ever allocated, for memory_in_use. */
static struct {
    uint64_t start, bytes;
} used[2 * BLOCKS_MAX];
static unsigned used_count;

#define TOP_OF_LOW_RAM 0xA0000u /* the video hole begins here */

static void *remember(void *block, size_t bytes)
{
    if (block) {
        blocks[block_count].address = (EFI_PHYSICAL_ADDRESS)(uintptr_t)block;
        blocks[block_count++].pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    }
    return block;
}

void *memory_pages_low(size_t bytes)
{
    EFI_PHYSICAL_ADDRESS found = TOP_OF_LOW_RAM - 1;

    if (block_count == BLOCKS_MAX ||
        firmware_boot->AllocatePages(AllocateMaxAddress, EfiLoaderData,
                                     (bytes + PAGE_BYTES - 1) / PAGE_BYTES,
                                     &found) != EFI_SUCCESS)
        return NULL;
    memset((void *)(uintptr_t)found, 0, bytes);
    return remember((void *)(uintptr_t)found, bytes);
}

void *memory_pages_kept(size_t bytes, size_t alignment)
{
    UINTN pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    UINTN slack = alignment / PAGE_BYTES - 1;
    EFI_PHYSICAL_ADDRESS found = FOUR_GIB - 1, start;

    /* Firmware aligns to a page only: ask for more and give the ends back. */
    if (firmware_boot->AllocatePages(AllocateMaxAddress, EfiLoaderData, pages + slack,
                                     &found) != EFI_SUCCESS &&
        firmware_boot->AllocatePages(AllocateAnyPages, EfiLoaderData, pages + slack, &found) !=
            EFI_SUCCESS)
        return NULL;
    start = (found + alignment - 1) & ~(EFI_PHYSICAL_ADDRESS)(alignment - 1);
    if (start > found)
        firmware_boot->FreePages(found, (start - found) / PAGE_BYTES);
    slack -= (start - found) / PAGE_BYTES;
    if (slack > 0)
        firmware_boot->FreePages(start + pages * PAGE_BYTES, slack);
    memset((void *)start, 0, pages * PAGE_BYTES);
    if (used_count < 2 * BLOCKS_MAX) {
        used[used_count].start = start;
        used[used_count++].bytes = pages * PAGE_BYTES;
    }
    return (void *)start;
}

void *memory_pages(size_t bytes, size_t alignment)
{
    void *block = block_count < BLOCKS_MAX ? memory_pages_kept(bytes, alignment) : NULL;

    return remember(block, bytes);
}

void *memory_resident(size_t bytes, enum resident_kind kind)
{
    UINTN pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    EFI_PHYSICAL_ADDRESS found = kind == RESIDENT_LOW ? TOP_OF_LOW_RAM - 1 : FOUR_GIB - 1;
    EFI_MEMORY_TYPE type =
        kind == RESIDENT_CODE ? EfiRuntimeServicesCode : EfiReservedMemoryType;

    /* Of the types that stay, firmware with no-execute data lets code run in this one. */
    if (firmware_boot->AllocatePages(AllocateMaxAddress, type, pages, &found) != EFI_SUCCESS)
        return NULL;
    memset((void *)(uintptr_t)found, 0, pages * PAGE_BYTES);
    return (void *)(uintptr_t)found;
}

void memory_give_back(void *block, size_t bytes)
{
    if (bytes > 0)
        firmware_boot->FreePages((EFI_PHYSICAL_ADDRESS)(uintptr_t)block,
                                 (bytes + PAGE_BYTES - 1) / PAGE_BYTES);
}

/* From linker.ld. */
extern const uint8_t __text_start[] __attribute__((visibility("hidden")));
extern const uint8_t __bss_end[] __attribute__((visibility("hidden")));

static bool overlap(uint64_t start, uint64_t bytes, uint64_t other, uint64_t other_bytes)
{
    return start < other + other_bytes && other < start + bytes;
}

bool memory_in_use(uint64_t start, uint64_t bytes)
{
    /* The running image is not where firmware loaded its file: boot/loader unpacked it. */
    if (overlap(start, bytes, (uint64_t)__text_start - PAGE_BYTES,
                (uint64_t)(__bss_end - __text_start) + PAGE_BYTES))
        return true;
    for (unsigned i = 0; i < used_count; i++)
        if (overlap(start, bytes, used[i].start, used[i].bytes))
            return true;
    return false;
}

void memory_release(void)
{
    while (block_count > 0) {
        block_count--;
        firmware_boot->FreePages(blocks[block_count].address, blocks[block_count].pages);
    }
}

/* Device memory and reserved ranges may lie at the top of the physical address space. */
static bool is_ram(UINT32 type)
{
    return type != EfiReservedMemoryType && type != EfiMemoryMappedIO &&
           type != EfiMemoryMappedIOPortSpace && type != EfiUnusableMemory;
}

uint64_t memory_top(void)
{
    UINTN bytes = 0, key, stride = 0;
    UINT32 version;
    EFI_MEMORY_DESCRIPTOR *map = NULL;
    uint64_t top = 0;

    firmware_boot->GetMemoryMap(&bytes, map, &key, &stride, &version);
    /* Allocating the buffer splits entries. */
    bytes += 16 * (stride + sizeof(*map));
    if (firmware_boot->AllocatePool(EfiLoaderData, bytes, (void **)&map) != EFI_SUCCESS)
        return 0;
    if (firmware_boot->GetMemoryMap(&bytes, map, &key, &stride, &version) == EFI_SUCCESS) {
        top = FOUR_GIB;
        for (UINTN offset = 0; offset + stride <= bytes; offset += stride) {
            const EFI_MEMORY_DESCRIPTOR *d = (const void *)((const uint8_t *)map + offset);
            uint64_t end = d->PhysicalStart + d->NumberOfPages * PAGE_BYTES;

            if (is_ram(d->Type) && end > top)
                top = end;
        }
    }
    firmware_boot->FreePool(map);
    return (top + TWO_MIB - 1) & ~(TWO_MIB - 1);
}
