# SPDX-License-Identifier: BSD-2-Clause
# A program to be traced that is written as assembly often is: labels without type and size.

        .globl _start, count_down, call_me
        .text
_start:
        mov     $10, %ecx
count_down:
        call    call_me
        dec     %ecx
        jnz     count_down
        mov     $60, %eax
        xor     %edi, %edi
        syscall
call_me:
        test    $1, %cl
        jz      is_even
        nop
        ret
is_even:
        push    $leave_here
        ret
        .byte   0xE8                    # data in the code, the start of a call
leave_here:
        ret
        .fill   8, 1, 0x90
