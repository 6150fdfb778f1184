/* SPDX-License-Identifier: BSD-2-Clause */
/* Noting the processors, and telling them apart. */
#include "harness/suite/cores.h"

#include "harness/check/format.h"
#include "harness/check/out.h"
#include "harness/suite/suite.h"
#include "hw/cpu.h"

static struct core noted[CPU_MAX];
static size_t count;

static void say(void)
{
    char text[96];
    size_t used = 0;

    for (unsigned kind = 0; kind < CORE_KINDS; kind++) {
        unsigned of_kind = 0;

        for (size_t i = 0; i < count; i++)
            of_kind += noted[i].kind == kind;
        if (of_kind)
            used += fmt(text + used, sizeof(text) - used, "%s%u %s", used ? ", " : "", of_kind,
                        core_name((enum core_kind)kind));
    }
    out_line("# cores: %s", text);
}

void cores_note(void)
{
    const struct platform *p = suite_state()->platform;
    const struct other_processor *other;

    if (count)
        return;
    noted[count++] = core_ask();
    while (p->take_over_all && count < CPU_MAX && (other = p->other((unsigned)count)))
        noted[count++] = other->core;
    say();
}

size_t cores_count(void)
{
    return count;
}

const struct core *cores_at(size_t index)
{
    return &noted[index];
}

void cores_json(struct json *j)
{
    json_open(j, "processors", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(j, NULL, '{');
        json_number(j, "apic_id", noted[i].apic_id);
        json_string(j, "core", core_name(noted[i].kind));
        if (noted[i].kind != CORE_UNIFORM)
            json_number(j, "native_model", noted[i].native_model);
        json_close(j, '}');
    }
    json_close(j, ']');
}
