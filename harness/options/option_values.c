/* SPDX-License-Identifier: BSD-2-Clause */
/* Values that are read in more than one place: a number, one word of some. */
#include "harness/options/option_values.h"

#include "hw/string.h"

bool option_number(const char *text, uint64_t *value)
{
    unsigned base = 10;
    uint64_t result = 0;

    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    }
    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = *text >= '0' && *text <= '9'   ? (unsigned)(*text - '0')
                         : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a' + 10)
                         : *text >= 'A' && *text <= 'F' ? (unsigned)(*text - 'A' + 10)
                                                        : 99;
        if (digit >= base || result > (UINT64_MAX - digit) / base)
            return false;
        result = result * base + digit;
    }
    *value = result;
    return true;
}

/* Whether text is the first `bytes` bytes of `word`, and those are all there are. */
static bool is_word(const char *text, const char *word, size_t bytes)
{
    return strlen(text) == bytes && memcmp(text, word, bytes) == 0;
}

bool option_word(const char *text, const char *words, unsigned *value)
{
    for (*value = 0;; ++*value) {
        const char *end = strchr(words, '|');
        size_t bytes = end ? (size_t)(end - words) : strlen(words);

        if (is_word(text, words, bytes))
            return true;
        if (!end)
            return false;
        words = end + 1;
    }
}
