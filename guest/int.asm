; SPDX-License-Identifier: BSD-2-Clause
; INT3 and INT1: traps, their saved RIP is the next instruction.

WORKLOAD int3.once, RING0 | RING3 | STEPPABLE | FAULTS
    lea     r15, [.next]
    BREAKPOINT .next
.next:
    LEAVE
ENDWORKLOAD

WORKLOAD int3.row, RING0 | RING3 | STEPPABLE | FAULTS
    lea     r15, [.second]
    BREAKPOINT .second
.second:
    lea     r15, [.third]
    BREAKPOINT .third
    ud2
.third:
    TAKEN   JMP, .fourth, {jmp short .fourth}
    ud2
.fourth:
    lea     r15, [.fifth]
    BREAKPOINT .fifth
.fifth:
    LEAVE
ENDWORKLOAD

; CD 03, the two-byte form.
WORKLOAD int3.long, RING0 | RING3 | STEPPABLE | FAULTS
    lea     r15, [.next]
.from:  db      0xCD, 3
.next:
    EDGE    INT, GUEST, at(.from), VECTOR, VECTOR_BP, CPL_IN, 1, FROM_ALT, at(.next)
    RESUME  .next
    LEAVE
ENDWORKLOAD

WORKLOAD int1.once, RING0 | RING3 | FAULTS | TRACED
    nop
.from:  int1
.next:
    EDGE    TRAP, GUEST, at(.from), VECTOR, VECTOR_DB, CPL_IN, 1, FROM_ALT | OPTIONAL, at(.next)
    RESUME  .next
    LEAVE
ENDWORKLOAD
