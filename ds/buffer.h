/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules about addresses and pages that the buffers of both halves obey. */
#ifndef DS_BUFFER_H
#define DS_BUFFER_H

#include "ds/layout.h"
#include "ds/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ds_buffer {
    uint64_t base;
    size_t bytes;
    size_t record_bytes;
    const uint64_t *tables; /* further CR3 values that will be in force: they must map area */
    size_t table_count;     /* and buffer to the same frames; the present one is always seen */
};

/* Is it there, and aligned? */
enum ds_refusal buffer_area(const struct ds_area *area);
/* Where area and buffer lie, without looking at a page table. */
enum ds_refusal buffer_place(const struct ds_area *area, const struct ds_buffer *buffer);
/* Pages of both under every CR3. Makes them accessed and dirty under the present one. */
enum ds_refusal buffer_pages(const struct ds_area *area, const struct ds_buffer *buffer);
/* Whether all that still holds. Changes nothing, so it may be asked in an NMI. */
bool buffer_holds(const struct ds_area *area, const struct ds_buffer *buffer);
/* Whether the buffer shares a byte with the other half's, which may be empty or nonsense. */
bool buffer_shared(uint64_t base, uint64_t maximum, const struct ds_buffer *buffer);

#endif
