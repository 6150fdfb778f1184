; SPDX-License-Identifier: BSD-2-Clause
; Code without branches, however much it looks like one: no record at all.

%macro EACH_CMOV 1-*
%rep %0
    cmov%1  rax, rcx
    cmov%-1 edx, [rdi + 0x40]
    set%1   bl
    set%-1  byte [rdi + 0x50]
    %rotate 1
%endrep
%endmacro

WORKLOAD straight.conditional, RING0 | RING3 | STEPPABLE
    mov     ecx, 7
    cmp     eax, ecx
    EACH_CMOV o, c, z, na, s, pe, l, ng
    cmp     ecx, ecx
    EACH_CMOV o, c, z, na, s, pe, l, ng
    LEAVE
ENDWORKLOAD

; Each iteration of a REP is a step for the debugger and nothing for the trace.
WORKLOAD straight.repeat, RING0 | RING3 | STEPPABLE
    cld
    mov     r8, rdi
    mov     r9d, 200
    mov     ecx, r9d
    lea     rdi, [r8 + 0x100]
    mov     al, 0x5A
    rep stosb
    mov     ecx, r9d
    lea     rsi, [r8 + 0x100]
    lea     rdi, [r8 + 0x400]
    rep movsb
    mov     ecx, r9d
    lea     rsi, [r8 + 0x100]
    lea     rdi, [r8 + 0x400]
    repe cmpsb
    mov     ecx, r9d
    lea     rdi, [r8 + 0x400]
    repne scasb
    mov     ecx, 20
    lea     rsi, [r8 + 0x100]
    rep lodsq
    xor     ecx, ecx            ; no iteration
    rep stosb
    rep movsq
    mov     ecx, 1
    lea     rdi, [r8 + 0x100]
    rep stosd
    std
    mov     ecx, 30
    lea     rsi, [r8 + 0x200]
    lea     rdi, [r8 + 0x500]
    rep movsd
    cld
    LEAVE
ENDWORKLOAD

WORKLOAD straight.serialising, RING0 | RING3 | STEPPABLE
    mov     r8, rdi
    lfence
    xor     eax, eax
    cpuid
    mfence
    sfence
    mov     eax, 1
    cpuid
    lfence
    lock inc dword [r8 + 0x40]
    xchg    [r8 + 0x44], eax
    LEAVE
ENDWORKLOAD

; Not for the oracle: QEMU leaves out the single-step trap after PAUSE.
WORKLOAD straight.pause, RING0 | RING3
    mov     ecx, 1
    pause
    pause
    mov     eax, 1
    pause
    LEAVE
ENDWORKLOAD

WORKLOAD straight.serialising_ring0, RING0
    mov     rax, cr3
    mov     cr3, rax
    invlpg  [rdi]
    mov     rax, cr0
    mov     cr0, rax
    mov     rax, dr7
    mov     dr7, rax
    wbinvd
    LEAVE
ENDWORKLOAD

; Instructions whose bytes or operands look like branches.
WORKLOAD straight.lookalikes, RING0 | RING3 | STEPPABLE
    mov     rax, 0xEBE8E9E0CCC375FF
    mov     dword [rdi + 0x40], 0xFEEBCCC3
    lea     rcx, [straight.conditional]
    push    rcx
    pop     rcx
    push    qword [rdi + 0x40]
    pop     qword [rdi + 0x48]
    inc     dword [rdi + 0x40]  ; FF /0; FF /2 to /5 would branch
    dec     rcx
    mov     rbx, rdi
    xlatb
    enter   0x20, 0
    leave
    bt      rax, rcx
    nop     dword [rax + rax * 8 - 0x14141415]
    LEAVE
ENDWORKLOAD
