/* SPDX-License-Identifier: BSD-2-Clause */
/* What the suite gets from boot/: lines, take-overs, firmware services and the way out. */
#include "boot/platform.h"

#include "boot/acpi.h"
#include "boot/config.h"
#include "boot/console.h"
#include "boot/files.h"
#include "boot/firmware.h"
#include "boot/guard.h"
#include "boot/journal.h"
#include "boot/memory.h"
#include "boot/outputs.h"
#include "boot/platform_record.h"
#include "boot/processors.h"
#include "boot/provider.h"
#include "boot/screen.h"
#include "boot/serial.h"
#include "boot/takeover.h"
#include "boot/upload.h"

#include "ds/broker.h"
#include "harness/suite/tally.h"
#include "hw/low_memory.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/trap.h"
#include "hw/user.h"

#define POOL_BYTES       (16ull << 20)
#define POOL_FOR_PROGRAM (96ull << 20) /* its pages come from there */
#define ARENA_BYTES      (24ull << 20)
#define ARENA_SMALL      (8ull << 20) /* enough for a run without long evidence */
#define EXIT_DEVICE_PORT 0xF4
#define TSC_SAMPLE_MS    2
#define TSC_SAMPLES      5
#define LINGER_SECONDS   60

#define GUARD_SECONDS      25
#define GUARD_SECONDS_SOAK 150 /* long counts say nothing for a while */

/* Codes of hw_unwind that end a take-over from underneath. */
enum { UNWOUND_STOP = 0x100 };

/* linker.ld */
extern const uint8_t __text_start[] __attribute__((visibility("hidden")));
extern const uint8_t __bss_end[] __attribute__((visibility("hidden")));

static enum option_exit way_out;
static bool for_program;
static struct cpu *boot_cpu;
static uint64_t top_of_ram;

/* --- the way out */

void platform_exit(void)
{
    serial_drain();
    if (way_out == EXIT_DEBUG)
        io_out8(EXIT_DEVICE_PORT, 0);
    /* Still here: there is no such device, so the next best way to be off. */
    if (way_out != EXIT_RETURN)
        firmware_power_off();
    /* A boot menu paints over the results, and on most machines nothing else shows them. */
    if (!firmware_is_shell()) {
        console_recall_failures();
        screen_linger(LINGER_SECONDS);
    }
    memory_release();
}

static _Noreturn void halt(void)
{
    serial_drain();
    if (way_out == EXIT_DEBUG)
        io_out8(EXIT_DEVICE_PORT, 0);
    for (;;)
        __asm__ volatile("cli\n\thlt");
}

/* The lines are out; what remains is to save them and to leave the machine in good hands. */
/* The attribute, not the keyword: only that is part of the type that the pointer has. */
static __attribute__((noreturn)) void stop(void)
{
    static bool stopping;

    if (takeover_active()) {
        /* A fault on the way back to the firmware: nothing can be trusted any more. */
        if (stopping)
            halt();
        stopping = true;
        hw_unwind(UNWOUND_STOP);
    }
    files_close();
    upload_close();
    journal_remove();
    processors_stop();
    platform_exit();
    firmware_boot->Exit(firmware_image, EFI_ABORTED, 0, NULL);
    halt();
}

static void unexpected(struct trap_frame *f)
{
    static unsigned depth;

    /* A fault while reporting a fault: the lines that are out must do. */
    if (++depth > 2)
        halt();
    console_print("# vector=%lu error=%lx rip=%lx cs=%lx rflags=%lx rsp=%lx cr2=%lx", f->vector,
                  f->error, f->rip, f->cs, f->rflags, f->rsp, cr2_read());
    console_print("# rax=%lx rbx=%lx rcx=%lx rdx=%lx rsi=%lx rdi=%lx rbp=%lx", f->rax, f->rbx,
                  f->rcx, f->rdx, f->rsi, f->rdi, f->rbp);
    suite_abort("none", (unsigned)f->vector, f->rip);
}

/* --- taking over */

struct call {
    uint64_t (*fn)(void *);
    void *arg;
    bool with_provider;
    uint64_t value;
    uint64_t unwound; /* 0: fn returned */
    bool entered;
};

static uint64_t with_provider(void *argument)
{
    struct call *call = argument;

    call->entered = !call->with_provider || provider_enter();
    if (!call->entered)
        return 0;
    /* Firmware may be tracing too: both registers are remembered here and put back. */
    broker_init();
    call->unwound = hw_try(call->fn, call->arg, &call->value);
    broker_hand_back();
    return 0;
}

/* Guarded twice: a fault in what surrounds fn must find a way back to the firmware as well. */
static uint64_t inside(void *argument)
{
    struct call *call = argument;
    uint64_t unwound, nothing;

    trap_unexpected = unexpected;
    if (call->with_provider)
        guard_enter();
    unwound = hw_try(with_provider, call, &nothing);
    if (unwound != 0)
        call->unwound = unwound;
    provider_leave();
    if (call->with_provider)
        guard_leave();
    return 0;
}

static uint64_t run_taken_over(struct call *call)
{
    console_firmware_mode(false);
    takeover_run(boot_cpu, paging_kernel_space()->cr3, inside, call);
    console_firmware_mode(true);
    if (call->unwound != 0)
        stop();
    if (!call->entered) {
        console_print("# the model could be entered before and cannot now");
        suite_abort("none", 0, 0);
    }
    return call->value;
}

static uint64_t take_over(uint64_t (*fn)(void *), void *arg)
{
    return run_taken_over(&(struct call){.fn = fn, .arg = arg, .with_provider = true});
}

static uint64_t take_over_all(uint64_t (*fn)(void *), void *arg)
{
    processors_start(platform_shared.processors);
    return take_over(fn, arg);
}

void platform_release(void)
{
    if (processors_stop())
        return;
    console_print("# another processor does not come back to the firmware");
    suite_abort("none", 0, 0);
}

uint64_t platform_take_over_bare(uint64_t (*fn)(void *), void *arg)
{
    return run_taken_over(&(struct call){.fn = fn, .arg = arg});
}

/* --- setting up */

static void line(const char *text, size_t bytes)
{
    guard_beat();
    console_line(text, bytes);
}

/* The shortest of some: whoever shares a processor with others is away at times. */
static uint64_t measure_tsc_khz(void)
{
    uint64_t shortest = UINT64_MAX;

    for (unsigned i = 0; i < TSC_SAMPLES; i++) {
        uint64_t start = tsc_read(), ticks;

        firmware_boot->Stall(TSC_SAMPLE_MS * 1000);
        ticks = tsc_read() - start;
        if (ticks < shortest)
            shortest = ticks;
    }
    return shortest / TSC_SAMPLE_MS;
}

/* Less than the runner's patience, so that a hang costs the check and not the run. */
static unsigned guard_seconds(const struct options *options)
{
    if (options->guard_given)
        return options->guard;
    return options->soak ? GUARD_SECONDS_SOAK : GUARD_SECONDS;
}

const struct platform *platform_init(const struct options *options)
{
    struct madt_processors listed;

    way_out = options->exit;
    for_program = options->program[0];
    takeover_use_x2apic(options->x2apic);
    platform_shared = (struct platform){
        .line = line,
        .take_over = take_over,
        .take_over_bare = platform_take_over_bare,
        .firmware_timer_works = firmware_timer_works,
        .raw_serial = serial_write,
        .triple_fault = takeover_triple_fault,
        .stop = stop,
        .tsc_khz = measure_tsc_khz(),
        .processors = processors_enabled(),
        .other = processors_found,
        .other_run = processors_run,
        .other_wait = processors_wait,
        .other_renew = processors_renew,
        .firmware = firmware_name(),
        .secure_boot = firmware_secure_boot(),
        .options_from = config_sources(),
        .outputs = outputs_text(),
        .guard_seconds = guard_seconds(options),
        .provider = provider_name(),
        .provider_reason = provider_reason(),
    };
    platform_shared.acpi = acpi_list(&platform_shared.acpi_count);
    acpi_find_smi(&platform_shared.smi);
    listed = acpi_processors();
    platform_shared.cpus_can_come = listed.can_come;
    platform_shared.cpus_disabled = listed.disabled;
    platform_shared.cpus_highest_apic_id = listed.highest_apic_id;
    if (options->cpus != 0 && options->cpus < platform_shared.processors)
        platform_shared.processors = options->cpus;
    if (platform_shared.processors > 1)
        platform_shared.take_over_all = take_over_all;
    processors_tsc_khz = platform_shared.tsc_khz;
    guard_init(guard_seconds(options), platform_shared.tsc_khz);
    /* Where the loader unpacked us; what firmware loaded is only the loader. */
    platform_shared.image_base = (uint64_t)(uintptr_t)__text_start - PAGE_BYTES;
    platform_shared.image_bytes = (uint64_t)(__bss_end - __text_start) + PAGE_BYTES;
    return &platform_shared;
}

bool platform_memory(const char **why)
{
    size_t pool_bytes = for_program ? POOL_FOR_PROGRAM : POOL_BYTES;
    void *pool, *cpu_memory;

    *why = "firmware runs with 5-level paging, which cannot be taken over";
    if ((cr4_read() & CR4_LA57) != 0)
        return false;
    *why = "firmware has too little free memory";
    top_of_ram = memory_top();
    pool = memory_pages(pool_bytes, PAGE_BYTES);
    if (!pool) {
        pool_bytes = POOL_BYTES;
        pool = memory_pages(pool_bytes, PAGE_BYTES);
    }
    /* TR keeps pointing at the TSS in there, also when the image has returned. */
    cpu_memory = memory_pages_kept(cpu_memory_bytes(), KERNEL_STACK_BYTES);
    platform_shared.arena_bytes = ARENA_BYTES;
    platform_shared.arena = memory_pages(ARENA_BYTES, PAGE_BYTES);
    if (!platform_shared.arena) {
        platform_shared.arena_bytes = ARENA_SMALL;
        platform_shared.arena = memory_pages(ARENA_SMALL, PAGE_BYTES);
    }
    if (top_of_ram == 0 || !pool || !cpu_memory || !platform_shared.arena)
        return false;
    paging_init(pool, pool_bytes, top_of_ram);
    low_init(memory_pages_low(LOW_BYTES)); /* without it some checks skip */
    boot_cpu = cpu_init(cpu_memory, 0);
    return boot_cpu;
}

uint64_t platform_top_of_ram(void)
{
    return top_of_ram;
}

void platform_provider(void)
{
    platform_shared.provider = provider_name();
    platform_shared.provider_reason = provider_reason();
    platform_shared.stand_in = provider_stand_in();
    platform_shared.gate_shut = provider_gate_shut();
}
