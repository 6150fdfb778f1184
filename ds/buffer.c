/* SPDX-License-Identifier: BSD-2-Clause */
/* Examination of an area and a buffer, for either half. */
#include "ds/buffer.h"

#include "ds/range.h"
#include "hw/paging.h"

static enum ds_refusal refuse(enum ds_refusal first, enum range_fault fault)
{
    return fault == RANGE_GOOD ? DS_REFUSED_NONE : first + (fault - RANGE_NOT_CANONICAL);
}

enum ds_refusal buffer_area(const struct ds_area *area)
{
    if (!area)
        return DS_REFUSED_NO_AREA;
    return (uintptr_t)area % sizeof(uint64_t) ? DS_REFUSED_AREA_ALIGNMENT : DS_REFUSED_NONE;
}

enum ds_refusal buffer_place(const struct ds_area *area, const struct ds_buffer *buffer)
{
    /* A threshold beyond the maximum is one record further: that address must exist too. */
    uint64_t reach = buffer->bytes + buffer->record_bytes, linear = (uintptr_t)area;
    enum ds_refusal refusal;

    if (reach < buffer->bytes)
        return DS_REFUSED_BUFFER_WRAPS;
    refusal = refuse(DS_REFUSED_AREA_NOT_CANONICAL,
                     range_place(&ds_layout_64, linear, sizeof(*area)));
    if (refusal == DS_REFUSED_NONE)
        refusal = refuse(DS_REFUSED_BUFFER_NOT_CANONICAL,
                         range_place(&ds_layout_64, buffer->base, reach));
    if (refusal == DS_REFUSED_NONE &&
        range_overlap(linear, sizeof(*area), buffer->base, buffer->bytes))
        refusal = DS_REFUSED_OVERLAP;
    return refusal;
}

/* Under one set of tables. */
static enum ds_refusal examine_tables(uint64_t cr3, uint64_t area,
                                      const struct ds_buffer *buffer, bool want_dirty)
{
    enum ds_refusal refusal =
        refuse(DS_REFUSED_AREA_NOT_CANONICAL,
               range_pages(cr3, area, sizeof(struct ds_area), want_dirty));

    if (refusal == DS_REFUSED_NONE)
        refusal = refuse(DS_REFUSED_BUFFER_NOT_CANONICAL,
                         range_pages(cr3, buffer->base, buffer->bytes, want_dirty));
    if (refusal == DS_REFUSED_NONE &&
        !range_same_frames(cr3, paging_current(), area, sizeof(struct ds_area)))
        refusal = DS_REFUSED_AREA_ELSEWHERE;
    if (refusal == DS_REFUSED_NONE &&
        !range_same_frames(cr3, paging_current(), buffer->base, buffer->bytes))
        refusal = DS_REFUSED_BUFFER_ELSEWHERE;
    return refusal;
}

/* Only the present CR3's dirty bits can be set from here. */
enum ds_refusal buffer_pages(const struct ds_area *area, const struct ds_buffer *buffer)
{
    uint64_t linear = (uintptr_t)area;
    enum ds_refusal refusal = examine_tables(paging_current(), linear, buffer, false);

    for (size_t i = 0; refusal == DS_REFUSED_NONE && i < buffer->table_count; i++)
        refusal = examine_tables(buffer->tables[i], linear, buffer,
                                 buffer->tables[i] != paging_current());
    if (refusal != DS_REFUSED_NONE)
        return refusal;
    range_touch(linear, sizeof(*area));
    range_touch(buffer->base, buffer->bytes);
    return examine_tables(paging_current(), linear, buffer, true);
}

bool buffer_holds(const struct ds_area *area, const struct ds_buffer *buffer)
{
    uint64_t linear = (uintptr_t)area;
    enum ds_refusal refusal = examine_tables(paging_current(), linear, buffer, true);

    for (size_t i = 0; refusal == DS_REFUSED_NONE && i < buffer->table_count; i++)
        refusal = examine_tables(buffer->tables[i], linear, buffer, true);
    return refusal == DS_REFUSED_NONE;
}

bool buffer_shared(uint64_t base, uint64_t maximum, const struct ds_buffer *buffer)
{
    return base < maximum && range_overlap(base, maximum - base, buffer->base, buffer->bytes);
}
