/* SPDX-License-Identifier: BSD-2-Clause */
/* Codes that hw_unwind carries from inside a check to the suite. */
#ifndef HARNESS_CHECK_UNWIND_H
#define HARNESS_CHECK_UNWIND_H

enum {
    UNWIND_STOP = 1, /* the check ended itself */
    UNWIND_TRAP      /* an exception nobody expected */
};

#endif
