; SPDX-License-Identifier: BSD-2-Clause
; Where firmware enters the image: relocation to the load address.
;
; The PE header carries an empty base relocation table, only to say that the image may be
; moved; the real list is the ELF one, which the linker left in .rela. All its targets lie in
; .data, so nothing here writes to a page that firmware mapped read-only.
; Source: System V ABI, AMD64 supplement, "Relocation Types".

bits 64
default rel

TEXT_RVA           equ 0x1000 ; address of .text at link time; linker.ld asserts it
R_X86_64_RELATIVE  equ 8
RELA_BYTES         equ 24     ; r_offset, r_info, r_addend
EFI_LOAD_ERROR     equ 0x8000000000000001

extern efi_main
extern __text_start
extern __rela_start
extern __rela_end

; EFI_STATUS EFIAPI efi_entry(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);
; In:        Microsoft order: RCX image, RDX table; firmware's stack, paging and IDT.
; Out:       RAX, from efi_main; EFI_LOAD_ERROR on a relocation of an unknown type.
; Clobbers:  RAX, R8-R11, flags, and what efi_main does under the Microsoft convention.
; Interrupts: as firmware left them (on).
section .text.efi_entry progbits alloc exec nowrite align=16
global efi_entry:function hidden
efi_entry:
    lea     r8, [__text_start]
    sub     r8, TEXT_RVA
    lea     r9, [__rela_start]
    lea     r10, [__rela_end]

    ; Unknown types are refused: a pointer left at its link-time value would be used later,
    ; as an address in the first 256 KiB, where nobody could tell where it came from.
.next:
    cmp     r9, r10
    jae     efi_main
    cmp     dword [r9 + 8], R_X86_64_RELATIVE
    jne     .refuse
    mov     rax, [r9 + 16]
    add     rax, r8
    mov     r11, [r9]
    mov     [r8 + r11], rax
    add     r9, RELA_BYTES
    jmp     .next

.refuse:
    mov     rax, EFI_LOAD_ERROR
    ret

; One base relocation block with two entries of type ABSOLUTE, which mean nothing.
section .reloc progbits alloc noexec nowrite align=4
    dd      0, 12
    dw      0, 0
