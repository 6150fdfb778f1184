; SPDX-License-Identifier: BSD-2-Clause
; Programs whose path depends on their data, left to the oracle, shaped as compilers shape them.

; Fills an array with pseudo-random numbers from the argument (the seed), sorts it by recursive
; quicksort and returns 1 when it is in order.
%define SORT_COUNT 100

WORKLOAD program.sort, RING0 | RING3 | STEPPABLE
    mov     eax, [rdi + DATA_ARGUMENT]
    lea     rbp, [rdi + 0x100]
    xor     ecx, ecx
.fill:
    imul    eax, eax, 1664525
    add     eax, 1013904223
    mov     edx, eax
    shr     edx, 8
    mov     [rbp + rcx * 4], edx
    inc     ecx
    cmp     ecx, SORT_COUNT
    jb      .fill
    xor     esi, esi
    mov     edi, SORT_COUNT - 1
    call    .sort
    mov     ecx, 1
.check:
    mov     eax, [rbp + rcx * 4 - 4]
    cmp     eax, [rbp + rcx * 4]
    ja      .unsorted
    inc     ecx
    cmp     ecx, SORT_COUNT
    jb      .check
    mov     eax, 1
    ret
.unsorted:
    xor     eax, eax
    ret

; Sorts elements esi .. edi (signed indices) of the array at rbp.
.sort:
    cmp     esi, edi
    jge     .sorted
    mov     r8d, esi
    mov     r9d, edi
    lea     eax, [rsi + rdi]
    shr     eax, 1
    mov     edx, [rbp + rax * 4]
.left:
    cmp     [rbp + r8 * 4], edx
    jae     .right
    inc     r8d
    jmp     .left
.right:
    cmp     [rbp + r9 * 4], edx
    jbe     .meet
    dec     r9d
    jmp     .right
.meet:
    cmp     r8d, r9d
    jg      .halves
    mov     eax, [rbp + r8 * 4]
    mov     ecx, [rbp + r9 * 4]
    mov     [rbp + r8 * 4], ecx
    mov     [rbp + r9 * 4], eax
    inc     r8d
    dec     r9d
    cmp     r8d, r9d
    jle     .left
.halves:
    push    rdi
    push    r8
    mov     edi, r9d
    call    .sort
    pop     rsi
    pop     rdi
    call    .sort
.sorted:
    ret
ENDWORKLOAD

; A small interpreter: 16 handlers by an indirect jump, one pseudo-random opcode after the
; other. Returns the accumulator; argument = seed.
%define STEPS 600

WORKLOAD program.interpreter, RING0 | RING3 | STEPPABLE
    mov     ebx, [rdi + DATA_ARGUMENT]
    mov     ecx, STEPS
    lea     r12, [.handlers]
    xor     eax, eax
.next:
    sub     ecx, 1
    jc      .done
    imul    ebx, ebx, 1103515245
    add     ebx, 12345
    mov     edx, ebx
    shr     edx, 16
    and     edx, 15
    shl     edx, 5              ; each handler takes 32 bytes
    add     rdx, r12
    jmp     rdx
.done:
    ret
.handlers:
%assign n 0
%rep 16
.handler%[n]:
    add     eax, ebx
    rol     eax, n
%if n & 1
    test    al, 1
    jz      .next
    not     eax
%endif
    jmp     near .next
    times 32 - ($ - .handler%[n]) int3
%assign n n + 1
%endrep
ENDWORKLOAD
