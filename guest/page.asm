; SPDX-License-Identifier: BSD-2-Clause
; Branches at page boundaries. Each needs a boundary of its own, so each is a macro, and
; guest/workloads.asm places it where ordinary code has nearly filled a page.

; BEFORE_PAGE_END bytes: pads so that so many bytes of the page are left.
%macro BEFORE_PAGE_END 1
    times (0x2000 - %1 - at($) % 0x1000) % 0x1000 nop
%endmacro

; The last byte of the CALL is the last of its page; it returns to the first byte of the next,
; which is then the target of a JMP as well.
%macro PAGE_CALL_AT_END 0
WORKLOAD page.call_at_end, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .call
    RECORD  CALL, .call, .function
    RECORD  RET, .function, .next_page
    RECORD  JCC, .again, .next_page
    mov     ecx, 2
.start: jmp     near .call
.function: ret
    BEFORE_PAGE_END 5
.call:  call    .function
.next_page:
    dec     ecx
.again: jnz     near .next_page
    LEAVE
ENDWORKLOAD
%endmacro

; A Jcc that ends with its page: first taken, then not taken and running into the next page.
%macro PAGE_JCC_AT_END 0
WORKLOAD page.jcc_at_end, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .branch
    RECORD  JCC, .branch, .back
    cmp     eax, eax
.start: jmp     near .branch
    BEFORE_PAGE_END 5
.back:
    test    rsp, rsp            ; 3 bytes
.branch: je     short .back
.next_page:
    LEAVE
ENDWORKLOAD
%endmacro

; Half of the Jcc in each page.
%macro PAGE_JCC_CROSSING 0
WORKLOAD page.jcc_crossing, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .branch
    RECORD  JCC, .branch, .back
    cmp     eax, eax
.start: jmp     near .branch
.back:
    LEAVE
    BEFORE_PAGE_END 3
.branch: je     near .back
    ud2
ENDWORKLOAD
%endmacro

; Only the opcode of the JMP lies in the first page.
%macro PAGE_JMP_CROSSING 0
WORKLOAD page.jmp_crossing, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .branch
    RECORD  JMP, .branch, .back
    RECORD  JMP, .back, .next_page
.start: jmp     near .branch
.back:  jmp     near .next_page
    BEFORE_PAGE_END 1
.branch: jmp    near .back
.next_page:
    LEAVE
ENDWORKLOAD
%endmacro
