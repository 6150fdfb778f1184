/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tar archive as the files of a program. Source: POSIX.1, "pax", "ustar Interchange Format".
 */
#include "guest/files.h"
#include "hw/string.h"

#define BLOCK 512u
#define PATH  257u /* prefix, slash, name, NUL */

struct tar_header {
    char name[100], mode[8], owner[8], group[8], bytes[12], time[12], check[8], type, link[100];
    char magic[6], version[2], owner_name[32], group_name[32], major[8], minor[8], prefix[155];
    char padding[12];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "ustar header block");

static uint64_t octal(const char *text, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes && text[i] >= '0' && text[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(text[i] - '0');
    return value;
}

/* The sum of all bytes of the header, its own field taken as blanks. */
static bool sum_is_right(const struct tar_header *h)
{
    const uint8_t *bytes = (const uint8_t *)h;
    uint64_t sum = 8 * ' ';

    for (unsigned i = 0; i < BLOCK; i++)
        sum += bytes + i >= (const uint8_t *)h->check &&
                       bytes + i < (const uint8_t *)h->check + sizeof(h->check)
                   ? 0
                   : bytes[i];
    return sum == octal(h->check, sizeof(h->check));
}

static size_t add(char *path, size_t used, const char *text, size_t most)
{
    for (size_t i = 0; i < most && text[i]; i++)
        path[used++] = text[i];
    path[used] = 0;
    return used;
}

static void whole_path(const struct tar_header *h, char path[PATH])
{
    size_t used = add(path, 0, h->prefix, sizeof(h->prefix));

    if (used)
        path[used++] = '/';
    add(path, used, h->name, sizeof(h->name));
}

/* Folders on the way that the archive does not name are made. */
static struct file_node *place(struct files *f, const char *path, enum file_kind kind,
                               uint32_t mode)
{
    struct file_node *at = f->root;

    while (*path) {
        char name[PATH];
        size_t bytes = 0;
        struct file_node *next;

        while (*path && *path != '/')
            name[bytes++] = *path++;
        name[bytes] = 0;
        while (*path == '/')
            path++;
        if (!bytes || strcmp(name, ".") == 0)
            continue;
        if (strcmp(name, "..") == 0 || at->kind != FILE_FOLDER)
            return NULL;
        next = files_child(at, name);
        if (!next)
            next = files_make(f, at, name, *path ? FILE_FOLDER : kind,
                              *path ? FILES_FOLDER_MODE : mode);
        if (!next)
            return NULL;
        at = next;
    }
    return at;
}

const char *files_unpack(struct files *f, const uint8_t *archive, size_t count)
{
    char path[PATH];

    for (size_t at = 0; at + BLOCK <= count && archive[at];) {
        const struct tar_header *h = (const struct tar_header *)(archive + at);
        uint64_t bytes = octal(h->bytes, sizeof(h->bytes));
        bool is_file = h->type == '0' || h->type == 0, is_folder = h->type == '5';
        struct file_node *node;

        if (memcmp(h->magic, "ustar", 5) != 0 || !sum_is_right(h))
            return "is not a tar archive: make it with tar --format=ustar";
        at += BLOCK;
        if (bytes > count - at)
            return "is cut short: copy it again";
        if (is_file || is_folder) {
            whole_path(h, path);
            node = place(f, path, is_file ? FILE_REGULAR : FILE_FOLDER,
                         (uint32_t)octal(h->mode, sizeof(h->mode)));
            if (!node)
                return "has more files than there is memory for, or one outside itself";
            node->time = octal(h->time, sizeof(h->time)) * 1000000000u;
            if (is_file && node->kind == FILE_REGULAR) {
                node->given = archive + at;
                node->bytes = node->given_bytes = bytes;
            }
        }
        at += (bytes + BLOCK - 1) / BLOCK * BLOCK;
    }
    return NULL;
}
