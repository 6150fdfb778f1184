/* SPDX-License-Identifier: BSD-2-Clause */
/* First-fit runs of pages, and who pays for them. */
#include "ds/pool.h"

#include "hw/string.h"

enum ds_error pool_init(struct pool *pool, void *memory, size_t bytes)
{
    size_t pages = bytes / POOL_PAGE_BYTES;

    if ((uintptr_t)memory % POOL_PAGE_BYTES || !pages || pages > POOL_PAGES_MOST)
        return DS_EINVAL;
    memset(pool, 0, sizeof(*pool));
    pool->memory = memory;
    pool->pages = pages;
    return DS_OK;
}

/* Free pages from first on, as far as they matter. */
static size_t free_from(const struct pool *pool, size_t first, size_t enough)
{
    size_t count = 0;

    while (count < enough && first + count < pool->pages && !pool->run[first + count])
        count++;
    return count;
}

/* First page of a free run, or pool->pages. Runs are stepped over by their length. */
static size_t find(const struct pool *pool, size_t wanted)
{
    size_t page = 0;

    while (page < pool->pages) {
        size_t count = free_from(pool, page, wanted);

        if (count == wanted)
            return page;
        page += count;
        if (page < pool->pages)
            page += pool->run[page];
    }
    return pool->pages;
}

enum ds_error pool_take(struct pool *pool, struct pool_payer *payer, size_t bytes, void **pages)
{
    size_t wanted = bytes / POOL_PAGE_BYTES + (bytes % POOL_PAGE_BYTES != 0), first;
    enum ds_error error = DS_ENOMEM;
    irqflags_t flags;

    if (!wanted)
        return DS_EINVAL;
    if (!lock_take(&pool->lock, &flags))
        return DS_EBUSY;
    first = find(pool, wanted);
    if (first < pool->pages && payer->charged_pages <= payer->limit_pages &&
        wanted <= payer->limit_pages - payer->charged_pages) {
        pool->run[first] = (uint16_t)wanted;
        pool->payer[first] = payer;
        payer->charged_pages += wanted;
        *pages = pool->memory + first * POOL_PAGE_BYTES;
        error = DS_OK;
    }
    lock_release(&pool->lock, flags);
    if (error == DS_OK)
        memset(*pages, 0, wanted * POOL_PAGE_BYTES);
    return error;
}

enum ds_error pool_give_back(struct pool *pool, void *pages)
{
    size_t offset = (uintptr_t)pages - (uintptr_t)pool->memory;
    size_t first = offset / POOL_PAGE_BYTES;
    enum ds_error error = DS_EINVAL;
    irqflags_t flags;

    if (offset % POOL_PAGE_BYTES || first >= pool->pages)
        return DS_EINVAL;
    if (!lock_take(&pool->lock, &flags))
        return DS_EBUSY;
    /* Inside a run the length is 0 as well: only its first page can be given back. */
    if (pool->run[first]) {
        pool->payer[first]->charged_pages -= pool->run[first];
        pool->payer[first] = NULL;
        pool->run[first] = 0;
        error = DS_OK;
    }
    lock_release(&pool->lock, flags);
    return error;
}

size_t pool_used(const struct pool *pool)
{
    size_t used = 0;

    for (size_t page = 0; page < pool->pages; page++)
        used += pool->run[page];
    return used;
}

size_t pool_longest_free(const struct pool *pool)
{
    size_t longest = 0, page = 0;

    while (page < pool->pages) {
        size_t count = free_from(pool, page, pool->pages);

        if (count > longest)
            longest = count;
        page += count;
        if (page < pool->pages)
            page += pool->run[page];
    }
    return longest;
}
