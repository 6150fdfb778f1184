; SPDX-License-Identifier: BSD-2-Clause
; Far JMP, CALL and RET and IRETQ without a change of privilege.
; Memory operands are m16:64 (REX.W), as Intel processors have it, and m16:32.

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

; m16:32 reaches only the copy of the region that lies in the loaded image. Each transfer goes
; there and comes back by a far JMP through m16:64. CALL pushes half an address, so nothing
; returns to it.

; LOW_PLACE label: ecx = the label's address in the loaded image.
%macro LOW_PLACE 1
    mov     rcx, [rdi + DATA_LOADED]
    add     ecx, at(%1)
%endmacro

; THERE_AND_BACK kind, {instruction that goes to label.low}, label
%macro THERE_AND_BACK 3
    FAR_POINTER rdi + 0x60, %3.back
%3: %2
    EDGE    %1, GUEST, at(%3), LOADED, at(%3.low), CPL_SAME, 1, 0, 0
    EDGE    FAR_JMP, LOADED, at(%3.low), GUEST, at(%3.back), CPL_SAME, 1, 0, 0
    ud2
%3.low: jmp far qword [rdi + 0x60]
%3.back:
%endmacro

WORKLOAD far.low, RING0 | LOW
    mov     rbx, rsp
    LOW_PLACE .jump.low
    mov     [rdi + 0x40], ecx
    mov     [rdi + 0x44], cs
    THERE_AND_BACK FAR_JMP, {jmp far dword [rdi + 0x40]}, .jump
    LOW_PLACE .call.low
    mov     [rdi + 0x40], ecx
    THERE_AND_BACK FAR_CALL, {call far dword [rdi + 0x40]}, .call
    LOW_PLACE .return.low
    sub     rsp, 8
    mov     [rsp], ecx
    mov     dword [rsp + 4], 0
    mov     [rsp + 4], cs
    THERE_AND_BACK FAR_RET, {o32 retf}, .return
    mov     rsp, rbx
    LEAVE
ENDWORKLOAD
