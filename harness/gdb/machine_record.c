/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recording the branches of the program that is debugged. The BTS buffer is a ring without an
 * interrupt. At each stop it is emptied into the log, which has room for what the debugger
 * asked for.
 */
#include "harness/gdb/machine.h"

#define RECORDS_LEAST 4u
#define RECORDS_MOST  (1u << 20)
/* Beside the program's own: the way out of ring 3 and back, where that cannot be left out. */
#define KERNEL_RECORDS 4096u

static bool in_kernel(const struct gdb_machine *m, uint64_t address)
{
    return address - m->kernel_low < m->kernel_high - m->kernel_low;
}

static void take_records(void *context, const struct bts_record *records, size_t count)
{
    struct gdb_machine *m = context;

    /* What leads into the kernel and out again leaves the program where it was. */
    for (; count > 0; records++, count--)
        if (!in_kernel(m, records->from) && !in_kernel(m, records->to))
            btrace_add(&m->gdb->trace, records->from, records->to);
}

/* Records of the processor's buffer for so many of the log. */
static uint64_t buffer_records(const struct gdb_machine *m, uint64_t records)
{
    return records + (m->off_os ? 0 : KERNEL_RECORDS);
}

/* The size asked for, made one that there is room for. */
static uint64_t fitting(const struct gdb_machine *m, uint64_t bytes)
{
    const uint64_t each =
        sizeof(struct bts_record) + sizeof(struct btrace_branch) + sizeof(uint32_t);
    uint64_t most = (m->memory_bytes - 2 * PAGE_BYTES) / each - KERNEL_RECORDS;

    most = most < RECORDS_MOST ? most : RECORDS_MOST;
    if (bytes > most * sizeof(struct bts_record))
        return most * sizeof(struct bts_record);
    if (bytes < RECORDS_LEAST * sizeof(struct bts_record))
        return RECORDS_LEAST * sizeof(struct bts_record);
    return bytes;
}

const char *gdb_machine_record(void *context, struct btrace_log *log, uint64_t bytes,
                               uint64_t pc)
{
    struct gdb_machine *m = context;
    uint64_t size = fitting(m, bytes), records = size / sizeof(struct bts_record);
    struct bts_config config = {.base = (uint64_t)m->memory + PAGE_BYTES,
                                .bytes = buffer_records(m, records) * sizeof(struct bts_record),
                                .off_os = m->off_os,
                                .tables = &m->program.space.cr3,
                                .table_count = 1};
    struct btrace_branch *ring;
    const char *why = "the processor's trace is in use";

    if (m->no_trace)
        return m->no_trace;
    if (bts_setup(&m->bts, (struct ds_area *)m->memory, &config, &why) != DS_OK)
        return why;
    m->tracing = true;
    ring = (struct btrace_branch *)(config.base + config.bytes);
    btrace_begin(log, ring, (uint32_t *)(ring + records), records, size, pc);
    return NULL;
}

void gdb_machine_record_end(void *context)
{
    struct gdb_machine *m = context;

    m->tracing = false;
    bts_teardown(&m->bts);
}

void gdb_machine_empty(struct gdb_machine *m)
{
    bts_stop(&m->bts);
    if (bts_wrapped(&m->bts))
        btrace_lose(&m->gdb->trace);
    bts_drain(&m->bts, take_records, m, NULL);
}
