; SPDX-License-Identifier: BSD-2-Clause
; Branches that lie on both sides of a page boundary, and branches to a page's first byte.

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

; Only the opcode lies in the first page.
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

WORKLOAD page.first_byte, RING0 | RING3 | STEPPABLE
    RECORD  JMP, .start, .first
    RECORD  CALL, .first, .function
    RECORD  RET, .function, .after
.start: jmp     near .first
.function: ret
    BEFORE_PAGE_END 0
.first: call    .function
.after:
    LEAVE
ENDWORKLOAD
