/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that a program left behind, in the form of POSIX.1, "pax", "ustar Interchange
 * Format". A path that does not fit into prefix and name is left out, and counted.
 */
#include "harness/program/program_export.h"

#include "harness/check/format.h"
#include "harness/check/out.h"
#include "hw/string.h"

#define BLOCK        512u
#define NAME_BYTES   100u
#define PREFIX_AT    345u
#define PREFIX_BYTES 155u
#define CHUNK        65536u

/* Octal digits and a NUL. */
static void octal(uint8_t *to, unsigned bytes, uint64_t value)
{
    to[bytes - 1] = 0;
    for (unsigned i = bytes - 1; i-- > 0; value >>= 3)
        to[i] = (uint8_t)('0' + (value & 7));
}

/* Cut at a slash, so that both parts fit. */
static bool put_path(uint8_t *header, const char *path)
{
    size_t length = strlen(path), cut = 0;

    if (length >= NAME_BYTES) {
        for (cut = length - NAME_BYTES; cut < length && path[cut] != '/'; cut++)
            continue;
        if (cut == length || cut > PREFIX_BYTES)
            return false;
        memcpy(header + PREFIX_AT, path, cut++);
    }
    memcpy(header, path + cut, length - cut);
    return true;
}

static bool put_header(uint8_t header[BLOCK], const struct file_node *node)
{
    bool folder = node->kind == FILE_FOLDER;
    char path[1024];
    uint64_t sum = 0;

    memset(header, 0, BLOCK);
    if (!files_path(node, path, sizeof(path)) || !put_path(header, path + 1))
        return false;
    octal(header + 100, 8, node->mode);
    octal(header + 108, 8, 0);
    octal(header + 116, 8, 0);
    octal(header + 124, 12, folder ? 0 : node->bytes);
    octal(header + 136, 12, node->time / 1000000000u);
    memset(header + 148, ' ', 8);
    header[156] = folder ? '5' : '0';
    memcpy(header + 257, "ustar\00000", 8);
    for (unsigned i = 0; i < BLOCK; i++)
        sum += header[i];
    octal(header + 148, 7, sum);
    return true;
}

static bool put_content(const struct file_node *node,
                        bool (*append)(const void *bytes, size_t count))
{
    static uint8_t chunk[CHUNK];

    for (uint64_t at = 0; at < node->bytes; at += CHUNK) {
        size_t count = files_read(node, at, chunk, CHUNK), padded = (count + BLOCK - 1) & ~511u;

        memset(chunk + count, 0, padded - count);
        if (!append(chunk, padded))
            return false;
    }
    return true;
}

static bool is_wanted(const struct file_node *node)
{
    return node->changed && (node->kind == FILE_REGULAR || node->kind == FILE_FOLDER);
}

int program_export(struct program *p, bool (*begin)(const char *name),
                   bool (*append)(const void *bytes, size_t count))
{
    static uint8_t block[2 * BLOCK];
    int count = 0;
    unsigned left_out = 0;

    for (struct file_node *node = p->files.root; node; node = files_next(node)) {
        if (!is_wanted(node))
            continue;
        if (!put_header(block, node)) {
            left_out++;
            continue;
        }
        if ((count == 0 && !begin("files.tar")) || !append(block, BLOCK) ||
            (node->kind == FILE_REGULAR && !put_content(node, append)))
            return -1;
        count++;
    }
    memset(block, 0, sizeof(block));
    if (left_out)
        out_line("# program files left out: %u with too long a path", left_out);
    return count && !append(block, sizeof(block)) ? -1 : count;
}
