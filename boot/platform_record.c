/* SPDX-License-Identifier: BSD-2-Clause */
/* The struct platform of this boot, and where its journal goes. */
#include "boot/platform_record.h"

struct platform platform_shared;

void platform_journal(bool (*append)(const char *text, size_t bytes),
                      bool (*over)(const char *text, size_t bytes))
{
    platform_shared.journal = append;
    platform_shared.journal_over = over;
}

void platform_journal_text(const char *text, size_t bytes)
{
    platform_shared.journal_text = text;
    platform_shared.journal_text_bytes = bytes;
}
