/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program can use that is compiled with `make program SRC=file.c`: the few functions
 * below, main with or without (int argc, char **argv), SSE. Runs on Linux as well.
 */
#ifndef GUEST_RUNTIME_RUNTIME_H
#define GUEST_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

_Noreturn void exit(int code); /* its low 8 bits count */

/* Everything, however much; stream 1 is standard output, 2 standard error. */
void write_all(int stream, const void *bytes, size_t count);
void print(const char *text);      /* to standard output */
void print_number(uint64_t value); /* decimal */

/* Zeroed, aligned to 16, never given back; NULL when there is none. */
void *allocate(size_t bytes);

/* The compiler may call these without being asked to. */
void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);

#endif
