; SPDX-License-Identifier: BSD-2-Clause
; The shortest code between two writes of IA32_DEBUGCTL, for traces that must hold nothing else.

bits 64
default rel

section .text

global ds_bracket:function hidden
global ds_bracket_call:notype hidden
global ds_bracket_return:notype hidden
global ds_bracket_flip:function hidden
global ds_bracket_one:function hidden
global ds_bracket_one_from:notype hidden
global ds_bracket_one_to:notype hidden

; uint64_t ds_bracket(uint64_t debugctl_on, uint64_t debugctl_off, uint64_t (*fn)(void *),
;                     void *arg, uint32_t msr)
; In:       rdi, rsi values to write before and after; rdx function; rcx its argument;
;           r8d number of the MSR.
; Out:      rax what fn returned.
; Clobbers: what a System V function may: rcx, rdx, rsi, rdi, r8-r11, flags.
; Interrupts: any state; it is kept. Ring 0.
; WRMSR serialises, so the CALL is the first branch under the new value and fn's RET the last.
; fn may be a workload, which keeps rsp and no other register: all that is needed after it
; lies on the stack.
;
; Stack after the pushes, 16-byte aligned for the call:
;   +40h return address
;   +38h rbx   +30h rbp   +28h r12   +20h r13   +18h r14   +10h r15
;   +08h debugctl_off     +00h msr
; and 8 bytes below them.
ds_bracket:
        push    rbx
        push    rbp
        push    r12
        push    r13
        push    r14
        push    r15
        push    rsi
        push    r8
        sub     rsp, 8

        mov     r9, rdx
        mov     r10, rcx

        ; EDX:EAX := debugctl_on
        mov     ecx, r8d
        mov     eax, edi
        mov     rdx, rdi
        shr     rdx, 32
        mov     rdi, r10
        wrmsr
ds_bracket_call:
        call    r9
ds_bracket_return:
        mov     rbx, rax

        ; EDX:EAX := debugctl_off
        add     rsp, 8
        pop     rcx
        pop     rdx
        mov     eax, edx
        shr     rdx, 32
        wrmsr

        mov     rax, rbx
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbp
        pop     rbx
        ret

; uint64_t ds_bracket_flip(uint64_t debugctl_on, uint64_t debugctl_off, uint32_t msr)
; In:       rdi, rsi values to write; edx number of the MSR.
; Out:      rax what the MSR read as in between.
; Clobbers: rcx, rdx, rsi, rdi, r8, r9, flags.
; Interrupts: must be off, or a handler's branches are recorded. Ring 0.
ds_bracket_flip:
        mov     ecx, edx
        mov     r8, rsi

        ; EDX:EAX := debugctl_on, and straight on to the read-back
        mov     eax, edi
        mov     rdx, rdi
        shr     rdx, 32
        wrmsr
        rdmsr
        shl     rdx, 32
        mov     r9d, eax
        or      r9, rdx

        ; EDX:EAX := debugctl_off
        mov     eax, r8d
        mov     rdx, r8
        shr     rdx, 32
        wrmsr

        mov     rax, r9
        ret

; void ds_bracket_one(uint64_t debugctl_on, uint64_t debugctl_off, uint32_t msr)
; In:       rdi, rsi values to write; edx number of the MSR.
; Clobbers: rax, rcx, rdx, rsi, rdi, r8, flags.
; Interrupts: must be off, or a handler's branches are recorded. Ring 0.
; The JMP is the only branch between the two writes.
ds_bracket_one:
        mov     ecx, edx
        mov     r8, rsi

        ; EDX:EAX := debugctl_on
        mov     eax, edi
        mov     rdx, rdi
        shr     rdx, 32
        wrmsr
ds_bracket_one_from:
        jmp     short ds_bracket_one_to
        times 16 int3   ; farther than the next instruction could be
ds_bracket_one_to:
        ; EDX:EAX := debugctl_off
        mov     eax, r8d
        mov     rdx, r8
        shr     rdx, 32
        wrmsr
        ret

section .note.GNU-stack noalloc noexec nowrite progbits
