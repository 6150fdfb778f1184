; SPDX-License-Identifier: BSD-2-Clause
; Branches whose last byte is the last byte of a page.

; BEFORE_PAGE_END bytes: pads so that so many bytes of the page are left.
%macro BEFORE_PAGE_END 1
    times (0x2000 - %1 - at($) % 0x1000) % 0x1000 nop
%endmacro

; The return address is the first byte of the next page.
WORKLOAD page.call_at_end, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .call
    RECORD  CALL, .call, .function
    RECORD  RET, .function, .next_page
.start: jmp     near .call
.function: ret
    BEFORE_PAGE_END 5
.call:  call    .function
.next_page:
    LEAVE
ENDWORKLOAD

; First taken, then not taken and running on into the next page.
WORKLOAD page.jcc_at_end, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .branch
    RECORD  JCC, .branch, .back
    cmp     eax, eax
.start: jmp     near .branch
    BEFORE_PAGE_END 10
.back:
    test    rsp, rsp
    nop
    nop
    nop
    nop
    nop
.branch: je     short .back
.next_page:
    LEAVE
ENDWORKLOAD
