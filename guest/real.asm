; SPDX-License-Identifier: BSD-2-Clause
; Real mode. CS is the paragraph of the region, so a label's offset is its IP; the rest is as in
; guest/legacy.asm, whose macros are used. First a program of protected mode.
bits 32

; A high half for IA32_DS_AREA. Returns 0: #GP, 1: dropped, 2: kept.
WORKLOAD legacy.high_half, PROTECTED
    xor     ebx, ebx
    mov     ebp, at(.faulted)
    mov     ecx, [edi + LEGACY_AREA]
    mov     eax, [edi + LEGACY_VALUE]
    mov     edx, 1
    wrmsr
    inc     ebx
    rdmsr
    test    edx, edx
    jz      .restore
    inc     ebx
.restore:
    mov     eax, [edi + LEGACY_VALUE]
    xor     edx, edx
    wrmsr
.faulted:
    mov     eax, ebx
    retf
ENDWORKLOAD

; Untraced: what mode it is.
WORKLOAD legacy.mode, PROTECTED
    mov     eax, cr0
    retf
ENDWORKLOAD

bits 16
WORKLOAD real.mode, REAL
    mov     eax, cr0
    retf
ENDWORKLOAD

WORKLOAD real.near, REAL
    TRACE_ON
    TAKEN   JMP, .jcc, {jmp short .jcc}
    ud2
.jcc:
    xor     ecx, ecx
    jnz     .jcc
    TAKEN   JCC, .near, {jz near .near}
    ud2
.near:
    TAKEN   JMP, .loop, {jmp near .loop}
    ud2
.loop:
    mov     cl, 3
.again: loop    .again
    RECORD  LOOP, .again, .again, 2
    TAKEN   LOOP, .call, {jcxz .call}
    ud2
.call:
    TAKEN   CALL, .function, {call .function}
.after:
    RECORD  RET, .ret, .after
    mov     ax, at(.indirect)
    TAKEN   JMP_INDIRECT, .indirect, {jmp ax}
    ud2
.indirect:
    mov     word [edi + 0x40], at(.last)
    TAKEN   JMP_INDIRECT, .last, {jmp [edi + 0x40]}
    ud2
.last:
    TRACE_OFF
    retf
.function:
    nop
.ret:   ret
ENDWORKLOAD

; The same linear address by another segment: CS + 1 and IP - 16.
WORKLOAD real.far, REAL
    mov     ax, cs
    mov     [edi + 0x42], ax
    inc     ax
    mov     [edi + 0x46], ax
    mov     word [edi + 0x40], at(.back)
    mov     word [edi + 0x44], at(.shifted) - 16
    TRACE_ON
    TAKEN   FAR_JMP, .shifted, {jmp far [edi + 0x44]}
    ud2
.shifted:
    TAKEN   JMP, .near, {jmp short .near}
    ud2
.near:
    TAKEN   FAR_JMP, .back, {jmp far [edi + 0x40]}
    ud2
.back:
    push    cs
    TAKEN   CALL, .function, {call .function}
.after:
    RECORD  FAR_RET, .ret, .after
    mov     word [edi + 0x40], at(.function)
    TAKEN   FAR_CALL, .function, {call far [edi + 0x40]}
.last:
    RECORD  FAR_RET, .ret, .last
    TRACE_OFF
    retf
.function:
    nop
.ret:   retf
ENDWORKLOAD

; REAL_VECTOR vector, handler: into the table in the data page.
%macro REAL_VECTOR 2
    mov     word [edi + DATA_VECTORS + %1 * 4], at(%2)
    mov     [edi + DATA_VECTORS + %1 * 4 + 2], cs
%endmacro

WORKLOAD real.events, REAL
    REAL_VECTOR VECTOR_UD, .handler
    REAL_VECTOR LEGACY_INT, .service
    TRACE_ON
.int:   int     LEGACY_INT
.next:
    EDGE    INT, GUEST, at(.int), GUEST, at(.service), 0, 1, FROM_ALT, at(.next)
    EDGE    IRET, GUEST, at(.service_iret), GUEST, at(.next), 0, 1, OPTIONAL, 0
.fault: ud2
.resumed:
    EDGE    EXCEPTION, GUEST, at(.fault), GUEST, at(.handler), 0, 1, 0, 0
    EDGE    IRET, GUEST, at(.handler_iret), GUEST, at(.resumed), 0, 1, OPTIONAL, 0
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    TRACE_OFF
    retf
.handler:
    add     esp, 4              ; over ip and cs; the flags stay
    push    cs
    push    at(.resumed)
.handler_iret:
    iret
.service:
    nop
.service_iret:
    iret
ENDWORKLOAD

bits 64
