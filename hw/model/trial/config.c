/* SPDX-License-Identifier: BSD-2-Clause */
/* Setting policies, defects and gates by name. */
#include "hw/model/model.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/feature_gate.h"
#include "hw/model/trial/policy.h"

bool gate_closed[GATE_COUNT];
uint8_t pebs_format = PEBS_FORMAT_DEFAULT;

static const char *const gate_names[GATE_COUNT] = {
    [GATE_NO_DS] = "no-ds",       [GATE_NO_DTES64] = "no-dtes64",
    [GATE_NO_DSCPL] = "no-dscpl", [GATE_NO_BTS] = "no-bts",
    [GATE_NO_PDCM] = "no-pdcm",   [GATE_NO_PERFMON] = "no-perfmon",
    [GATE_NO_LBR] = "no-lbr",     [GATE_NO_FREEZE_SMM] = "no-freeze-smm",
    [GATE_NETBURST] = "netburst",
};

/* Length of name when text starts with it and end follows (or the text ends), else 0. */
static size_t starts_with(const char *text, const char *name, char end)
{
    size_t at = 0;

    while (name[at] && text[at] == name[at])
        at++;
    return name[at] == 0 && (text[at] == end || text[at] == 0) ? at : 0;
}

/* Position of value in "first|second|...", or -1. */
static int value_position(const char *values, const char *value)
{
    for (int position = 0;; position++) {
        size_t length = 0;

        while (values[length] && values[length] != '|')
            length++;
        size_t same = 0;
        while (same < length && value[same] == values[same])
            same++;
        if (same == length && value[same] == 0)
            return position;
        if (values[length] == 0)
            return -1;
        values += length + 1;
    }
}

static enum model_status set_policy(const char *text)
{
    for (size_t i = 0; i < POLICY_COUNT; i++) {
        const struct model_policy *entry = model_policy(i);
        size_t length = starts_with(text, entry->name, ':');

        if (length == 0)
            continue;
        int position = text[length] ? value_position(entry->values, text + length + 1) : -1;
        if (position < 0)
            return MODEL_BAD_VALUE;
        policy_values[i] = (uint8_t)position;
        return MODEL_OK;
    }
    return MODEL_BAD_NAME;
}

static enum model_status set_defect(const char *text)
{
    bool none = starts_with(text, "none", 0) != 0;
    bool known = none;

    for (size_t i = 0; i < DEFECT_COUNT; i++) {
        if (none) {
            defect_values[i] = false;
        } else if (starts_with(text, model_defect(i)->name, 0)) {
            defect_values[i] = true;
            known = true;
        }
    }
    return known ? MODEL_OK : MODEL_BAD_NAME;
}

static enum model_status set_gate(const char *text)
{
    bool all = starts_with(text, "all", 0) != 0;
    bool known = all;

    for (size_t i = 0; i < GATE_COUNT; i++) {
        if (all) {
            gate_closed[i] = false;
        } else if (starts_with(text, gate_names[i], 0)) {
            gate_closed[i] = true;
            known = true;
        }
    }
    return known ? MODEL_OK : MODEL_BAD_NAME;
}

static enum model_status set_pebs(const char *text)
{
    bool digit = text[0] >= '0' && text[0] <= '4' && text[1] == 0;

    if (!digit && !starts_with(text, "default", 0) && !starts_with(text, "off", 0))
        return MODEL_BAD_VALUE;
    pebs_format = digit                         ? (uint8_t)(text[0] - '0')
                  : starts_with(text, "off", 0) ? PEBS_FORMAT_OFF
                                                : PEBS_FORMAT_DEFAULT;
    return MODEL_OK;
}

void model_reset_config(void)
{
    for (size_t i = 0; i < POLICY_COUNT; i++)
        policy_values[i] = 0;
    for (size_t i = 0; i < DEFECT_COUNT; i++)
        defect_values[i] = false;
    for (size_t i = 0; i < GATE_COUNT; i++)
        gate_closed[i] = false;
    pebs_format = PEBS_FORMAT_DEFAULT;
}

enum model_status model_set(const char *key, const char *value)
{
    if (starts_with(key, "policy", 0))
        return set_policy(value);
    if (starts_with(key, "defect", 0))
        return set_defect(value);
    if (starts_with(key, "cpuid", 0))
        return set_gate(value);
    if (starts_with(key, "pebs", 0))
        return set_pebs(value);
    return MODEL_BAD_NAME;
}
