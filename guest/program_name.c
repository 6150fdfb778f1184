/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that take names of files. */
#include "guest/program_files.h"

#include "hw/string.h"

enum {
    CALL_OPEN = 2,
    CALL_ACCESS = 21,
    CALL_TRUNCATE = 76,
    CALL_GETCWD = 79,
    CALL_CHDIR = 80,
    CALL_FCHDIR = 81,
    CALL_RENAME = 82,
    CALL_MKDIR = 83,
    CALL_RMDIR = 84,
    CALL_CREAT = 85,
    CALL_UNLINK = 87,
    CALL_READLINK = 89,
    CALL_CHMOD = 90,
    CALL_FCHMOD = 91,
    CALL_UMASK = 95,
    CALL_OPENAT = 257,
    CALL_MKDIRAT = 258,
    CALL_UNLINKAT = 263,
    CALL_RENAMEAT = 264,
    CALL_READLINKAT = 267,
    CALL_FACCESSAT = 269,
    CALL_RENAMEAT2 = 316,
    CALL_FACCESSAT2 = 439
};

/* The folder that a relative path begins in. */
static int base(struct program *p, uint64_t at, struct file_node **node)
{
    struct open_file *open;

    *node = p->files.folder;
    if ((int32_t)at == AT_FOLDER)
        return 0;
    open = program_open_file(p, at);
    if (open)
        *node = open->node;
    return open ? 0 : PROGRAM_EBADF;
}

static int read_path(struct program *p, uint64_t at, uint64_t path, char text[PATH_BYTES],
                     struct file_node **from)
{
    int error = program_text(p, text, path, PATH_BYTES);

    *from = p->files.root;
    return error || text[0] == '/' ? error : base(p, at, from);
}

int program_find(struct program *p, uint64_t at, uint64_t path, struct file_node **node)
{
    static char text[PATH_BYTES];
    struct file_node *from;
    int error = read_path(p, at, path, text, &from);

    return error ? error : files_find(&p->files, from, text, node);
}

static int find_place(struct program *p, uint64_t at, uint64_t path, struct file_node **folder,
                      char name[FILES_NAME_BYTES])
{
    static char text[PATH_BYTES];
    struct file_node *from;
    int error = read_path(p, at, path, text, &from);

    return error ? error : files_split(&p->files, from, text, folder, name);
}

/* --- open */

static int create(struct program *p, uint64_t at, uint64_t path, enum file_kind kind,
                  uint64_t mode, struct file_node **node)
{
    char name[FILES_NAME_BYTES];
    struct file_node *folder;
    int error = find_place(p, at, path, &folder, name);

    if (error)
        return error;
    if (files_child(folder, name) || !*name || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return PROGRAM_EEXIST;
    if (folder->removed)
        return PROGRAM_ENOENT;
    *node = files_make(&p->files, folder, name, kind, (uint32_t)mode & ~p->umask);
    if (!*node)
        return PROGRAM_ENOSPC;
    (*node)->changed = true;
    (*node)->time = p->start.epoch + program_now(p);
    return 0;
}

static int find_or_create(struct program *p, uint64_t at, uint64_t path, uint64_t flags,
                          uint64_t mode, struct file_node **node)
{
    int error = program_find(p, at, path, node);

    if (error == PROGRAM_ENOENT && (flags & OPEN_CREATE))
        return create(p, at, path, FILE_REGULAR, mode, node);
    if (error)
        return error;
    if ((flags & OPEN_CREATE) && (flags & OPEN_EXCLUSIVE))
        return PROGRAM_EEXIST;
    if ((*node)->kind != FILE_FOLDER)
        return flags & OPEN_FOLDER ? PROGRAM_ENOTDIR : 0;
    return flags & (OPEN_ACCESS | OPEN_CREATE) ? PROGRAM_EISDIR : 0;
}

static uint64_t open_path(struct program *p, uint64_t at, uint64_t path, uint64_t flags,
                          uint64_t mode)
{
    enum { EOPNOTSUPP = 95 };
    struct file_node *node;
    struct open_file *open;
    uint64_t number;
    int error;

    if (flags & OPEN_NAMELESS)
        return ERROR(EOPNOTSUPP);
    error = find_or_create(p, at, path, flags, mode, &node);
    if (!error && node->kind == FILE_MAPS) {
        node = program_maps(p);
        error = node ? 0 : PROGRAM_ENOSPC;
    }
    if (error)
        return ERROR(error);
    open = program_new_open(p, node, (unsigned)flags);
    if (!open)
        return ERROR(PROGRAM_EMFILE);
    number = program_add_number(p, open, 0);
    if ((int64_t)number < 0) {
        program_drop_open(p, open);
        return number;
    }
    p->files.closes[number] = flags & OPEN_CLOSES;
    if ((flags & OPEN_TRUNCATE) && (flags & OPEN_ACCESS) && node->kind == FILE_REGULAR)
        files_resize(node, 0);
    return number;
}

static uint64_t open_here(struct program *p, struct trap_frame *f)
{
    return open_path(p, (uint64_t)AT_FOLDER, f->rdi, f->rsi, f->rdx);
}

static uint64_t open_at(struct program *p, struct trap_frame *f)
{
    return open_path(p, f->rdi, f->rsi, f->rdx, f->r10);
}

static uint64_t create_here(struct program *p, struct trap_frame *f)
{
    return open_path(p, (uint64_t)AT_FOLDER, f->rdi, OPEN_CREATE | OPEN_WRITES | OPEN_TRUNCATE,
                     f->rsi);
}

/* --- names */

static uint64_t make_folder(struct program *p, uint64_t at, uint64_t path, uint64_t mode)
{
    struct file_node *node;

    return ERROR(create(p, at, path, FILE_FOLDER, mode, &node));
}

static uint64_t make_folder_here(struct program *p, struct trap_frame *f)
{
    return make_folder(p, (uint64_t)AT_FOLDER, f->rdi, f->rsi);
}

static uint64_t make_folder_at(struct program *p, struct trap_frame *f)
{
    return make_folder(p, f->rdi, f->rsi, f->rdx);
}

static uint64_t remove_path(struct program *p, uint64_t at, uint64_t path, bool folder)
{
    struct file_node *node;
    int error = program_find(p, at, path, &node);

    if (error)
        return ERROR(error);
    if (folder != (node->kind == FILE_FOLDER))
        return ERROR(folder ? PROGRAM_ENOTDIR : PROGRAM_EISDIR);
    return ERROR(files_remove(&p->files, node));
}

static uint64_t unlink_here(struct program *p, struct trap_frame *f)
{
    return remove_path(p, (uint64_t)AT_FOLDER, f->rdi, false);
}

static uint64_t remove_folder(struct program *p, struct trap_frame *f)
{
    return remove_path(p, (uint64_t)AT_FOLDER, f->rdi, true);
}

static uint64_t unlink_at(struct program *p, struct trap_frame *f)
{
    return remove_path(p, f->rdi, f->rsi, f->rdx & AT_REMOVE_FOLDER);
}

static uint64_t rename_path(struct program *p, uint64_t from_at, uint64_t from, uint64_t to_at,
                            uint64_t to, uint64_t flags)
{
    enum { NO_REPLACE = 1 };
    char name[FILES_NAME_BYTES];
    struct file_node *node, *folder;
    int error = program_find(p, from_at, from, &node);

    if (!error)
        error = find_place(p, to_at, to, &folder, name);
    if (!error && flags & ~(uint64_t)NO_REPLACE)
        error = PROGRAM_EINVAL;
    if (!error && (flags & NO_REPLACE) && files_child(folder, name))
        error = PROGRAM_EEXIST;
    return ERROR(error ? error : files_rename(&p->files, node, folder, name));
}

static uint64_t rename_here(struct program *p, struct trap_frame *f)
{
    return rename_path(p, (uint64_t)AT_FOLDER, f->rdi, (uint64_t)AT_FOLDER, f->rsi, 0);
}

static uint64_t rename_at(struct program *p, struct trap_frame *f)
{
    return rename_path(p, f->rdi, f->rsi, f->rdx, f->r10, f->rax == CALL_RENAMEAT2 ? f->r8 : 0);
}

/* The one link there is leads to the program itself. */
static uint64_t read_link(struct program *p, uint64_t at, uint64_t path, uint64_t to,
                          uint64_t bytes)
{
    struct file_node *node;
    int error = program_find(p, at, path, &node);
    size_t length = strlen(p->start.path);

    if (error)
        return ERROR(error);
    if (node->given != p->start.file)
        return ERROR(PROGRAM_EINVAL);
    length = length < bytes ? length : (size_t)bytes;
    return program_write(p, to, p->start.path, length) ? length : ERROR(PROGRAM_EFAULT);
}

static uint64_t read_link_here(struct program *p, struct trap_frame *f)
{
    return read_link(p, (uint64_t)AT_FOLDER, f->rdi, f->rsi, f->rdx);
}

static uint64_t read_link_at(struct program *p, struct trap_frame *f)
{
    return read_link(p, f->rdi, f->rsi, f->rdx, f->r10);
}

/* --- the rest */

/* Everything that is there may be read and written; who may execute is in the mode. */
static uint64_t may_access(struct program *p, uint64_t at, uint64_t path, uint64_t wanted)
{
    enum { EXECUTE = 1, ANY_EXECUTES = 0111 };
    struct file_node *node;
    int error = program_find(p, at, path, &node);

    if (!error && (wanted & EXECUTE) && !(node->mode & ANY_EXECUTES))
        error = PROGRAM_EACCES;
    return ERROR(error);
}

static uint64_t access_here(struct program *p, struct trap_frame *f)
{
    return may_access(p, (uint64_t)AT_FOLDER, f->rdi, f->rsi);
}

static uint64_t access_at(struct program *p, struct trap_frame *f)
{
    return may_access(p, f->rdi, f->rsi, f->rdx);
}

static uint64_t truncate(struct program *p, struct trap_frame *f)
{
    struct file_node *node;
    int error = program_find(p, (uint64_t)AT_FOLDER, f->rdi, &node);

    if (!error && node->kind != FILE_REGULAR)
        error = node->kind == FILE_FOLDER ? PROGRAM_EISDIR : PROGRAM_EINVAL;
    return ERROR(error ? error : files_resize(node, f->rsi));
}

static uint64_t get_folder(struct program *p, struct trap_frame *f)
{
    static char text[PATH_BYTES];
    size_t bytes = files_path(p->files.folder, text, sizeof(text));

    if (bytes == 0 || bytes > f->rsi)
        return ERROR(PROGRAM_ERANGE);
    return program_write(p, f->rdi, text, bytes) ? bytes : ERROR(PROGRAM_EFAULT);
}

static uint64_t enter_folder(struct program *p, int error, struct file_node *node)
{
    if (!error && node->kind != FILE_FOLDER)
        error = PROGRAM_ENOTDIR;
    if (!error)
        p->files.folder = node;
    return ERROR(error);
}

static uint64_t change_folder(struct program *p, struct trap_frame *f)
{
    struct file_node *node;
    int error = program_find(p, (uint64_t)AT_FOLDER, f->rdi, &node);

    return enter_folder(p, error, node);
}

static uint64_t change_folder_to_open(struct program *p, struct trap_frame *f)
{
    struct open_file *open = program_open_file(p, f->rdi);

    return enter_folder(p, open ? 0 : PROGRAM_EBADF, open ? open->node : NULL);
}

static uint64_t change_mode(struct program *p, struct trap_frame *f)
{
    struct open_file *open = program_open_file(p, f->rdi);
    struct file_node *node = open ? open->node : NULL;
    int error = f->rax == CALL_FCHMOD ? open ? 0 : PROGRAM_EBADF
                                      : program_find(p, (uint64_t)AT_FOLDER, f->rdi, &node);

    if (!error)
        node->mode = (uint32_t)f->rsi & 07777;
    return ERROR(error);
}

static uint64_t set_umask(struct program *p, struct trap_frame *f)
{
    uint32_t old = p->umask;

    p->umask = (uint32_t)f->rdi & 0777;
    return old;
}

const struct program_call program_name_calls[] = {
    {CALL_OPEN, open_here},         {CALL_ACCESS, access_here},
    {CALL_TRUNCATE, truncate},      {CALL_GETCWD, get_folder},
    {CALL_CHDIR, change_folder},    {CALL_FCHDIR, change_folder_to_open},
    {CALL_RENAME, rename_here},     {CALL_MKDIR, make_folder_here},
    {CALL_RMDIR, remove_folder},    {CALL_CREAT, create_here},
    {CALL_UNLINK, unlink_here},     {CALL_READLINK, read_link_here},
    {CALL_CHMOD, change_mode},      {CALL_FCHMOD, change_mode},
    {CALL_UMASK, set_umask},        {CALL_OPENAT, open_at},
    {CALL_MKDIRAT, make_folder_at}, {CALL_UNLINKAT, unlink_at},
    {CALL_RENAMEAT, rename_at},     {CALL_READLINKAT, read_link_at},
    {CALL_FACCESSAT, access_at},    {CALL_RENAMEAT2, rename_at},
    {CALL_FACCESSAT2, access_at},   {0, NULL}};
