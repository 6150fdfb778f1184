; SPDX-License-Identifier: BSD-2-Clause
; RDMSR, WRMSR and RDPMC that return the exception instead of dying.
; Source: SDM Vol. 2, "RDMSR", "WRMSR" (#GP for a reserved or unimplemented address or bit) and
; "RDPMC" (#GP for a counter that does not exist).

        default rel
%include "hw/fixup.inc"

        global msr_read_try:function hidden
        global msr_write_try:function hidden
        global pmc_rdpmc_try:function hidden

        global msr_write_error:function hidden

        section .text

; int msr_read_try(uint32_t msr, uint64_t *value)
; In: edi, rsi. Out: eax = 0 and *value written, or eax = vector and *value untouched.
; Clobbers rcx, rdx. Any IF, any kernel stack.
msr_read_try:
        mov ecx, edi
read_access:
        rdmsr
        shl rdx, 32
        mov eax, eax
        or rax, rdx
        mov [rsi], rax
        xor eax, eax
faulted:
        ret
        FIXUP read_access, faulted

; int msr_write_try(uint32_t msr, uint64_t value)
; In: edi, rsi. Out: eax = 0, or the vector. Clobbers rcx, rdx. Any IF, any kernel stack.
msr_write_try:
        mov ecx, edi
        mov rdx, rsi
        mov eax, esi
        shr rdx, 32
write_access:
        wrmsr
        xor eax, eax
        ret
        FIXUP write_access, faulted

; int pmc_rdpmc_try(uint32_t select, uint64_t *value)
; In: edi, rsi. Out: eax = 0 and *value written, or eax = vector and *value untouched.
; Clobbers rcx, rdx. Any IF, any kernel stack.
pmc_rdpmc_try:
        mov ecx, edi
counter_access:
        rdpmc
        shl rdx, 32
        mov eax, eax
        or rax, rdx
        mov [rsi], rax
        xor eax, eax
unreadable:
        ret
        FIXUP counter_access, unreadable

; int msr_write_error(uint32_t msr, uint64_t value, uint32_t *error)
; In: edi, rsi, rdx. Out: eax = 0, or the vector and *error written. Clobbers rcx, rdx, r8.
msr_write_error:
        mov r8, rdx
        mov ecx, edi
        mov rdx, rsi
        mov eax, esi
        shr rdx, 32
write_access_error:
        wrmsr
        xor eax, eax
        ret
faulted_error:
        mov [r8], edx
        ret
        FIXUP write_access_error, faulted_error
