/* SPDX-License-Identifier: BSD-2-Clause */
/* String instructions with REP beside loops over bytes; both streams. */
#include "guest/runtime/runtime.h"

static char text[512];

static void copy_repeated(char *to, const char *from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static size_t find_repeated(const char *in, char wanted, size_t bytes)
{
    const char *at = in;

    __asm__ volatile("repne scasb" : "+D"(at), "+c"(bytes) : "a"(wanted) : "memory", "cc");
    return (size_t)(at - in);
}

int main(int argc, char **argv)
{
    static const char fox[] = "the quick brown fox jumps over the lazy dog";
    size_t vowels = 0;

    for (unsigned i = 0; i < 8; i++)
        copy_repeated(text + i * 44, fox, 44);
    for (const char *c = text; c < text + 8 * 44; c++)
        switch (*c) {
        case 'a':
        case 'e':
        case 'i':
        case 'o':
        case 'u':
            vowels++;
        }
    write_all(2, "to standard error\n", 18);
    for (int i = 1; i < argc; i++) {
        print(argv[i]);
        print(strcmp(argv[i], fox) == 0 ? " is the fox\n" : " is not\n");
    }
    print_number(vowels);
    print(" vowels\n");
    return (int)find_repeated(text, 'z', sizeof text);
}
