/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program finds when it starts. Source: System V ABI, AMD64 supplement, "Process
 * Initialization"; the numbers beyond it are Linux's.
 */
#include "guest/program_parts.h"

#include "hw/string.h"
#include "hw/user.h"

/* Auxiliary vector. */
enum { AT_NULL, AT_PHDR = 3, AT_PHENT = 4, AT_PHNUM = 5, AT_PAGESZ = 6, AT_BASE, AT_FLAGS };
enum { AT_ENTRY = 9, AT_UID = 11, AT_EUID, AT_GID, AT_EGID, AT_PLATFORM, AT_CLKTCK = 17 };
enum { AT_SECURE = 23, AT_RANDOM = 25, AT_EXECFN = 31 };
#define PROGRAM_HEADER_BYTES 56

#define WORDS_MOST  64 /* of each kind */
#define TEXTS_BYTES 0x8000

static size_t texts_bytes(const char *texts, unsigned count)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < count; i++)
        bytes += strlen(texts + bytes) + 1;
    return bytes;
}

/* Puts texts below *at. */
static bool put(struct program *p, uint64_t *at, const void *bytes, size_t count)
{
    *at -= count;
    return program_write(p, *at, bytes, count);
}

static unsigned pointers(uint64_t *to, uint64_t at, const char *texts, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        to[i] = at;
        at += strlen(texts) + 1;
        texts += strlen(texts) + 1;
    }
    to[count] = 0;
    return count + 1;
}

/* Of the file itself and of the strings that the kernel adds, below *at. */
static unsigned auxiliary(struct program *p, uint64_t *to, uint64_t *at)
{
    static const char platform[] = "x86_64";
    const struct elf_plan *plan = &p->plan;
    uint64_t random[2], name, kind;

    program_random(p, random, sizeof(random));
    put(p, at, p->start.path, strlen(p->start.path) + 1);
    name = *at;
    put(p, at, platform, sizeof(platform));
    kind = *at;
    *at &= ~15ull;
    put(p, at, random, sizeof(random));
    const uint64_t vector[][2] = {{AT_PHDR, plan->headers},
                                  {AT_PHENT, PROGRAM_HEADER_BYTES},
                                  {AT_PHNUM, plan->header_count},
                                  {AT_PAGESZ, PAGE_BYTES},
                                  {AT_BASE, 0},
                                  {AT_FLAGS, 0},
                                  {AT_ENTRY, plan->entry},
                                  {AT_UID, PROGRAM_USER},
                                  {AT_EUID, PROGRAM_USER},
                                  {AT_GID, PROGRAM_USER},
                                  {AT_EGID, PROGRAM_USER},
                                  {AT_SECURE, 0},
                                  {AT_CLKTCK, 100},
                                  {AT_PLATFORM, kind},
                                  {AT_EXECFN, name},
                                  {AT_RANDOM, *at},
                                  {AT_NULL, 0}};

    memcpy(to, vector, sizeof(vector));
    return sizeof(vector) / sizeof(*to);
}

/*
 * From the top down: the environment, the words, what the auxiliary vector points to, that
 * vector, pointers to the environment and to the words, the number of words.
 */
const char *program_first_stack(struct program *p)
{
    static uint64_t vector[1 + 2 * (WORDS_MOST + 1) + 40];
    const struct program_start *s = &p->start;
    size_t words = texts_bytes(s->words, s->word_count);
    size_t environment = texts_bytes(s->environment, s->environment_count);
    uint64_t at = PROGRAM_STACK_TOP, places;
    unsigned n = 1;

    if (s->word_count > WORDS_MOST || s->environment_count > WORDS_MOST ||
        words + environment > TEXTS_BYTES)
        return "its words and environment do not fit onto the stack";
    if (!put(p, &at, s->environment, environment) || !put(p, &at, s->words, words))
        return "there is no memory for its stack";
    p->arguments = places = at;
    vector[0] = s->word_count;
    n += pointers(vector + n, places, s->words, s->word_count);
    n += pointers(vector + n, places + words, s->environment, s->environment_count);
    n += auxiliary(p, vector + n, &at);
    at = (at - n * sizeof(vector[0])) & ~15ull;
    if (!program_write(p, at, vector, n * sizeof(vector[0])))
        return "there is no memory for its stack";
    user_frame_init(&p->frame, p->plan.entry, at, true);
    return NULL;
}
