/* SPDX-License-Identifier: BSD-2-Clause */
/* The newest branches of this processor, for the report of a fault that nobody expected. */
#ifndef HARNESS_SUITE_LAST_BRANCHES_H
#define HARNESS_SUITE_LAST_BRANCHES_H

#include <stddef.h>

#define LAST_BRANCHES 32u

/*
 * Stops whatever this processor traces and prints its newest records, newest first, with their
 * labels: `# last N: from label to label`. Takes no lock and believes no pointer that it has
 * not looked up in the page tables; for handlers of any fault, an NMI included. Returns how
 * many were printed: 0 when nothing was traced.
 */
size_t last_branches(void);

#endif
