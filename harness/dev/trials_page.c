/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints docs/defects.md from the model's own tables, so that the page names what the image
 * has. `make docs` writes it; the check's entry `docs` fails when the page is older.
 */
#include "hw/model/model.h"

#include <stdio.h>

/* A bar would end a cell of the table. */
static void cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\%c" : "%c", *text);
}

static void defects(void)
{
    printf("## Defects\n\n"
           "`defect=NAME` breaks one rule; `make defects` breaks each of the %zu in turn, and "
           "a check on\nthe clause must fail.\n\n| name | clause | what is wrong |\n"
           "|---|---|---|\n",
           model_defect_count());
    for (size_t i = 0; i < model_defect_count(); i++) {
        printf("| `%s` | %s | ", model_defect(i)->name, model_defect(i)->clause);
        cell(model_defect(i)->description);
        printf(" |\n");
    }
}

static void policies(void)
{
    printf("\n## Policies\n\n"
           "`policy=NAME:VALUE` answers an open question otherwise; the first value is in "
           "force by default.\n`make policies` tries every value of the %zu, and the "
           "fingerprint must name it.\n\n| name | clause | values | question |\n"
           "|---|---|---|---|\n",
           model_policy_count());
    for (size_t i = 0; i < model_policy_count(); i++) {
        printf("| `%s` | %s | ", model_policy(i)->name, model_policy(i)->clause);
        cell(model_policy(i)->values);
        printf(" | ");
        cell(model_policy(i)->description);
        printf(" |\n");
    }
}

int main(void)
{
    printf("# What the model can be told to do wrong, or otherwise\n\n"
           "Made from the tables in `hw/model/trial/` by `make docs`; do not edit.\n\n");
    defects();
    policies();
    return 0;
}
