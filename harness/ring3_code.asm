; SPDX-License-Identifier: BSD-2-Clause
; The ring-3 program of the machine layer's checks: copied to a page of its own, so nothing in
; it may refer to anything outside. Every part ends in INT 0x80, which leaves ring 3.

%macro LABEL 1
        global %1:data hidden
%1:
%endmacro

        section .rodata
        align 16
LABEL ring3_code_start

LABEL ring3_exit
        int 0x80

LABEL ring3_ud
        ud2
        int 0x80

LABEL ring3_de
        mov eax, 1
        xor edx, edx
        xor ecx, ecx
LABEL ring3_de_at
        div ecx
        int 0x80

LABEL ring3_bp
        int3
        int 0x80

LABEL ring3_syscall
        syscall
        int 0x80

LABEL ring3_store
        mov [rdi], rax
LABEL ring3_store_next
        mov rbx, [rdi]
        int 0x80

LABEL ring3_load
        mov rax, [rdi]
        int 0x80

LABEL ring3_jump
        jmp rdi

LABEL ring3_cs
        mov eax, cs
        int 0x80

LABEL ring3_spin
        pause
        dec rcx
        jnz ring3_spin
LABEL ring3_spin_end
        int 0x80

; The labels are numbered in the order of the path, which is not the order of the bytes; 3 and 5
; are missing because LOOP comes to itself once and JZ skips the UD2.
LABEL ring3_walk
walk_0: xor eax, eax
walk_1: mov ecx, 2
walk_2: loop walk_2              ; twice: once taken, once not
walk_4: jz walk_6                ; taken, ZF from walk_0
        ud2
walk_7: ret
walk_6: call walk_7
walk_8: jmp walk_9
        ud2
walk_9: push rax
walk_a: pop rdx
walk_b: int 0x80

; A run starts at one of these; #GP keeps it from going on to the next.
privileged_hlt:
        hlt
privileged_cli:
        cli
privileged_rdmsr:
        rdmsr
privileged_wrmsr:
        wrmsr
privileged_in:
        in al, dx
privileged_lgdt:
        lgdt [rdi]
privileged_cr3:
        mov cr3, rax
privileged_cr0:
        mov rax, cr0
privileged_dr7:
        mov rax, dr7
privileged_invlpg:
        invlpg [rdi]
privileged_swapgs:
        swapgs
privileged_sysret:
        o64 sysret
privileged_int:
        int 0x81
        int 0x80
LABEL ring3_code_end

; const uint16_t ring3_walk_path[]: where RIP points after each step.
        align 2
LABEL ring3_walk_path
%macro STEP 1-*
  %rep %0
        dw %1 - ring3_walk
    %rotate 1
  %endrep
%endmacro
        STEP walk_1, walk_2, walk_2, walk_4, walk_6, walk_7, walk_8, walk_9, walk_a, walk_b
path_end:
        align 8
LABEL ring3_walk_steps
        dq (path_end - ring3_walk_path) / 2

; struct ring3_privileged { uint32_t offset, error; } ring3_privileged[];
; INT n through a gate of DPL 0 names the gate: vector * 8 + 2.
        align 4
LABEL ring3_privileged
%macro PRIVILEGED 2
        dd %1 - ring3_code_start, %2
%endmacro
        PRIVILEGED privileged_hlt, 0
        PRIVILEGED privileged_cli, 0
        PRIVILEGED privileged_rdmsr, 0
        PRIVILEGED privileged_wrmsr, 0
        PRIVILEGED privileged_in, 0
        PRIVILEGED privileged_lgdt, 0
        PRIVILEGED privileged_cr3, 0
        PRIVILEGED privileged_cr0, 0
        PRIVILEGED privileged_dr7, 0
        PRIVILEGED privileged_invlpg, 0
        PRIVILEGED privileged_swapgs, 0
        PRIVILEGED privileged_sysret, 0
        PRIVILEGED privileged_int, 0x81 * 8 + 2
privileged_end:
        align 8
LABEL ring3_privileged_count
        dq (privileged_end - ring3_privileged) / 8
