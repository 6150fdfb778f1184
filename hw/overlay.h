/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring-3 pages anywhere in the lower half of one address space, also where the other spaces
 * have the identity map: the tables on the way are copied, and large pages of the identity map
 * are cut into 4 KiB ones. What the kernel itself needs must not be covered.
 * Source: SDM Vol. 3, "4-Level Paging and 5-Level Paging".
 */
#ifndef HW_OVERLAY_H
#define HW_OVERLAY_H

#include "hw/paging.h"

/*
 * Maps one page of a space that is not the kernel's; PAGE_USER is understood. False when
 * linear lies in the upper half or the page pool is empty.
 */
bool overlay_map(struct address_space *space, uint64_t linear, uint64_t phys, unsigned flags);
/* The same for the last page of the address space. */
#define OVERLAY_LAST_PAGE (0 - PAGE_BYTES)
bool overlay_map_last(struct address_space *space, uint64_t phys, unsigned flags);
bool overlay_unmap(struct address_space *space, uint64_t linear);

/*
 * The frame that overlay_map put there, also when its flags lack PAGE_PRESENT, NULL when it put
 * none: what lies under it in the identity map is nobody's page. *flags are those of the page.
 */
void *overlay_page(const struct address_space *space, uint64_t linear, unsigned *flags);
/*
 * The first page at or behind linear that has one; end when there is none before. Skips what
 * has no tables of its own, so that the size of a hole does not matter.
 */
uint64_t overlay_next(const struct address_space *space, uint64_t linear, uint64_t end);

/* Gives the copied tables back, not the pages that they map. CR3 must be another's. */
void overlay_free(struct address_space *space);

#endif
