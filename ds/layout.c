/* SPDX-License-Identifier: BSD-2-Clause */
/* The two Debug Store layouts as data, and access to their fields by width. */
#include "ds/layout.h"

#include "hw/string.h"

const struct ds_layout ds_layout_64 = {
    .name = "64-bit",
    .field_bytes = sizeof(uint64_t),
    .record_bytes = sizeof(struct bts_record),
    .reset_offset = offsetof(struct ds_area, pebs_reset),
};

const struct ds_layout ds_layout_32 = {
    .name = "32-bit",
    .field_bytes = sizeof(uint32_t),
    .record_bytes = sizeof(struct bts_record32),
    .reset_offset = offsetof(struct ds_area32, pebs_reset),
};

/* Little-endian, and at any alignment: a buffer base need only be a doubleword address. */
static uint64_t word_get(const struct ds_layout *layout, const void *raw, unsigned word)
{
    uint64_t value = 0;

    memcpy(&value, (const uint8_t *)raw + word * layout->field_bytes, layout->field_bytes);
    return value;
}

static void word_put(const struct ds_layout *layout, void *raw, unsigned word, uint64_t value)
{
    memcpy((uint8_t *)raw + word * layout->field_bytes, &value, layout->field_bytes);
}

uint64_t ds_layout_get(const struct ds_layout *layout, const void *area, enum ds_field field)
{
    return word_get(layout, area, field);
}

void ds_layout_put(const struct ds_layout *layout, void *area, enum ds_field field,
                   uint64_t value)
{
    word_put(layout, area, field, value);
}

struct bts_record ds_layout_record_get(const struct ds_layout *layout, const void *raw)
{
    return (struct bts_record){
        .from = word_get(layout, raw, 0),
        .to = word_get(layout, raw, 1),
        .flags = word_get(layout, raw, 2),
    };
}
