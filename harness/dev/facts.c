/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints what the image declares, for documents and scripts of the host, from the same tables:
 *
 *     facts options     docs/options.md
 *     facts clauses     harness/host/clauses.json
 *     facts field       the faults from the field, by the checks that would have caught them
 *     facts checks ELF  what list=1 prints; status 1 when a declaration breaks a rule
 *
 * So nobody has to read C by regular expression, or to boot the image for a list.
 */
#include "harness/check/check.h"
#include "harness/dev/check_rules.h"
#include "harness/dev/elf_checks.h"
#include "harness/options/option_table.h"

#include <stdio.h>
#include <string.h>

#define CHECKS_ROOM 4096

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

/* --- clauses */

static void put_json(const char *key, const char *text, const char *behind)
{
    printf("\"%s\": ", key);
    if (text) {
        putchar('"');
        for (; *text; text++) {
            if (*text == '"' || *text == '\\')
                putchar('\\');
            putchar(*text);
        }
        printf("\"%s", behind);
    } else {
        printf("null%s", behind);
    }
}

static int print_clauses(void)
{
    static const struct {
        const char *id, *section, *title, *why;
        enum check_kind kind;
        bool counted;
    } clauses[] = {
#define CLAUSE(id, kind, section, title, why) {id, section, title, why, kind, true},
#define BESIDE(id, kind, section, title, why) {id, section, title, why, kind, false},
#include "harness/suite/clauses.def"
#undef CLAUSE
#undef BESIDE
    };
    size_t count = sizeof(clauses) / sizeof(clauses[0]);

    puts("[");
    for (size_t i = 0; i < count; i++) {
        printf("{");
        put_json("id", clauses[i].id, ", ");
        put_json("kind", check_kind_word(clauses[i].kind), ", ");
        printf("\"counted\": %s,\n ", clauses[i].counted ? "true" : "false");
        put_json("section", clauses[i].section, ",\n ");
        put_json("title", clauses[i].title, ",\n ");
        put_json("why", clauses[i].why, "");
        puts(i + 1 < count ? "}," : "}");
    }
    puts("]");
    return 0;
}

/* --- checks, and the faults that they would have caught */

static void say_wrong(const struct check *check, const char *text)
{
    fprintf(stderr, "%s:%u: CHECK(\"%s\"): %s\n", check->file, check->line, check->name, text);
}

static int print_checks(const char *path)
{
    static const struct check *checks[CHECKS_ROOM];
    size_t count = elf_checks(path, checks, CHECKS_ROOM);
    char line[200];

    for (size_t i = 0; i < count; i++) {
        check_describe(checks[i], line, sizeof(line));
        puts(line);
    }
    return count == 0 || check_rules(checks, count, say_wrong) ? 1 : 0;
}

static int print_field(void)
{
#define FIELD(number, fault, check) printf("%u %s %s\n", number, check, fault);
#include "harness/suite/field.def"
#undef FIELD
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*print)(void);
    } facts[] = {
        {"options", print_options}, {"clauses", print_clauses}, {"field", print_field}};

    if (argc == 3 && strcmp(argv[1], "checks") == 0)
        return print_checks(argv[2]);
    for (size_t i = 0; argc == 2 && i < sizeof(facts) / sizeof(facts[0]); i++)
        if (strcmp(argv[1], facts[i].name) == 0)
            return facts[i].print();
    fprintf(stderr, "usage: facts options|clauses|field, or facts checks ELF\n");
    return 3;
}
