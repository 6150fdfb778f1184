/* SPDX-License-Identifier: BSD-2-Clause */
/* A small runtime over five of Linux's system calls, which guest/program knows as well. */
#include "guest/runtime/runtime.h"

enum { CALL_WRITE = 1, CALL_BRK = 12, CALL_EXIT_GROUP = 231 };
#define STEP (64ul << 10) /* by which the heap grows at least */

static long call(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

void exit(int code)
{
    for (;;)
        call(CALL_EXIT_GROUP, code, 0, 0);
}

void write_all(int stream, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        long done = call(CALL_WRITE, stream, (long)at, (long)count);

        if (done <= 0)
            return;
        at += done;
        count -= (size_t)done;
    }
}

void print(const char *text)
{
    write_all(1, text, strlen(text));
}

void print_number(uint64_t value)
{
    char digits[21];
    char *at = digits + sizeof digits - 1;

    *at = 0;
    do
        *--at = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    print(at);
}

void *allocate(size_t bytes)
{
    static uintptr_t next, end;
    uintptr_t start;

    if (!end)
        next = end = ((uintptr_t)call(CALL_BRK, 0, 0, 0) + 15) & ~15ul;
    bytes = (bytes + 15) & ~15ul;
    if (bytes > end - next) {
        uintptr_t wanted = next + (bytes > STEP ? bytes : STEP);

        if ((uintptr_t)call(CALL_BRK, (long)wanted, 0, 0) < wanted)
            return NULL;
        end = wanted;
    }
    start = next;
    next += bytes;
    return (void *)start;
}

/* Plain loops: -ffreestanding keeps the compiler from making them calls of themselves. */
void *memcpy(void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;

    while (bytes-- > 0)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;

    if (t <= f)
        return memcpy(to, from, bytes);
    while (bytes-- > 0)
        t[bytes] = f[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    char *t = to;

    while (bytes-- > 0)
        *t++ = (char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;

    for (; bytes > 0; bytes--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

size_t strlen(const char *text)
{
    size_t bytes = 0;

    while (text[bytes])
        bytes++;
    return bytes;
}

int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}
