; SPDX-License-Identifier: BSD-2-Clause
; Code that changes a vector register with every other instruction: for whoever looks at them
; in the middle. Each of the sixteen ends up with halves of its own.

WORKLOAD vector.registers, RING3 | STEPPABLE
    mov     rax, 0x0123456789ABCDEF
    mov     rdx, 0xFEDCBA9876543210
%assign register 0
%rep 16
    movq    xmm %+ register, rax
    add     rax, rdx
    pslldq  xmm %+ register, 8
    rol     rdx, 7
%assign register register + 1
%endrep
    TAKEN   JMP, .again, {jmp short .again}
    ud2
.again:
%assign register 15
%rep 16
    xorps   xmm %+ register, xmm0
    paddq   xmm0, xmm %+ register
%assign register register - 1
%endrep
    LEAVE
ENDWORKLOAD
