; SPDX-License-Identifier: BSD-2-Clause
; From the page where a started processor begins, in real mode, to the host's C code.
;
; The page is a copy of startup_page below 1 MiB. Several processors may run through it at once,
; so it is only read, and the stack comes last.
; Source: SDM Vol. 3, "Initializing IA-32e Mode".

%define SEAT_BYTES      24
%define SEAT_APIC_ID    0
%define SEAT_STACK      8
%define CR4_PAE         0x20
%define MSR_EFER        0xc0000080
%define EFER_LME        0x100
%define CR0_HOST        0x80010033      ; PG, WP, NE, ET, MP, PE; caches on
%define CODE_LONG       8
%define LEAF_FEATURES   1
%define LEAF_TOPOLOGY   0xb

section .text

; In: CS:IP at the first byte of the copy, IF = 0, registers as an INIT leaves them.
bits 16
align 16
startup_page:
    mov ax, cs
    mov ds, ax
    o32 lgdt [startup_gdtr - startup_page]
    mov eax, CR4_PAE
    mov cr4, eax
    mov eax, [startup_cr3 - startup_page]
    mov cr3, eax
    mov ecx, MSR_EFER
    rdmsr
    or eax, EFER_LME
    wrmsr
    mov eax, CR0_HOST
    mov cr0, eax
    jmp far dword [startup_target - startup_page]

align 8
startup_gdt:
    dq 0, 0x00209b0000000000
startup_gdtr:
    dw 15
    dd 0                                ; set in the copy
startup_cr3:
    dd 0
startup_target:
    dd 0
    dw CODE_LONG
startup_page_end:

bits 64
default rel

; void startup_fill(void *page, uint64_t cr3);
; In: RDI, a page below 1 MiB; RSI, page tables below 4 GiB. Makes the copy. Clobbers RAX, RCX.
global startup_fill:function hidden
startup_fill:
    push rdi
    push rsi
    lea rsi, [startup_page]
    mov ecx, startup_page_end - startup_page
    rep movsb
    pop rsi
    pop rdi
    lea eax, [rdi + startup_gdt - startup_page]
    mov [rdi + startup_gdtr + 2 - startup_page], eax
    mov [rdi + startup_cr3 - startup_page], esi
    lea rax, [startup_long]
    mov [rdi + startup_target - startup_page], eax
    ret

; In: 64-bit mode on the tables of startup_fill, no stack. Finds the seat of this processor by
; its APIC ID and goes on in C; one without a seat halts.
startup_long:
    xor eax, eax
    cpuid
    mov r8d, eax
    mov eax, LEAF_FEATURES
    cpuid
    shr ebx, 24
    mov r9d, ebx
    cmp r8d, LEAF_TOPOLOGY
    jb .known
    mov eax, LEAF_TOPOLOGY
    xor ecx, ecx
    cpuid
    test ebx, ebx
    jz .known
    mov r9d, edx
.known:
    extern startup_seats
    extern startup_seat_count
    lea rdi, [startup_seats]
    mov ecx, [startup_seat_count]
.seat:
    cmp [rdi + SEAT_APIC_ID], r9d
    je .found
    add rdi, SEAT_BYTES
    dec ecx
    jnz .seat
.none:
    cli
    hlt
    jmp .none
.found:
    mov rsp, [rdi + SEAT_STACK]
    xor ebp, ebp
    cld
    extern startup_arrived
    call startup_arrived
    ud2
