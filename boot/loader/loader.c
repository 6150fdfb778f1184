/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What firmware starts: unpacks the suite into memory and calls it.
 *
 * The suite is packed because it has to fit small boot volumes and network boot paths whatever
 * is added to it. It goes into pages of type LoaderCode, which firmware that maps data
 * non-executable still lets run. The packed image is linked like any other PE image; this file
 * needs no relocation and has no data of its own.
 */
#include "boot/loader/calls.h"
#include "boot/loader/lzma.h"

#include <efi.h>

#define PAGE_SIZE 4096u

/* boot/loader/packed.asm. Hidden, or the linker would make absolute addresses of them. */
#pragma GCC visibility push(hidden)
extern const UINT8 packed_start[], packed_end[];
extern const UINT64 packed_memory; /* bytes of memory the suite wants, its .bss included */
#pragma GCC visibility pop

typedef EFI_STATUS(EFIAPI *entry_point)(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

EFI_STATUS EFIAPI loader_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_STATUS unpack_and_call(UINT8 *base, EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
    /* The suite is linked at 0 with a page for headers, and its entry is its first byte. */
    UINT8 *code = base + PAGE_SIZE;
    /* The work space lies behind the suite's memory, which ends with .bss. */
    UINTN unpacked = lzma_unpack(packed_start, (UINTN)(packed_end - packed_start), code,
                                 packed_memory - PAGE_SIZE, (void *)(base + packed_memory));

    if (unpacked == 0)
        return EFI_VOLUME_CORRUPTED;
    calls_turn(code, unpacked, -1);
    for (UINT8 *bss = code + unpacked; bss < base + packed_memory; bss++)
        *(volatile UINT8 *)bss = 0;
    return ((entry_point)(UINTN)code)(image, table);
}

EFI_STATUS EFIAPI loader_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
    EFI_BOOT_SERVICES *boot = table->BootServices;
    EFI_PHYSICAL_ADDRESS base = 0;
    UINTN work = (sizeof(struct lzma_chances) + PAGE_SIZE - 1) / PAGE_SIZE;
    UINTN pages = packed_memory / PAGE_SIZE + work;
    EFI_STATUS status = boot->AllocatePages(AllocateAnyPages, EfiLoaderCode, pages, &base);

    if (EFI_ERROR(status))
        return status;
    status = unpack_and_call((UINT8 *)(UINTN)base, image, table);
    boot->FreePages(base, pages);
    return status;
}
