; SPDX-License-Identifier: BSD-2-Clause
; LOOP, LOOPE, LOOPNE, JRCXZ and JECXZ, taken and not taken, and long loops.

WORKLOAD loop.loop, RING0 | RING3 | STEPPABLE
    mov     ecx, 5
.top:
    nop
.from:  loop .top
    RECORD  LOOP, .from, .top, 4
    mov     ecx, 1
    loop    .never              ; 1 - 1 = 0: falls through
    xor     ecx, ecx            ; 0 - 1 is not 0: taken
    TAKEN   LOOP, .forward, {loop .forward}
.never: ud2
.forward:
    LEAVE
ENDWORKLOAD

; LOOPE goes on while RCX is not 0 and ZF = 1; each of the two ends it.
WORKLOAD loop.loope, RING0 | RING3 | STEPPABLE
    mov     ecx, 4
    cmp     eax, eax
.equal: loope .equal
    RECORD  LOOP, .equal, .equal, 3
    mov     ecx, 4
    test    rsp, rsp            ; ZF = 0
    loope   .never
    mov     ecx, 1
    cmp     eax, eax
    loope   .never
    mov     ecx, 2
    TAKEN   LOOP, .forward, {loope .forward}
.never: ud2
.forward:
    LEAVE
ENDWORKLOAD

WORKLOAD loop.loopne, RING0 | RING3 | STEPPABLE
    mov     ecx, 4
    test    rsp, rsp
.differ: loopne .differ
    RECORD  LOOP, .differ, .differ, 3
    mov     ecx, 4
    cmp     eax, eax
    loopne  .never
    mov     ecx, 1
    test    rsp, rsp
    loopne  .never
    mov     ecx, 2
    TAKEN   LOOP, .forward, {loopne .forward}
.never: ud2
.forward:
    LEAVE
ENDWORKLOAD

WORKLOAD loop.jrcxz, RING0 | RING3 | STEPPABLE
    mov     rcx, 1 << 32        ; ECX = 0, RCX is not
    jrcxz   .never
    mov     ecx, 1
    jrcxz   .never
    xor     ecx, ecx
    TAKEN   LOOP, .forward, {jrcxz .forward}
.never: ud2
.forward:
    LEAVE
ENDWORKLOAD

WORKLOAD loop.jecxz, RING0 | RING3 | STEPPABLE
    mov     ecx, 1
    jecxz   .never
    mov     rcx, 1 << 32
    TAKEN   LOOP, .high, {jecxz .high}
.never: ud2
.high:
    xor     ecx, ecx
    TAKEN   LOOP, .forward, {jecxz .forward}
    ud2
.forward:
    LEAVE
ENDWORKLOAD

; Address size 67: ECX is the counter, and its result is zero-extended.
WORKLOAD loop.ecx, RING0 | RING3 | STEPPABLE
    mov     rcx, 0x500000003
.top:   loop .top, ecx
    RECORD  LOOP, .top, .top, 2
    mov     ecx, 2
    cmp     eax, eax
    TAKEN   LOOP, .equal, {loope .equal, ecx}
    ud2
.equal:
    mov     ecx, 2
    test    rsp, rsp
    TAKEN   LOOP, .differ, {loopne .differ, ecx}
    ud2
.differ:
    LEAVE
ENDWORKLOAD

; Long loops, closed by a branch that goes back (predicted) and by one that leaves.
WORKLOAD loop.long.back, RING0 | RING3 | STEPPABLE
    mov     ecx, 2001
.top:   dec ecx
.from:  jnz .top
    RECORD  JCC, .from, .top, 2000
    LEAVE
ENDWORKLOAD

WORKLOAD loop.long.forward, RING0 | RING3 | STEPPABLE
    mov     ecx, 1001
.top:
    dec     ecx
.out:   jz  near .leave
.back:  jmp near .top
    times 40 nop
.leave:
    RECORD  JMP, .back, .top, 1000
    RECORD  JCC, .out, .leave
    LEAVE
ENDWORKLOAD
