/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks that a linked image holds, read from its file on the host. */
#ifndef HARNESS_DEV_ELF_CHECKS_H
#define HARNESS_DEV_ELF_CHECKS_H

#include "harness/check/check.h"

/*
 * At most `room` of the checks in out/waymark.elf, in the linker's order; the memory is kept to
 * the end of the process. 0, with a line that says why, when the file has none.
 */
size_t elf_checks(const char *path, const struct check **checks, size_t room);

#endif
