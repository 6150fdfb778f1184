/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells before any boot whether the image would refuse a program: the image's own judgement of
 * the file, on the host. What depends on the machine, memory and where its kernel lies, it
 * leaves to the image.
 *
 *     loadable PROGRAM      0, or 1 with one line on standard error
 */
#include "guest/elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *read_all(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long length;

    if (file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0) {
        bytes = malloc((size_t)length + 1);
        *count = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
    }
    if (file)
        fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    const char *slash = argc == 2 ? strrchr(argv[1], '/') : NULL;
    struct elf_plan plan;
    enum elf_error error;
    size_t count = 0;
    uint8_t *bytes;

    if (argc != 2) {
        fputs("usage: loadable PROGRAM\n", stderr);
        return 1;
    }
    bytes = read_all(argv[1], &count);
    if (!bytes || count == 0) {
        fprintf(stderr, "%s %s\n", slash ? slash + 1 : argv[1],
                bytes ? "is empty: copy it again" : "cannot be read");
        return 1;
    }
    error = elf_plan(bytes, count, UINT64_MAX, &plan);
    free(bytes);
    if (error)
        fprintf(stderr, "%s %s\n", slash ? slash + 1 : argv[1], elf_error_text(error));
    return error != ELF_OK;
}
