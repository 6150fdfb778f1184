; SPDX-License-Identifier: BSD-2-Clause
; SYSENTER from ring 3 into ring 0, in the kernel's view of this region, and SYSEXIT back.

global guest_fast:function hidden
; Behind SYSENTER: rdx and rcx say where to go back to, ebx to 32-bit code or 64-bit code.
guest_fast:
    test    ebx, ebx
    jnz     guest_fast_return32
guest_fast_return:
    o64 sysexit
guest_fast_return32:
    sysexit

; SYSENTER_AND_BACK: clobbers rbx, rcx and rdx.
%macro SYSENTER_AND_BACK 0
    mov     rcx, rsp
    lea     rdx, [%%back]
    xor     ebx, ebx
%%from: sysenter
    ud2
%%back:
    EDGE    SYSENTER, GUEST, at(%%from), KERNEL, at(guest_fast), 0x03, 1, OPTIONAL, 0
    EDGE    SYSEXIT, KERNEL, at(guest_fast_return), GUEST, at(%%back), 0x30, 1, OPTIONAL, 0
%endmacro

; Only under a trace: processors of one vendor alone have the pair here, and the check asks.
WORKLOAD sysenter.once, RING3 | TRACED
    SYSENTER_AND_BACK
    LEAVE
ENDWORKLOAD

WORKLOAD sysenter.branches, RING3 | TRACED
    TAKEN   JMP, .first, {jmp short .first}
    ud2
.first:
    SYSENTER_AND_BACK
    TAKEN   JMP, .second, {jmp short .second}
    ud2
.second:
    SYSENTER_AND_BACK
    SYSENTER_AND_BACK
    LEAVE
ENDWORKLOAD
