; SPDX-License-Identifier: BSD-2-Clause
; Workloads whose length is the run's argument: for speed figures and for exact numbers of
; records.

; Exactly `argument` taken branches, two instructions each.
WORKLOAD bench.loop, RING0 | RING3 | STEPPABLE
    mov     rcx, [rdi + DATA_ARGUMENT]
.top:   sub     rcx, 1
.from:  jnc     short .top
    EDGE    JCC, GUEST, at(.from), GUEST, at(.top), CPL_SAME, 0, 0, 0
    LEAVE
ENDWORKLOAD

; 200 instructions to each taken branch, `argument` times.
WORKLOAD bench.straight, RING0 | RING3 | STEPPABLE
    mov     rcx, [rdi + DATA_ARGUMENT]
.top:
%rep 50
    lea     rax, [rax + rcx * 2 + 1]
    xor     rdx, rax
    mov     [rdi + 0x40], rdx
    add     rdx, [rdi + 0x48]
%endrep
    sub     rcx, 1
.from:  jnc     near .top
    EDGE    JCC, GUEST, at(.from), GUEST, at(.top), CPL_SAME, 0, 0, 0
    LEAVE
ENDWORKLOAD

; CALL and RET, `argument` pairs: only the oracle lists them.
WORKLOAD bench.call, RING0 | RING3 | STEPPABLE
    mov     rcx, [rdi + DATA_ARGUMENT]
.top:
    call    .function
    sub     rcx, 1
    ja      .top
    ret
.function:
    ret
ENDWORKLOAD
