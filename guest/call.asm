; SPDX-License-Identifier: BSD-2-Clause
; Near CALL and RET: every operand form, RET imm16, RET to an address that no CALL pushed.

WORKLOAD call.relative, RING0 | RING3 | STEPPABLE
    RECORD  CALL, .to_forward, .forward
    RECORD  RET, .from_forward, .after_forward
    RECORD  JMP, .over, .to_back
    RECORD  CALL, .to_back, .back
    RECORD  RET, .from_back, .after_back
.to_forward: call .forward
.after_forward:
.over:  jmp     short .to_back
.back:
    nop
.from_back: ret
.to_back: call .back
.after_back:
    LEAVE
.forward:
    nop
.from_forward: ret
ENDWORKLOAD

; CALL_BACK kind, {call instruction}, function: the call and the function's RET.
%macro CALL_BACK 3
%%from: %2
%%back:
    RECORD  %1, %%from, %3
    RECORD  RET, %3.ret, %%back
%endmacro

WORKLOAD call.register, RING0 | RING3 | STEPPABLE
    jmp     short .start
.function:
    nop
.function.ret: ret
.start:
    RECORD  JMP, call.register, .start
    lea     rax, [.function]
    mov     rbx, rax
    mov     rbp, rax
    mov     r8, rax
    mov     r12, rax
    mov     r13, rax
    mov     r15, rax
    CALL_BACK CALL_INDIRECT, {call rax}, .function
    CALL_BACK CALL_INDIRECT, {call rbx}, .function
    CALL_BACK CALL_INDIRECT, {call rbp}, .function
    CALL_BACK CALL_INDIRECT, {call r8}, .function
    CALL_BACK CALL_INDIRECT, {call r12}, .function
    CALL_BACK CALL_INDIRECT, {call r13}, .function
    CALL_BACK CALL_INDIRECT, {call r15}, .function
    LEAVE
ENDWORKLOAD

WORKLOAD call.memory, RING0 | RING3 | STEPPABLE
    lea     rax, [.function]
    mov     ecx, 2
    mov     r13, rdi
    mov     [rdi + 0x80], rax
    mov     [guest_data + 0x90], rax
    CALL_BACK CALL_INDIRECT, {call [rdi + 0x80]}, .function
    CALL_BACK CALL_INDIRECT, {call [guest_data + 0x90]}, .function
    CALL_BACK CALL_INDIRECT, {call [rdi + rcx * 8 + 0x70]}, .function
    CALL_BACK CALL_INDIRECT, {call [r13 + rcx * 4 + 0x78]}, .function
    push    rax
    CALL_BACK CALL_INDIRECT, {call [rsp]}, .function
    pop     rax
    LEAVE
.function:
    nop
.function.ret: ret
ENDWORKLOAD

WORKLOAD call.ret_imm16, RING0 | RING3 | STEPPABLE
    push    rax
    push    rax
    CALL_BACK CALL, {call .function}, .function
    CALL_BACK CALL, {call .zero}, .zero
    sub     rsp, 0x400
    CALL_BACK CALL, {call .many}, .many
    LEAVE
.function:
.function.ret: ret 16
.zero:
.zero.ret: ret 0
.many:
.many.ret: ret 0x400
ENDWORKLOAD

; The return-stack predictor is wrong here; the record must not care.
WORKLOAD call.pushed, RING0 | RING3 | STEPPABLE
    lea     rax, [.there]
    push    rax
    TAKEN   RET, .there, ret
    ud2
.there:
    TAKEN   CALL, .drop, {call .drop}
    ud2
.drop:
    add     rsp, 8
    LEAVE
ENDWORKLOAD

WORKLOAD call.nested, RING0 | RING3 | STEPPABLE
    RECORD  CALL, .to_one, .one
    RECORD  CALL, .to_two, .two
    RECORD  CALL, .to_three, .three
    RECORD  RET, .from_three, .after_three
    RECORD  RET, .from_two, .after_two
    RECORD  RET, .from_one, .after_one
.to_one: call .one
.after_one:
    LEAVE
.one:
.to_two: call .two
.after_two:
.from_one: ret
.two:
.to_three: call .three
.after_three:
.from_two: ret
.three:
.from_three: ret
ENDWORKLOAD
