/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal as a file, waymark/journal.txt on the boot volume, or as a variable of the
 * firmware. Firmware mode only.
 */
#ifndef BOOT_JOURNAL_H
#define BOOT_JOURNAL_H

#include <stdbool.h>

/* Reads what an earlier boot left, for the suite to go on with. */
void journal_load(void);

/* Begins one, or goes on with the one that was loaded; says so in one line. */
void journal_open(void);

/* The run has come to its end: there is nothing to go on with. */
void journal_remove(void);

/*
 * Around the gate, which sets TR for the first time: a file that an earlier boot could not take
 * away means that the machine never came back from it. False: it must not be asked again.
 * Nothing is written, and the gate is open, where files cannot be.
 */
bool journal_gate_enter(void);
void journal_gate_leave(void);

#endif
