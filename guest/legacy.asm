; SPDX-License-Identifier: BSD-2-Clause
; Outside IA-32e mode: protected mode, 32-bit code in ring 0, with a base in every segment.
;
; edi is the offset of the data page. The harness calls far and gets eax back; the code turns
; the trace on and off itself, and its labels begin and end with that.
bits 32
%include "hw/legacy.inc"

; What the harness puts into the data page.
%define LEGACY_MSR     DATA_LEGACY          ; IA32_DEBUGCTL's number
%define LEGACY_ON      DATA_LEGACY + 4
%define LEGACY_AREA    DATA_LEGACY + 8      ; IA32_DS_AREA's number
%define LEGACY_VALUE   DATA_LEGACY + 12

; TRACE_ON, TRACE_OFF: WRMSR serialises; nothing recorded but what lies between.
%macro TRACE_ON 0
    mov     ecx, [edi + LEGACY_MSR]
    mov     eax, [edi + LEGACY_ON]
    xor     edx, edx
    wrmsr
%endmacro

%macro TRACE_OFF 0
    mov     ecx, [edi + LEGACY_MSR]
    xor     eax, eax
    xor     edx, edx
    wrmsr
%endmacro

; Gates for #DB, #UD, #GP and INT 0x21.
%define LEGACY_INT     0x21
%macro GATE32 1
    dw      at(%1), LEGACY_PROGRAM, 0x8E00, 0
%endmacro

global guest_idt32:data hidden, guest_idt32_end:data hidden
    align   8
guest_idt32:
    dq      0
    GATE32  task_debug
    times   VECTOR_UD - VECTOR_DB - 1 dq 0
    GATE32  legacy_handler
    times   VECTOR_GP - VECTOR_UD - 1 dq 0
    GATE32  legacy_handler_code
    times   LEGACY_INT - VECTOR_GP - 1 dq 0
    GATE32  legacy_service
guest_idt32_end:

; Faults go on at ebp.
legacy_handler_code:
    add     esp, 4
legacy_handler:
    mov     [esp], ebp
legacy_handler_iret:
    iret
legacy_service:
    inc     ebx
legacy_service_iret:
    iret

WORKLOAD legacy.near, PROTECTED
    TRACE_ON
    TAKEN   JMP, .jcc, {jmp short .jcc}
    ud2
.jcc:
    xor     ecx, ecx
    jnz     .jcc
    TAKEN   JCC, .loop, {jz near .loop}
    ud2
.loop:
    mov     cl, 3
.again: loop    .again
    RECORD  LOOP, .again, .again, 2
    TAKEN   LOOP, .call, {jecxz .call}
    ud2
.call:
    TAKEN   CALL, .function, {call .function}
.after:
    RECORD  RET, .ret, .after
    mov     eax, at(.indirect)
    TAKEN   JMP_INDIRECT, .indirect, {jmp eax}
    ud2
.indirect:
    TAKEN   JMP, .word, {jmp word .word}
    ud2
.word:
    TRACE_OFF
    retf
.function:
    inc     edx
.ret:   ret
ENDWORKLOAD

WORKLOAD legacy.far, PROTECTED
    TRACE_ON
    TAKEN   FAR_JMP, .call, {jmp LEGACY_PROGRAM:at(.call)}
    ud2
.call:
    TAKEN   FAR_CALL, .function, {call LEGACY_PROGRAM:at(.function)}
.after:
    RECORD  FAR_RET, .ret, .after
    mov     dword [edi + 0x40], at(.last)
    mov     word [edi + 0x44], LEGACY_PROGRAM
    TAKEN   FAR_JMP, .last, {jmp far [edi + 0x40]}
    ud2
.last:
    TRACE_OFF
    retf
.function:
    nop
.ret:   retf
ENDWORKLOAD

WORKLOAD legacy.events, PROTECTED
    xor     ebx, ebx
    mov     ebp, at(.resumed)
    TRACE_ON
.int:   int     LEGACY_INT
.next:
    EDGE    INT, GUEST, at(.int), GUEST, at(legacy_service), 0, 1, FROM_ALT, at(.next)
    EDGE    IRET, GUEST, at(legacy_service_iret), GUEST, at(.next), 0, 1, OPTIONAL, 0
.fault: ud2
.resumed:
    EDGE    EXCEPTION, GUEST, at(.fault), GUEST, at(legacy_handler), 0, 1, 0, 0
    EDGE    IRET, GUEST, at(legacy_handler_iret), GUEST, at(.resumed), 0, 1, OPTIONAL, 0
    TAKEN   JMP, .last, {jmp short .last}
    ud2
.last:
    TRACE_OFF
    mov     eax, ebx
    retf
ENDWORKLOAD

bits 64
