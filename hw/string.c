/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory and string functions. REP forms: no branch, so a trace of ring 0 stays short. */
#include "hw/string.h"

#include <stdint.h>

/* The compiler would otherwise recognise a loop as the very function it implements. */
#define OPAQUE() __asm__ volatile("")

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    void *d = to;
    const void *s = from;
    size_t words = bytes / 8, rest = bytes % 8;

    __asm__ volatile("rep movsq" : "+D"(d), "+S"(s), "+c"(words) : : "memory");
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(rest) : : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    uint8_t *d = to;
    const uint8_t *s = from;

    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        return memcpy(to, from, bytes);
    while (bytes-- > 0) { /* overlapping upwards: from the end */
        d[bytes] = s[bytes];
        OPAQUE();
    }
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    void *d = to;
    uint64_t pattern = (uint8_t)value * 0x0101010101010101ull;
    size_t words = bytes / 8, rest = bytes % 8;

    __asm__ volatile("rep stosq" : "+D"(d), "+c"(words) : "a"(pattern) : "memory");
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(rest) : "a"(pattern) : "memory");
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *p = a, *q = b;

    for (size_t i = 0; i < bytes; i++) {
        if (p[i] != q[i])
            return p[i] - q[i];
        OPAQUE();
    }
    return 0;
}

size_t strlen(const char *s)
{
    size_t length = 0;

    while (s[length] != '\0') {
        length++;
        OPAQUE();
    }
    return length;
}

int strncmp(const char *a, const char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (a[i] != b[i] || a[i] == '\0')
            return (uint8_t)a[i] - (uint8_t)b[i];
        OPAQUE();
    }
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *s, int c)
{
    for (;; s++) {
        if (*s == (char)c)
            return (char *)(uintptr_t)s;
        if (*s == '\0')
            return NULL;
    }
}
