/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of branches, and the document made of it. */
#include "harness/gdb/btrace.h"

#include "harness/gdb/text.h"
#include "hw/string.h"

static const char document_head[] = "<!DOCTYPE btrace SYSTEM \"btrace.dtd\"";
static const char entities_begin[] = " [\n", entities_end[] = "]";
static const char document_body[] = ">\n<btrace version=\"1.0\">\n";
static const char document_tail[] = "</btrace>\n";
#define PIECE_BYTES 96 /* of any of the pieces that a document is made of */

void btrace_begin(struct btrace_log *log, struct btrace_branch *ring, uint32_t *symbols,
                  size_t capacity, uint64_t bytes, uint64_t pc)
{
    *log = (struct btrace_log){.on = true,
                               .ring = ring,
                               .symbols = symbols,
                               .capacity = capacity,
                               .bytes = bytes,
                               .start = pc};
}

void btrace_end(struct btrace_log *log)
{
    *log = (struct btrace_log){.on = false};
}

void btrace_add(struct btrace_log *log, uint64_t from, uint64_t to)
{
    log->open = false;
    log->ring[log->total % log->capacity] = (struct btrace_branch){from, to};
    log->total++;
    if (log->total - log->oldest > log->capacity)
        log->oldest = log->total - log->capacity;
}

void btrace_lose(struct btrace_log *log)
{
    log->open = false;
    log->total++;
    log->oldest = log->total;
}

static struct btrace_branch branch(const struct btrace_log *log, uint64_t number)
{
    return log->ring[number % log->capacity];
}

static uint64_t block_count(const struct btrace_log *log)
{
    return log->end - log->first + log->headed;
}

struct btrace_block btrace_block(const struct btrace_log *log, uint64_t number)
{
    uint64_t after = log->end - number; /* number of the branch that ended it */

    return (struct btrace_block){
        .begin = after > log->first ? branch(log, after - 1).to : log->head,
        .end = number == 0 ? log->pc : branch(log, after).from,
    };
}

const char *btrace_open(struct btrace_log *log, const char *annex, uint64_t pc)
{
    bool all = strcmp(annex, "all") == 0, news = strcmp(annex, "new") == 0;

    log->open = false;
    if (!log->on)
        return "E.Btrace not enabled.";
    if (!all && !news && strcmp(annex, "delta") != 0)
        return "E.Bad annex.";
    if (!all && !news && log->oldest > log->read)
        return "E.Overflow.";
    log->pc = pc;
    log->end = log->total;
    log->first = all || news ? log->oldest : log->read;
    /* 0 asks the debugger to go on from where it was; alone it must never stand. */
    log->headed = all || news ? log->oldest == 0 : true;
    log->head = all || news ? log->start : 0;
    if (news && log->read == log->total) {
        log->first = log->end;
        log->headed = false;
    }
    log->symbol_count = btrace_symbols(log, block_count(log));
    log->piece = log->piece_at = 0;
    log->open = true;
    return NULL;
}

/* --- its text: head, declarations, symbols, tail, each a piece */

static char *put_number(char *to, uint64_t value)
{
    unsigned digits = 1;

    while (digits < 16 && value >> (4 * digits))
        digits++;
    return text_hex(text_put(to, "0x"), value, digits);
}

static char *put_block(char *to, struct btrace_block b)
{
    to = put_number(text_put(to, "<block begin='"), b.begin);
    to = put_number(text_put(to, "' end='"), b.end);
    return text_put(to, "'/>");
}

/* `&NAME;`: a letter, then letters and digits as needed. */
static char *put_name(char *to, uint32_t symbol)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789";
    const unsigned first = 52, later = 62;

    *to++ = letters[symbol % first];
    for (symbol /= first; symbol > 0; symbol = (symbol - 1) / later)
        *to++ = letters[(symbol - 1) % later];
    return to;
}

static char *put_use(char *to, uint32_t symbol)
{
    to = put_name(text_put(to, "&"), symbol);
    return text_put(to, ";");
}

static char *put_declaration(char *to, unsigned entity)
{
    uint32_t left, right;

    to = put_name(text_put(to, "<!ENTITY "), entity);
    to = text_put(to, " \"");
    if (btrace_pair(entity, &left, &right))
        to = put_use(put_use(to, left), right);
    else
        to = put_block(to, btrace_entity_block(entity));
    return text_put(to, "\">\n");
}

static char *put_piece(const struct btrace_log *log, uint64_t piece, char *to)
{
    unsigned entities = btrace_entities();
    uint32_t symbol;

    if (piece == 0)
        return text_put(text_put(to, document_head), entities ? entities_begin : "");
    if (--piece < entities)
        return put_declaration(to, (unsigned)piece);
    piece -= entities;
    if (piece == 0)
        return text_put(text_put(to, entities ? entities_end : ""), document_body);
    if (--piece == log->symbol_count)
        return text_put(to, document_tail);
    symbol = log->symbols[piece];
    if (symbol & BTRACE_LITERAL)
        return text_put(put_block(to, btrace_block(log, symbol & ~BTRACE_LITERAL)), "\n");
    return put_use(to, symbol);
}

size_t btrace_read(struct btrace_log *log, uint64_t offset, char *to, size_t room, bool *last)
{
    uint64_t pieces = 3 + btrace_entities() + log->symbol_count;
    char text[PIECE_BYTES];
    size_t used = 0;

    /* What was sent before is asked for only when the debugger begins again. */
    if (offset < log->piece_at)
        log->piece = log->piece_at = 0;
    while (log->piece < pieces && used < room) {
        size_t bytes = (size_t)(put_piece(log, log->piece, text) - text);
        uint64_t skip = offset + used - log->piece_at;
        size_t part = skip < bytes ? bytes - (size_t)skip : 0;

        if (part > room - used)
            part = room - used;
        memcpy(to + used, text + (part > 0 ? skip : 0), part);
        used += part;
        if (skip + part < bytes)
            break;
        log->piece_at += bytes;
        log->piece++;
    }
    *last = log->piece == pieces;
    if (*last)
        log->read = log->end;
    return used;
}
