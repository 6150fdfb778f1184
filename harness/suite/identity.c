/* SPDX-License-Identifier: BSD-2-Clause */
/* Identity lines. */
#include "harness/suite/identity.h"

#include "harness/check/capability.h"
#include "harness/check/format.h"
#include "harness/check/out.h"
#include "harness/suite/harness.h"
#include "harness/suite/suite.h"
#include "harness/suite/version.h"
#include "hw/cpuid.h"

#define IDENTITY_MAX 36

static struct {
    const char *key;
    char value[96];
} items[IDENTITY_MAX];
static size_t count;

static void add(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(const char *key, const char *format, ...)
{
    va_list arguments;

    if (count == IDENTITY_MAX)
        return;
    items[count].key = key;
    va_start(arguments, format);
    vfmt(items[count].value, sizeof(items[count].value), format, arguments);
    va_end(arguments);
    out_line("# %s=%s", key, items[count].value);
    count++;
}

static const char *apic_mode_name(enum apic_mode mode)
{
    static const char *const names[] = {"off", "xapic", "x2apic"};

    return names[mode];
}

void identity_print(void)
{
    const struct platform *p = suite_state()->platform;
    const struct capability *c = capability();

    count = 0;
    add("version", "%s", waymark_version);
    add("provider", "%s", p->provider);
    if (p->provider_reason[0])
        add("provider_reason", "%s", p->provider_reason);
    add("bts", "%s", c->probe.reason);
    add("vendor", "%s", c->cpu.vendor);
    add("cpu", "%s", c->cpu.brand);
    add("signature", "%08x", c->cpu.signature);
    add("family", "%u", c->cpu.family);
    add("model", "%u", c->cpu.model);
    add("stepping", "%u", c->cpu.stepping);
    add("microcode", "%x", c->cpu.microcode);
    add("hypervisor", "%s", c->cpu.hypervisor[0] ? c->cpu.hypervisor : "none");
    add("apic", "%s", apic_mode_name(c->apic));
    add("linear_bits", "%u", cpu_linear_bits());
    add("cpus", "%u", p->processors);
    if (p->cpus_can_come || p->cpus_disabled)
        add("cpus_off", "%u, and %u that may come", p->cpus_disabled, p->cpus_can_come);
    add("apic_id_max", "%u", (unsigned)p->cpus_highest_apic_id);
    add("firmware", "%s", p->firmware);
    add("secure_boot", "%s", p->secure_boot);
    if (p->options_from)
        add("options", "%s", p->options_from);
    add("outputs", "%s", p->outputs);
    add("image", "0x%lx", p->image_base);
    /* Where nobody inside the machine watches ring 0, whoever watches the output does. */
    if (p->take_over_all && p->guard_seconds)
        add("guard", "ring3=timer ring0=nmi-from-another-processor after %u s",
            p->guard_seconds);
    else
        add("guard", "ring3=timer ring0=host-timeout");
    add("smi_count", "%s", c->smi_count ? "read" : "none");
    if (suite_state()->options->order_given)
        add("order", "%lu", suite_state()->options->order);
    if (suite_state()->options->seed)
        add("seed", "%lu", suite_state()->options->seed);
}

void identity_json(struct json *j)
{
    json_open(j, "identity", '{');
    for (size_t i = 0; i < count; i++)
        json_string(j, items[i].key, items[i].value);
    json_close(j, '}');
}

const char *harness_machine_signature(void)
{
    static char text[17];
    struct cpu_identity id;

    cpu_identify(&id);
    fmt(text, sizeof(text), "%c%05X",
        id.vendor[0] == 'G' ? 'I'
        : id.vendor[0]      ? 'A'
                            : 'X',
        id.signature & 0xFFFFF);
    return text;
}
