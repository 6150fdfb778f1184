; SPDX-License-Identifier: BSD-2-Clause
; Reading a performance counter from outside ring 0.

; RDPMC of the counter that the argument selects: its value in rax, or -1 after #GP, which
; comes while CR4.PCE = 0, as it is unless a check sets it. Only that path has records.
WORKLOAD count.rdpmc, RING3 | STEPPABLE | FAULTS
    mov     ecx, [rdi + DATA_ARGUMENT]
    lea     r15, [.refused]
    lfence                      ; all before it has retired
    FAULT   VECTOR_GP, .refused, rdpmc
    shl     rdx, 32
    or      rax, rdx
    ret
.refused:
    mov     rax, -1
    LEAVE
ENDWORKLOAD
