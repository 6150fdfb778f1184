; SPDX-License-Identifier: BSD-2-Clause
; Between the rings without an event: a call gate, far RET and IRET to any outer ring. Ring-0
; parts run in the kernel's view of this region, everything else in the view of the run, so that
; each record has one end there.

; Behind the call gate: at once back, or to rbx.
global guest_gate:function hidden
guest_gate:
    test    rbx, rbx
    jnz     guest_gate_onward
guest_gate_return:
    retfq
guest_gate_onward:
    jmp     rbx

; GATE_POINTER: the far pointer at rdi + 0x40; only its selector counts.
%macro GATE_POINTER 0
    mov     qword [rdi + 0x40], 0
    mov     word [rdi + 0x48], SELECTOR_GATE
%endmacro

; THROUGH_GATE ring, {instruction}: inward to ring 0.
%macro THROUGH_GATE 2
%%from: %2
    EDGE    FAR_CALL, GUEST, at(%%from), KERNEL, at(guest_gate), %1, 1, 0, 0
%endmacro

; OUTWARD kind, ring, label, flags, {instruction}: from ring 0 to the label in that ring.
%macro OUTWARD 5
%%from: %5
    EDGE    %1, KERNEL, at(%%from), GUEST, at(%3), %2 << 4, 1, %4, 0
%endmacro

; FAR_FRAME ring, label, bytes: what RETFQ takes, with parameters of that size for it to
; release; r13 is the base of this view.
%macro FAR_FRAME 3
    push    SELECTOR_RING%1_SS
    lea     rax, [rdi + 0x800]
    push    rax
    sub     rsp, %3
    push    SELECTOR_RING%1_CS
    lea     rax, [r13 + at(%2)]
    push    rax
%endmacro

WORKLOAD gate.call, RING3
    GATE_POINTER
    xor     ebx, ebx
    THROUGH_GATE 3, {call far qword [rdi + 0x40]}
.after:
    EDGE    FAR_RET, KERNEL, at(guest_gate_return), GUEST, at(.after), 0x30, 1, 0, 0
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    LEAVE
ENDWORKLOAD

; Ring 3, 0, 1, 0, 2, 0, 3; the stack of the outer rings is the data page.
WORKLOAD gate.rings, RING3
    GATE_POINTER
    mov     r12, [rdi + DATA_KERNEL]
    lea     r13, [guest_base]
    lea     rbx, [r12 + at(.to_ring1)]
    THROUGH_GATE 3, {call far qword [rdi + 0x40]}
.back:
    ret

.to_ring1:
    pop     r8                  ; the way back to ring 3: rip, cs, rsp, ss
    pop     r9
    pop     r10
    pop     r11
    FAR_FRAME 1, .ring1, 0
    OUTWARD FAR_RET, 1, .ring1, 0, retfq
.ring1:
    nop
.jump1: jmp     short .there1
    ud2
.there1:
    EDGE    JMP, GUEST, at(.jump1), GUEST, at(.there1), 0x11, 1, 0, 0
    lea     rbx, [r12 + at(.to_ring2)]
    THROUGH_GATE 1, {call far qword [rdi + 0x40]}

.to_ring2:
    FAR_FRAME 2, .ring2, 16
    OUTWARD FAR_RET, 2, .ring2, 0, {retfq 16}
.ring2:
    nop
.call2: call    .there2
.there2:
    EDGE    CALL, GUEST, at(.call2), GUEST, at(.there2), 0x22, 1, 0, 0
    lea     rbx, [r12 + at(.to_ring3)]
    THROUGH_GATE 2, {call far qword [rdi + 0x40]}

.to_ring3:
    push    r11
    push    r10
    pushfq
    push    r9
    push    r8
    OUTWARD IRET, 3, .back, OPTIONAL, iretq
    EDGE    RET, GUEST, at(.back), RETURN, 0, CPL_SAME, 1, 0, 0
ENDWORKLOAD

; IRETQ from ring 0 to rings 1, 2 and 3: rbp, rsi, r14 and r15 are rip, rsp, ss and cs.
WORKLOAD gate.iret, RING3
    GATE_POINTER
    mov     r12, [rdi + DATA_KERNEL]
    lea     rbx, [r12 + at(.inner)]
    mov     r8, rsp
    mov     r9d, cs
    mov     r10d, ss
    lea     rsi, [rdi + 0x800]
%assign ring 1
%assign outer 3
%rep 2
    mov     r14d, SELECTOR_RING%[ring]_SS
    mov     r15d, SELECTOR_RING%[ring]_CS
    lea     rbp, [.ring%[ring]]
    THROUGH_GATE %[outer], {call far qword [rdi + 0x40]}
%assign outer ring
    EDGE    IRET, KERNEL, at(.iret), GUEST, at(.ring%[ring]), ring << 4, 1, OPTIONAL, 0
.ring%[ring]:
%assign ring ring + 1
%endrep
    mov     r14d, r10d
    mov     r15d, r9d
    mov     rsi, r8
    lea     rbp, [.back]
    THROUGH_GATE 2, {call far qword [rdi + 0x40]}
    EDGE    IRET, KERNEL, at(.iret), GUEST, at(.back), 0x30, 1, OPTIONAL, 0
    ud2
.back:
    LEAVE

.inner:
    push    r14
    push    rsi
    pushfq
    push    r15
    push    rbp
.iret:  iretq
ENDWORKLOAD
