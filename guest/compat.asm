; SPDX-License-Identifier: BSD-2-Clause
; Compatibility mode, ring 3. Segments have a base: an offset here is what a label is in the
; region, and every linear address, so every record, has the base added.
;
; edi is the offset of the data page; a handler resumes at ebp. There is no RET to the caller:
; a workload leaves by INT 0x80 itself.
bits 32

; COMPAT_LEAVE: eax = result.
%macro COMPAT_LEAVE 0
    mov     edi, eax
    mov     eax, SERVICE_EXIT
%%from: int     VECTOR_SYSCALL_INT
%%back:
    EDGE    INT, GUEST, at(%%from), VECTOR, VECTOR_SYSCALL_INT, CPL_IN, 1, FROM_ALT, at(%%back)
%endmacro

; COMPAT_SEGMENTS: DS and ES as SS is.
%macro COMPAT_SEGMENTS 0
    mov     eax, ss
    mov     ds, eax
    mov     es, eax
%endmacro

WORKLOAD compat.near, COMPAT
    COMPAT_SEGMENTS
    TAKEN   JMP, .near, {jmp short .near}
    ud2
.near:
    TAKEN   JMP, .jcc, {jmp near .jcc}
    ud2
.jcc:
    xor     ecx, ecx
    jnz     .jcc                ; not taken
    TAKEN   JCC, .long, {jz short .long}
    ud2
.long:
    TAKEN   JCC, .jecxz, {jz near .jecxz}
    ud2
.jecxz:
    TAKEN   LOOP, .jcxz, {jecxz .jcxz}
    ud2
.jcxz:
    mov     ecx, 0x10000        ; CX is zero, ECX is not
    jecxz   .jcxz
    TAKEN   LOOP, .loop, {jcxz .loop}
    ud2
.loop:
    mov     ecx, 3
.again: loop    .again
    RECORD  LOOP, .again, .again, 2
    mov     ecx, 0x20002        ; LOOP on CX runs twice
.short: a16 loop .short
    RECORD  LOOP, .short, .short
    mov     eax, at(.register)
    TAKEN   JMP_INDIRECT, .register, {jmp eax}
    ud2
.register:
    mov     dword [edi + 0x40], at(.memory)
    TAKEN   JMP_INDIRECT, .memory, {jmp [edi + 0x40]}
    ud2
.memory:
    COMPAT_LEAVE
ENDWORKLOAD

WORKLOAD compat.call, COMPAT
    COMPAT_SEGMENTS
    TAKEN   CALL, .function, {call .function}
.first:
    RECORD  RET, .ret, .first
    mov     eax, at(.function)
    TAKEN   CALL_INDIRECT, .function, {call eax}
.second:
    RECORD  RET, .ret, .second
    mov     [edi + 0x40], eax
    TAKEN   CALL_INDIRECT, .function, {call [edi + 0x40]}
.third:
    RECORD  RET, .ret, .third
    push    eax
    push    at(.there)
    TAKEN   RET, .there, {ret 4}
    ud2
.there:
    COMPAT_LEAVE
.function:
    inc     ebx                 ; 43H: a REX prefix in 64-bit code
.ret:   ret
ENDWORKLOAD

; The operand-size prefix: offsets and stack words of 16 bits.
WORKLOAD compat.size16, COMPAT
    COMPAT_SEGMENTS
    TAKEN   JMP, .jcc, {jmp word .jcc}
    ud2
.jcc:
    cmp     eax, eax
.jz:    db      0x66, 0x0F, 0x84    ; JZ rel16: NASM keeps the offset at 32 bits
    dw      .indirect - .jz - 5
    RECORD  JCC, .jz, .indirect
    ud2
.indirect:
    mov     eax, 0xFFFF0000 + at(.call)
    TAKEN   JMP_INDIRECT, .call, {jmp ax}
    ud2
.call:
    TAKEN   CALL, .function, {call word .function}
.after:
    RECORD  RET, .ret, .after
    COMPAT_LEAVE
.function:
    nop
.ret:   retw
ENDWORKLOAD

bits 64
