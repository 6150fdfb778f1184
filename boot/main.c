/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a run, from the firmware's call to the way out. */
#include "boot/config.h"
#include "boot/console.h"
#include "boot/files.h"
#include "boot/firmware.h"
#include "boot/journal.h"
#include "boot/memory.h"
#include "boot/outputs.h"
#include "boot/platform.h"
#include "boot/processors.h"
#include "boot/program.h"
#include "boot/provider.h"
#include "boot/under.h"
#include "boot/upload.h"

#include "harness/check/out.h"
#include "harness/suite/harness.h"
#include "hw/regs.h"

#define LOG_BYTES       (4ull << 20)
#define LOG_BYTES_SMALL (64ull << 10)
#define FLUSH_MS        1000

static struct options options;

/* Output first: whatever goes wrong later must be seen. */
static bool start_output(void)
{
    size_t bytes = LOG_BYTES;
    char *log;

    outputs_open(&options);
    log = memory_pages(bytes, 4096);
    if (!log) {
        bytes = LOG_BYTES_SMALL;
        log = memory_pages(bytes, 4096);
    }
    if (log)
        console_init(log, bytes);
    return log;
}

/*
 * The report is written as a whole, which takes longer than most groups of checks. Where the
 * machine may hang in the meantime it is the journal that knows what was decided.
 */
static void flush(void)
{
    static uint64_t flushed;
    uint64_t khz = processors_tsc_khz; /* 0, not known: each time */

    if (tsc_read() - flushed >= khz * FLUSH_MS) {
        files_flush();
        flushed = tsc_read();
    }
    upload_flush();
}

static void run_groups(void)
{
    files_open(harness_machine_signature());
    files_flush();
    if (options.upload)
        upload_open();
    if (options.journal && !options.bench && !options.prove && !options.program[0])
        journal_open();
    harness_first_record();
    if (options.bench) {
        harness_bench();
        return;
    }
    if (options.prove) {
        harness_prove();
        platform_release();
        return;
    }
    if (options.program[0]) {
        program_go(&options);
        return;
    }
    while (harness_next_group())
        flush();
    platform_release();
}

/*
 * The end line must be the last on the wire and must stand in the files too. So it is held
 * back until the files have been read back, and what is wrong with them is said first.
 */
static void end_run(void)
{
    const char *wrong, *not_sent;

    console_hold();
    harness_end();
    wrong = files_close();
    not_sent = upload_close();
    journal_remove();
    if (wrong)
        console_ahead(wrong);
    if (not_sent)
        console_ahead(not_sent);
    console_release();
}

/* Without a plan or a result: what runs is somebody else's. */
static EFI_STATUS run_under(const struct platform *platform)
{
    static char error[OUT_LINE_BYTES];

    if (provider_configure(&options, error, sizeof(error)))
        return under_go(&options);
    harness_init(platform, &options);
    harness_usage(platform, error);
    return EFI_INVALID_PARAMETER;
}

static EFI_STATUS run(bool options_good, const char *usage)
{
    static char error[OUT_LINE_BYTES];
    const struct platform *platform = platform_init(&options);
    const char *why;

    if (!options_good) {
        harness_init(platform, &options);
        harness_usage(platform, usage);
        return EFI_SUCCESS;
    }
    if (options.under[0])
        return run_under(platform);
    if (!platform_memory(&why)) {
        console_print("waymark: %s", why);
        return EFI_SUCCESS;
    }
    harness_init(platform, &options);
    if (!provider_choose(&options, platform_take_over_bare, platform_top_of_ram(), error,
                         sizeof(error))) {
        harness_usage(platform, error);
        return EFI_SUCCESS;
    }
    platform_provider();
    why = options.program[0] ? program_prepare(&options) : NULL;
    if (why) {
        harness_usage(platform, why);
        return EFI_SUCCESS;
    }
    if (options.journal && !options.program[0])
        journal_load();
    if (!harness_begin())
        return EFI_SUCCESS;
    run_groups();
    end_run();
    return EFI_SUCCESS;
}

EFI_STATUS EFIAPI efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);
EFI_STATUS EFIAPI efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
    static char usage[OUT_LINE_BYTES];
    EFI_STATUS status;
    bool good;

    firmware_init(image, table);
    /* Before the first output, which they direct. */
    good = config_read(&options, usage, sizeof(usage));
    if (!start_output())
        return EFI_OUT_OF_RESOURCES;
    status = run(good, usage);
    platform_exit();
    return status;
}
