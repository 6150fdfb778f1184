# SPDX-License-Identifier: BSD-2-Clause
# Compiling programs to be traced: `make program SRC=path/to/file.c`. Included by the Makefile.

SRC ?=
RUNTIME_DIR    = $(OUT)/runtime
PROGRAM_CFLAGS = -std=gnu11 -O1 -g -ffreestanding -fno-pie -fno-stack-protector \
                 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
                 -fno-optimize-sibling-calls \
                 -fcf-protection=none -fno-tree-loop-distribute-patterns \
                 -Wall -Wextra -I.
# Not notdir and basename: they split at blanks.
PROGRAM_NAME = $(shell basename -- "$(SRC)" | sed 's/[.][^.]*$$//')
RUNTIME = $(RUNTIME_DIR)/start.o $(RUNTIME_DIR)/runtime.o
# --build-id lets wtr notice that a trace is of another build.
PROGRAM_LINK = $(CC) -static -nostdlib -no-pie -Wl,--build-id -Wl,-z,separate-code

$(RUNTIME_DIR)/start.o: guest/runtime/start.asm | $(DEPS_FIRST)
	@mkdir -p $(@D)
	$(call say,NASM,$<)$(NASM) -f elf64 -o $@ $<

$(RUNTIME_DIR)/runtime.o: guest/runtime/runtime.c guest/runtime/runtime.h | $(DEPS_FIRST)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(PROGRAM_CFLAGS) -c -o $@ $<

program: $(RUNTIME)
	@test -n "$(SRC)" || { echo 'usage: make program SRC=path/to/file.c' >&2; exit 2; }
	@test -f "$(SRC)" || { echo '$(SRC) is no file: give SRC=path/to/file.c' >&2; exit 2; }
	@mkdir -p $(OUT)/programs
	$(call say,PROGRAM,$(SRC))$(PROGRAM_LINK) $(PROGRAM_CFLAGS) \
	    -o "$(OUT)/programs/$(PROGRAM_NAME)" "$(SRC)" $(RUNTIME)

# The examples, which are also tests.
EXAMPLES = $(patsubst harness/tests/programs/%.c,%,$(wildcard harness/tests/programs/*.c))
examples: $(EXAMPLES:%=$(OUT)/programs/%)
$(OUT)/programs/%: harness/tests/programs/%.c $(RUNTIME)
	@mkdir -p $(@D)
	$(call say,PROGRAM,$<)$(PROGRAM_LINK) $(PROGRAM_CFLAGS) -o $@ $< $(RUNTIME)

.PHONY: program examples
