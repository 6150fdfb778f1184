/* SPDX-License-Identifier: BSD-2-Clause */
/* A program's numbers of open files, and the files that every program finds. */
#include "guest/program_files.h"

#include "hw/string.h"

enum {
    CALL_CLOSE = 3,
    CALL_IOCTL = 16,
    CALL_DUP = 32,
    CALL_DUP2 = 33,
    CALL_FCNTL = 72,
    CALL_FLOCK = 73,
    CALL_DUP3 = 292,
    CALL_CLOSE_RANGE = 436
};

struct open_file *program_open_file(struct program *p, uint64_t number)
{
    return (uint32_t)number < FILES_OPEN_MOST ? p->files.number[(uint32_t)number] : NULL;
}

struct open_file *program_new_open(struct program *p, struct file_node *node, unsigned flags)
{
    for (unsigned i = 0; i < FILES_OPEN_MOST; i++) {
        struct open_file *open = &p->files.open[i];

        if (open->users)
            continue;
        *open = (struct open_file){.node = node, .flags = flags & OPEN_KEPT, .users = 0};
        node->opens++;
        return open;
    }
    return NULL;
}

void program_drop_open(struct program *p, struct open_file *open)
{
    if (open->users > 0)
        open->users--;
    if (open->users == 0)
        files_release(&p->files, open->node);
}

uint64_t program_add_number(struct program *p, struct open_file *open, unsigned low)
{
    for (unsigned i = low; i < FILES_OPEN_MOST; i++) {
        if (p->files.number[i])
            continue;
        p->files.number[i] = open;
        p->files.closes[i] = false;
        open->users++;
        return i;
    }
    return ERROR(PROGRAM_EMFILE);
}

static bool drop_number(struct program *p, uint64_t number)
{
    struct open_file *open = program_open_file(p, number);

    if (!open)
        return false;
    p->files.number[(uint32_t)number] = NULL;
    program_drop_open(p, open);
    return true;
}

static uint64_t close_number(struct program *p, struct trap_frame *f)
{
    return drop_number(p, f->rdi) ? 0 : ERROR(PROGRAM_EBADF);
}

static uint64_t close_range(struct program *p, struct trap_frame *f)
{
    if (f->rdi > f->rsi)
        return ERROR(PROGRAM_EINVAL);
    for (uint64_t i = f->rdi; i <= f->rsi && i < FILES_OPEN_MOST; i++)
        drop_number(p, i);
    return 0;
}

static uint64_t duplicate(struct program *p, struct trap_frame *f)
{
    struct open_file *open = program_open_file(p, f->rdi);

    return open ? program_add_number(p, open, 0) : ERROR(PROGRAM_EBADF);
}

static uint64_t duplicate_to(struct program *p, struct trap_frame *f, bool closes)
{
    struct open_file *open = program_open_file(p, f->rdi);
    uint64_t number = (uint32_t)f->rsi;

    if (!open || number >= FILES_OPEN_MOST)
        return ERROR(PROGRAM_EBADF);
    if (p->files.number[number] == open)
        return number;
    drop_number(p, number);
    program_add_number(p, open, (unsigned)number);
    p->files.closes[number] = closes;
    return number;
}

static uint64_t duplicate_2(struct program *p, struct trap_frame *f)
{
    return duplicate_to(p, f, false);
}

static uint64_t duplicate_3(struct program *p, struct trap_frame *f)
{
    if ((uint32_t)f->rdi == (uint32_t)f->rsi)
        return ERROR(PROGRAM_EINVAL);
    return duplicate_to(p, f, f->rdx & OPEN_CLOSES);
}

/* Nobody else holds a lock. */
static uint64_t get_lock(struct program *p, struct trap_frame *f)
{
    const uint16_t unlocked = 2;

    return program_write(p, f->rdx, &unlocked, sizeof(unlocked)) ? 0 : ERROR(PROGRAM_EFAULT);
}

static uint64_t control(struct program *p, struct trap_frame *f)
{
    enum { DUPLICATE, GET_CLOSES, SET_CLOSES, GET_FLAGS, SET_FLAGS, GET_LOCK, SET_LOCK };
    enum { SET_LOCK_WAIT = 7, DUPLICATE_CLOSES = 1030 };
    struct open_file *open = program_open_file(p, f->rdi);
    bool *closes = &p->files.closes[(uint32_t)f->rdi % FILES_OPEN_MOST];
    uint64_t number;

    if (!open)
        return ERROR(PROGRAM_EBADF);
    switch (f->rsi) {
    case DUPLICATE:
    case DUPLICATE_CLOSES:
        number = f->rdx < FILES_OPEN_MOST ? program_add_number(p, open, (unsigned)f->rdx)
                                          : ERROR(PROGRAM_EINVAL);
        if (number < FILES_OPEN_MOST)
            p->files.closes[number] = f->rsi == DUPLICATE_CLOSES;
        return number;
    case GET_CLOSES:
        return *closes;
    case SET_CLOSES:
        *closes = f->rdx & 1;
        return 0;
    case GET_FLAGS:
        return open->flags | 0x8000u; /* O_LARGEFILE */
    case SET_FLAGS:
        open->flags = (open->flags & OPEN_ACCESS) | ((unsigned)f->rdx & OPEN_APPEND);
        return 0;
    case GET_LOCK:
        return get_lock(p, f);
    case SET_LOCK:
    case SET_LOCK_WAIT:
        return 0;
    default:
        return ERROR(PROGRAM_EINVAL);
    }
}

static uint64_t lock(struct program *p, struct trap_frame *f)
{
    return program_open_file(p, f->rdi) ? 0 : ERROR(PROGRAM_EBADF);
}

/* No file is a terminal or a device that takes orders. */
static uint64_t order(struct program *p, struct trap_frame *f)
{
    return program_open_file(p, f->rdi) ? ERROR(PROGRAM_ENOTTY) : ERROR(PROGRAM_EBADF);
}

/* --- what is there from the start */

static struct file_node *folder(struct program *p, struct file_node *in, const char *name)
{
    return in ? files_make(&p->files, in, name, FILE_FOLDER, FILES_FOLDER_MODE) : NULL;
}

static struct file_node *special(struct program *p, struct file_node *in, const char *name,
                                 enum file_kind kind)
{
    return in ? files_make(&p->files, in, name, kind, 0666) : NULL;
}

static void give(struct file_node *node, const uint8_t *bytes, size_t count)
{
    node->given = bytes;
    node->bytes = node->given_bytes = count;
}

static bool first_number(struct program *p, struct file_node *node, unsigned flags)
{
    struct open_file *open = node ? program_new_open(p, node, flags) : NULL;

    return open && program_add_number(p, open, 0) < FILES_OPEN_MOST;
}

static bool devices(struct program *p)
{
    const struct program_start *s = &p->start;
    struct file_node *dev = folder(p, p->files.root, "dev");
    struct file_node *input = special(p, dev, "stdin", s->input ? FILE_REGULAR : FILE_NULL);
    struct file_node *output = special(p, dev, "stdout", FILE_OUTPUT);
    struct file_node *error = special(p, dev, "stderr", FILE_OUTPUT);

    if (!input || !output || !error)
        return false;
    if (s->input)
        give(input, s->input, s->input_bytes);
    output->bytes = 0;
    return special(p, dev, "null", FILE_NULL) && special(p, dev, "zero", FILE_ZERO) &&
           special(p, dev, "random", FILE_RANDOM) && special(p, dev, "urandom", FILE_RANDOM) &&
           first_number(p, input, 0) && first_number(p, output, OPEN_WRITES) &&
           first_number(p, error, OPEN_WRITES);
}

static bool own_files(struct program *p)
{
    struct file_node *self = folder(p, folder(p, p->files.root, "proc"), "self");
    struct file_node *file = special(p, self, "exe", FILE_REGULAR);

    if (!file)
        return false;
    give(file, p->start.file, p->start.file_bytes);
    return special(p, self, "maps", FILE_MAPS) && folder(p, p->files.root, "tmp");
}

const char *program_first_files(struct program *p)
{
    const char *why = NULL;

    if (!files_begin(&p->files) || !devices(p) || !own_files(p))
        return "there is no memory for its files";
    if (p->start.files)
        why = files_unpack(&p->files, p->start.files, p->start.files_bytes);
    if (!why && p->start.folder &&
        (files_find(&p->files, p->files.root, p->start.folder, &p->files.folder) ||
         p->files.folder->kind != FILE_FOLDER))
        why = "its working folder is not among its files";
    return why;
}

const struct program_call program_number_calls[] = {{CALL_CLOSE, close_number},
                                                    {CALL_IOCTL, order},
                                                    {CALL_DUP, duplicate},
                                                    {CALL_DUP2, duplicate_2},
                                                    {CALL_FCNTL, control},
                                                    {CALL_FLOCK, lock},
                                                    {CALL_DUP3, duplicate_3},
                                                    {CALL_CLOSE_RANGE, close_range},
                                                    {0, NULL}};
