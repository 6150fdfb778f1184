/* SPDX-License-Identifier: BSD-2-Clause */
/* under=: another EFI program, such as an operating system's loader, on top of the model. */
#ifndef BOOT_UNDER_H
#define BOOT_UNDER_H

#include "boot/firmware.h"

#include "harness/options/options.h"

/*
 * Firmware mode. Loads the program, enters the model and starts the program as its guest. It
 * returns when the program cannot be started or has ended, with one line that says so, what
 * firmware should be told, and the machine as it was; with an operating system it never does.
 */
EFI_STATUS under_go(const struct options *options);

#endif
