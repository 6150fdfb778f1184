; SPDX-License-Identifier: BSD-2-Clause
; The guest region: all workloads in one translation unit, so that label differences are known
; to the assembler and the tables need no relocation but their pointers.
bits 64
default rel

%include "guest/edges.inc"

%include "guest/page.asm"

; The order lets ordinary code fill the space up to the page boundaries.
%include "guest/near.asm"
%include "guest/jcc.asm"
%include "guest/loop.asm"
%include "guest/straight.asm"
%include "guest/call.asm"
PAGE_CALL_AT_END
%include "guest/zero.asm"
%include "guest/prefix.asm"
%include "guest/interrupt.asm"
PAGE_JCC_AT_END
%include "guest/recursion.asm"
%include "guest/syscall.asm"
%include "guest/int.asm"
%include "guest/fault.asm"
PAGE_JCC_CROSSING
%include "guest/page_fault.asm"
%include "guest/trap.asm"
%include "guest/debug.asm"
%include "guest/shadow.asm"
%include "guest/far.asm"
%include "guest/rings.asm"
%include "guest/fast.asm"
%include "guest/compat.asm"
%include "guest/compat_far.asm"
%include "guest/legacy.asm"
%include "guest/real.asm"
%include "guest/task.asm"
%include "guest/program.asm"
%include "guest/script.asm"
%include "guest/vector.asm"
%include "guest/count.asm"
%include "guest/bench.asm"
PAGE_JMP_CROSSING

; Where a ring-3 workload's RET goes: hands its result over and asks to be left.
global guest_exit:function hidden, guest_exit_syscall:function hidden
guest_exit:
    mov     rdi, rax
    mov     eax, SERVICE_EXIT
guest_exit_syscall:
    syscall
    ud2

; The data pages follow the region's last page, in either ring (guest/env.c).
    align   4096, int3
guest_data:

section .note.GNU-stack noalloc noexec nowrite progbits
