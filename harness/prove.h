/* SPDX-License-Identifier: BSD-2-Clause */
/* The suite on trial: does it notice every defect, does it name every policy? */
#ifndef HARNESS_PROVE_H
#define HARNESS_PROVE_H

/*
 * On the taken-over machine. Prints a line for each defect of the stand-in and
 * `defects: K of T killed` last; for policies `policies: K of T identified`.
 */
void prove_defects(void);
void prove_policies(void);

#endif
