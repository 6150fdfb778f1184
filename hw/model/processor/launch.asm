; SPDX-License-Identifier: BSD-2-Clause
; Onto the host's tables and stack, and off them for good.
;
; All of it runs at CPL 0 in 64-bit mode. Offsets into struct model_cpu are asserted in
; machine.c.

bits 64
default rel

%include "registers.inc"

%define CPU_HOST_CR3    136
%define CPU_HOST_STACK  144
%define CPU_HOST_GDTR   152
%define CPU_HOST_IDTR   162
%define CPU_BARE_GDTR   200
%define CPU_BARE_IDTR   210
%define CPU_BARE_DS     220
%define CPU_BARE_ES     222
%define CPU_BARE_CR3    224
%define CPU_BARE_RIP    232             ; RIP, CS, RFLAGS, RSP, SS
%define CPU_BARE_CS     240
%define CPU_BARE_SS     264
%define CPU_BARE_EFER   272

%define HOST_CODE       0x08
%define HOST_DATA       0x10
%define MSR_EFER        0xc0000080

section .text

; void machine_launch(struct model_cpu *cpu, void (*host)(struct model_cpu *));
; In: RDI, RSI; GIF = 0, IF = 0. Moves to the host's tables and stack and calls host, which
; never returns. The call comes back, callee-saved registers whole, when the guest is first
; entered at machine_guest_entry with the RSP stored here.
global machine_launch:function hidden
machine_launch:
    save_callee_saved
    mov [rdi + 8 * 4], rsp
    lgdt [rdi + CPU_HOST_GDTR]
    lidt [rdi + CPU_HOST_IDTR]
    mov rax, [rdi + CPU_HOST_CR3]
    mov cr3, rax
    mov rsp, [rdi + CPU_HOST_STACK]
    mov eax, HOST_DATA
    mov ss, eax
    mov ds, eax
    mov es, eax
    push HOST_CODE
    lea rax, [.on_host]
    push rax
    o64 retf
.on_host:
    call rsi
    ud2

; void machine_guest_entry(void);
; Where the guest's first RIP points, on the stack that machine_launch left; IF = 0.
; Out: machine_launch returns to its caller, now the guest. Clobbers nothing of its own.
global machine_guest_entry:function hidden
machine_guest_entry:
    restore_callee_saved
    ret

; _Noreturn void machine_leave(struct model_cpu *cpu);
; In: RDI; GIF = 0, IF = 0. Loads cpu->bare and the guest's registers: the guest goes on
; without the model. STGI only under the guest's own code segment and IDT, so that an NMI
; finds a world it can return to.
global machine_leave:function hidden
machine_leave:
    lgdt [rdi + CPU_BARE_GDTR]
    lidt [rdi + CPU_BARE_IDTR]
    mov rax, [rdi + CPU_BARE_CR3]
    mov cr3, rax
    movzx eax, word [rdi + CPU_BARE_DS]
    mov ds, eax
    movzx eax, word [rdi + CPU_BARE_ES]
    mov es, eax
    mov rcx, rsp
    push qword [rdi + CPU_BARE_SS]
    push rcx
    push 2
    push qword [rdi + CPU_BARE_CS]
    lea rax, [.on_bare]
    push rax
    iretq
.on_bare:
    stgi
    mov ecx, MSR_EFER
    mov eax, [rdi + CPU_BARE_EFER]
    mov edx, [rdi + CPU_BARE_EFER + 4]
    wrmsr
    %assign field 4
    %rep 5
    push qword [rdi + CPU_BARE_RIP + 8 * field]
    %assign field field - 1
    %endrep
    mov rax, [rdi]
    move_guest_registers load_from_rdi
    mov rdi, [rdi + 8 * 7]
    iretq
