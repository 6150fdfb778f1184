/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What processors are known to do against, or beyond, the manual, by signature: one table. The
 * whole list, with what does not concern the suite, is docs/quirks.md.
 */
#ifndef HW_QUIRK_H
#define HW_QUIRK_H

#include <stdint.h>

enum quirk {
    QUIRK_NO_PEBS = 1 << 0,         /* enumerated, and not to be used */
    QUIRK_PEBS_ONE_PAGE = 1 << 1,   /* a longer buffer hangs it when the counters are enabled */
    QUIRK_PEBS_FIRST_ONLY = 1 << 2, /* general counter 0 alone can sample */
};

/* Of a processor by its vendor's name and EAX of CPUID leaf 1; 0 of another vendor's. */
unsigned quirks_of(const char *vendor, uint32_t signature);
/* Where each comes from: title of the source. NULL: the table has none. */
const char *quirk_source(const char *vendor, uint32_t signature);

/*
 * Of this processor. 0 where a hypervisor announces itself: it may give the signature of an old
 * processor to something new, and the machine is its own to lose.
 */
unsigned cpu_quirks(void);

#endif
