; SPDX-License-Identifier: BSD-2-Clause
; Interrupts: made pending by a service, so that their place in the trace is known.

; Pending when SYSRETQ or IRETQ sets IF: taken before the first instruction after the service.
WORKLOAD interrupt.sysret, RING3 | INTERRUPTS
    SERVICE SERVICE_SELF
.next:
    ARRIVAL VECTOR_TEST, .next
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    LEAVE
ENDWORKLOAD

WORKLOAD interrupt.iret, RING3 | INTERRUPTS
    SERVICE_INT SERVICE_SELF
.next:
    ARRIVAL VECTOR_TEST, .next
    LEAVE
ENDWORKLOAD

WORKLOAD interrupt.row, RING3 | INTERRUPTS
    SERVICE_INT SERVICE_SELF
.first:
    ARRIVAL VECTOR_TEST, .first
    SERVICE SERVICE_SELF
.second:
    ARRIVAL VECTOR_TEST, .second
    TAKEN   JMP, .third, {jmp short .third}
    ud2
.third:
    SERVICE_INT SERVICE_SELF
.repeat:
    ARRIVAL VECTOR_TEST, .repeat
    LEAVE
ENDWORKLOAD

; An interrupt that no instruction sent, taken before the first iteration of a REP.
WORKLOAD interrupt.timer, RING3 | INTERRUPTS
    mov     ecx, 100
    mov     rsi, rdi
    cld
    mov     edi, 20
    SERVICE_INT SERVICE_TIMER_PENDING
.next:
    rep lodsb
    ARRIVAL VECTOR_TIMER, .next
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    LEAVE
ENDWORKLOAD

; An NMI held back until the service's IRETQ. It may be late by a few instructions.
WORKLOAD interrupt.nmi, RING3 | INTERRUPTS
    SERVICE_INT SERVICE_NMI
    ARRIVAL_ANYWHERE VECTOR_NMI
    times 200 nop
    LEAVE
ENDWORKLOAD

; Ring 0. STI holds interrupts back for one more instruction.
WORKLOAD interrupt.sti, RING0 | INTERRUPTS
    SERVICE_INT SERVICE_SELF
    sti
    nop
.next:
    ARRIVAL VECTOR_TEST, .next
    cli
    LEAVE
ENDWORKLOAD

; The branch in STI's shadow is recorded first, the interrupt at its target second.
WORKLOAD interrupt.sti_jmp, RING0 | INTERRUPTS
    SERVICE_INT SERVICE_SELF
    sti
    TAKEN   JMP, .there, {jmp short .there}
    ud2
.there:
    ARRIVAL VECTOR_TEST, .there
    cli
    LEAVE
ENDWORKLOAD

; HLT begins inside the shadow, so the timer cannot come before it.
WORKLOAD interrupt.hlt, RING0 | INTERRUPTS
    mov     edi, 20
    SERVICE_INT SERVICE_TIMER
    sti
    hlt
.next:
    ARRIVAL VECTOR_TIMER, .next
    cli
    LEAVE
ENDWORKLOAD

WORKLOAD interrupt.nmi_ring0, RING0 | INTERRUPTS
    SERVICE_INT SERVICE_NMI
    ARRIVAL_ANYWHERE VECTOR_NMI
    times 200 nop
    LEAVE
ENDWORKLOAD
