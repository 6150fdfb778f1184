; SPDX-License-Identifier: BSD-2-Clause
; A ring-3 program that is a table: system calls, and loops of so many branches, one after the
; other. A check writes the table into the task's data page, and reads the results there.
;
;   +0x00  rax of the call; 0 ends the table; SCRIPT_LOOP: a loop of rdi branches
;   +0x08  rdi, rsi, rdx, r10
;   +0x28  result
;   +0x30  bytes to the next entry if the result is 0 (a clone's child goes its own way)

%define SCRIPT_FIRST 0x40
%define SCRIPT_BYTES 0x38
%define SCRIPT_LOOP  0x1000

WORKLOAD task.script, RING3 | STEPPABLE
    lea     rbx, [rdi + SCRIPT_FIRST]
.next:
    mov     rax, [rbx]
    test    rax, rax
    jz      .done
    mov     rdi, [rbx + 0x08]
    cmp     rax, SCRIPT_LOOP
    je      .loop
    mov     rsi, [rbx + 0x10]
    mov     rdx, [rbx + 0x18]
    mov     r10, [rbx + 0x20]
    syscall
    mov     [rbx + 0x28], rax
    test    rax, rax
    jnz     .step
    add     rbx, [rbx + 0x30]
    jmp     .next
.loop:
    sub     rdi, 1
    jnz     .loop
.step:
    add     rbx, SCRIPT_BYTES
    jmp     .next
.done:
    ret
ENDWORKLOAD
