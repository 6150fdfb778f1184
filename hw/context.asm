; SPDX-License-Identifier: BSD-2-Clause
; Leaving a kernel context behind and coming back to it: the ground under user_run and hw_try.
; The way back is always the common IRETQ, because the context may be resumed from an NMI
; handler, and only an IRET ends the blocking of NMIs.
;
; struct kernel_context { uint64_t rsp; }; at that rsp:
;       +0x38  return address of context_run
;       +0x30  rbp
;       +0x28  rbx
;       +0x20  r12
;       +0x18  r13
;       +0x10  r14
;       +0x08  r15
;       +0x00  rflags

        default rel
%include "hw/trap_frame.inc"

        global context_run:function hidden
        global context_resume:function hidden
        global context_call_on:function hidden
        extern trap_exit

        section .text

; uint64_t context_run(struct kernel_context *context, void (*fn)(void *), void *arg)
; In: rdi, rsi, rdx. Out: rax = 0 when fn returned, else the code given to context_resume.
; Clobbers what the C calling convention allows. IF: as fn leaves it; as it was at the call
; when resumed.
context_run:
        push rbp
        push rbx
        push r12
        push r13
        push r14
        push r15
        pushfq
        mov [rdi], rsp
        mov rdi, rdx
        call rsi
        xor eax, eax
landing:
        add rsp, 8
        pop r15
        pop r14
        pop r13
        pop r12
        pop rbx
        pop rbp
        ret

; void context_resume(const struct kernel_context *context, uint64_t code) noreturn
; In: rdi = a context whose context_run has not returned, rsi = code, not 0. Any kernel stack,
; any IF. Builds the frame of hw/entry.asm for the landing place; registers that the landing
; place does not reload may hold anything.
context_resume:
        cli
        mov rdx, [rdi]
        lea rcx, [landing]
        and rsp, -16
        push SELECTOR_KERNEL_SS
        push rdx
        push qword [rdx]
        push SELECTOR_KERNEL_CS
        push rcx
        sub rsp, FRAME_RIP
        mov [rsp + FRAME_RAX], rsi
        jmp trap_exit

; uint64_t context_call_on(uint8_t *top, uint64_t (*fn)(void *), void *arg)
; In: rdi = 16-byte aligned end of a stack, rsi, rdx. Out: rax = fn(arg). IF untouched.
context_call_on:
        push rbp
        mov rbp, rsp
        mov rsp, rdi
        mov rdi, rdx
        call rsi
        mov rsp, rbp
        pop rbp
        ret
