; SPDX-License-Identifier: BSD-2-Clause
; #DB by the debug registers, which the check sets: DR0 waits for `from` of the TRAP edge or for
; the store to DATA_WATCHED. Without a trace nothing waits for it, so only traces run these.

WORKLOAD debug.execute, RING0 | RING3 | FAULTS | TRACED
    TAKEN   JMP, .from, {jmp short .from}
    ud2
.from:
    EDGE    TRAP, GUEST, at(.from), VECTOR, VECTOR_DB, CPL_IN, 1, OPTIONAL, 0
    RESUME  .from
    lea     rax, [rdi + 1]
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    LEAVE
ENDWORKLOAD

; The trap comes behind the store.
WORKLOAD debug.write, RING0 | RING3 | FAULTS | TRACED
    TAKEN   JMP, .from, {jmp short .from}
    ud2
.from:  mov     [rdi + DATA_WATCHED], rdi
.next:
    STEPPED .from, .next
    lea     rax, [rdi + 1]
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    LEAVE
ENDWORKLOAD

; For block steps: after each branch come instructions that are none.
WORKLOAD debug.blocks, RING0 | RING3 | STEPPABLE
    mov     ecx, 3
.top:
    lea     rax, [rdi + 8]
    nop
.loop:  loop    .top
    RECORD  LOOP, .loop, .top, 2
    nop
    test    rsp, rsp
    jz      .never
    TAKEN   CALL, .function, {call .function}
.back:
    mov     rdx, rax
.jump:  jmp     short .last
.never: ud2
.function:
    mov     rcx, rdi
    nop
.ret:   ret
    RECORD  RET, .ret, .back
    RECORD  JMP, .jump, .last
.last:
    nop
    LEAVE
ENDWORKLOAD

; Block steps across INT n: what follows its return is no branch at first.
WORKLOAD debug.int, RING0 | RING3 | STEPPABLE
    SERVICE_INT SERVICE_NOP
    nop
    nop
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    LEAVE
ENDWORKLOAD
