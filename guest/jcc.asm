; SPDX-License-Identifier: BSD-2-Clause
; Jcc: the 16 conditions, taken and not taken, with both displacement sizes, either direction.

; FLAGS overflow, AH: sets OF, then SF, ZF, AF, PF, CF by SAHF. POPF is avoided because it
; would also write TF and IF, which belong to whoever runs the workload.
%macro FLAGS 2
    mov     al, %1 * 0x7F
    inc     al
    mov     ah, %2
    sahf
%endmacro

; One state of the flags in which the condition holds.
%define HOLDS_o  1, 0x02
%define HOLDS_no 0, 0x02
%define HOLDS_c  0, 0x03
%define HOLDS_nc 0, 0x02
%define HOLDS_z  0, 0x42
%define HOLDS_nz 0, 0x02
%define HOLDS_na 0, 0x03
%define HOLDS_a  0, 0x02
%define HOLDS_s  0, 0x82
%define HOLDS_ns 0, 0x02
%define HOLDS_pe 0, 0x06
%define HOLDS_po 0, 0x02
%define HOLDS_l  1, 0x02
%define HOLDS_nl 1, 0x82
%define HOLDS_ng 0, 0x42
%define HOLDS_g  1, 0x82

; EACH_CONDITION macro, argument: macro condition, opposite, argument.
%macro EACH_CONDITION 2
    %1 o, no, %2
    %1 no, o, %2
    %1 c, nc, %2
    %1 nc, c, %2
    %1 z, nz, %2
    %1 nz, z, %2
    %1 na, a, %2
    %1 a, na, %2
    %1 s, ns, %2
    %1 ns, s, %2
    %1 pe, po, %2
    %1 po, pe, %2
    %1 l, nl, %2
    %1 nl, l, %2
    %1 ng, g, %2
    %1 g, ng, %2
%endmacro

%macro JCC_TAKEN 3
    FLAGS   HOLDS_%1
    TAKEN   JCC, %%to, {j%1 %3 %%to}
    ud2
%%to:
%endmacro

; Counts the branches that fell through, so that a wrong turn shows in the result as well.
%macro JCC_NOT_TAKEN 3
    FLAGS   HOLDS_%2
    j%1     %3 %%never
    inc     ebx
%%never:
%endmacro

WORKLOAD jcc.taken.rel8, RING0 | RING3 | STEPPABLE
    EACH_CONDITION JCC_TAKEN, short
    LEAVE
ENDWORKLOAD

WORKLOAD jcc.taken.rel32, RING0 | RING3 | STEPPABLE
    EACH_CONDITION JCC_TAKEN, near
    LEAVE
ENDWORKLOAD

WORKLOAD jcc.not_taken.rel8, RING0 | RING3 | STEPPABLE
    xor     ebx, ebx
    EACH_CONDITION JCC_NOT_TAKEN, short
    mov     eax, ebx
    LEAVE
ENDWORKLOAD

WORKLOAD jcc.not_taken.rel32, RING0 | RING3 | STEPPABLE
    xor     ebx, ebx
    EACH_CONDITION JCC_NOT_TAKEN, near
    mov     eax, ebx
    LEAVE
ENDWORKLOAD

; Conditions made of several flags: each flag on its own, and all of them.
%macro JCC_STATE 4 ; condition, OF, AH, taken
    FLAGS   %2, %3
%if %4
    TAKEN   JCC, %%to, {j%1 short %%to}
    ud2
%%to:
%else
    j%1     short .never
%endif
%endmacro

WORKLOAD jcc.flags, RING0 | RING3 | STEPPABLE
    JCC_STATE na, 0, 0x42, 1
    JCC_STATE na, 0, 0x43, 1
    JCC_STATE a,  0, 0x42, 0
    JCC_STATE a,  1, 0x86, 1
    JCC_STATE l,  0, 0x82, 1
    JCC_STATE l,  1, 0x82, 0
    JCC_STATE nl, 0, 0x02, 1
    JCC_STATE nl, 0, 0x82, 0
    JCC_STATE ng, 0, 0x82, 1
    JCC_STATE ng, 1, 0x02, 1
    JCC_STATE ng, 1, 0x82, 0
    JCC_STATE ng, 1, 0xC2, 1
    JCC_STATE g,  0, 0x02, 1
    JCC_STATE g,  0, 0x42, 0
    JCC_STATE g,  1, 0xC2, 0
    LEAVE
.never: ud2
ENDWORKLOAD

; Back and forth, taken and not taken mixed.
WORKLOAD jcc.back, RING0 | RING3 | STEPPABLE
    RECORD  JCC, .start, .short
    RECORD  JCC, .short, .middle
    RECORD  JCC, .middle, .near
    RECORD  JCC, .near, .end
    cmp     eax, eax
.start: je  near .short
.end:
    jne     short .start
    LEAVE
.middle: jnc near .near
    ud2
.short: je  short .middle
    times 150 nop
.near:  jns near .end
ENDWORKLOAD
