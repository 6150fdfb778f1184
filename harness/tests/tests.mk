# SPDX-License-Identifier: BSD-2-Clause
# Host unit tests: name and sources of each. The rule is in the top Makefile.

HOST_TESTS :=

# Where the sources of the tests lie.
UNIT  := harness/tests/unit
FAKES := harness/tests/fakes

HOST_TESTS += test_decode
test_decode_SRCS = $(UNIT)/test_decode.c harness/oracle/decode.c harness/oracle/branch.c

HOST_TESTS += test_branch fuzz_decode
test_branch_SRCS = $(UNIT)/test_branch.c harness/oracle/decode.c harness/oracle/branch.c
fuzz_decode_SRCS = $(UNIT)/fuzz_decode.c harness/oracle/decode.c
fuzz_decode_CFLAGS = -DFUZZ_MAIN

HOST_TESTS += test_model_decode
test_model_decode_SRCS := $(UNIT)/test_model_decode.c hw/model/processor/decode.c \
    hw/model/processor/opcodes.c

# ds/ on a fake processor
DS_SRCS := $(wildcard ds/*.c)
FAKE_SRCS := $(FAKES)/fake_regs.c $(FAKES)/fake_pebs.c hw/pmc.c
HOST_TESTS += test_ds_layout test_ds_broker test_ds_setup test_ds_bts test_ds_pmi \
    test_ds_probe
test_ds_layout_SRCS := $(UNIT)/test_ds_layout.c ds/layout.c ds/error.c \
    ds/refusal.c
test_ds_broker_SRCS := $(UNIT)/test_ds_broker.c $(FAKE_SRCS) $(DS_SRCS)
test_ds_bts_SRCS := $(UNIT)/test_ds_bts.c $(FAKE_SRCS) $(DS_SRCS)
test_ds_setup_SRCS := $(UNIT)/test_ds_setup.c $(FAKE_SRCS) $(DS_SRCS)

HOST_TESTS += test_ds_interface
test_ds_interface_SRCS := $(UNIT)/test_ds_interface.c $(FAKE_SRCS) $(DS_SRCS)
HOST_TESTS += test_ds_records
test_ds_records_SRCS := $(UNIT)/test_ds_records.c $(FAKE_SRCS) $(DS_SRCS)

HOST_TESTS += test_compare test_connect
test_compare_SRCS = $(UNIT)/test_compare.c harness/oracle/compare.c harness/oracle/crossing.c
test_connect_SRCS = $(UNIT)/test_connect.c harness/oracle/connect.c harness/oracle/decode.c
test_ds_pmi_SRCS := $(UNIT)/test_ds_pmi.c $(FAKE_SRCS) $(DS_SRCS)
test_ds_probe_SRCS := $(UNIT)/test_ds_probe.c $(FAKE_SRCS) $(DS_SRCS)
# Without sanitizers: it steps through the code one instruction at a time, in quadratic time.
HOST_TESTS += test_ds_nmi
test_ds_nmi_SRCS := $(UNIT)/test_ds_nmi.c $(FAKE_SRCS) $(DS_SRCS)
test_ds_nmi_CFLAGS := -O2 -fno-sanitize=all -D_GNU_SOURCE

# guest/: its tables, and its workloads stepped on this processor
GUEST_HOST_SRCS := guest/edge.c guest/workload.c harness/oracle/decode.c \
    harness/oracle/branch.c $(OUT)/obj/guest/workloads.asm.o
GUEST_HOST_LIBS := -Wl,-T,$(FAKES)/guest_host.ld
HOST_TESTS += test_guest_tables test_guest_steps
test_guest_tables_SRCS := $(UNIT)/test_guest_tables.c $(GUEST_HOST_SRCS)
test_guest_tables_LIBS := $(GUEST_HOST_LIBS)
test_guest_steps_SRCS := $(UNIT)/test_guest_steps.c $(GUEST_HOST_SRCS)
test_guest_steps_LIBS := $(GUEST_HOST_LIBS)
HOST_TESTS += test_generate
test_generate_SRCS := $(UNIT)/test_generate.c $(wildcard harness/fuzz/generate*.c) \
    $(GUEST_HOST_SRCS)
test_generate_LIBS := $(GUEST_HOST_LIBS)
HOST_TESTS += test_fuzz_shrink
test_fuzz_shrink_SRCS := $(UNIT)/test_fuzz_shrink.c harness/fuzz/fuzz_shrink.c

HOST_TESTS += test_hw_pmc
test_hw_pmc_SRCS = $(UNIT)/test_hw_pmc.c hw/pmc.c hw/quirk.c

HOST_TESTS += test_hw_paging
test_hw_paging_SRCS = $(UNIT)/test_hw_paging.c hw/paging.c
# The assembly of the image itself; plain code, for exact branches and handlers that may print.
HOST_TESTS += test_ds_bracket
test_ds_bracket_SRCS := $(UNIT)/test_ds_bracket.c
test_ds_bracket_CFLAGS := -fno-sanitize=all -D_GNU_SOURCE
test_ds_bracket_LIBS := $(OUT)/obj/ds/bracket.asm.o
$(OUT)/host/test_ds_bracket: $(OUT)/obj/ds/bracket.asm.o

# -no-pie: addresses at run time are those of objdump's listing.
HOST_TESTS += test_oracle_host
test_oracle_host_SRCS = $(UNIT)/test_oracle_host.c $(UNIT)/oracle_snippets.S \
    harness/oracle/step.c harness/oracle/decode.c harness/oracle/branch.c
test_oracle_host_CFLAGS = -no-pie -fno-pie

HOST_TESTS += test_format
test_format_SRCS = $(UNIT)/test_format.c harness/check/format.c

HOST_TESTS += test_options
OPTIONS_SRCS := $(wildcard harness/options/*.c) harness/check/format.c
test_options_SRCS = $(UNIT)/test_options.c $(OPTIONS_SRCS)
HOST_TESTS += test_ds_range
test_ds_range_SRCS := $(UNIT)/test_ds_range.c $(FAKE_SRCS) ds/range.c ds/layout.c

HOST_TESTS += test_net_text
test_net_text_SRCS := $(UNIT)/test_net_text.c boot/net_text.c

HOST_TESTS += test_model_refusal
test_model_refusal_SRCS := $(UNIT)/test_model_refusal.c hw/model/processor/refusal.c

HOST_TESTS += test_load_options
test_load_options_SRCS := $(UNIT)/test_load_options.c boot/load_options.c

HOST_TESTS += test_model_simple
test_model_simple_SRCS := $(UNIT)/test_model_simple.c $(addprefix \
    hw/model/,emulate/simple.c emulate/alu.c emulate/operand.c processor/walk.c \
    processor/watch.c processor/state.c processor/decode.c processor/opcodes.c \
    trial/policy.c trial/defect.c)
HOST_TESTS += test_ds_pool
test_ds_pool_SRCS := $(UNIT)/test_ds_pool.c $(FAKE_SRCS) ds/pool.c

# wtr: a recorder that single-steps, for its ground truth
HOST_TESTS += record_ptrace
record_ptrace_SRCS = harness/tests/traced/record_ptrace.c

HOST_TESTS += test_model_store
test_model_store_SRCS := $(UNIT)/test_model_store.c $(addprefix \
    hw/model/,bts/record.c \
    bts/record_filter.c bts/delayed_store.c bts/dropped_records.c host/msr.c \
    bts/branch_stack.c perfmon/perfmon.c perfmon/count.c perfmon/pebs.c \
    perfmon/pebs_groups.c \
    processor/decode.c processor/opcodes.c processor/walk.c processor/watch.c \
    processor/state.c trial/config.c trial/policy.c trial/defect.c)
HOST_TESTS += test_model_lbr
test_model_lbr_SRCS := $(UNIT)/test_model_lbr.c $(filter-out \
    %/test_model_store.c,$(test_model_store_SRCS))
HOST_TESTS += test_model_count
test_model_count_SRCS := $(UNIT)/test_model_count.c $(filter-out \
    %/test_model_store.c,$(test_model_store_SRCS))
HOST_TESTS += test_ds_session test_ds_session_use test_ds_switch
test_ds_session_SRCS := $(UNIT)/test_ds_session.c $(FAKE_SRCS) $(DS_SRCS)
test_ds_session_use_SRCS := $(UNIT)/test_ds_session_use.c $(FAKE_SRCS) $(DS_SRCS)
test_ds_switch_SRCS := $(UNIT)/test_ds_switch.c $(FAKE_SRCS) $(DS_SRCS)
# Random bytes; for the coverage-guided run see the file's head.
HOST_TESTS += test_ds_fuzz
test_ds_fuzz_SRCS := $(UNIT)/fuzz_ds_session.c $(FAKE_SRCS) $(DS_SRCS)

HOST_TESTS += test_model_legacy
test_model_legacy_SRCS = $(UNIT)/test_model_legacy.c $(filter-out \
    %/test_model_events.c,$(test_model_events_SRCS))
HOST_TESTS += test_model_events
test_model_events_SRCS := $(UNIT)/test_model_events.c $(addprefix \
    hw/model/,emulate/deliver.c emulate/emulate.c emulate/far.c \
    emulate/far_return.c emulate/task.c \
    emulate/syscall.c emulate/system.c emulate/operand.c processor/segment.c \
    processor/state.c processor/walk.c processor/watch.c processor/decode.c \
    processor/opcodes.c trial/config.c trial/policy.c trial/defect.c perfmon/perfmon.c \
    perfmon/count.c perfmon/pebs.c perfmon/pebs_groups.c bts/branch_stack.c)
WTR_PARTS := $(filter-out %/main.c %/space_files.c,$(wildcard harness/wtr/*/*.c)) \
    harness/oracle/decode.c
HOST_TESTS += test_wtr_format test_wtr_fuzz test_wtr_fuzz_elf
test_wtr_format_SRCS = $(UNIT)/test_wtr_format.c harness/wtr/core/trace.c \
    harness/wtr/core/records.c harness/wtr/core/util.c
test_wtr_fuzz_SRCS = $(UNIT)/fuzz_wtr_trace.c $(WTR_PARTS)
test_wtr_fuzz_CFLAGS = -DFUZZ_MAIN
test_wtr_fuzz_LIBS = -ldw -lelf
test_wtr_fuzz_elf_SRCS = $(UNIT)/fuzz_wtr_elf.c $(addprefix harness/wtr/, core/program.c \
    core/symbols.c core/lines.c core/sweep.c core/util.c) harness/oracle/decode.c
test_wtr_fuzz_elf_CFLAGS = -DFUZZ_MAIN
test_wtr_fuzz_elf_LIBS = -ldw -lelf
# The program that is traced, and that the spoilt traces run through.
HOST_TESTS += traced_mix
traced_mix_SRCS = harness/tests/traced/traced_mix.c
traced_mix_CFLAGS = -fno-sanitize=all -static -nostdlib -fno-stack-protector \
    -fcf-protection=none
$(OUT)/host/test_wtr_fuzz $(OUT)/host/test_wtr_fuzz_elf: $(OUT)/host/traced_mix
# Its text is taken in by the assembler, unseen by the compiler.
$(OUT)/host.obj/test_wtr_fuzz/harness/wtr/view/assets.o: $(wildcard harness/wtr/view/view*)

HOST_TESTS += test_journal
test_journal_SRCS := $(UNIT)/test_journal.c harness/suite/journal.c harness/check/format.c \
    harness/check/verdict.c

# The GDB server: its packets on a program that is none, and over TCP on one under ptrace.
GDB_SRCS := $(addprefix harness/gdb/, packet.c line.c text.c btrace.c btrace_symbols.c \
    registers.c describe.c breakpoint.c commands.c resume.c query.c documents.c files.c host.c)
HOST_TESTS += test_gdb test_gdb_session test_gdb_trace test_gdb_fuzz gdb_host traced_gdb
test_gdb_SRCS := $(UNIT)/test_gdb.c $(GDB_SRCS)
test_gdb_session_SRCS := $(UNIT)/test_gdb_session.c $(GDB_SRCS)
test_gdb_trace_SRCS := $(UNIT)/test_gdb_trace.c $(GDB_SRCS)
test_gdb_fuzz_SRCS := $(UNIT)/fuzz_gdb.c $(GDB_SRCS)
test_gdb_fuzz_CFLAGS := -DFUZZ_MAIN
gdb_host_SRCS := $(FAKES)/gdb_host.c $(GDB_SRCS) harness/oracle/decode.c \
    harness/oracle/branch.c
traced_gdb_SRCS := harness/tests/traced/traced_gdb.c
traced_gdb_CFLAGS := -fno-sanitize=all -static -nostdlib -fno-stack-protector \
    -fcf-protection=none

HOST_TESTS += test_lzma
test_lzma_SRCS = $(UNIT)/test_lzma.c boot/loader/lzma.c

# guest/: the loader of programs
HOST_TESTS += test_elf test_elf_fuzz test_mappings test_files
test_mappings_SRCS := $(UNIT)/test_mappings.c guest/mappings.c
test_files_SRCS := $(UNIT)/test_files.c $(addprefix guest/,files_content.c files_tree.c \
    files_tar.c)
test_elf_SRCS := $(UNIT)/test_elf.c guest/elf.c
test_elf_fuzz_SRCS := $(UNIT)/fuzz_elf.c guest/elf.c
test_elf_fuzz_CFLAGS := -DFUZZ_MAIN

HOST_TESTS += test_repeat test_core
test_core_SRCS := $(UNIT)/test_core.c hw/core.c
test_repeat_SRCS := $(UNIT)/test_repeat.c harness/suite/repeat.c
HOST_TESTS += test_ds_pebs
test_ds_pebs_SRCS := $(UNIT)/test_ds_pebs.c $(FAKE_SRCS) $(DS_SRCS)
HOST_TESTS += test_ds_pmi_mixed
test_ds_pmi_mixed_SRCS := $(UNIT)/test_ds_pmi_mixed.c $(FAKE_SRCS) $(DS_SRCS)
HOST_TESTS += test_ds_session_pebs
test_ds_session_pebs_SRCS := $(UNIT)/test_ds_session_pebs.c $(FAKE_SRCS) $(DS_SRCS)

HOST_TESTS += test_madt
test_madt_SRCS := $(UNIT)/test_madt.c boot/madt.c

# No test: prints what the image declares, for docs/ and for scripts.
HOST_TESTS += facts
facts_SRCS := $(addprefix harness/dev/,facts.c check_rules.c elf_checks.c) $(OPTIONS_SRCS) \
    harness/check/check.c

HOST_TESTS += test_check_rules
test_check_rules_SRCS := $(UNIT)/test_check_rules.c harness/dev/check_rules.c

# No test: prints a page of docs/ from the model's tables.
HOST_TESTS += trials_page
trials_page_SRCS := harness/dev/trials_page.c $(addprefix hw/model/trial/,defect.c policy.c)
