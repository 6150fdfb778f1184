/* SPDX-License-Identifier: BSD-2-Clause */
/* What harness/program needs from firmware: the file, memory, and room for the trace. */
#include "boot/program.h"

#include "boot/console.h"
#include "boot/files.h"
#include "boot/memory.h"
#include "boot/volume.h"

#include "boot/serial.h"

#include "harness/check/format.h"
#include "harness/check/out.h"
#include "harness/gdb/session.h"
#include "harness/program/program.h"
#include "hw/paging.h"

#define PATH_UNITS   160
#define MEMORY_MOST  (128u << 20)
#define MEMORY_LEAST (512u << 10)
#define TABLES_SHARE 8 /* of the page pool, kept for page tables and the suite */
/* Device registers; in the identity map, and the local APIC is among them. */
#define DEVICES_START 0xC0000000ull
#define DEVICES_END   0x100000000ull

static char line[OUT_LINE_BYTES];
static struct program_services with;

static bool is_reserved(uint64_t start, uint64_t bytes)
{
    return memory_in_use(start, bytes) ||
           (start < DEVICES_END && start + bytes > DEVICES_START);
}

static const char *cannot_read(const char *name, EFI_STATUS status)
{
    fmt(line, sizeof(line), "%s cannot be read from the boot volume (%s)", name,
        firmware_status(status));
    return line;
}

/* In one piece, behind it nothing: what a file says of itself is judged against its size. */
static const char *read_file(const char *name, const uint8_t **file, size_t *count)
{
    static CHAR16 path[PATH_UNITS];
    uint64_t bytes;
    void *memory;
    EFI_STATUS status;

    firmware_wide(path, PATH_UNITS, name);
    for (unsigned i = 0; path[i]; i++)
        if (path[i] == '/')
            path[i] = '\\';
    status = volume_size(path, &bytes);
    if (status != EFI_SUCCESS)
        return cannot_read(name, status);
    memory = bytes < UINT32_MAX ? memory_pages(bytes + !bytes, PAGE_BYTES) : NULL;
    if (!memory) {
        fmt(line, sizeof(line), "%s has %lu bytes: no memory for that", name, bytes);
        return line;
    }
    *count = bytes;
    *file = memory;
    status = bytes ? volume_read(path, memory, count) : EFI_SUCCESS;
    return status == EFI_SUCCESS ? NULL : cannot_read(name, status);
}

static const char *read_files(const struct options *options)
{
    const char *why;

    if (!volume_open())
        return "the image was not started from a volume with files, so it finds no program";
    why = read_file(options->program, &with.file, &with.file_bytes);
    if (!why && with.file_bytes == 0) {
        fmt(line, sizeof(line), "%s is empty: copy it again", options->program);
        return line;
    }
    if (!why && options->files[0])
        why = read_file(options->files, &with.files, &with.files_bytes);
    if (!why && options->input[0])
        why = read_file(options->input, &with.input, &with.input_bytes);
    return why;
}

/* Days before the year and the month of the calendar in use since 1582, from 1970 on. */
static uint64_t days_until(unsigned year, unsigned month)
{
    static const uint16_t before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    unsigned whole = year - 1;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return 365ull * (year - 1970) + (whole / 4 - whole / 100 + whole / 400) - 477 +
           before[(month - 1) % 12] + (leap && month > 2);
}

/* Firmware's clock as nanoseconds since 1970; 0 when it has none. */
static uint64_t time_of_day(void)
{
    EFI_TIME now;

    if (firmware_table->RuntimeServices->GetTime(&now, NULL) != EFI_SUCCESS ||
        now.Year < 1970 || now.Month < 1 || now.Month > 12)
        return 0;
    return (((days_until(now.Year, now.Month) + now.Day - 1) * 24 + now.Hour) * 3600 +
            now.Minute * 60ull + now.Second) *
           1000000000ull;
}

static bool take_memory(const struct options *options)
{
    size_t most = options->trace_kib ? (size_t)options->trace_kib << 10 : MEMORY_MOST;

    for (with.memory_bytes = most; with.memory_bytes >= MEMORY_LEAST;
         with.memory_bytes = (with.memory_bytes / 2) & ~(PAGE_BYTES - 1)) {
        with.memory = memory_pages(with.memory_bytes, PAGE_BYTES);
        if (with.memory)
            return true;
    }
    return false;
}

static const char *open_debugger(const struct options *options)
{
    const struct option_serial *s = &options->gdb;

    if (!options->gdb_given ||
        serial_open_protocol(
            (struct serial_place){s->address, s->kind == SERIAL_MEMORY, s->stride},
            options->baud))
        return NULL;
    return "gdb= names a port at which no serial port answers: with QEMU give it a -serial";
}

const char *program_prepare(const struct options *options)
{
    const char *why = open_debugger(options);

    with = (struct program_services){
        .reserved = is_reserved,
        .room = files_room,
        .append = files_append,
        .begin_file = files_add,
        .epoch = time_of_day(),
    };
    if (!why)
        why = read_files(options);

    if (why)
        return why;
    if (!take_memory(options))
        return "firmware has too little free memory for a trace";
    with.page_bytes = page_free_count() * PAGE_BYTES / TABLES_SHARE * (TABLES_SHARE - 1);
    return harness_program_check(&with, options);
}

void program_go(const struct options *options)
{
    static const struct gdb_line debugger = {serial_protocol_get, serial_protocol_write};

    if (options->gdb_given)
        harness_gdb(&with, options, &debugger);
    else if (files_add("trace.wtr"))
        harness_program();
    else
        console_print("# program trouble: trace.wtr cannot be made on the boot volume");
}
