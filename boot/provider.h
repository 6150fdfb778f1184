/* SPDX-License-Identifier: BSD-2-Clause */
/* Who records: the processor itself, the model, or nobody. */
#ifndef BOOT_PROVIDER_H
#define BOOT_PROVIDER_H

#include "harness/options/options.h"

#include <stdbool.h>
#include <stdint.h>

enum provider { RECORDS_NOBODY, RECORDS_NATIVE, RECORDS_MODEL };

/* Runs fn on the machine taken over and returns what it returns. */
typedef uint64_t take_over_fn(uint64_t (*fn)(void *), void *arg);

/*
 * Tries the processor, then the model, as far as the option allows; allocates what the model
 * needs. Takes the machine over once, without a provider. False with one line in error when an
 * option names something that the model does not know.
 */
bool provider_choose(const struct options *options, take_over_fn *take_over_bare,
                     uint64_t top_of_ram, char *error, uint64_t error_bytes);

/*
 * For under=, where nobody else is asked: the model as the options have it, false as above; and
 * why it cannot be entered here, or NULL.
 */
bool provider_configure(const struct options *options, char *error, uint64_t error_bytes);
const char *provider_no_model(void);

/* The names that reports use: "native", "model", "none". */
const char *provider_name(void);
/* Why not native; "" when it is. */
const char *provider_reason(void);
/* Why nobody may ask this machine for BTS, or NULL. */
const char *provider_gate_shut(void);
/* Its switches; NULL where the machine itself records. */
const struct stand_in *provider_stand_in(void);

/* Around whatever runs taken over. Both do nothing unless the model records. */
bool provider_enter(void);
void provider_leave(void);

/*
 * For another processor, by the index of its struct cpu: memory first (firmware mode), then
 * the way in, on that processor. provider_leave takes any processor out.
 */
bool provider_prepare_other(unsigned index);
bool provider_enter_other(unsigned index);

#endif
