; SPDX-License-Identifier: BSD-2-Clause
; Recursion: one function, two functions, and a tree that only the oracle follows.

WORKLOAD recursion.self, RING0 | RING3 | STEPPABLE
    RECORD  CALL, .first, .function
    RECORD  CALL, .inner, .function, 11
    RECORD  JCC, .base, .return
    RECORD  RET, .return, .after_inner, 11
    RECORD  RET, .return, .after_first
    mov     ecx, 12
.first: call    .function
.after_first:
    LEAVE
.function:
    dec     ecx
.base:  jz      short .return
.inner: call    .function
.after_inner:
.return: ret
ENDWORKLOAD

WORKLOAD recursion.mutual, RING0 | RING3 | STEPPABLE
    RECORD  CALL, .first, .even
%rep 5
    RECORD  CALL, .even_to_odd, .odd
    RECORD  CALL, .odd_to_even, .even
%endrep
    RECORD  JCC, .even_base, .even_return
%rep 5
    RECORD  RET, .even_return, .after_even
    RECORD  RET, .odd_return, .after_odd
%endrep
    RECORD  RET, .even_return, .after_first
    mov     ecx, 10
.first: call    .even
.after_first:
    LEAVE
.even:
    test    ecx, ecx
.even_base: jz  near .even_return
    dec     ecx
.even_to_odd: call .odd
.after_odd:
.even_return: ret
.odd:
    test    ecx, ecx
    jz      near .odd_return
    dec     ecx
.odd_to_even: call .even
.after_even:
.odd_return: ret
ENDWORKLOAD

; 300 levels: deeper than any return-stack predictor.
WORKLOAD recursion.deep, RING0 | RING3 | STEPPABLE
    RECORD  CALL, .first, .function
    RECORD  CALL, .inner, .function, 299
    RECORD  JCC, .base, .return
    RECORD  RET, .return, .after_inner, 299
    RECORD  RET, .return, .after_first
    mov     ecx, 300
.first: call    .function
.after_first:
    LEAVE
.function:
    dec     ecx
.base:  jz      near .return
.inner: call    .function
.after_inner:
    nop
.return: ret
ENDWORKLOAD

; fib(argument) by the book: rax = fib(n), n below 32. The tree is left to the oracle.
WORKLOAD recursion.fib, RING0 | RING3 | STEPPABLE
    mov     rcx, [rdi + DATA_ARGUMENT]
    and     ecx, 31
    call    .fib
    ret
.fib:
    mov     eax, ecx
    cmp     ecx, 2
    jb      short .done
    push    rcx
    dec     ecx
    call    .fib
    pop     rcx
    push    rax
    sub     ecx, 2
    call    .fib
    pop     rcx
    add     eax, ecx
.done:
    ret
ENDWORKLOAD
