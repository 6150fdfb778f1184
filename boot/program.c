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

static const char *cannot_read(const struct options *options, EFI_STATUS status)
{
    fmt(line, sizeof(line), "%s cannot be read from the boot volume (%s)", options->program,
        firmware_status(status));
    return line;
}

/* In one piece, behind it nothing: what the file says of itself is judged against its size. */
static const char *read_program(const struct options *options)
{
    static CHAR16 path[PATH_UNITS];
    uint64_t bytes;
    size_t length;
    void *file;
    EFI_STATUS status;

    if (!volume_open())
        return "the image was not started from a volume with files, so it finds no program";
    firmware_wide(path, PATH_UNITS, options->program);
    for (unsigned i = 0; path[i]; i++)
        if (path[i] == '/')
            path[i] = '\\';
    status = volume_size(path, &bytes);
    if (status != EFI_SUCCESS)
        return cannot_read(options, status);
    if (bytes == 0) {
        fmt(line, sizeof(line), "%s is empty: copy it again", options->program);
        return line;
    }
    length = bytes;
    file = bytes < UINT32_MAX ? memory_pages(bytes, PAGE_BYTES) : NULL;
    if (!file) {
        fmt(line, sizeof(line), "%s has %lu bytes: no memory for that", options->program,
            bytes);
        return line;
    }
    status = volume_read(path, file, &length);
    with.file = file;
    with.file_bytes = length;
    return status == EFI_SUCCESS ? NULL : cannot_read(options, status);
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
        .reserved = is_reserved, .room = files_room, .append = files_append};
    if (!why)
        why = read_program(options);

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
