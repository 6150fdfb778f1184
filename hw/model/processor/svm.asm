; SPDX-License-Identifier: BSD-2-Clause
; World switches: into the guest and back.
;
; All of it runs at CPL 0 in 64-bit mode. Offsets into struct model_cpu are asserted in
; machine.c.

bits 64
default rel

%include "registers.inc"

%define CPU_VMCB        128

section .text

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

; void machine_hidden_save(uint64_t vmcb);
; In: RDI, physical address of a VMCB; IF = 0. Stores FS, GS, TR, LDTR, KernelGSbase and the
; SYSCALL and SYSENTER MSRs there. Clobbers RAX.
global machine_hidden_save:function hidden
machine_hidden_save:
    mov rax, rdi
    vmsave
    ret

; void machine_hidden_load(uint64_t vmcb);
; In: RDI, as above; IF = 0. Loads the same from there. Clobbers RAX.
global machine_hidden_load:function hidden
machine_hidden_load:
    mov rax, rdi
    vmload
    ret
