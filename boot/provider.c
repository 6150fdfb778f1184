/* SPDX-License-Identifier: BSD-2-Clause */
/* Choosing the provider and entering it. */
#include "boot/provider.h"

#include "boot/journal.h"
#include "boot/memory.h"
#include "boot/stand_in.h"

#include "ds/probe.h"
#include "harness/check/format.h"
#include "hw/cpu.h"
#include "hw/model/model.h"
#include "hw/string.h"

static enum provider chosen = RECORDS_NOBODY;
static char reason[200];
static const char *gate_shut; /* why it must not be asked */
static void *model_memory;
static void *other_memory[CPU_MAX];
static size_t model_bytes;
static uint64_t model_top;

/* "policy=wrap:after" and the like: the model knows its own names. */
bool provider_configure(const struct options *options, char *error, uint64_t error_bytes)
{
    model_reset_config();
    for (unsigned i = 0; i < options->model_words; i++) {
        char key[64];
        const char *word = options->model_word[i], *value = strchr(word, '=');
        enum model_status status;

        fmt(key, sizeof(key), "%.*s", (int)(value - word), word);
        status = model_set(key, value + 1);
        if (status != MODEL_OK) {
            fmt(error, error_bytes,
                "option '%s': no such %s in the model: hw/model/{config,policy}.c, defect.h",
                word, status == MODEL_BAD_VALUE ? "value" : "name");
            return false;
        }
    }
    return true;
}

static uint64_t probe(void *report)
{
    return ds_probe(report);
}

const char *provider_no_model(void)
{
    switch (model_supported()) {
    case MODEL_OK:
        return NULL;
    case MODEL_SVM_LOCKED:
        return "model: firmware has disabled SVM";
    default:
        return "model: CPUID does not enumerate SVM";
    }
}

static const char *try_model(uint64_t top_of_ram)
{
    const char *why = provider_no_model();

    if (why)
        return why;
    model_bytes = model_memory_bytes(top_of_ram);
    model_memory = memory_pages(model_bytes, 4096);
    model_top = top_of_ram;
    return !model_memory ? "model: not enough memory" : NULL;
}

/* A machine that does not come back from the gate must not be asked at every boot. */
static bool ask_gate(const struct options *options, take_over_fn *take_over_bare,
                     struct ds_probe_report *report)
{
    bool present;

    if (options->journal && !journal_gate_enter()) {
        report->reason = gate_shut =
            "the gate never came back in an earlier boot; to ask again delete waymark/gate.txt";
        return false;
    }
    present = take_over_bare(probe, report) == DS_PROBE_PRESENT;
    journal_gate_leave();
    return present;
}

bool provider_choose(const struct options *options, take_over_fn *take_over_bare,
                     uint64_t top_of_ram, char *error, uint64_t error_bytes)
{
    struct ds_probe_report report = {0};
    const char *no_native = "provider=model", *no_model = "provider=native";

    if (!provider_configure(options, error, error_bytes))
        return false;
    if (options->provider != PROVIDER_MODEL) {
        if (ask_gate(options, take_over_bare, &report)) {
            chosen = RECORDS_NATIVE;
            return true;
        }
        no_native = report.reason;
    }
    if (options->provider != PROVIDER_NATIVE)
        no_model = try_model(top_of_ram);
    if (!no_model) {
        chosen = RECORDS_MODEL;
        fmt(reason, sizeof(reason), "%s", no_native);
    } else {
        fmt(reason, sizeof(reason), "%s; %s", no_native, no_model);
    }
    return true;
}

const char *provider_name(void)
{
    static const char *const names[] = {"none", "native", "model"};

    return names[chosen];
}

const char *provider_gate_shut(void)
{
    return chosen == RECORDS_NOBODY ? gate_shut : NULL;
}

const char *provider_reason(void)
{
    return reason;
}

const struct stand_in *provider_stand_in(void)
{
    return chosen == RECORDS_MODEL ? &stand_in : NULL;
}

bool provider_enter(void)
{
    return chosen != RECORDS_MODEL ||
           model_enter(model_memory, model_bytes, model_top) == MODEL_OK;
}

bool provider_prepare_other(unsigned index)
{
    if (chosen == RECORDS_MODEL && !other_memory[index])
        other_memory[index] = memory_pages(model_bytes, 4096);
    return chosen != RECORDS_MODEL || other_memory[index];
}

bool provider_enter_other(unsigned index)
{
    return chosen != RECORDS_MODEL ||
           model_enter(other_memory[index], model_bytes, model_top) == MODEL_OK;
}

void provider_leave(void)
{
    if (chosen == RECORDS_MODEL)
        model_leave();
}
