; SPDX-License-Identifier: BSD-2-Clause
; World switches: into the guest and back, onto the host and off it.
;
; All of it runs at CPL 0 in 64-bit mode. Offsets into struct model_cpu are asserted in
; machine.c.

bits 64
default rel

%define CPU_VMCB        128
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

%macro save_callee_saved 0
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
%endmacro

%macro restore_callee_saved 0
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
%endmacro

; Every register of the guest but RAX, RSP and RDI; %1 points to struct model_cpu.
%macro move_guest_registers 1
    %1  8 * 1, rcx
    %1  8 * 2, rdx
    %1  8 * 3, rbx
    %1  8 * 5, rbp
    %1  8 * 6, rsi
    %1  8 * 8, r8
    %1  8 * 9, r9
    %1  8 * 10, r10
    %1  8 * 11, r11
    %1  8 * 12, r12
    %1  8 * 13, r13
    %1  8 * 14, r14
    %1  8 * 15, r15
%endmacro
%macro load_from_rdi 2
    mov %2, [rdi + %1]
%endmacro
%macro store_to_rax 2
    mov [rax + %1], %2
%endmacro

; void machine_enter(struct model_cpu *cpu);
; In: RDI. Runs the guest until it exits. GIF = 0 before and after; IF = 0.
; Clobbers what a C function may. The VMCB holds the guest's RAX and RSP.
global machine_enter:function hidden
machine_enter:
    save_callee_saved
    push rdi
    mov rax, [rdi + CPU_VMCB]
    move_guest_registers load_from_rdi
    mov rdi, [rdi + 8 * 7]
    vmrun
    mov rax, [rsp]                      ; the processor restored RSP
    move_guest_registers store_to_rax
    mov [rax + 8 * 7], rdi
    pop rdi
    restore_callee_saved
    ret

; void machine_launch(struct model_cpu *cpu, void (*host)(struct model_cpu *));
; In: RDI, RSI; GIF = 0, IF = 0. Moves to the host's tables and stack and calls host, which
; never returns. The call comes back, callee-saved registers whole, when the guest is first
; entered at machine_guest_entry with the RSP stored here.
global machine_launch:function hidden
global machine_guest_entry:function hidden
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

; void machine_hidden_save(uint64_t vmcb); void machine_hidden_load(uint64_t vmcb);
; In: RDI, physical address. FS, GS, TR, LDTR, KernelGSbase, SYSCALL and SYSENTER MSRs.
global machine_hidden_save:function hidden
machine_hidden_save:
    mov rax, rdi
    vmsave
    ret
global machine_hidden_load:function hidden
machine_hidden_load:
    mov rax, rdi
    vmload
    ret
