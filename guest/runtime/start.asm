; SPDX-License-Identifier: BSD-2-Clause
; Where a program begins that uses guest/runtime: main gets its words, its value is the exit
; code. Source: System V ABI, AMD64 supplement, "Process Initialization".
;
; At entry:   rsp + 8 + 8 * argc    NULL
;             rsp + 8               argc pointers to the words
;             rsp                   argc, 16-byte aligned

        default rel
        global _start:function
        extern main
        extern exit

        section .text

; Does not return. Everything but rsp is of no meaning at entry.
_start:
        xor ebp, ebp            ; the outermost frame, for whoever unwinds
        mov edi, [rsp]
        lea rsi, [rsp + 8]
        and rsp, -16
        call main
        mov edi, eax
        call exit
        ud2

; Without any .data ld gives .bss the file offset 0, and perf then takes its symbols for the
; code that lies as far behind the program's beginning.
        section .data
        dq 0

        section .note.GNU-stack noalloc noexec nowrite progbits
