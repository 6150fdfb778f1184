# SPDX-License-Identifier: BSD-2-Clause
# Builds one EFI image, boots it in QEMU, checks the suite itself. `make help` lists targets.

OUT   ?= out
ARGS  ?=
ACCEL ?= tcg

# Make splits at blanks: "clean" of such a folder would remove others.
ifneq ($(words $(OUT)),1)
$(error OUT must be one folder without blanks, not '$(OUT)')
endif

# `make clean OUT=hw` or OUT=.. must not take the sources along. What else lies in OUT is not
# asked: a script that somebody left there must not stop every target.
SOURCES = .ci .git boot docs ds guest harness hw
ifneq ($(filter $(abspath $(OUT)) $(abspath $(OUT))/%,$(CURDIR))$(filter \
    $(abspath $(SOURCES)) $(addsuffix /%,$(abspath $(SOURCES))),$(abspath $(OUT))),)
$(error OUT=$(OUT) holds sources: name a folder for what is built, such as OUT=out)
endif

CC      = gcc
LD      = ld
NASM    = nasm
OBJCOPY = objcopy
PYTHON  = python3

# The image must not depend on where or when it was built.
CFLAGS = -std=gnu11 -Oz -g -ffunction-sections -fdata-sections -ffreestanding -fpic \
         -fvisibility=hidden -fshort-wchar \
         -fno-stack-protector -fcf-protection=none -mno-red-zone -mgeneral-regs-only \
         -fno-asynchronous-unwind-tables -fno-ident -Wall -Wextra -Werror \
         -Wmissing-prototypes -Wvla -ffile-prefix-map=$(CURDIR)=. \
         -I. -isystem /usr/include/efi -isystem /usr/include/efi/x86_64 -DGNU_EFI_USE_MS_ABI
# A loop that copies must not become a call: of the function that it is the body of, or, in
# the loader, of one that is not there.
NO_CALLS := -fno-tree-loop-distribute-patterns
CFLAGS += $(shell $(CC) $(NO_CALLS) -E -x c /dev/null >/dev/null 2>&1 && echo $(NO_CALLS) \
            || echo -fno-builtin)
LDFLAGS = -nostdlib -shared -Bsymbolic -znocombreloc -znorelro --hash-style=sysv \
          -zpack-relative-relocs --gc-sections --build-id=none --no-undefined -z noexecstack \
          --orphan-handling=error -T linker.ld
# A state that git knows names the image; outside a checkout it is "unknown".
VERSION = $(shell cat VERSION)-$(shell git describe --always --dirty --exclude '*' 2>/dev/null \
            || echo unknown)

ROOMS = check oracle fixture suite options program fuzz bench checks gdb
DIRS = boot hw hw/model ds guest \
       $(addprefix hw/model/,processor trial perfmon bts emulate host) \
       $(addprefix harness/,$(ROOMS))
CSRC = $(wildcard $(addsuffix /*.c,$(DIRS)))
# guest/workloads.asm includes the other workload files.
ASRC = $(wildcard $(addsuffix /*.asm,$(filter-out guest,$(DIRS)))) guest/workloads.asm
OBJS = $(CSRC:%.c=$(OUT)/obj/%.o) $(ASRC:%.asm=$(OUT)/obj/%.asm.o)

# One short line a file; V=1 shows the commands.
say = $(if $(V),,@echo '  $(1)' $(2);)

IMAGE = $(OUT)/BOOTX64.EFI
SUITE = $(PYTHON) harness/run.py --image $(IMAGE) --out $(OUT) --accel $(ACCEL)

all: $(IMAGE)

# `make deps run-qemu` is one make process: what is built waits for what is installed.
DEPS_FIRST = $(filter deps,$(MAKECMDGOALS))

$(OUT)/waymark.elf: $(OBJS) linker.ld
	$(call say,LINK,$@)$(LD) $(LDFLAGS) --print-gc-sections -o $@ $(OBJS) 2>$(@:.elf=.gc) || \
	    { cat $(@:.elf=.gc) >&2; exit 1; }

# The image firmware starts is a small loader with the suite in it, packed: boot/loader/.
$(OUT)/waymark.lzma: $(OUT)/waymark.elf $(OUT)/turn
	$(call say,PACK,$@)$(OBJCOPY) -O binary \
	    $(addprefix -j ,.text .guest .kept .rodata .relr .data) $< $(@:.lzma=.bin)
	@$(OUT)/turn <$(@:.lzma=.bin) >$(@:.lzma=.turned)
	@xz --format=lzma --lzma1=preset=9e,pb=0 -c $(@:.lzma=.turned) >$@

$(OUT)/turn: boot/loader/turn.c boot/loader/calls.h | $(DEPS_FIRST)
	@mkdir -p $(@D)
	$(call say,HOSTCC,$@)$(CC) -std=gnu11 -O1 -Wall -Wextra -Werror -I. -o $@ $<

LOADER = $(addprefix $(OUT)/obj/boot/loader/,loader.o lzma.o packed.o)

$(OUT)/obj/boot/loader/packed.o: boot/loader/packed.asm $(OUT)/waymark.lzma Makefile
	@mkdir -p $(@D)
	$(call say,NASM,$<)$(NASM) -f elf64 -DPACKED='"$(OUT)/waymark.lzma"' \
	    -DMEMORY_BYTES=0x$$(nm $(OUT)/waymark.elf | sed -n 's/ . __bss_end$$//p') -o $@ $<

# What carries out instruction after instruction is worth its space.
QUICK = $(addprefix emulate/,simple alu operand emulate) processor/walk \
        $(addprefix host/,step quiet fetch) perfmon/count
$(QUICK:%=$(OUT)/obj/hw/model/%.o): CFLAGS += -O2

$(OUT)/loader.elf: $(LOADER) boot/loader/loader.ld
	$(call say,LINK,$@)$(LD) -nostdlib -static --gc-sections --build-id=none \
	    -z noexecstack --orphan-handling=error -T boot/loader/loader.ld -o $@ $(LOADER)

# An image whose checks break a rule, or name a clause that there is not, is not built.
$(IMAGE): $(OUT)/loader.elf | $(OUT)/checks.txt
	$(call say,IMAGE,$@)$(OBJCOPY) --strip-all $(addprefix -j ,.text .packed .reloc) \
	    --target=efi-app-x86_64 --subsystem=10 $< $@

$(OUT)/obj/%.o: %.c Makefile | $(DEPS_FIRST)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/obj/%.asm.o: %.asm Makefile | $(DEPS_FIRST)
	@mkdir -p $(@D)
	@# Not -MD: NASM 2.16 then leaves the included files out.
	@$(NASM) -f elf64 -I. -I$(dir $<) -M -MP -MF $(@:.o=.d) -MT $@ $<
	$(call say,NASM,$<)$(NASM) -f elf64 -g -F dwarf -I. -I$(dir $<) -o $@ $<

# The version is one generated header, touched only when it changes.
$(OUT)/gen/version.h: FORCE | $(DEPS_FIRST)
	@mkdir -p $(@D)
	@echo '#define WAYMARK_VERSION "$(VERSION)"' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(OUT)/obj/harness/suite/version.o: $(OUT)/gen/version.h
$(OUT)/obj/harness/suite/version.o: CFLAGS += -include $(OUT)/gen/version.h

-include $(OBJS:.o=.d) $(LOADER:.o=.d)

# --- using it

# Beside other goals it installs what those need; alone, everything.
deps:
	harness/deps.sh $(filter-out deps,$(MAKECMDGOALS))

run-qemu: $(IMAGE)
	$(SUITE) -- $(ARGS)

# What a program finds; FILES has a default for another target.
GIVEN = $(if $(filter command environment,$(origin FILES)),--files "$(FILES)") \
        $(if $(STDIN),--stdin "$(STDIN)") $(if $(CWD),--cwd "$(CWD)") $(ENV:%=--env "%")

trace: $(IMAGE) $(OUT)/wtr $(OUT)/loadable
	@test -n "$(PROG)" || { echo 'usage: make trace PROG=path/to/elf ARGS="..."' >&2; exit 2; }
	$(PYTHON) harness/trace_run.py --image $(IMAGE) --out $(OUT) $(GIVEN) $(TRACE) "$(PROG)" \
	    -- $(ARGS)

$(OUT)/loadable: harness/host/loadable.c guest/elf.c guest/elf.h | $(DEPS_FIRST)
	$(call say,HOSTCC,$@)$(CC) -std=gnu11 -O1 -Wall -Wextra -Werror -I. -DWAYMARK_HOST -o $@ \
	    $(filter %.c,$^)

EVENT  ?= instructions
PERIOD ?= 10007
profile: $(IMAGE) $(OUT)/wtr $(OUT)/loadable
	@test -n "$(PROG)" || { echo 'usage: make profile PROG=path/to/elf ARGS="..."' \
	    'EVENT=instructions|branches PERIOD=N' >&2; exit 2; }
	$(PYTHON) harness/profile_run.py --image $(IMAGE) --out $(OUT) --event $(EVENT) \
	    --period $(PERIOD) $(GIVEN) $(PROFILE) "$(PROG)" -- $(ARGS)

gdb: $(IMAGE) $(OUT)/loadable
	@test -n "$(PROG)" || { echo 'usage: make gdb PROG=path/to/elf ARGS="..."' >&2; exit 2; }
	$(PYTHON) harness/gdb_run.py --image $(IMAGE) --out $(OUT) $(GIVEN) $(GDB) "$(PROG)" -- \
	    $(ARGS)

# Something else on the model, which stays below it.
CPUS ?= 1
UNDER_OPTIONS = --image $(IMAGE) --out $(OUT) --cpus $(CPUS) $(FILES:%=--file %)
under: $(IMAGE)
	@test -n "$(EFI)" || { echo 'usage: make under EFI=file.efi ARGS="..." FILES="..."' >&2; \
	    exit 2; }
	$(PYTHON) harness/under.py $(UNDER_OPTIONS) $(UNDER) "$(EFI)" -- $(ARGS)

# RUN may hold quotes and dollars: the shell takes it from the environment, as it is.
linux: $(IMAGE)
	$(PYTHON) harness/linux.py $(UNDER_OPTIONS) $(if $(KERNEL),--kernel "$(KERNEL)") $(UNDER) \
	    $(if $(value RUN),--run "$$RUN")
linux: override export RUN := $(value RUN)

# Programs, their branches and what readers should make of them, for other people's tests.
vectors: $(OUT)/wtr $(OUT)/host/record_ptrace
	$(PYTHON) harness/vectors/vectors.py --build $(OUT) $(OUT)/vectors

debug: $(IMAGE)
	$(SUITE) --debug -- $(ARGS)

bench: $(IMAGE)
	$(PYTHON) harness/dev/bench.py --image $(IMAGE) --out $(OUT) --accel $(ACCEL) -- $(ARGS)

defects policies: $(IMAGE)
	$(PYTHON) harness/dev/trial.py --what $@ --image $(IMAGE) --out $(OUT) \
	    --accel $(ACCEL) -- $(ARGS)

# The mutants are built and run in $(OUT)/mutants, from a copy of the sources.
SEED  ?= 1
N     ?= 20
mutants: FILES ?= model
mutants: $(IMAGE)
	$(PYTHON) harness/dev/mutants.py --out $(OUT) --files $(FILES) --seed $(SEED) --count $(N) \
	    -- $(ARGS)

fuzz: $(IMAGE)
	$(PYTHON) harness/dev/fuzz.py --image $(IMAGE) --out $(OUT) --accel $(ACCEL) -- $(ARGS)

# --- for a real machine

DISK   = $(OUT)/waymark.img
SIGNED = $(OUT)/signed

image: $(DISK)
$(DISK): $(IMAGE) harness/host/disk.py
	$(PYTHON) harness/host/disk.py $(IMAGE) $@

# With a key of your own, whose certificate the machine's firmware has in db.
sign: $(IMAGE)
	@test -n "$(KEY)" -a -n "$(CERT)" || \
	    { echo 'usage: make sign KEY=db.key CERT=db.pem' >&2; exit 2; }
	@mkdir -p $(SIGNED)
	sbsign --key $(KEY) --cert $(CERT) --output $(SIGNED)/BOOTX64.EFI $(IMAGE)
	sbverify --cert $(CERT) $(SIGNED)/BOOTX64.EFI
	$(PYTHON) harness/host/disk.py $(SIGNED)/BOOTX64.EFI $(SIGNED)/waymark.img

# What is checked is built with all processors, also where make was not given -j: goals that
# stand beside check, such as clean, must still come one after the other.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
check check-all: | $(DEPS_FIRST)
	+@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS)) checked
	$(PYTHON) harness/dev/check.py --out $(OUT) $(if $(filter check-all,$@),--all) \
	    $(if $(ONLY),--only "$(ONLY)")
checked: $(IMAGE) host-tests wtr examples $(OUT)/loadable

# The pages that are made from the image's own tables.
docs: host-tests wtr
	$(PYTHON) harness/dev/docs.py --out $(OUT) --write

$(OUT)/checks.txt: $(OUT)/host/facts $(OUT)/waymark.elf
	$(call say,LIST,$@)$(OUT)/host/facts checks $(OUT)/waymark.elf >$@

# --- unit tests on the host, under the sanitizers

HOST_CFLAGS = -std=gnu11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
              -Wall -Wextra -Werror -I. -DWAYMARK_HOST

include harness/tests/tests.mk
include harness/wtr/wtr.mk
include guest/runtime/runtime.mk
host-tests: $(HOST_TESTS:%=$(OUT)/host/%)

# A source is compiled once for all tests, and once more for each that has flags of its own.
host_dir  = $(OUT)/host.obj$(if $($(1)_CFLAGS),/$(1))
host_objs = $(foreach src,$($(1)_SRCS),$(if $(filter %.c %.S,$(src)),\
            $(call host_dir,$(1))/$(basename $(src)).o,$(src)))

define host_compile
$(1)/%.o: %$(2) Makefile harness/tests/tests.mk | $(DEPS_FIRST)
	@mkdir -p $$(@D)
	$$(call say,HOSTCC,$$<)$$(CC) $$(HOST_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
endef

define host_test
$(OUT)/host/$(1): $(call host_objs,$(1)) Makefile harness/tests/tests.mk | $(DEPS_FIRST)
	@mkdir -p $$(@D)
	$$(call say,HOSTLD,$(1))$$(CC) $$(HOST_CFLAGS) $$($(1)_CFLAGS) -o $$@ \
	    $(call host_objs,$(1)) $$($(1)_LIBS)
-include $(patsubst %.o,%.d,$(filter $(OUT)/host.obj/%,$(call host_objs,$(1))))
endef
$(eval $(call host_compile,$(OUT)/host.obj,.c))
$(foreach test,$(HOST_TESTS),$(if $($(test)_CFLAGS),$(foreach kind,.c .S,\
    $(eval $(call host_compile,$(call host_dir,$(test)),$(kind),$($(test)_CFLAGS))))))
$(foreach test,$(HOST_TESTS),$(eval $(call host_test,$(test))))

# Also from where nothing was ever built: a mistyped OUT= must not remove a stranger's folder.
clean:
	@test ! -e $(OUT) -o -d $(OUT)/obj -o -d $(OUT)/host -o -d $(OUT)/wtr.obj -o -d $(OUT)/gen || \
	    { echo 'clean: nothing was built in $(OUT); remove it yourself' >&2; exit 2; }
	rm -rf $(OUT)

help:
	@echo 'make              the image, at $(IMAGE)'
	@echo 'make deps         install what is missing: everything, or for the goals beside it'
	@echo 'make run-qemu     boot it once; ARGS="run=bts.cpl.* cpus=2" ACCEL=tcg|auto|kvm'
	@echo 'make program      SRC=file.c: compile a program to be traced, to $(OUT)/programs'
	@echo 'make trace        PROG=path/to/elf ARGS="...": trace it, to $(OUT)/trace.wtr'
	@echo 'make profile      PROG=path/to/elf: sample it; EVENT=instructions|branches PERIOD=N'
	@echo 'make gdb          PROG=path/to/elf ARGS="...": debug it with GDB, its branches recorded'
	@echo 'make under        EFI=file.efi ARGS="..." FILES="...": start it on the resident model'
	@echo 'make linux        Linux on it, a shell; RUN="words" FILES="prog ..." CPUS=N KERNEL=path'
	@echo 'make image        a disk for a USB stick, at $(DISK)'
	@echo 'make sign         the same, signed for Secure Boot: KEY=db.key CERT=db.pem'
	@echo 'make debug        the same as run-qemu, waiting for GDB'
	@echo 'make defects      break the model in every way it knows: the suite must notice each'
	@echo 'make policies     every open question answered otherwise: the suite must name it'
	@echo 'make mutants      mechanical mistakes in FILES=model or ds, seen or not: SEED=1 N=20'
	@echo 'make fuzz         generated programs, a million records and more; ARGS="seed=5"'
	@echo 'make bench        speed figures, as ratios of one run'
	@echo 'make wtr          the host tool for traces, at $(OUT)/wtr'
	@echo 'make vectors      traces with expected readings, for debuggers and decoders'
	@echo 'make check        the suite, its unit tests and its failures on purpose; ONLY=PATTERNS'
	@echo 'make check-all    the same with everything that takes long, for nights'
	@echo 'make docs         the pages of docs/ that are made from source'
	@echo 'make clean        remove $(OUT)'

FORCE:
.PHONY: all deps run-qemu image sign debug bench defects policies fuzz check check-all checked
.PHONY: wtr host-tests trace profile gdb under linux vectors mutants docs clean help FORCE
.DELETE_ON_ERROR:
