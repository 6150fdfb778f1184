/* SPDX-License-Identifier: BSD-2-Clause */
/* machine.json: what the machine is, below any model of ours, for whoever reads a report. */
#ifndef HARNESS_SUITE_MACHINE_H
#define HARNESS_SUITE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

bool machine_init(void);

/* Reads the model-specific registers; on the taken-over machine, without a provider. */
uint64_t machine_ask(void *unused);

#endif
