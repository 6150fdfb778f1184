/* SPDX-License-Identifier: BSD-2-Clause */
/* The one file that is rebuilt when the version changes. */
#include "harness/suite/version.h"

#ifndef WAYMARK_VERSION
#define WAYMARK_VERSION "unknown"
#endif

const char waymark_version[] = WAYMARK_VERSION;
