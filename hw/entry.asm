; SPDX-License-Identifier: BSD-2-Clause
; The 256 interrupt and exception entries, and the one IRETQ that leaves every one of them.
; Source: SDM Vol. 3, "64-Bit Mode Stack Frame" and "Interrupt Stack Table".
;
; What the processor does: it picks the stack (the gate's IST; else RSP0 when the CPL changes;
; else the stack in use), aligns it to 16, pushes SS to RIP and, for eight of the vectors, an
; error code. The entries push a zero where it does not, so that there is one frame:
;
;       +0xA8  ss
;       +0xA0  rsp                      pushed by the processor
;       +0x98  rflags
;       +0x90  cs
;       +0x88  rip
;       +0x80  error code or 0          processor or entry
;       +0x78  vector                   entry
;       +0x70  rax
;       +0x68  rbx
;       +0x60  rcx
;       +0x58  rdx
;       +0x50  rsi
;       +0x48  rdi
;       +0x40  rbp
;       +0x38  r8                       trap_common
;       +0x30  r9
;       +0x28  r10
;       +0x20  r11
;       +0x18  r12
;       +0x10  r13
;       +0x08  r14
;       +0x00  r15                <- rsp, 16-byte aligned: 22 quadwords below an aligned top
;
; Why nothing here can be entered twice on one stack top: every gate clears IF and TF, so #DB
; does not follow #DB; an NMI blocks further NMIs until an IRET (see without_iretq).

        default rel
%include "hw/trap_frame.inc"

        global trap_entries:function hidden
        global trap_exit:function hidden
        global trap_return:function hidden
        global trap_iretq:function hidden
        extern trap_dispatch

; #DF, #TS, #NP, #SS, #GP, #PF, #AC, #CP, #VC, #SX push an error code.
%define PUSHES_ERROR_CODE ((1 << 8) | (0x1F << 10) | (1 << 17) | (1 << 21) | (3 << 29))

        section .text

; Entries of 16 bytes each, in the order of the vectors. IF = 0 (interrupt gates).
        align 16
trap_entries:
%assign vector 0
%rep VECTOR_COUNT
        align 16
  %if vector >= 32 || ((PUSHES_ERROR_CODE >> vector) & 1) == 0
        push 0
  %endif
        push strict dword vector
        jmp strict near trap_common
  %assign vector vector + 1
%endrep

; In: the frame from vector upwards. Never depends on GS, nor on what ring 3 left in DF.
        align 16
trap_common:
        PUSH_GPRS
        cld
        mov rdi, rsp
        call trap_dispatch
        test al, al
        jnz without_iretq

; In: rsp = a whole frame. Out: the machine as the frame says. Both rings, every vector.
trap_exit:
        POP_GPRS
        add rsp, 16
trap_iretq:
        iretq

; A trap taken inside the NMI handler goes back by RET: an IRETQ would unblock NMIs, and the
; next one would overwrite the outer NMI's frame. Only for CPL 0 to CPL 0 with TF clear.
; In: rsp = the frame. The return address goes right below the interrupted stack pointer: into
; the alignment gap or over the frame's ss, neither of which is needed any more.
without_iretq:
        mov rax, [rsp + FRAME_RSP]
        mov rcx, [rsp + FRAME_RIP]
        sub rax, 8
        mov [rax], rcx
        mov [rsp + FRAME_RSP], rax
        POP_GPRS
        add rsp, 32
        popfq
        pop rsp
        ret

; void trap_return(const struct trap_frame *frame) __attribute__((noreturn))
; In: rdi = frame, anywhere. Out: does not return; every register from the frame.
; IF: cleared here, then as the frame says. The copy keeps a fault of the IRETQ itself, which
; lands on the stack in use, on a kernel stack.
trap_return:
        cli
        cld
        mov rsi, rdi
        sub rsp, FRAME_BYTES
        and rsp, -16
        mov rdi, rsp
        mov ecx, FRAME_BYTES / 8
        rep movsq
        jmp trap_exit
