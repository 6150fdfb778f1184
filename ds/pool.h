/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fixed pool of pages for DS areas and buffers, with an account for each payer. What was
 * charged is refunded to the payer that was charged, whoever gives the pages back.
 */
#ifndef DS_POOL_H
#define DS_POOL_H

#include "ds/error.h"
#include "hw/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_PAGE_BYTES 4096u
#define POOL_PAGES_MOST 1024u

struct pool_payer {
    const char *name;
    size_t limit_pages;   /* more is refused */
    size_t charged_pages; /* kept by the pool */
};

struct pool {
    struct lock lock;
    uint8_t *memory;
    size_t pages;
    /* For the first page of each run its length; 0 for every other page. */
    uint16_t run[POOL_PAGES_MOST];
    struct pool_payer *payer[POOL_PAGES_MOST];
};

/*
 * memory is page-aligned, mapped and writable for as long as the pool lives. DS_EINVAL when it
 * is not aligned, holds no page, or holds more than POOL_PAGES_MOST.
 */
enum ds_error pool_init(struct pool *pool, void *memory, size_t bytes);

/*
 * Zeroed, contiguous pages for bytes > 0, charged to payer. DS_ENOMEM over the payer's limit or
 * no run that long is free; DS_EINVAL for 0 bytes; DS_EBUSY the pool is locked by a call that
 * this one interrupted. *pages is untouched then.
 */
enum ds_error pool_take(struct pool *pool, struct pool_payer *payer, size_t bytes,
                        void **pages);

/* Refunds. DS_EINVAL, and nothing done, for an address that pool_take did not return. */
enum ds_error pool_give_back(struct pool *pool, void *pages);

/* Pages handed out, and the longest run that could be taken now. */
size_t pool_used(const struct pool *pool);
size_t pool_longest_free(const struct pool *pool);

#endif
