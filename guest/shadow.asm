; SPDX-License-Identifier: BSD-2-Clause
; Events that are held back, or that come inside an instruction.

; MOV SS holds a trap back for one more instruction: the branch is what was stepped last.
WORKLOAD shadow.mov_ss, RING0 | RING3 | FAULTS
    mov     ecx, ss
    STEP_NEXT
    mov     ss, ecx
.from:  jmp     short .next
    ud2
.next:
    RECORD  JMP, .from, .next
    STEPPED .from, .next
    LEAVE
ENDWORKLOAD

%define REPEATS 30000           ; bytes below the stack's top, which are all mapped

; The timer, after as many ticks as the argument says, comes somewhere in these; or, on a busy
; host, not at all.
WORKLOAD interrupt.repeat, RING3 | INTERRUPTS | TRACED
    mov     rdi, [rdi + DATA_ARGUMENT]
    SERVICE_INT SERVICE_TIMER
    cld
    ARRIVAL_ANYWHERE VECTOR_TIMER
%rep 8
    mov     ecx, REPEATS
    lea     rsi, [rsp - REPEATS]
    rep lodsb
%endrep
    LEAVE
ENDWORKLOAD
