/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints what the image declares, for documents and scripts of the host, from the same tables:
 *
 *     facts options     docs/options.md
 *
 * So nobody has to read C by regular expression, or to boot the image for a list.
 */
#include "harness/options/option_table.h"

#include <stdio.h>
#include <string.h>

/* In a table of Markdown a bar would end the cell. */
static void put_cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
}

static void option_row(const struct option *option)
{
    char values[80];

    option_values_text(option, values, sizeof(values));
    printf("| `%s=", option->name);
    put_cell(values);
    printf("` | ");
    if (option->otherwise)
        printf("`%s`", option->otherwise);
    else if (option->kind == OPTION_SWITCH)
        printf("`0`");
    printf(" | ");
    put_cell(option->help);
    printf(" |\n");
}

static int print_options(void)
{
    puts("# Options\n\n"
         "Words of the form `key=value`, in `waymark.cfg` (`#` starts a comment) or in the\n"
         "load options, which win. With QEMU: `make run-qemu ARGS=\"cpus=2\"`.\n"
         "`help=1` prints this list.\n\n"
         "Numbers are decimal, or hexadecimal behind `0x`. Made from\n"
         "`harness/options/option_table.c` by `make docs`: change it there.");
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].kind == OPTION_HEADING)
            printf("\n## %s\n\n| option | default | meaning |\n|---|---|---|\n",
                   option_table[i].help);
        else
            option_row(&option_table[i]);
    puts("\n`ACCEL=tcg|auto|kvm` chooses QEMU's accelerator. The default is tcg; kvm is\n"
         "tried by a real start and falls back to tcg with one line that says so.");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*print)(void);
    } facts[] = {{"options", print_options}};

    for (size_t i = 0; argc == 2 && i < sizeof(facts) / sizeof(facts[0]); i++)
        if (strcmp(argv[1], facts[i].name) == 0)
            return facts[i].print();
    fprintf(stderr, "usage: facts options\n");
    return 3;
}
