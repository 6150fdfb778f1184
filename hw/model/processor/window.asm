; SPDX-License-Identifier: BSD-2-Clause
; Windows in which the host takes the interrupts that belong to the guest.
;
; The host runs with GIF = 0. A window lets NMIs, and on request one interrupt, strike the
; host's own IDT; the stubs note what came. They return without IRET: that instruction would
; unblock NMIs, and a later NMI must wait until the guest has executed its own IRET.

bits 64
default rel

%define CPU_WINDOW_VECTOR 172
%define CPU_WINDOW_NMI    176
%define FLAG_IF           0x200
%define VECTOR_DB         1
%define VECTOR_NMI        2
%define DR6_GUEST         0x0E          ; B1 to B3: the guest's data breakpoints (watch.c)
%define FIRST_INTERRUPT   32

section .text

; void machine_window_open(struct model_cpu *cpu, bool interrupts);
; In: RDI, which the stubs rely on, and ESI; GIF = 0, IF = 0 before and after.
; Sets cpu->window_vector and cpu->window_nmi. No EOI: that is the guest's business.
global machine_window_open:function hidden
machine_window_open:
    mov dword [rdi + CPU_WINDOW_VECTOR], -1
    mov dword [rdi + CPU_WINDOW_NMI], 0
    test esi, esi
    jz .nmi_only
    stgi
    sti
    nop                                 ; the shadow of STI ends after this one
    nop
    cli
    clgi
    ret
.nmi_only:
    stgi
    nop
    clgi
    ret

; void machine_unblock_nmi(void);
; IF = 0, GIF = 0. An IRET to the next instruction: the processor accepts NMIs again.
global machine_unblock_nmi:function hidden
machine_unblock_nmi:
    mov rcx, rsp
    mov eax, ss
    push rax
    push rcx
    pushfq
    mov eax, cs
    push rax
    lea rax, [.done]
    push rax
    iretq
.done:
    ret

; The host's 256 vectors, 8 bytes each: a call, whose return address tells which it was.
;
; Stack in host_event once the vector is known, from RSP upwards:
;   +00 vector   +08 RIP   +10 CS   +18 RFLAGS   +20 RSP   +28 SS
; An exception with an error code has one more quadword; it is only reported.
global machine_vectors:function hidden
align 8
machine_vectors:
%rep 256
    align 8
    call strict near host_event
%endrep

align 16
host_event:
    push rax
    push rcx
    mov rax, [rsp + 16]
    lea rcx, [machine_vectors]
    sub rax, rcx
    shr rax, 3
    mov [rsp + 16], rax
    pop rcx
    pop rax
    cmp dword [rsp], FIRST_INTERRUPT
    jae .interrupt
    cmp dword [rsp], VECTOR_DB
    je .debug
    cmp dword [rsp], VECTOR_NMI
    jne .exception
    mov dword [rdi + CPU_WINDOW_NMI], 1
    push rax
    mov rax, -1                         ; keep every flag
    jmp .return
.interrupt:
    push rax
    mov eax, [rsp + 8]
    mov [rdi + CPU_WINDOW_VECTOR], eax
    mov rax, ~FLAG_IF                   ; one interrupt per window
.return:
    ; +00 RAX +08 vector +10 RIP +18 CS +20 RFLAGS +28 RSP. The two words below the old RSP
    ; are free or already read: RFLAGS and RIP go there for POPFQ and RET.
    push rbx
    push rcx
    mov rbx, [rsp + 0x38]
    and rax, [rsp + 0x30]
    mov rcx, [rsp + 0x20]
    mov [rbx - 8], rcx
    mov [rbx - 16], rax
    sub rbx, 16
    mov [rsp + 0x18], rbx
    pop rcx
    pop rbx
    pop rax
    pop rsp
    popfq
    ret

    ; A processor merges the trap of a data breakpoint with that of the step which led here.
    ; QEMU raises it a second time at the next boundary, behind the exit; the VMCB's DR6 has
    ; both by then.
.debug:
    push rax
    mov rax, dr6
    test al, DR6_GUEST
    pop rax
    jz .exception
    push rax
    mov rax, -1
    jmp .return

.exception:
    cld
    mov rdi, rsp
    and rsp, -16
    extern machine_host_exception
    call machine_host_exception
    ud2
