; SPDX-License-Identifier: BSD-2-Clause
; The processor's own registers as firmware left them: read all, put all back.
;
; struct machine_registers (boot/takeover.c asserts the offsets)
;   000 fxsave image, 512 bytes     224 CR0   22C CR2   234 CR3   23C CR4
;   200 GDTR, 10 bytes              244 DR0 .. DR3
;   20A IDTR, 10 bytes              264 DR6   26C DR7
;   214 CS DS ES FS GS SS LDTR TR, 2 bytes each

bits 64
default rel

FX_IMAGE equ 0x000
GDTR     equ 0x200
IDTR     equ 0x20A
SEL_CS   equ 0x214
SEL_DS   equ 0x216
SEL_ES   equ 0x218
SEL_FS   equ 0x21A
SEL_GS   equ 0x21C
SEL_SS   equ 0x21E
SEL_LDTR equ 0x220
SEL_TR   equ 0x222
REG_CR0  equ 0x224
REG_CR2  equ 0x22C
REG_CR3  equ 0x234
REG_CR4  equ 0x23C
REG_DR0  equ 0x244
REG_DR1  equ 0x24C
REG_DR2  equ 0x254
REG_DR3  equ 0x25C
REG_DR6  equ 0x264
REG_DR7  equ 0x26C

CR4_PGE       equ 1 << 7
CR4_PCIDE     equ 1 << 17
CR3_PCID_MASK equ 0xFFF
TSS_BUSY      equ 2 ; in the type field of byte 5 of the descriptor

section .text

; void machine_save(struct machine_registers *to);
; In:         RDI, aligned to 16.
; Out:        *to. CR0.TS is clear afterwards, since FXSAVE would fault on it.
; Clobbers:   RAX.
; Interrupts: off.
global machine_save:function hidden
machine_save:
    mov     rax, cr0
    mov     [rdi + REG_CR0], rax
    clts
    fxsave64 [rdi + FX_IMAGE]

    sgdt    [rdi + GDTR]
    sidt    [rdi + IDTR]
    mov     [rdi + SEL_CS], cs
    mov     [rdi + SEL_DS], ds
    mov     [rdi + SEL_ES], es
    mov     [rdi + SEL_FS], fs
    mov     [rdi + SEL_GS], gs
    mov     [rdi + SEL_SS], ss
    sldt    [rdi + SEL_LDTR]
    str     [rdi + SEL_TR]

%macro SAVE 2
    mov     rax, %1
    mov     [rdi + %2], rax
%endmacro
    SAVE    cr2, REG_CR2
    SAVE    cr3, REG_CR3
    SAVE    cr4, REG_CR4
    SAVE    dr0, REG_DR0
    SAVE    dr1, REG_DR1
    SAVE    dr2, REG_DR2
    SAVE    dr3, REG_DR3
    SAVE    dr6, REG_DR6
    SAVE    dr7, REG_DR7
    ret

; void machine_restore(const struct machine_registers *from, bool task);
; In:         RDI as machine_save filled it; SIL set when TR names a TSS that may be loaded.
;             The kernel's CR3, which maps RAM writable: LTR marks the descriptor busy, and
;             firmware may keep its GDT on a read-only page.
; Out:        descriptor tables, selectors, CR0, CR2, CR3, CR4, debug registers, x87 and SSE
;             as saved. FS and GS bases come from the selectors and are the caller's to set.
; Clobbers:   RAX, RCX, RDX.
; Interrupts: off. An NMI is harmless at any point: both GDTs have the code and stack
;             segments at the same selectors, and both IDTs lie in memory that both CR3 map.
global machine_restore:function hidden
machine_restore:
    ; Debug registers first: a breakpoint of a check must not fire in firmware.
    mov     eax, 0x400
    mov     dr7, rax

    lgdt    [rdi + GDTR]
    movzx   eax, word [rdi + SEL_CS]
    lea     rdx, [.code_loaded]
    push    rax
    push    rdx
    retfq
.code_loaded:
    mov     ss, [rdi + SEL_SS]
    mov     ds, [rdi + SEL_DS]
    mov     es, [rdi + SEL_ES]
    mov     fs, [rdi + SEL_FS]
    mov     gs, [rdi + SEL_GS]
    lldt    [rdi + SEL_LDTR]
    test    sil, sil
    jz      .no_task
    movzx   eax, word [rdi + SEL_TR]
    mov     rdx, [rdi + GDTR + 2]
    and     byte [rdx + rax + 5], ~TSS_BUSY
    ltr     ax
.no_task:
    lidt    [rdi + IDTR]

    ; PCIDE may be set only while the low bits of CR3 are 0, and clearing PGE drops the
    ; kernel's global entries. The PCID comes back with the second load of CR3.
    mov     rax, [rdi + REG_CR4]
    mov     rcx, rax
    and     rcx, ~(CR4_PGE | CR4_PCIDE)
    mov     cr4, rcx
    mov     rdx, [rdi + REG_CR3]
    mov     rcx, rdx
    and     rcx, ~CR3_PCID_MASK
    mov     cr3, rcx
    mov     cr4, rax
    mov     cr3, rdx

%macro LOAD 2
    mov     rax, [rdi + %2]
    mov     %1, rax
%endmacro
    clts
    fxrstor64 [rdi + FX_IMAGE]
    LOAD    cr0, REG_CR0
    LOAD    cr2, REG_CR2
    LOAD    dr0, REG_DR0
    LOAD    dr1, REG_DR1
    LOAD    dr2, REG_DR2
    LOAD    dr3, REG_DR3
    LOAD    dr6, REG_DR6
    LOAD    dr7, REG_DR7
    ret
