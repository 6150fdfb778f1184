/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that tell about files: what they are, and what is in a folder. */
#include "guest/program_files.h"

#include "hw/string.h"

enum {
    CALL_STAT = 4,
    CALL_FSTAT = 5,
    CALL_LSTAT = 6,
    CALL_CHOWN = 92,
    CALL_FCHOWN = 93,
    CALL_LCHOWN = 94,
    CALL_STATFS = 137,
    CALL_FSTATFS = 138,
    CALL_GETDENTS64 = 217,
    CALL_UTIMES = 235,
    CALL_FCHOWNAT = 260,
    CALL_NEWFSTATAT = 262,
    CALL_FCHMODAT = 268,
    CALL_UTIMENSAT = 280,
    CALL_STATX = 332
};

#define BLOCK_BYTES 4096u
#define SECTOR      512u
#define SECOND      1000000000ull

/* struct stat; the three times are seconds and nanoseconds. */
struct file_status {
    uint64_t device, number, links;
    uint32_t mode, user, group, padding;
    uint64_t special, bytes, block_bytes, sectors, times[6], reserved[3];
};
_Static_assert(sizeof(struct file_status) == 144, "struct stat");

struct extended_time {
    int64_t seconds;
    uint32_t nanoseconds, padding;
};

/* struct statx */
struct extended_status {
    uint32_t mask, block_bytes;
    uint64_t attributes;
    uint32_t links, user, group;
    uint16_t mode, padding;
    uint64_t number, bytes, sectors, known_attributes;
    struct extended_time accessed, born, changed, modified;
    uint32_t special[2], device[2];
    uint64_t reserved[14];
};
_Static_assert(sizeof(struct extended_status) == 256, "struct statx");

uint32_t program_mode(const struct program *p, const struct file_node *node)
{
    (void)p;
    switch (node->kind) {
    case FILE_FOLDER:
        return TYPE_FOLDER | node->mode;
    case FILE_REGULAR:
    case FILE_MAPS:
        return TYPE_REGULAR | node->mode;
    case FILE_OUTPUT:
        return TYPE_PIPE | 0600; /* so that a C library buffers it as it does a pipe */
    default:
        return TYPE_CHARACTER | node->mode;
    }
}

/* The devices of mem(4). */
static unsigned minor_number(const struct file_node *node)
{
    return node->kind == FILE_NULL                             ? 3
           : node->kind == FILE_ZERO                           ? 5
           : node->kind == FILE_RANDOM && node->name[0] == 'u' ? 9
           : node->kind == FILE_RANDOM                         ? 8
                                                               : 0;
}

static uint64_t put_status(struct program *p, const struct file_node *node, uint64_t to)
{
    uint64_t minor = minor_number(node);
    struct file_status s = {.device = 1,
                            .number = node->number,
                            .links = node->removed ? 0 : 1,
                            .mode = program_mode(p, node),
                            .user = PROGRAM_USER,
                            .group = PROGRAM_USER,
                            .special = minor ? 0x100 | minor : 0,
                            .bytes = node->bytes,
                            .block_bytes = BLOCK_BYTES,
                            .sectors = (node->bytes + SECTOR - 1) / SECTOR};

    for (unsigned i = 0; i < 6; i += 2) {
        s.times[i] = node->time / SECOND;
        s.times[i + 1] = node->time % SECOND;
    }
    return program_write(p, to, &s, sizeof(s)) ? 0 : ERROR(PROGRAM_EFAULT);
}

static uint64_t put_extended(struct program *p, const struct file_node *node, uint64_t to)
{
    enum { BASIC = 0x7FF };
    const struct extended_time time = {.seconds = (int64_t)(node->time / SECOND),
                                       .nanoseconds = (uint32_t)(node->time % SECOND)};
    uint32_t minor = minor_number(node);
    struct extended_status s = {.mask = BASIC,
                                .block_bytes = BLOCK_BYTES,
                                .links = node->removed ? 0 : 1,
                                .user = PROGRAM_USER,
                                .group = PROGRAM_USER,
                                .mode = (uint16_t)program_mode(p, node),
                                .number = node->number,
                                .bytes = node->bytes,
                                .sectors = (node->bytes + SECTOR - 1) / SECTOR,
                                .accessed = time,
                                .changed = time,
                                .modified = time,
                                .special = {minor ? 1 : 0, minor},
                                .device = {0, 1}};

    return program_write(p, to, &s, sizeof(s)) ? 0 : ERROR(PROGRAM_EFAULT);
}

/* By name, or by number where the name is empty and that is allowed. */
static int find(struct program *p, uint64_t at, uint64_t path, uint64_t flags,
                struct file_node **node)
{
    struct open_file *open = program_open_file(p, at);
    char first = 0;

    if ((flags & AT_EMPTY_PATH) && (!path || (program_read(p, &first, path, 1) && !first))) {
        *node = open ? open->node : p->files.folder;
        return open || (int32_t)at == AT_FOLDER ? 0 : PROGRAM_EBADF;
    }
    return program_find(p, at, path, node);
}

static uint64_t status_of_path(struct program *p, struct trap_frame *f)
{
    struct file_node *node;
    int error = program_find(p, (uint64_t)AT_FOLDER, f->rdi, &node);

    return error ? ERROR(error) : put_status(p, node, f->rsi);
}

static uint64_t status_of_open(struct program *p, struct trap_frame *f)
{
    struct open_file *open = program_open_file(p, f->rdi);

    return open ? put_status(p, open->node, f->rsi) : ERROR(PROGRAM_EBADF);
}

static uint64_t status_at(struct program *p, struct trap_frame *f)
{
    struct file_node *node;
    int error = find(p, f->rdi, f->rsi, f->r10, &node);

    return error ? ERROR(error) : put_status(p, node, f->rdx);
}

static uint64_t extended_status(struct program *p, struct trap_frame *f)
{
    struct file_node *node;
    int error = find(p, f->rdi, f->rsi, f->rdx, &node);

    return error ? ERROR(error) : put_extended(p, node, f->r8);
}

/* struct statfs of a file system in memory. */
static uint64_t file_system(struct program *p, struct trap_frame *f)
{
    enum { IN_MEMORY = 0x01021994 };
    const uint64_t free = page_free_count();
    const uint64_t s[15] = {IN_MEMORY,
                            BLOCK_BYTES,
                            free,
                            free,
                            free,
                            FILES_MOST,
                            FILES_MOST - p->files.count,
                            1,
                            FILES_NAME_BYTES - 1,
                            BLOCK_BYTES};
    struct file_node *node;
    int error = f->rax == CALL_STATFS ? program_find(p, (uint64_t)AT_FOLDER, f->rdi, &node)
                : program_open_file(p, f->rdi) ? 0
                                               : PROGRAM_EBADF;

    if (error)
        return ERROR(error);
    return program_write(p, f->rsi, s, sizeof(s)) ? 0 : ERROR(PROGRAM_EFAULT);
}

/* Owners and times can be set and change nothing. */
static uint64_t nothing(struct program *p, struct trap_frame *f)
{
    (void)p;
    (void)f;
    return 0;
}

static uint64_t change_mode(struct program *p, struct trap_frame *f)
{
    struct file_node *node;
    int error = program_find(p, f->rdi, f->rsi, &node);

    if (!error)
        node->mode = (uint32_t)f->rdx & 07777;
    return ERROR(error);
}

/* --- folders */

/* struct linux_dirent64, with the longest name. */
struct entry {
    uint64_t number, next;
    uint16_t bytes;
    uint8_t type;
    char name[FILES_NAME_BYTES + 8];
} __attribute__((packed));
#define ENTRY_HEAD (sizeof(struct entry) - sizeof(((struct entry *)0)->name))

/* Entry 0 is the folder, 1 the one above, then what is in it. */
static const struct file_node *entry_at(const struct file_node *folder, uint64_t index)
{
    const struct file_node *node = folder->first;

    if (index < 2)
        return index ? folder->parent : folder;
    for (; node && index > 2; index--)
        node = node->next;
    return node;
}

static size_t make_entry(struct program *p, const struct file_node *node, uint64_t index,
                         struct entry *e)
{
    const char *name = index == 0 ? "." : index == 1 ? ".." : node->name;
    size_t bytes = (ENTRY_HEAD + strlen(name) + 1 + 7) & ~(size_t)7;

    memset(e, 0, sizeof(*e));
    e->number = node->number;
    e->next = index + 1;
    e->bytes = (uint16_t)bytes;
    e->type = (uint8_t)(program_mode(p, node) >> 12);
    memcpy(e->name, name, strlen(name) + 1);
    return bytes;
}

static uint64_t list(struct program *p, struct trap_frame *f)
{
    struct open_file *open = program_open_file(p, f->rdi);
    uint64_t done = 0;
    const struct file_node *node;
    static struct entry e;

    if (!open || open->node->kind != FILE_FOLDER)
        return ERROR(open ? PROGRAM_ENOTDIR : PROGRAM_EBADF);
    for (; (node = entry_at(open->node, open->offset)); open->offset++) {
        size_t bytes = make_entry(p, node, open->offset, &e);

        if (done + bytes > f->rdx)
            return done ? done : ERROR(PROGRAM_EINVAL);
        if (!program_write(p, f->rsi + done, &e, bytes))
            return ERROR(PROGRAM_EFAULT);
        done += bytes;
    }
    return done;
}

const struct program_call program_stat_calls[] = {
    {CALL_STAT, status_of_path},   {CALL_FSTAT, status_of_open},
    {CALL_LSTAT, status_of_path},  {CALL_CHOWN, nothing},
    {CALL_FCHOWN, nothing},        {CALL_LCHOWN, nothing},
    {CALL_STATFS, file_system},    {CALL_FSTATFS, file_system},
    {CALL_GETDENTS64, list},       {CALL_UTIMES, nothing},
    {CALL_FCHOWNAT, nothing},      {CALL_NEWFSTATAT, status_at},
    {CALL_FCHMODAT, change_mode},  {CALL_UTIMENSAT, nothing},
    {CALL_STATX, extended_status}, {0, NULL}};
