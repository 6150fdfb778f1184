; SPDX-License-Identifier: BSD-2-Clause
; Out of compatibility mode and back: other code segments, events, a call gate. The macros are
; those of guest/compat.asm.
bits 32

WORKLOAD compat.far, COMPAT
    COMPAT_SEGMENTS
    TAKEN   FAR_JMP, .memory, {jmp SELECTOR_LOW_CS:at(.memory)}
    ud2
.memory:
    mov     dword [edi + 0x40], at(.call)
    mov     word [edi + 0x44], SELECTOR_LOW_CS
    TAKEN   FAR_JMP, .call, {jmp far [edi + 0x40]}
    ud2
.call:
    TAKEN   FAR_CALL, .function, {call SELECTOR_LOW_CS:at(.function)}
.after:
    RECORD  FAR_RET, .ret, .after
    TAKEN   FAR_JMP, .sixteen, {jmp SELECTOR_LOW_CS16:at(.sixteen)}
    ud2
bits 16
.sixteen:
    TAKEN   CALL, .near, {call .near}
.near:
    pop     ax
    TAKEN   FAR_JMP, .back, {jmp dword SELECTOR_LOW_CS:at(.back)}
bits 32
.back:
    COMPAT_LEAVE
.function:
    nop
.ret:   retf
ENDWORKLOAD

; To 64-bit code and back: there no segment has a base, so linear addresses are needed, and
; the stack is out of reach.
WORKLOAD compat.long, COMPAT
    COMPAT_SEGMENTS
    mov     edx, [edi + DATA_LOADED]
    lea     eax, [edx + at(.long)]
    add     edx, edi
    mov     [edi + 0x40], eax
    mov     word [edi + 0x44], SELECTOR_USER_CS
    mov     dword [edi + 0x50], at(.back)
    mov     word [edi + 0x54], SELECTOR_LOW_CS
    TAKEN   FAR_JMP, .long, {jmp far [edi + 0x40]}
    ud2
bits 64
.long:
    TAKEN   JMP, .next, {jmp short .next}
    ud2
.next:
    TAKEN   FAR_JMP, .back, {jmp far dword [rdx + 0x50]}
bits 32
.back:
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    COMPAT_LEAVE
ENDWORKLOAD

; Events: their saved RIP is an offset, what is recorded a linear address.
WORKLOAD compat.events, COMPAT
    COMPAT_SEGMENTS
    SERVICE_INT SERVICE_NOP
    mov     ebp, at(.second)
    BREAKPOINT .second
.second:
    mov     ebp, at(.third)
    FAULT   VECTOR_UD, .third, ud2
.third:
    mov     ebp, at(.fourth)
    FAULT   VECTOR_GP, .fourth, hlt
.fourth:
    COMPAT_LEAVE
ENDWORKLOAD

; A call gate is one of 64-bit code for compatibility mode too.
WORKLOAD compat.gate, COMPAT
    COMPAT_SEGMENTS
    xor     ebx, ebx
.call:  call    SELECTOR_GATE:0
.after:
    EDGE    FAR_CALL, GUEST, at(.call), KERNEL, at(guest_gate), 0x03, 1, 0, 0
    EDGE    FAR_RET, KERNEL, at(guest_gate_return), GUEST, at(.after), 0x30, 1, 0, 0
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    COMPAT_LEAVE
ENDWORKLOAD

; SYSEXIT leads to a code segment without a base: linear addresses, until a far JMP.
WORKLOAD compat.sysenter, COMPAT
    COMPAT_SEGMENTS
    mov     edx, [edi + DATA_LOADED]
    add     edx, at(.flat)
    mov     ecx, esp
    mov     ebx, 1
.from:  sysenter
    ud2
.flat:
    EDGE    SYSENTER, GUEST, at(.from), KERNEL, at(guest_fast), 0x03, 1, OPTIONAL, 0
    EDGE    SYSEXIT, KERNEL, at(guest_fast_return32), GUEST, at(.flat), 0x30, 1, OPTIONAL, 0
    TAKEN   FAR_JMP, .back, {jmp SELECTOR_LOW_CS:at(.back)}
.back:
    mov     eax, SELECTOR_LOW_SS
    mov     ss, eax
    COMPAT_LEAVE
ENDWORKLOAD

WORKLOAD compat.into, COMPAT
    COMPAT_SEGMENTS
    mov     ebp, at(.next)
    cmp     eax, eax
    into                        ; OF is clear: nothing
    mov     al, 0x7F
    inc     al
.into:  into
.next:
    EDGE    INT, GUEST, at(.into), VECTOR, VECTOR_OF, CPL_IN, 1, FROM_ALT, at(.next)
    RESUME  .next
    COMPAT_LEAVE
ENDWORKLOAD

bits 64
