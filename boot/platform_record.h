/* SPDX-License-Identifier: BSD-2-Clause */
/* The struct platform that the suite is given; platform.c fills it in, the journal its part. */
#ifndef BOOT_PLATFORM_RECORD_H
#define BOOT_PLATFORM_RECORD_H

#include "harness/check/platform.h"

extern struct platform platform_shared;

/* Where the suite's journal goes, NULL for nowhere; and what an earlier boot left of one. */
void platform_journal(bool (*append)(const char *text, size_t bytes),
                      bool (*over)(const char *text, size_t bytes));
void platform_journal_text(const char *text, size_t bytes);

#endif
