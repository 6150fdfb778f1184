/* SPDX-License-Identifier: BSD-2-Clause */
/* Hexadecimal text of GDB's packets. */
#include "harness/gdb/text.h"

#include "harness/gdb/packet.h"
#include "hw/string.h"

char *text_put(char *to, const char *text)
{
    size_t count = strlen(text);

    memcpy(to, text, count + 1);
    return to + count;
}

char *text_hex(char *to, uint64_t value, unsigned digits)
{
    for (unsigned at = digits; at > 0; at--, value >>= 4)
        to[at - 1] = "0123456789abcdef"[value & 15];
    return to + digits;
}

char *text_bytes(char *to, const void *bytes, size_t count)
{
    for (const uint8_t *b = bytes; count > 0; b++, count--)
        to = text_hex(to, *b, 2);
    return to;
}

bool text_number(const char **text, uint64_t *value)
{
    const char *at = *text;

    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
        at += 2;
    if (packet_digit(*at) < 0)
        return false;
    for (*value = 0; packet_digit(*at) >= 0; at++) {
        if (*value >> 60)
            return false;
        *value = *value << 4 | (uint64_t)packet_digit(*at);
    }
    *text = at;
    return true;
}

bool text_skip(const char **text, char c)
{
    if (**text != c)
        return false;
    (*text)++;
    return true;
}

bool text_word(const char **text, const char *word)
{
    size_t count = strlen(word);

    if (strncmp(*text, word, count) != 0)
        return false;
    *text += count;
    return true;
}

size_t text_unhex(const char **text, void *to, size_t room)
{
    uint8_t *bytes = to;
    size_t used = 0;
    const char *at = *text;

    for (; used < room && packet_digit(at[0]) >= 0 && packet_digit(at[1]) >= 0; at += 2)
        bytes[used++] = (uint8_t)(packet_digit(at[0]) << 4 | packet_digit(at[1]));
    *text = at;
    return used;
}
