; SPDX-License-Identifier: BSD-2-Clause
; Out of long mode, into protected or real mode, and back.
; Source: SDM Vol. 3, "Switching Out of IA-32e Mode", "Switching to Protected Mode", "Switching
; Back to Real-Address Mode".
;
; What lies between legacy_code and legacy_code_end runs from a page below 1 MiB that is mapped
; to itself, behind struct legacy_state; there code and data segments begin at the page. No
; table could take an interrupt or NMI while the mode changes.

default rel
%include "hw/legacy.inc"

global legacy_enter:function hidden
global legacy_code:data hidden, legacy_code_end:data hidden
global legacy_real:data hidden, legacy_leave:data hidden

%define MSR_EFER        0xC0000080
%define EFER_LME        0x100
%define CR0_PE          1
%define CR0_PG          0x80000000
%define in_page(label)  (STATE_BYTES + label - legacy_code)

section .text

; uint32_t legacy_enter(struct legacy_state *page)
; In: rdi = the page, below 1 MiB. Out: eax = what the program returned. IF = 0.
; Clobbers what a System V function may; DS and ES hold the kernel's SS afterwards.
legacy_enter:
        push    rbx
        push    rbp
        push    r12
        push    r13
        push    r14
        push    r15
        mov     [rdi + STATE_RSP], rsp
        sgdt    [rdi + STATE_GDTR]
        sidt    [rdi + STATE_IDTR]
        lgdt    [rdi + STATE_LOW_GDTR]
        push    LEGACY_CODE32
        push    in_page(enter)
        retfq

legacy_code:
bits 32
; Compatibility mode: without paging it becomes protected mode.
enter:
        mov     eax, LEGACY_DATA32
        mov     ds, eax
        mov     es, eax
        mov     ss, eax
        mov     esp, PAGE_END
        mov     eax, cr0
        and     eax, ~CR0_PG
        mov     cr0, eax
        mov     ecx, MSR_EFER
        rdmsr
        and     eax, ~EFER_LME
        wrmsr
        mov     eax, [STATE_NEW_CR4]
        mov     cr4, eax
        mov     eax, [STATE_NEW_CR3]
        mov     cr3, eax
        mov     eax, [STATE_NEW_CR0]
        mov     cr0, eax
        lidt    [STATE_LOW_IDTR]
        cmp     byte [STATE_REAL], 0
        jne     to_real

        ; the program, by a far CALL onto its own segments
        mov     eax, LEGACY_PDATA
        mov     ds, eax
        mov     es, eax
        mov     ss, eax
        mov     esp, [cs:STATE_STACK]
        mov     edi, [cs:STATE_ARGUMENT]
        call    far [cs:STATE_ENTRY]
back:
        mov     edx, LEGACY_DATA32
        mov     ds, edx
        mov     es, edx
        mov     ss, edx
        mov     esp, PAGE_END
        mov     [STATE_RESULT], eax

        ; long mode as it was, and 64-bit code
        mov     eax, cr0
        and     eax, ~CR0_PG
        mov     cr0, eax
        mov     eax, [STATE_CR4]
        mov     cr4, eax
        mov     eax, [STATE_CR3]
        mov     cr3, eax
        mov     ecx, MSR_EFER
        rdmsr
        mov     eax, [STATE_EFER]
        wrmsr
        mov     eax, [STATE_CR0]
        mov     cr0, eax
        jmp     far [STATE_LEAVE]

to_real:
        jmp     LEGACY_CODE16:in_page(to_real16)
bits 16
to_real16:
        mov     ax, LEGACY_DATA16   ; limits that suit real mode stay behind
        mov     ds, ax
        mov     es, ax
        mov     ss, ax
        mov     eax, cr0
        and     al, ~CR0_PE
        mov     cr0, eax
        jmp     far [STATE_TO_REAL]
legacy_real:
        mov     ax, [cs:STATE_ENTRY16 + 2]
        mov     ds, ax
        mov     es, ax
        mov     ss, ax
        mov     sp, [cs:STATE_STACK]
        mov     edi, [cs:STATE_ARGUMENT]
        call    far [cs:STATE_ENTRY16]
        mov     [cs:STATE_RESULT], eax
        mov     eax, cr0
        or      al, CR0_PE
        mov     cr0, eax
        jmp     dword LEGACY_CODE32:in_page(from_real)
bits 32
from_real:
        mov     eax, [cs:STATE_RESULT]
        jmp     back

bits 64
legacy_leave:
        lea     rdi, [legacy_code - STATE_BYTES]
        mov     eax, LEGACY_FLAT
        mov     ds, eax
        mov     es, eax
        mov     ss, eax
        mov     rsp, [rdi + STATE_RSP]
        lgdt    [rdi + STATE_GDTR]
        lidt    [rdi + STATE_IDTR]
        mov     eax, [rdi + STATE_RESULT]
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbp
        pop     rbx
        ret
legacy_code_end:
