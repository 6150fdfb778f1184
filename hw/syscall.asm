; SPDX-License-Identifier: BSD-2-Clause
; The SYSCALL entries, and the one SYSRETQ.
; Source: SDM Vol. 2, "SYSCALL - Fast System Call"; "SYSRET - Return From Fast System Call".
;
; What the processor does: RCX = next RIP, R11 = RFLAGS, RFLAGS &= ~FMASK, CS and SS from STAR,
; RIP = LSTAR. It leaves RSP alone, and ring 3 may have put anything there.
;
; So the first instructions must find this processor's stack with nothing but RIP to go by:
; there is one entry per processor, each with its own pair of memory words. SWAPGS is not used;
; an NMI, #DB or #MC may arrive between any two instructions here (each has its own IST) and may
; unwind for good, and there is no swapped GS base that it could leave behind.
;
; The frame is that of hw/entry.asm. CS and SS are filled in as for ring 3; trap_syscall puts
; ring 0's there when the caller turns out to be ring 0.

        default rel
%include "hw/trap_frame.inc"

        global syscall_entries:function hidden
        global syscall_stacks:data hidden
        global syscall_sysretq:function hidden
        extern trap_syscall
        extern trap_exit

; struct syscall_stack { uint64_t top, caller_rsp; } syscall_stacks[CPU_MAX];
        section .bss
        alignb 16
syscall_stacks:
        resq 2 * CPU_MAX

        section .text

; In: rcx = return address, r11 = rflags, rsp = the caller's. IF = TF = DF = 0 (FMASK).
        align SYSCALL_ENTRY_BYTES
syscall_entries:
%assign processor 0
%rep CPU_MAX
        align SYSCALL_ENTRY_BYTES
        mov [syscall_stacks + processor * 16 + 8], rsp
        mov rsp, [syscall_stacks + processor * 16]
        push SELECTOR_USER_SS
        push qword [syscall_stacks + processor * 16 + 8]
        jmp strict near syscall_common
  %assign processor processor + 1
%endrep

        align 16
syscall_common:
        push r11
        push SELECTOR_USER_CS
        push rcx
        push 0
        push TRAP_SYSCALL
        PUSH_GPRS
        mov rdi, rsp
        call trap_syscall
        test al, al
        jz trap_exit

; In: rsp = a frame that satisfies SYSRET's rules (rcx = rip, r11 = rflags). Between the switch
; to the caller's stack and SYSRETQ only IST vectors can arrive: IF is still 0.
        POP_GPRS
        mov rsp, [rsp + FRAME_RSP - FRAME_VECTOR]
syscall_sysretq:
        o64 sysret
