; SPDX-License-Identifier: BSD-2-Clause
; #DB by RFLAGS.TF, set by the workload itself; the handler clears it. Whether a #DB leaves a
; record is open, and so is its `from`: the instruction that was stepped or the next one.

; STEP_NEXT: the instruction after this one raises #DB when it is done.
%macro STEP_NEXT 0
    pushfq
    or      qword [rsp], 0x100
    popfq
%endmacro

; STEPPED from label, next label
%macro STEPPED 2
    EDGE    TRAP, GUEST, at(%1), VECTOR, VECTOR_DB, CPL_IN, 1, FROM_ALT | OPTIONAL, at(%2)
    RESUME  %2
%endmacro

WORKLOAD trap.step, RING0 | RING3 | FAULTS
    STEP_NEXT
.from:  nop
.next:
    STEPPED .from, .next
    nop
    LEAVE
ENDWORKLOAD

; A branch that raises a trap: its own record first.
WORKLOAD trap.step_jmp, RING0 | RING3 | FAULTS
    STEP_NEXT
.from:  jmp     short .next
    ud2
.next:
    RECORD  JMP, .from, .next
    STEPPED .from, .next
    LEAVE
ENDWORKLOAD
