; SPDX-License-Identifier: BSD-2-Clause
; Faults whose handler resumes at r15, and faults on a transfer's target.

WORKLOAD fault.ud, RING0 | RING3 | STEPPABLE | FAULTS
    lea     r15, [.next]
    FAULT   VECTOR_UD, .next, ud2
    nop
.next:
    lea     r15, [.last]
    FAULT   VECTOR_UD, .last, {ud1 eax, ecx}
    nop
.last:
    LEAVE
ENDWORKLOAD

WORKLOAD fault.de, RING0 | RING3 | STEPPABLE | FAULTS
    xor     ecx, ecx
    xor     edx, edx
    mov     eax, 5
    lea     r15, [.next]
    FAULT   VECTOR_DE, .next, {div ecx}
    nop
.next:
    mov     edx, 1              ; the quotient does not fit
    mov     ecx, 1
    lea     r15, [.last]
    FAULT   VECTOR_DE, .last, {idiv ecx}
.last:
    LEAVE
ENDWORKLOAD

; PRIVILEGED {instruction}: #GP in ring 3.
%macro PRIVILEGED 1+
    lea     r15, [%%next]
    FAULT   VECTOR_GP, %%next, {%1}
    nop
%%next:
%endmacro

WORKLOAD fault.gp_privileged, RING3 | STEPPABLE | FAULTS
    PRIVILEGED cli
    PRIVILEGED hlt
    PRIVILEGED mov rax, cr0
    PRIVILEGED wrmsr
    PRIVILEGED in al, dx
    LEAVE
ENDWORKLOAD

WORKLOAD fault.gp_address, RING0 | RING3 | STEPPABLE | FAULTS
    mov     rcx, 1 << 47
    PRIVILEGED mov rax, [rcx]
    PRIVILEGED mov [rcx], rax
    LEAVE
ENDWORKLOAD

; A branch to a non-canonical address faults before it is taken: no record of its own. The
; oracle is left out because software emulation lets the branch go first.
WORKLOAD fault.gp_target, RING0 | RING3 | FAULTS
    mov     rbx, rsp
    mov     rax, 1 << 47
    mov     [rdi + 0x40], rax
    lea     r15, [.call]
    FAULT   VECTOR_GP, .call, {jmp rax}
.call:
    mov     rsp, rbx
    lea     r15, [.return]
    FAULT   VECTOR_GP, .return, {call [rdi + 0x40]}
.return:
    mov     rsp, rbx
    push    rax
    lea     r15, [.last]
    FAULT   VECTOR_GP, .last, ret
.last:
    mov     rsp, rbx
    LEAVE
ENDWORKLOAD

; FETCHED kind, resume, {branch to the page that is never present}: the branch is taken, then
; the fetch faults at its target. Two records.
%macro FETCHED 3
%%from: %3
    EDGE    %1, GUEST, at(%%from), DATA, DATA_NEVER, CPL_SAME, 1, 0, 0
    EDGE    EXCEPTION, DATA, DATA_NEVER, VECTOR, VECTOR_PF, CPL_IN, 1, 0, 0
    RESUME  %2
%endmacro

WORKLOAD fault.pf_fetch, RING0 | RING3 | STEPPABLE | FAULTS
    mov     rbx, rsp
    lea     rax, [rdi + DATA_NEVER]
    lea     r15, [.jump]
    FETCHED CALL_INDIRECT, .jump, {call rax}
    nop
.jump:
    mov     rsp, rbx
    lea     r15, [.return]
    FETCHED JMP_INDIRECT, .return, {jmp rax}
    nop
.return:
    push    rax
    lea     r15, [.last]
    FETCHED RET, .last, ret
    nop
.last:
    LEAVE
ENDWORKLOAD
