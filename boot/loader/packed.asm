; SPDX-License-Identifier: BSD-2-Clause
; The packed suite inside the loader's image, and the base relocation table that PE wants.
; PACKED and MEMORY_BYTES come from the Makefile.

section .packed progbits alloc noexec nowrite align=16
global packed_memory:data hidden
global packed_start:data hidden
global packed_end:data hidden
packed_memory:
        dq      MEMORY_BYTES
packed_start:
        incbin  PACKED
packed_end:

; One block with two entries of type ABSOLUTE, which mean nothing: the loader needs no
; relocation, but an image without a table may not be moved.
section .reloc progbits alloc noexec nowrite align=4
        dd      0, 12
        dw      0, 0
