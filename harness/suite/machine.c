/* SPDX-License-Identifier: BSD-2-Clause */
/* machine.json: identity, the gate's findings, CPUID, registers, tables of the firmware. */
#include "harness/suite/machine.h"

#include "harness/check/arena.h"
#include "harness/check/capability.h"
#include "harness/check/format.h"
#include "harness/suite/harness.h"
#include "harness/suite/identity.h"
#include "harness/suite/json.h"
#include "harness/suite/suite.h"
#include "hw/cpuid_dump.h"
#include "hw/msr_dump.h"

#define MACHINE_BYTES (1u << 16)

static char *machine_text;
static struct msr_reading readings[MSR_READINGS];

bool machine_init(void)
{
    if (!machine_text)
        machine_text = arena_alloc(MACHINE_BYTES);
    return machine_text;
}

uint64_t machine_ask(void *unused)
{
    (void)unused;
    msr_dump(readings);
    return 0;
}

static void put_hex(struct json *j, const char *key, uint64_t value)
{
    char text[24];

    fmt(text, sizeof(text), "%lx", value);
    json_string(j, key, text);
}

static void put_leaf(void *arg, uint32_t leaf, uint32_t subleaf, struct cpuid_regs regs)
{
    char text[64];

    fmt(text, sizeof(text), "%08x.%02x: %08x %08x %08x %08x", leaf, subleaf, regs.eax, regs.ebx,
        regs.ecx, regs.edx);
    json_string(arg, NULL, text);
}

static void put_registers(struct json *j)
{
    char text[24];

    json_open(j, "msr", '{');
    for (unsigned i = 0; i < MSR_READINGS; i++) {
        if (readings[i].vector == 0) {
            put_hex(j, readings[i].name, readings[i].value);
            continue;
        }
        fmt(text, sizeof(text), "vector %d", readings[i].vector);
        json_string(j, readings[i].name, text);
    }
    json_close(j, '}');
}

static void put_tables(struct json *j)
{
    const struct platform *p = suite_state()->platform;
    char text[64];

    json_open(j, "acpi", '[');
    for (size_t i = 0; i < p->acpi_count; i++) {
        const struct firmware_table_entry *t = &p->acpi[i];

        fmt(text, sizeof(text), "%s rev %u %u bytes %s %s", t->signature, t->revision,
            (unsigned)t->bytes, t->oem, t->oem_table);
        json_string(j, NULL, text);
    }
    json_close(j, ']');
}

static void put_gate(struct json *j)
{
    json_open(j, "bts_probe", '{');
    json_string(j, "reason", capability()->probe.reason);
    json_number(j, "stage", capability()->probe.stage);
    put_hex(j, "ia32_misc_enable", capability()->probe.misc_enable);
    put_hex(j, "ia32_debugctl", capability()->probe.debugctl);
    json_close(j, '}');
}

const char *harness_machine_json(size_t *bytes)
{
    struct json j;

    json_begin(&j, machine_text, MACHINE_BYTES);
    json_open(&j, NULL, '{');
    json_number(&j, "format", 1);
    identity_json(&j);
    put_gate(&j);
    put_registers(&j);
    json_open(&j, "cpuid", '[');
    cpuid_dump(put_leaf, &j);
    json_close(&j, ']');
    put_tables(&j);
    json_close(&j, '}');
    *bytes = j.overflow ? 0 : j.used;
    return machine_text;
}
