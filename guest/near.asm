; SPDX-License-Identifier: BSD-2-Clause
; Near JMP: every operand form, forward and backward.

WORKLOAD jmp.rel8, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .forward
    RECORD  JMP, .forward, .back
    RECORD  JMP, .back, .furthest
    RECORD  JMP, .furthest, .leave
.start: jmp short .forward
    ud2
.back:  jmp short .furthest
    ud2
.forward: jmp short .back
.leave:
    LEAVE
    times 118 nop               ; the largest displacements, +127 and -128 or close to them
.furthest: jmp short .leave
ENDWORKLOAD

WORKLOAD jmp.rel32, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .forward
    RECORD  JMP, .forward, .back
.start: jmp near .forward
.back:
    LEAVE
    times 200 nop
.forward: jmp near .back
ENDWORKLOAD

; Each register once, so that every REX.B and ModRM value is seen.
%macro JMP_REGISTER 1
    lea     %1, [.to_%1]
    TAKEN   JMP_INDIRECT, .to_%1, {jmp %1}
    ud2
.to_%1:
%endmacro

WORKLOAD jmp.register, RING0 | RING3 | STEPPABLE
    JMP_REGISTER rax
    JMP_REGISTER rcx
    JMP_REGISTER rdx
    JMP_REGISTER rbx
    JMP_REGISTER rsi
    JMP_REGISTER rbp
    JMP_REGISTER r8
    JMP_REGISTER r9
    JMP_REGISTER r10
    JMP_REGISTER r11
    JMP_REGISTER r12
    JMP_REGISTER r13
    JMP_REGISTER r14
    JMP_REGISTER r15
    JMP_REGISTER rdi
    LEAVE
ENDWORKLOAD

; Backward, through a register.
WORKLOAD jmp.register_back, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .forward
    RECORD  JMP_INDIRECT, .jump, .back
.start: jmp short .forward
.back:
    LEAVE
.forward:
    lea     rax, [.back]
.jump:  jmp rax
ENDWORKLOAD

; JMP_MEMORY operand: the pointer is stored through the same operand before the jump.
%macro JMP_MEMORY 1
    lea     rax, [%%to]
    mov     %1, rax
    TAKEN   JMP_INDIRECT, %%to, {jmp %1}
    ud2
%%to:
%endmacro

WORKLOAD jmp.memory, RING0 | RING3 | STEPPABLE
    lea     rbx, [rdi + 0x200]
    mov     ecx, 4
    mov     r12, rbx
    mov     r13, rcx
    mov     rbp, rbx
    JMP_MEMORY [rdi + 0x40]
    JMP_MEMORY [rdi + 0x400]
    JMP_MEMORY [rbx]
    JMP_MEMORY [rbp]
    JMP_MEMORY [rbx + rcx]
    JMP_MEMORY [rbx + rcx * 8]
    JMP_MEMORY [rbx + rcx * 4 - 0x40]
    JMP_MEMORY [rdi + rcx * 2 + 0x300]
    JMP_MEMORY [r12]
    JMP_MEMORY [r13 + rdi + 0x80]
    JMP_MEMORY [r12 + r13 * 8 + 0x140]
    push    rax
    JMP_MEMORY [rsp]
    pop     rax
    LEAVE
ENDWORKLOAD

; RIP-relative: the data page lies behind the code at a distance that the assembler knows.
WORKLOAD jmp.rip_relative, RING0 | RING3 | STEPPABLE
    lea     rax, [.there]
    mov     [guest_data + 0x60], rax
    TAKEN   JMP_INDIRECT, .there, {jmp [guest_data + 0x60]}
    ud2
.there:
    LEAVE
ENDWORKLOAD

; MOV SS holds traps and interrupts back for one instruction, and the record must not be.
WORKLOAD jmp.behind_mov_ss, RING0 | RING3 | STEPPABLE
    mov     eax, ss
    mov     ss, eax
    TAKEN   JMP, .there, {jmp short .there}
    ud2
.there:
    mov     ss, eax
    nop
    LEAVE
ENDWORKLOAD

; POPF takes TF away from whoever steps the workload.
WORKLOAD jmp.behind_popf, RING3 | STEPPABLE
    push    2
    popfq
    TAKEN   JMP, .there, {jmp short .there}
    ud2
.there:
    LEAVE
ENDWORKLOAD
