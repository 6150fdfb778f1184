/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats of PEBS records as data, and one reader for all of them. */
#include "ds/pebs_format.h"

#include "hw/string.h"

/*
 * Fixed formats begin with flags, IP and the general registers in this order; what each later
 * format added lies behind.
 */
static const uint8_t fixed_order[PEBS_GPR_COUNT] = {
    PEBS_RAX, PEBS_RBX, PEBS_RCX, PEBS_RDX, PEBS_RSI, PEBS_RDI, PEBS_RBP, PEBS_RSP,
    8,        9,        10,       11,       12,       13,       14,       15,
};

/* The registers' group of an adaptive record has another order: that of the encodings. */
static const uint8_t group_order[PEBS_GPR_COUNT] = {
    PEBS_RAX, PEBS_RCX, PEBS_RDX, PEBS_RBX, PEBS_RSP, PEBS_RBP, PEBS_RSI, PEBS_RDI,
    8,        9,        10,       11,       12,       13,       14,       15,
};

#define FIXED(bits) .word_bytes = 8, .registers = 16, .record_bytes = (bits)

static const struct pebs_format formats[] = {
    {.code = 0, .name = "0", FIXED(0x90)},
    {.code = 1, .name = "1", FIXED(0xB0), .status = 0x90, .memory = 0x98},
    {.code = 2,
     .name = "2",
     FIXED(0xC0),
     .status = 0x90,
     .memory = 0x98,
     .eventing_ip = 0xB0,
     .tsx = 0xB8},
    {.code = 3,
     .name = "3",
     FIXED(0xC8),
     .applicable = 0x90,
     .memory = 0x98,
     .eventing_ip = 0xB0,
     .tsx = 0xB8,
     .tsc = 0xC0},
    {.code = 4, .name = "4 (adaptive)", .word_bytes = 8, .registers = 16},
};

static const struct pebs_format format_32 = {
    .code = 0, .name = "0, 32-bit", .word_bytes = 4, .registers = 8, .record_bytes = 0x28};

const struct pebs_format *pebs_format_find(const struct ds_layout *layout, unsigned code)
{
    if (layout->field_bytes == sizeof(uint32_t))
        return code == format_32.code ? &format_32 : NULL;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].code == code)
            return &formats[i];
    return NULL;
}

/* --- adaptive records */

/* The basic group, and what the others take. */
#define BASIC_BYTES   32u
#define BASIC_IP      0x08u
#define BASIC_COUNTER 0x10u
#define BASIC_TSC     0x18u
#define MEMORY_BYTES  32u
#define GPRS_BYTES    144u
#define XMMS_BYTES    256u
#define LBR_BYTES     24u
_Static_assert(sizeof(struct pebs_branch) == LBR_BYTES, "an entry");
_Static_assert(PEBS_XMM_COUNT * sizeof(struct pebs_xmm) == XMMS_BYTES, "the registers");

#define LBRS_SHIFT 24
#define LBRS_MASK  0xFFull
#define SIZE_SHIFT 48 /* of a record's first word: groups below, size from here on */

static size_t adaptive_bytes(uint64_t groups)
{
    size_t lbrs = (groups >> LBRS_SHIFT & LBRS_MASK) + 1;

    if (groups & ~PEBS_GROUPS)
        return 0;
    return BASIC_BYTES + (groups & PEBS_GROUP_MEMORY ? MEMORY_BYTES : 0) +
           (groups & PEBS_GROUP_GPRS ? GPRS_BYTES : 0) +
           (groups & PEBS_GROUP_XMMS ? XMMS_BYTES : 0) +
           (groups & PEBS_GROUP_LBRS ? lbrs * LBR_BYTES : 0);
}
_Static_assert(PEBS_RECORD_MOST ==
                   BASIC_BYTES + MEMORY_BYTES + GPRS_BYTES + XMMS_BYTES + 256 * LBR_BYTES,
               "every group");

size_t pebs_format_bytes(const struct pebs_format *format, uint64_t groups)
{
    return format->record_bytes ? format->record_bytes : adaptive_bytes(groups);
}

/* --- reading */

static uint64_t word_at(const struct pebs_format *format, const uint8_t *raw, size_t offset)
{
    uint64_t value = 0;

    memcpy(&value, raw + offset, format->word_bytes);
    return value;
}

/* Flags, IP and registers, which stand one behind the other in every format. */
static void read_registers(const struct pebs_format *format, const uint8_t *raw,
                           const uint8_t *order, struct pebs_sample *sample)
{
    sample->flags = word_at(format, raw, 0);
    sample->ip = word_at(format, raw, format->word_bytes);
    for (unsigned i = 0; i < format->registers; i++)
        sample->gprs[order[i]] = word_at(format, raw, (2 + i) * format->word_bytes);
    sample->valid |= PEBS_FLAGS | PEBS_IP | PEBS_GPRS;
}

/* Address, source (or auxiliary information) and latency. */
static void read_memory(const struct pebs_format *format, const uint8_t *raw,
                        struct pebs_sample *sample)
{
    sample->data_address = word_at(format, raw, 0x00);
    sample->data_source = word_at(format, raw, 0x08);
    sample->latency = word_at(format, raw, 0x10);
    sample->valid |= PEBS_MEMORY;
}

static void read_word(const struct pebs_format *format, const uint8_t *raw, unsigned offset,
                      enum pebs_field field, uint64_t *to, struct pebs_sample *sample)
{
    if (!offset)
        return;
    *to = word_at(format, raw, offset);
    sample->valid |= field;
}

static void read_fixed(const struct pebs_format *format, const uint8_t *raw,
                       struct pebs_sample *sample)
{
    read_registers(format, raw, fixed_order, sample);
    if (format->memory)
        read_memory(format, raw + format->memory, sample);
    read_word(format, raw, format->status, PEBS_STATUS, &sample->status, sample);
    read_word(format, raw, format->applicable, PEBS_APPLICABLE, &sample->applicable, sample);
    read_word(format, raw, format->eventing_ip, PEBS_EVENTING_IP, &sample->eventing_ip, sample);
    read_word(format, raw, format->tsx, PEBS_TSX, &sample->tsx, sample);
    read_word(format, raw, format->tsc, PEBS_TSC, &sample->tsc, sample);
}

/* Its size is known to be right; the groups follow each other in the order of their bits. */
static void read_adaptive(const struct pebs_format *format, const uint8_t *raw, uint64_t groups,
                          struct pebs_sample *sample)
{
    read_word(format, raw, BASIC_IP, PEBS_EVENTING_IP, &sample->eventing_ip, sample);
    read_word(format, raw, BASIC_COUNTER, PEBS_APPLICABLE, &sample->applicable, sample);
    read_word(format, raw, BASIC_TSC, PEBS_TSC, &sample->tsc, sample);
    raw += BASIC_BYTES;
    if (groups & PEBS_GROUP_MEMORY) {
        read_memory(format, raw, sample);
        read_word(format, raw, 0x18, PEBS_TSX, &sample->tsx, sample);
        raw += MEMORY_BYTES;
    }
    if (groups & PEBS_GROUP_GPRS) {
        read_registers(format, raw, group_order, sample);
        raw += GPRS_BYTES;
    }
    if (groups & PEBS_GROUP_XMMS) {
        sample->xmms = raw;
        sample->valid |= PEBS_XMMS;
        raw += XMMS_BYTES;
    }
    if (groups & PEBS_GROUP_LBRS) {
        sample->lbrs = raw;
        sample->lbr_count = (groups >> LBRS_SHIFT & LBRS_MASK) + 1;
        sample->valid |= PEBS_LBRS;
    }
}

bool pebs_next(const struct pebs_format *format, const void *raw, size_t bytes, size_t *at,
               struct pebs_sample *sample)
{
    const uint8_t *here = (const uint8_t *)raw + *at;
    size_t left = *at < bytes ? bytes - *at : 0, size = format->record_bytes;
    uint64_t groups = 0;

    if (!size) {
        if (left < BASIC_BYTES)
            return false;
        groups = word_at(format, here, 0);
        size = groups >> SIZE_SHIFT;
        groups &= (1ull << SIZE_SHIFT) - 1;
        /* Both say how long it is: when they differ neither is to be believed. */
        if (!size || size != adaptive_bytes(groups))
            return false;
    }
    if (left < size)
        return false;
    *sample = (struct pebs_sample){.bytes = (uint32_t)size};
    if (format->record_bytes)
        read_fixed(format, here, sample);
    else
        read_adaptive(format, here, groups, sample);
    *at += size;
    return true;
}

uint64_t pebs_sample_address(const struct pebs_sample *sample)
{
    return sample->valid & PEBS_EVENTING_IP ? sample->eventing_ip : sample->ip;
}

struct pebs_xmm pebs_sample_xmm(const struct pebs_sample *sample, unsigned i)
{
    struct pebs_xmm xmm = {0};

    if (sample->xmms && i < PEBS_XMM_COUNT)
        memcpy(&xmm, sample->xmms + i * sizeof(xmm), sizeof(xmm));
    return xmm;
}

struct pebs_branch pebs_sample_branch(const struct pebs_sample *sample, unsigned i)
{
    struct pebs_branch branch = {0};

    if (i < sample->lbr_count)
        memcpy(&branch, sample->lbrs + i * sizeof(branch), sizeof(branch));
    return branch;
}
