; SPDX-License-Identifier: BSD-2-Clause
; Branches to the next instruction: they change nothing but the trace, where they count.

; NEXT kind, {mnemonic and size}
%macro NEXT 2
    TAKEN   %1, %%next, {%2 %%next}
%%next:
%endmacro

WORKLOAD zero.jmp, RING0 | RING3 | STEPPABLE
    NEXT    JMP, {jmp short}
    NEXT    JMP, {jmp near}
    NEXT    JMP, {jmp short}
    nop
    NEXT    JMP, {jmp near}
    LEAVE
ENDWORKLOAD

WORKLOAD zero.jcc, RING0 | RING3 | STEPPABLE
    cmp     eax, eax
    NEXT    JCC, {je short}
    NEXT    JCC, {je near}
    NEXT    JCC, {jnc short}
    NEXT    JCC, {jle near}
.short: jne short .near         ; not taken, though the next address is the same
.near:  jne near .last
.last:
    LEAVE
ENDWORKLOAD

WORKLOAD zero.loop, RING0 | RING3 | STEPPABLE
    mov     ecx, 3
    NEXT    LOOP, loop
    cmp     eax, eax
    NEXT    LOOP, loope
    loop    .last               ; RCX becomes 0: not taken
.last:
    NEXT    LOOP, jrcxz
    NEXT    LOOP, jecxz
    LEAVE
ENDWORKLOAD

; The position-independent idiom: CALL to the next instruction, POP.
WORKLOAD zero.call, RING0 | RING3 | STEPPABLE
    NEXT    CALL, call
    pop     rax
    NEXT    CALL, call
    pop     rdx
    sub     rdx, rax
    mov     eax, edx
    LEAVE
ENDWORKLOAD

WORKLOAD zero.indirect, RING0 | RING3 | STEPPABLE
    lea     rax, [.jump]
    TAKEN   JMP_INDIRECT, .jump, {jmp rax}
.jump:
    lea     rax, [.call]
    TAKEN   CALL_INDIRECT, .call, {call rax}
.call:
    lea     rax, [.return]
    mov     [rsp], rax
    TAKEN   RET, .return, ret
.return:
    LEAVE
ENDWORKLOAD
