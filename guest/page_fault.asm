; SPDX-License-Identifier: BSD-2-Clause
; Page faults that the handler fixes: the instruction is restarted and succeeds.

WORKLOAD pf.read, RING0 | RING3 | STEPPABLE | FAULTS
    RESTARTED VECTOR_PF, {mov rax, [rdi + DATA_DEMAND]}
    mov     rcx, [rdi + DATA_DEMAND + 8]
    LEAVE
ENDWORKLOAD

WORKLOAD pf.write, RING0 | RING3 | STEPPABLE | FAULTS
    RESTARTED VECTOR_PF, {mov [rdi + DATA_DEMAND + 0x123], rdi}
    mov     rax, [rdi + DATA_DEMAND + 0x123]
    LEAVE
ENDWORKLOAD

WORKLOAD pf.read_only, RING0 | RING3 | STEPPABLE | FAULTS
    mov     rax, [rdi + DATA_READ_ONLY]
    RESTARTED VECTOR_PF, {inc qword [rdi + DATA_READ_ONLY]}
    mov     rax, [rdi + DATA_READ_ONLY]
    LEAVE
ENDWORKLOAD

; The fault comes in the middle of the REP: `from` is the REP instruction, once, and it goes on.
WORKLOAD pf.repeat, RING0 | RING3 | STEPPABLE | FAULTS
    add     rdi, DATA_DEMAND - 64
    mov     ecx, 128
    mov     al, 0x77
    cld
    RESTARTED VECTOR_PF, {rep stosb}
    mov     rax, rcx
    LEAVE
ENDWORKLOAD

; CALL pushes onto the page that is missing: the exception comes first, then the branch.
WORKLOAD pf.call_stack, RING3 | STEPPABLE | FAULTS
    mov     rbx, rsp
    lea     rsp, [rdi + DATA_DEMAND + 0x800]
.call:
    RESTARTED VECTOR_PF, {call .function}
    RECORD  CALL, .call, .function
.function:
    mov     rsp, rbx
    LEAVE
ENDWORKLOAD

; Faults one after the other with branches between them.
WORKLOAD pf.row, RING0 | RING3 | STEPPABLE | FAULTS
    TAKEN   JMP, .read, {jmp short .read}
    ud2
.read:
    RESTARTED VECTOR_PF, {cmp byte [rdi + DATA_DEMAND], 0}
    TAKEN   JCC, .write, {je short .write}
    ud2
.write:
    RESTARTED VECTOR_PF, {mov byte [rdi + DATA_READ_ONLY], 1}
    TAKEN   JMP, .again, {jmp near .again}
    ud2
.again:
    mov     byte [rdi + DATA_READ_ONLY], 2
    LEAVE
ENDWORKLOAD
