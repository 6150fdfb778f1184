# SPDX-License-Identifier: BSD-2-Clause
# wtr, the host's tool for traces. Included by the top Makefile.

WTR_CFLAGS = -std=gnu11 -g -O2 -Wall -Wextra -Werror -I. -DWAYMARK_HOST
WTR_SRCS  := $(wildcard harness/wtr/*/*.c) harness/oracle/decode.c
WTR_OBJS  := $(WTR_SRCS:%.c=$(OUT)/wtr.obj/%.o)

wtr: $(OUT)/wtr

$(OUT)/wtr: $(WTR_OBJS)
	$(call say,LINK,$@)$(CC) $(WTR_CFLAGS) -o $@ $(WTR_OBJS) -ldw -lelf

$(OUT)/wtr.obj/%.o: %.c harness/wtr/wtr.mk | $(DEPS_FIRST)
	@mkdir -p $(@D)
	$(call say,HOSTCC,$<)$(CC) $(WTR_CFLAGS) -MMD -MP -c -o $@ $<

# Its text is taken in by the assembler, unseen by the compiler.
$(OUT)/wtr.obj/harness/wtr/view/assets.o: $(wildcard harness/wtr/view/view*)

-include $(WTR_OBJS:.o=.d)
