/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of the journal: what a run has done so far, kept where a reset does not reach it.
 * Lines: the header, then `run ID` for each boot, `step NAME` before a check, `observe
 * NAME=VALUE`, and `VERDICT NAME [REASON]` behind it; empty lines say nothing. Appended to, but
 * for the step under way in later passes of a soak, so that a torn write costs the last line
 * alone. Pure text; tested on the host.
 */
#ifndef HARNESS_SUITE_JOURNAL_H
#define HARNESS_SUITE_JOURNAL_H

#include "harness/check/verdict.h"
#include "harness/options/options.h"

#include <stddef.h>
#include <stdint.h>

/* Boots that may go on with one run; a machine that still does not get through is given up. */
#define JOURNAL_RESUMES_MAX 3

/*
 * The first line, without its end. Two runs with the same header have the same plan and may go
 * on with one another; selftest= is left out, because it is how resuming is tested.
 */
size_t journal_header(char *to, size_t bytes, const char *version, const char *machine,
                      size_t planned, const struct options *options);

/* One line with its end, for a result; its reason is cut where it would break the line. */
size_t journal_result(char *to, size_t bytes, const char *name, enum verdict verdict,
                      const char *reason);

/* Who takes what a journal says; names are terminated and at most 63 bytes. */
struct journal_reader {
    void (*result)(const char *name, enum verdict verdict, const char *reason);
    void (*observe)(const char *name, const char *value);
};

struct journal_end {
    bool usable;    /* the header is the expected one */
    unsigned boots; /* that took part so far */
    char stuck[64]; /* the check that began and has no result; may be empty */
};

/* Reads up to the first line that is torn or not understood; what lies behind it is lost. */
struct journal_end journal_read(const char *text, size_t bytes, const char *header,
                                const struct journal_reader *reader);

#endif
