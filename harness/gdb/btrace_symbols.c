/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A document's blocks as symbols: one for a block that comes often, then one for a pair of
 * symbols that comes often, and so on. Expat takes a document that grows a hundredfold for an
 * attack, once it has grown to 8 MiB (its manual, "Billion Laughs Attack Protection"): so in a
 * document that may do that, an entity stands for four blocks at most.
 */
#include "harness/gdb/btrace.h"

#include "hw/string.h"

#define SLOTS       8192u /* of the hash table; a power of two */
#define ENTITIES    6144u
#define OFTEN       3u /* fewer uses cost more than the declaration */
#define PASSES      5u
#define LONG        0x18000u /* blocks, of some 60 bytes with what they are declared by */
#define PASSES_LONG 2u
#define NONE        0xFFFFFFFFu

struct entry {
    uint64_t one, other; /* a block's bounds, or two symbols */
    uint32_t uses;
    uint32_t symbol; /* NONE: not often enough so far */
};

static struct {
    struct entry slots[SLOTS];
    unsigned used;
    struct {
        uint64_t one, other;
        bool pair;
    } entities[ENTITIES];
    unsigned count;
} table;

static void forget(void)
{
    memset(table.slots, 0, sizeof(table.slots));
    table.used = 0;
}

/* The slot of two numbers; NULL when they are new and the table is as full as it may be. */
static struct entry *slot_of(uint64_t one, uint64_t other, bool add)
{
    uint64_t hash = (one * 0x9E3779B97F4A7C15u) ^ (other * 0xC2B2AE3D27D4EB4Fu);

    for (unsigned i = (unsigned)(hash >> 32) % SLOTS;; i = (i + 1) % SLOTS) {
        struct entry *e = &table.slots[i];

        if (e->uses == 0) {
            if (!add || table.used >= SLOTS / 4 * 3)
                return NULL;
            table.used++;
            *e = (struct entry){one, other, 0, NONE};
            return e;
        }
        if (e->one == one && e->other == other)
            return e;
    }
}

static void count(uint64_t one, uint64_t other)
{
    struct entry *e = slot_of(one, other, true);

    if (e)
        e->uses++;
}

/* The symbol of two numbers that come often, declared when it is needed first; or NONE. */
static uint32_t symbol_of(uint64_t one, uint64_t other, bool pair)
{
    struct entry *e = slot_of(one, other, false);

    if (!e || e->uses < OFTEN)
        return NONE;
    if (e->symbol == NONE && table.count < ENTITIES) {
        e->symbol = table.count;
        table.entities[table.count].one = one;
        table.entities[table.count].other = other;
        table.entities[table.count++].pair = pair;
    }
    return e->symbol;
}

static void find_blocks(const struct btrace_log *log, uint64_t blocks)
{
    forget();
    for (uint64_t n = 0; n < blocks; n++) {
        struct btrace_block b = btrace_block(log, n);

        count(b.begin, b.end);
    }
    for (uint64_t n = 0; n < blocks; n++) {
        struct btrace_block b = btrace_block(log, n);
        uint32_t symbol = symbol_of(b.begin, b.end, false);

        log->symbols[n] = symbol != NONE ? symbol : BTRACE_LITERAL | (uint32_t)n;
    }
}

/* A literal is in one place only, so no pair that it is in comes again. */
static size_t find_pairs(uint32_t *symbols, size_t used)
{
    size_t kept = 0;

    forget();
    for (size_t i = 0; i + 1 < used; i++)
        if (!((symbols[i] | symbols[i + 1]) & BTRACE_LITERAL))
            count(symbols[i], symbols[i + 1]);
    for (size_t i = 0; i < used; i++) {
        uint32_t symbol = NONE;

        if (i + 1 < used && !((symbols[i] | symbols[i + 1]) & BTRACE_LITERAL))
            symbol = symbol_of(symbols[i], symbols[i + 1], true);
        symbols[kept++] = symbol != NONE ? symbol : symbols[i];
        i += symbol != NONE;
    }
    return kept;
}

size_t btrace_symbols(const struct btrace_log *log, uint64_t blocks)
{
    unsigned passes = blocks > LONG ? PASSES_LONG : PASSES;
    size_t used = (size_t)blocks;

    table.count = 0;
    find_blocks(log, blocks);
    for (unsigned pass = 0; pass < passes; pass++)
        used = find_pairs(log->symbols, used);
    return used;
}

unsigned btrace_entities(void)
{
    return table.count;
}

bool btrace_pair(unsigned entity, uint32_t *left, uint32_t *right)
{
    *left = (uint32_t)table.entities[entity].one;
    *right = (uint32_t)table.entities[entity].other;
    return table.entities[entity].pair;
}

struct btrace_block btrace_entity_block(unsigned entity)
{
    return (struct btrace_block){table.entities[entity].one, table.entities[entity].other};
}
