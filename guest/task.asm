; SPDX-License-Identifier: BSD-2-Clause
; Hardware task switches, in protected mode by guest/legacy.asm's conventions: from the task
; that LTR makes of this code to another, and back.
bits 32

%define TASK_A      DATA_TASKS
%define TASK_B      DATA_TASKS + 0x80
%define TASK_FLAG   DATA_TASKS + 0x100      ; EIP at the first #DB

; TASKS label: makes this code task A; task B begins at the label with the same registers.
%macro TASKS 1
    mov     dword [edi + TASK_B + 0x20], at(%1)
    mov     dword [edi + TASK_B + 0x24], 2
    mov     [edi + TASK_B + 0x38], esp
    mov     [edi + TASK_B + 0x44], edi
    mov     [edi + TASK_B + 0x48], es
    mov     [edi + TASK_B + 0x4C], cs
    mov     [edi + TASK_B + 0x50], ss
    mov     [edi + TASK_B + 0x54], ds
    mov     eax, cr3
    mov     [edi + TASK_A + 0x1C], eax
    mov     [edi + TASK_B + 0x1C], eax
    mov     eax, LEGACY_TSS_A
    ltr     ax
%endmacro

; #DB: where the first one came from; single steps end.
task_debug:
    push    eax
    mov     eax, [esp + 4]
    cmp     dword [edi + TASK_FLAG], 0
    jne     .known
    mov     [edi + TASK_FLAG], eax
.known:
    and     dword [esp + 12], ~0x100
    pop     eax
    iret

WORKLOAD task.jump, PROTECTED
    TASKS   .other
    TRACE_ON
.jump:  jmp     LEGACY_TSS_B:0
.resumed:
    TRACE_OFF
    retf
.other:
    EDGE    FAR_JMP, GUEST, at(.jump), GUEST, at(.other), 0, 1, OPTIONAL, 0
    TAKEN   JMP, .back, {jmp short .back}
    ud2
.back:  jmp     LEGACY_TSS_A:0
    EDGE    FAR_JMP, GUEST, at(.back), GUEST, at(.resumed), 0, 1, OPTIONAL, 0
ENDWORKLOAD

; CALL nests the task, and IRET goes back to the one that called.
WORKLOAD task.call, PROTECTED
    TASKS   .other
    TRACE_ON
.call:  call    LEGACY_TSS_B:0
.resumed:
    TRACE_OFF
    retf
.other:
    EDGE    FAR_CALL, GUEST, at(.call), GUEST, at(.other), 0, 1, OPTIONAL, 0
    TAKEN   JMP, .back, {jmp short .back}
    ud2
.back:  iret
    EDGE    IRET, GUEST, at(.back), GUEST, at(.resumed), 0, 1, OPTIONAL, 0
ENDWORKLOAD

; The switch with TF set: the first trap comes when this task goes on and has executed one
; instruction, with BTF one branch. Returns 1 and 2 for these, 3 for any other place.
WORKLOAD task.step, PROTECTED
    TASKS   .other
    TRACE_ON
    pushf
    or      dword [esp], 0x100
    popf
    jmp     LEGACY_TSS_B:0
    nop
.second:
    jmp     short .third
    ud2
.third:
    TRACE_OFF
    xor     eax, eax
    mov     edx, [edi + TASK_FLAG]
    cmp     edx, at(.second)
    je      .one
    cmp     edx, at(.third)
    je      .two
    inc     eax
.two:
    inc     eax
.one:
    inc     eax
    retf
.other:
    jmp     LEGACY_TSS_A:0
ENDWORKLOAD

bits 64
