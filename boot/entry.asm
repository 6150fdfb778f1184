; SPDX-License-Identifier: BSD-2-Clause
; Where firmware enters the image: relocation to the load address.
;
; The PE header carries an empty base relocation table, only to say that the image may be
; moved; the real list is the ELF one, which the linker packed into .relr. All its targets lie
; in .data, so nothing here writes to a page that firmware mapped read-only.
; Source: System V gABI, "Relative Relocation Table".

bits 64
default rel

TEXT_RVA           equ 0x1000 ; address of .text at link time; linker.ld asserts it
RELR_BITS          equ 63     ; quadwords that one bitmap covers

extern efi_main
extern __text_start
extern __relr_start
extern __relr_end

; EFI_STATUS EFIAPI efi_entry(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);
; In:        Microsoft order: RCX image, RDX table; firmware's stack, paging and IDT.
; Out:       RAX, from efi_main.
; Clobbers:  RAX, R8-R11, flags, and what efi_main does under the Microsoft convention.
; Interrupts: as firmware left them (on).
section .text.efi_entry progbits alloc exec nowrite align=16
global efi_entry:function hidden
efi_entry:
    lea     r8, [__text_start]
    sub     r8, TEXT_RVA
    lea     r9, [__relr_start]
    lea     r10, [__relr_end]

    ; An even word is the address of a pointer; an odd one has a bit for each of the quadwords
    ; that follow what was covered so far. The pointers hold their link-time values.
.next_word:
    cmp     r9, r10
    jae     efi_main
    mov     rax, [r9]
    add     r9, 8
    test    al, 1
    jnz     .bitmap
    lea     r11, [r8 + rax]
    add     [r11], r8
    add     r11, 8
    jmp     .next_word

.bitmap:
    push    r11
.next_bit:
    shr     rax, 1
    jz      .bitmap_done
    test    al, 1
    jz      .no_pointer
    add     [r11], r8
.no_pointer:
    add     r11, 8
    jmp     .next_bit
.bitmap_done:
    pop     r11
    add     r11, RELR_BITS * 8
    jmp     .next_word

; One base relocation block with two entries of type ABSOLUTE, which mean nothing.
section .reloc progbits alloc noexec nowrite align=4
    dd      0, 12
    dw      0, 0
