; SPDX-License-Identifier: BSD-2-Clause
; Branches with prefixes: `from` is the first prefix byte, not the opcode.
;
; Prefix 66 is left out: on near branches Intel processors ignore it in 64-bit mode, others cut
; the target to 16 bits.

; PREFIXED kind, target, {prefix bytes}, {instruction}
%macro PREFIXED 4
%%from: db %3
    %4
    RECORD  %1, %%from, %2
%endmacro

; The same over one UD2.
%macro PREFIXED_OVER 3
    PREFIXED %1, %%to, {%2}, {%3 %%to}
    ud2
%%to:
%endmacro

%define BND      0xF2
%define REP_     0xF3
%define NOT_HINT 0x2E           ; branch hint: not taken
%define HINT     0x3E           ; branch hint: taken
%define IN_FS    0x64
%define IN_GS    0x65
%define REX      0x40
%define REX_W    0x48
%define REX_ALL  0x4F

WORKLOAD prefix.jmp, RING0 | RING3 | STEPPABLE
    PREFIXED_OVER JMP, {BND}, {jmp short}
    PREFIXED_OVER JMP, {BND}, {jmp near}
    PREFIXED_OVER JMP, {REX_W}, {jmp near}
    PREFIXED_OVER JMP, {REX}, {jmp short}
    PREFIXED_OVER JMP, {NOT_HINT}, {jmp near}
    PREFIXED_OVER JMP, {IN_GS}, {jmp short}
    lea     rax, [.register]
    PREFIXED JMP_INDIRECT, .register, {BND}, {jmp rax}
    ud2
.register:
    lea     rax, [.rex]
    PREFIXED JMP_INDIRECT, .rex, {REX_W}, {jmp rax}
    ud2
.rex:
    lea     rax, [.notrack]
    PREFIXED JMP_INDIRECT, .notrack, {HINT}, {jmp rax}
    ud2
.notrack:
    LEAVE
ENDWORKLOAD

WORKLOAD prefix.jcc, RING0 | RING3 | STEPPABLE
    cmp     eax, eax
    PREFIXED_OVER JCC, {BND}, {je short}
    PREFIXED_OVER JCC, {BND}, {je near}
    PREFIXED_OVER JCC, {HINT}, {je short}
    PREFIXED_OVER JCC, {NOT_HINT}, {je short}
    PREFIXED_OVER JCC, {HINT}, {je near}
    PREFIXED_OVER JCC, {NOT_HINT}, {je near}
    PREFIXED_OVER JCC, {REX_W}, {je short}
    PREFIXED_OVER JCC, {REX_ALL}, {je near}
    PREFIXED_OVER JCC, {IN_FS}, {je short}
    db      HINT
    jne     short .never        ; a hint does not take a branch
    db      BND, REX_W
    jne     near .never
    LEAVE
.never: ud2
ENDWORKLOAD

WORKLOAD prefix.loop, RING0 | RING3 | STEPPABLE
    mov     ecx, 4
    PREFIXED_OVER LOOP, {REX_W}, loop
    PREFIXED_OVER LOOP, {NOT_HINT}, loop
    PREFIXED_OVER LOOP, {IN_FS, REX}, loop
    xor     ecx, ecx
    PREFIXED_OVER LOOP, {REX_W}, jrcxz
    PREFIXED_OVER LOOP, {HINT}, jecxz
    LEAVE
ENDWORKLOAD

WORKLOAD prefix.call, RING0 | RING3 | STEPPABLE
    PREFIXED CALL, .bnd, {BND}, {call .bnd}
    ud2
.bnd:
    PREFIXED CALL, .rex, {REX_W}, {call .rex}
    ud2
.rex:
    lea     rax, [.register]
    PREFIXED CALL_INDIRECT, .register, {HINT}, {call rax}
    ud2
.register:
    lea     rax, [.ret_bnd]
    mov     [rsp], rax
    PREFIXED RET, .ret_bnd, {BND}, ret
.ret_bnd:
    lea     rax, [.ret_rex]
    mov     [rsp], rax
    PREFIXED RET, .ret_rex, {REX_W}, ret
.ret_rex:
    lea     rax, [.ret_rep]
    mov     [rsp], rax
    PREFIXED RET, .ret_rep, {REP_}, ret
.ret_rep:
    LEAVE
ENDWORKLOAD

; 15 bytes, the longest instruction there is.
%define SIX_HINTS HINT, HINT, HINT, HINT, HINT, HINT

WORKLOAD prefix.longest, RING0 | RING3 | STEPPABLE
    cmp     eax, eax
    PREFIXED_OVER JCC, {SIX_HINTS, HINT, HINT, HINT}, {je near}
    PREFIXED_OVER JMP, {SIX_HINTS, HINT, HINT, HINT, BND}, {jmp near}
    PREFIXED_OVER JCC, {BND, SIX_HINTS, SIX_HINTS}, {je short}
    LEAVE
ENDWORKLOAD
