/* SPDX-License-Identifier: BSD-2-Clause */
/* What is in a program's files: given bytes until a page is written to, then a page. */
#include "guest/errors.h"
#include "guest/files.h"
#include "hw/paging.h"
#include "hw/string.h"

#define ENTRIES 512u /* pointers in a page */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The place for the pointer to a page; NULL when its table is missing and may not be made. */
static uint8_t **slot(struct file_node *node, uint64_t page, bool make)
{
    uint8_t ***table;

    if (!node->pages && make)
        node->pages = page_alloc();
    if (!node->pages)
        return NULL;
    table = &node->pages[page / ENTRIES];
    if (!*table && make)
        *table = page_alloc();
    return *table ? &(*table)[page % ENTRIES] : NULL;
}

static uint8_t *page_of(const struct file_node *node, uint64_t page)
{
    uint8_t **at = slot((struct file_node *)node, page, false);

    return at ? *at : NULL;
}

/* What was given for part of a page; behind its end there are zeros. */
static void copy_given(const struct file_node *node, uint64_t offset, uint8_t *to, size_t count)
{
    size_t there =
        offset < node->given_bytes ? (size_t)smaller(count, node->given_bytes - offset) : 0;

    if (there)
        memcpy(to, node->given + offset, there);
    memset(to + there, 0, count - there);
}

size_t files_read(const struct file_node *node, uint64_t offset, void *to, size_t count)
{
    uint8_t *at = to;
    size_t left;

    if (offset >= node->bytes)
        return 0;
    count = (size_t)smaller(count, node->bytes - offset);
    for (left = count; left > 0;) {
        uint64_t in_page = offset % PAGE_BYTES;
        size_t part = (size_t)smaller(left, PAGE_BYTES - in_page);
        const uint8_t *page = page_of(node, offset / PAGE_BYTES);

        if (page)
            memcpy(at, page + in_page, part);
        else
            copy_given(node, offset, at, part);
        at += part;
        offset += part;
        left -= part;
    }
    return count;
}

static uint8_t *own_page(struct file_node *node, uint64_t page)
{
    uint8_t **at = slot(node, page, true);

    if (!at)
        return NULL;
    if (!*at) {
        *at = page_alloc();
        if (*at)
            copy_given(node, page * PAGE_BYTES, *at, PAGE_BYTES);
    }
    return *at;
}

size_t files_write(struct file_node *node, uint64_t offset, const void *from, size_t count)
{
    const uint8_t *at = from;
    size_t done = 0;

    node->changed = true;
    while (done < count && offset < FILES_LARGEST) {
        uint64_t in_page = offset % PAGE_BYTES;
        size_t part = (size_t)smaller(count - done, PAGE_BYTES - in_page);
        uint8_t *page = own_page(node, offset / PAGE_BYTES);

        if (!page)
            break;
        memcpy(page + in_page, at + done, part);
        done += part;
        offset += part;
        if (offset > node->bytes)
            node->bytes = offset;
    }
    return done;
}

static void free_from(struct file_node *node, uint64_t first)
{
    for (uint64_t i = first / ENTRIES; node->pages && i < ENTRIES; i++) {
        uint8_t **table = node->pages[i];

        for (unsigned j = 0; table && j < ENTRIES; j++) {
            if (i * ENTRIES + j < first || !table[j])
                continue;
            page_free(table[j]);
            table[j] = NULL;
        }
        if (table && i * ENTRIES >= first) {
            page_free(table);
            node->pages[i] = NULL;
        }
    }
    if (node->pages && first == 0) {
        page_free(node->pages);
        node->pages = NULL;
    }
}

/* What is cut off reads as zeros when the file grows over it again. */
int files_resize(struct file_node *node, uint64_t bytes)
{
    uint64_t in_page = bytes % PAGE_BYTES;
    uint8_t *last;

    if (bytes > FILES_LARGEST)
        return PROGRAM_EFBIG;
    last = in_page ? page_of(node, bytes / PAGE_BYTES) : NULL;
    node->changed |= bytes != node->bytes;
    node->bytes = bytes;
    node->given_bytes = smaller(node->given_bytes, bytes);
    if (last)
        memset(last + in_page, 0, PAGE_BYTES - in_page);
    free_from(node, bytes / PAGE_BYTES + (in_page != 0));
    return 0;
}
