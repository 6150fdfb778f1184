# SPDX-License-Identifier: BSD-2-Clause
# Code that the host test of the step oracle steps through. Each routine is void (*)(void);
# the branches that go nowhere else than straight on are labelled, because their RIP says
# nothing and the test must know them by name.

        .intel_syntax noprefix
        .text
        .globl snippet_conditional, snippet_straight, snippet_transfers, snippet_events
        .globl snippet_zero_taken, snippet_zero_not_taken, snippet_zero_jmp, snippet_zero_call
        .globl snippet_zero_loop, snippet_zero_last_loop

snippet_conditional:
        mov     r11d, 2             # everything twice: the second time from the cache
0:      xor     eax, eax
        je      1f
        ud2
1:      jne     2f
        jmp     3f
2:      ud2
3:      mov     ecx, 5
4:      inc     eax
        loop    4b
        mov     ecx, 3
5:      cmp     eax, eax
        loopne  5b
        mov     ecx, 3
6:      cmp     eax, eax
        loope   6b
        xor     ecx, ecx
        jrcxz   7f
        ud2
7:      inc     rcx
        jrcxz   2b
        shl     rcx, 32
        jecxz   8f
        ud2
8:      cmp     eax, eax
snippet_zero_taken:
        je      9f
9:
snippet_zero_not_taken:
        jne     10f
10:
snippet_zero_jmp:
        jmp     11f
11:
snippet_zero_call:
        call    12f
12:     pop     rax
        mov     ecx, 2
snippet_zero_loop:
        loop    13f
13:
snippet_zero_last_loop:
        loop    14f
14:     .byte   0x2E
        jne     15f
        bnd jmp 15f
15:     dec     r11d
        jnz     0b
        ret

snippet_straight:
        push    rbx
        cld
        lea     rdi, [rip + buffer]
        mov     ecx, 9
        mov     al, 1
        rep stosb
        lea     rdi, [rip + buffer]
        lea     rsi, [rip + buffer + 32]
        mov     ecx, 4
        rep movsq
        xor     ecx, ecx
        rep movsb
        mov     ecx, 8
        lea     rdi, [rip + buffer]
        repne scasb
        mov     eax, ss
        mov     ss, eax
        nop
        mov     ss, eax
        jmp     1f
        ud2
1:      pushfq
        and     qword ptr [rsp], ~0x100
        popfq
        cmovz   rax, rcx
        setc    al
        pop     rbx
        ret

snippet_transfers:
        lea     rax, [rip + 1f]
        jmp     rax
        ud2
1:      lea     rax, [rip + 2f]
        mov     [rip + buffer], rax
        jmp     [rip + buffer]
        ud2
2:      lea     rax, [rip + 9f]
        call    rax
        mov     [rip + buffer], rax
        call    [rip + buffer]
        call    10f
        push    0
        call    11f
        mov     edx, cs
        push    rdx
        lea     rax, [rip + 3f]
        push    rax
        retfq
        ud2
3:      lea     rax, [rip + 4f]
        mov     [rip + buffer], eax # m16:32, which every vendor has
        mov     [rip + buffer + 4], edx
        jmp     fword ptr [rip + buffer]
        ud2
4:      mov     rdx, rsp
        mov     eax, ss
        push    rax
        push    rdx
        pushfq
        mov     eax, cs
        push    rax
        lea     rax, [rip + 5f]
        push    rax
        iretq
        ud2
5:      ret
9:      ret
10:     jmp     9b
11:     ret     8

# A system call, faults that the test skips, a breakpoint, a fault behind MOV SS.
snippet_events:
        mov     eax, 39
        syscall
        nop
        ud2
        nop
        int3
        nop
        mov     eax, ss
        mov     ss, eax
        ud2
        jmp     1f
        ud2
1:      ret

        .bss
        .balign 64
buffer: .skip   128
        .section .note.GNU-stack, "", @progbits
