/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that move bytes: between the program's memory and its open files. */
#include "guest/program_files.h"

#include "hw/string.h"

enum {
    CALL_READ = 0,
    CALL_WRITE = 1,
    CALL_LSEEK = 8,
    CALL_PREAD64 = 17,
    CALL_PWRITE64 = 18,
    CALL_READV = 19,
    CALL_WRITEV = 20,
    CALL_FSYNC = 74,
    CALL_FDATASYNC = 75,
    CALL_FTRUNCATE = 77,
    CALL_SYNC = 162,
    CALL_FADVISE64 = 221,
    CALL_FALLOCATE = 285,
    CALL_PREADV = 295,
    CALL_PWRITEV = 296
};

#define VECTOR_MOST 1024u
#define CHUNK       PAGE_BYTES

struct io_vector {
    uint64_t start, bytes;
};

static bool can(const struct open_file *open, bool write)
{
    unsigned access = open->flags & OPEN_ACCESS;

    return write ? access != 0 : access != OPEN_WRITES;
}

static uint64_t fill(struct program *p, const struct open_file *open, uint64_t offset, void *to,
                     size_t count)
{
    switch (open->node->kind) {
    case FILE_REGULAR:
        return files_read(open->node, offset, to, count);
    case FILE_ZERO:
        memset(to, 0, count);
        return count;
    case FILE_RANDOM:
        program_random(p, to, count);
        return count;
    default:
        return 0;
    }
}

/* A part at a time: the program's pages are not next to each other. */
static uint64_t read_file(struct program *p, struct open_file *open, uint64_t offset,
                          uint64_t to, uint64_t count)
{
    static uint8_t chunk[CHUNK];
    uint64_t done = 0;

    if (open->node->kind == FILE_FOLDER)
        return ERROR(PROGRAM_EISDIR);
    count = count < FILES_LARGEST ? count : FILES_LARGEST;
    while (done < count) {
        size_t wanted = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        uint64_t got = fill(p, open, offset + done, chunk, wanted);

        if (!program_write(p, to + done, chunk, got))
            return done ? done : ERROR(PROGRAM_EFAULT);
        done += got;
        if (got < wanted)
            break;
    }
    return done;
}

static uint64_t write_regular(struct program *p, struct file_node *node, uint64_t offset,
                              uint64_t from, uint64_t count)
{
    static uint8_t chunk[CHUNK];
    uint64_t done = 0;

    while (done < count) {
        size_t part = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        size_t written;

        if (!program_read(p, chunk, from + done, part))
            return done ? done : ERROR(PROGRAM_EFAULT);
        written = files_write(node, offset + done, chunk, part);
        done += written;
        if (written < part)
            return done ? done : ERROR(PROGRAM_ENOSPC);
    }
    return done;
}

/* In one piece, so that what was written at once stays together in the trace. */
static uint64_t write_output(struct program *p, const struct file_node *node, uint64_t from,
                             uint64_t count)
{
    static uint8_t text[PROGRAM_WRITE_MOST];
    unsigned stream = strcmp(node->name, "stderr") == 0 ? 2 : 1;
    size_t part = count < sizeof(text) ? (size_t)count : sizeof(text);

    if (!program_read(p, text, from, part))
        return ERROR(PROGRAM_EFAULT);
    if (part > 0)
        p->output(p, stream, text, part);
    return part;
}

static uint64_t write_file(struct program *p, struct open_file *open, uint64_t offset,
                           uint64_t from, uint64_t count)
{
    switch (open->node->kind) {
    case FILE_REGULAR:
        open->node->time = p->start.epoch + program_now(p);
        return write_regular(p, open->node, offset, from, count);
    case FILE_OUTPUT:
        return write_output(p, open->node, from, count);
    case FILE_FOLDER:
        return ERROR(PROGRAM_EISDIR);
    default:
        return count;
    }
}

/* At an offset, or at the file's own, which goes along. */
static uint64_t transfer(struct program *p, struct open_file *open, const uint64_t *at,
                         uint64_t memory, uint64_t count, bool write)
{
    uint64_t offset = at ? *at : open->offset, done;

    if (write && (open->flags & OPEN_APPEND))
        offset = open->node->bytes;
    done = write ? write_file(p, open, offset, memory, count)
                 : read_file(p, open, offset, memory, count);
    if (!at && (int64_t)done > 0 && open->node->kind == FILE_REGULAR)
        open->offset = offset + done;
    return done;
}

static uint64_t one(struct program *p, struct trap_frame *f, const uint64_t *at, bool write)
{
    struct open_file *open = program_open_file(p, f->rdi);

    if (!open || !can(open, write))
        return ERROR(PROGRAM_EBADF);
    if (at && (int64_t)*at < 0)
        return ERROR(PROGRAM_EINVAL);
    if (at && open->node->kind == FILE_OUTPUT)
        return ERROR(PROGRAM_ESPIPE);
    return transfer(p, open, at, f->rsi, f->rdx, write);
}

static uint64_t many(struct program *p, struct trap_frame *f, const uint64_t *start, bool write)
{
    struct open_file *open = program_open_file(p, f->rdi);
    uint64_t all = 0, at = start ? *start : 0;

    if (!open || !can(open, write))
        return ERROR(PROGRAM_EBADF);
    if (f->rdx > VECTOR_MOST || (int64_t)at < 0)
        return ERROR(PROGRAM_EINVAL);
    for (uint64_t i = 0; i < f->rdx; i++) {
        struct io_vector v;
        uint64_t done;

        if (!program_read(p, &v, f->rsi + i * sizeof(v), sizeof(v)))
            return all ? all : ERROR(PROGRAM_EFAULT);
        done = transfer(p, open, start ? &at : NULL, v.start, v.bytes, write);
        if ((int64_t)done < 0)
            return all ? all : done;
        all += done;
        at += done;
        if (done < v.bytes)
            break;
    }
    return all;
}

static uint64_t read_one(struct program *p, struct trap_frame *f)
{
    return one(p, f, NULL, false);
}

static uint64_t write_one(struct program *p, struct trap_frame *f)
{
    return one(p, f, NULL, true);
}

static uint64_t read_at(struct program *p, struct trap_frame *f)
{
    return one(p, f, &f->r10, false);
}

static uint64_t write_at(struct program *p, struct trap_frame *f)
{
    return one(p, f, &f->r10, true);
}

static uint64_t read_many(struct program *p, struct trap_frame *f)
{
    return many(p, f, NULL, false);
}

static uint64_t write_many(struct program *p, struct trap_frame *f)
{
    return many(p, f, NULL, true);
}

static uint64_t read_many_at(struct program *p, struct trap_frame *f)
{
    return many(p, f, &f->r10, false);
}

static uint64_t write_many_at(struct program *p, struct trap_frame *f)
{
    return many(p, f, &f->r10, true);
}

static uint64_t seek(struct program *p, struct trap_frame *f)
{
    enum { SET, CURRENT, END };
    struct open_file *open = program_open_file(p, f->rdi);
    uint64_t from;

    if (!open)
        return ERROR(PROGRAM_EBADF);
    if (open->node->kind == FILE_OUTPUT)
        return ERROR(PROGRAM_ESPIPE);
    if (f->rdx > END)
        return ERROR(PROGRAM_EINVAL);
    from = f->rdx == SET ? 0 : f->rdx == CURRENT ? open->offset : open->node->bytes;
    if ((int64_t)(from + f->rsi) < 0)
        return ERROR(PROGRAM_EINVAL);
    return open->offset = from + f->rsi;
}

static uint64_t resize(struct program *p, struct trap_frame *f)
{
    struct open_file *open = program_open_file(p, f->rdi);

    if (!open)
        return ERROR(PROGRAM_EBADF);
    if (!can(open, true) || open->node->kind != FILE_REGULAR)
        return ERROR(PROGRAM_EINVAL);
    return ERROR(files_resize(open->node, f->rsi));
}

/* Room comes when it is written to; only the length can matter. */
static uint64_t allocate(struct program *p, struct trap_frame *f)
{
    struct open_file *open = program_open_file(p, f->rdi);
    uint64_t end = f->rdx + f->r10;

    if (!open || !can(open, true))
        return ERROR(PROGRAM_EBADF);
    if (f->rsi != 0 || open->node->kind != FILE_REGULAR)
        return program_refuse(p, CALL_FALLOCATE);
    return end > open->node->bytes ? ERROR(files_resize(open->node, end)) : 0;
}

static uint64_t is_open(struct program *p, struct trap_frame *f)
{
    return program_open_file(p, f->rdi) ? 0 : ERROR(PROGRAM_EBADF);
}

static uint64_t nothing(struct program *p, struct trap_frame *f)
{
    (void)p;
    (void)f;
    return 0;
}

const struct program_call program_file_calls[] = {{CALL_READ, read_one},
                                                  {CALL_WRITE, write_one},
                                                  {CALL_LSEEK, seek},
                                                  {CALL_PREAD64, read_at},
                                                  {CALL_PWRITE64, write_at},
                                                  {CALL_READV, read_many},
                                                  {CALL_WRITEV, write_many},
                                                  {CALL_FSYNC, is_open},
                                                  {CALL_FDATASYNC, is_open},
                                                  {CALL_FTRUNCATE, resize},
                                                  {CALL_SYNC, nothing},
                                                  {CALL_FADVISE64, is_open},
                                                  {CALL_FALLOCATE, allocate},
                                                  {CALL_PREADV, read_many_at},
                                                  {CALL_PWRITEV, write_many_at},
                                                  {0, NULL}};
