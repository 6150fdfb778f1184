; SPDX-License-Identifier: BSD-2-Clause
; Far JMP, CALL and RET and IRETQ without a change of privilege.
; Memory operands are m16:64 (REX.W), as Intel processors have it.

; FAR_POINTER address, label: selector and offset of a place in this code segment.
%macro FAR_POINTER 2
    lea     rax, [%2]
    mov     [%1], rax
    mov     eax, cs
    mov     [%1 + 8], ax
%endmacro

WORKLOAD far.jmp, RING0 | RING3 | STEPPABLE
    FAR_POINTER rdi + 0x40, .there
    TAKEN   FAR_JMP, .there, {jmp far qword [rdi + 0x40]}
    ud2
.there:
    FAR_POINTER rdi + 0x60, .back
    TAKEN   JMP, .last, {jmp short .last}
.back:
    RECORD  FAR_JMP, .last, .back
    LEAVE
.last:  jmp far qword [rdi + 0x60]
ENDWORKLOAD

WORKLOAD far.call, RING0 | RING3 | STEPPABLE
    FAR_POINTER rdi + 0x40, .function
    RECORD  FAR_CALL, .call, .function
    RECORD  FAR_RET, .return, .after
.call:  call far qword [rdi + 0x40]
.after:
    LEAVE
.function:
    nop
.return: retfq
ENDWORKLOAD

; RETF to an address that no CALL pushed, with and without an immediate.
WORKLOAD far.ret, RING0 | RING3 | STEPPABLE
    mov     rbx, rsp
    mov     eax, cs
    lea     rcx, [.there]
    push    rax
    push    rcx
    TAKEN   FAR_RET, .there, retfq
    ud2
.there:
    lea     rcx, [.last]
    sub     rsp, 32
    push    rax
    push    rcx
    TAKEN   FAR_RET, .last, {retfq 32}
    ud2
.last:
    mov     rsp, rbx
    LEAVE
ENDWORKLOAD

WORKLOAD far.iret, RING0 | RING3 | STEPPABLE
    mov     rdx, rsp
    mov     eax, ss
    push    rax
    push    rdx
    pushfq
    mov     eax, cs
    push    rax
    lea     rax, [.there]
    push    rax
.from:  iretq
    EDGE    IRET, GUEST, at(.from), GUEST, at(.there), CPL_SAME, 1, OPTIONAL, 0
    ud2
.there:
    LEAVE
ENDWORKLOAD
