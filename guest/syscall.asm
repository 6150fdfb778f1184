; SPDX-License-Identifier: BSD-2-Clause
; System calls from ring 3, by SYSCALL and by INT 0x80, and INT 0x80 within ring 0.

WORKLOAD syscall.once, RING3 | STEPPABLE
    mov     edi, 41
    SERVICE SERVICE_NOP
    LEAVE
ENDWORKLOAD

WORKLOAD syscall.row, RING3 | STEPPABLE
    mov     edi, 1
%rep 5
    SERVICE SERVICE_NOP
    mov     rdi, rax
%endrep
    LEAVE
ENDWORKLOAD

; A branch directly before and directly after the call.
WORKLOAD syscall.branches, RING3 | STEPPABLE
    TAKEN   JMP, .call, {jmp short .call}
    ud2
.call:
    SERVICE SERVICE_NOP
    TAKEN   JMP, .next, {jmp short .next}
    ud2
.next:
    TAKEN   CALL, .function, {call .function}
.function:
    pop     rdx
    SERVICE SERVICE_NOP
    LEAVE
ENDWORKLOAD

WORKLOAD int80.once, RING0 | RING3 | STEPPABLE
    mov     edi, 41
    SERVICE_INT SERVICE_NOP
    LEAVE
ENDWORKLOAD

WORKLOAD int80.row, RING0 | RING3 | STEPPABLE
    mov     edi, 1
%rep 5
    SERVICE_INT SERVICE_NOP
    mov     rdi, rax
%endrep
    LEAVE
ENDWORKLOAD

WORKLOAD syscall.mixed, RING3 | STEPPABLE
    mov     edi, 1
    SERVICE SERVICE_NOP
    SERVICE_INT SERVICE_NOP
    TAKEN   JMP, .next, {jmp near .next}
    ud2
.next:
    SERVICE_INT SERVICE_NOP
    SERVICE SERVICE_NOP
    LEAVE
ENDWORKLOAD

; SYSCALL loads CPL 0 wherever it comes from; the kernel sees that and returns by IRETQ.
WORKLOAD syscall.ring0, RING0
    mov     edi, 41
    mov     eax, SERVICE_NOP
.from:  syscall
.next:
    EDGE    SYSCALL, GUEST, at(.from), SYSCALL, 0, CPL_IN, 1, OPTIONAL, 0
    RESUME  .next
    LEAVE
ENDWORKLOAD
