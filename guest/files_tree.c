/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of a program's files: found, made, moved, removed. */
#include "guest/errors.h"
#include "guest/files.h"
#include "hw/paging.h"
#include "hw/string.h"

/* A page full of nodes, in a list so that it can be given back. */
struct slab {
    struct slab *next;
    struct file_node node[(PAGE_BYTES - sizeof(void *)) / sizeof(struct file_node)];
};
#define NODES (sizeof(((struct slab *)0)->node) / sizeof(struct file_node))
_Static_assert(sizeof(struct slab) <= PAGE_BYTES, "a slab is a page");

static bool add_slab(struct files *f)
{
    struct slab *slab = page_alloc();

    if (!slab)
        return false;
    slab->next = f->slabs;
    f->slabs = slab;
    for (unsigned i = 0; i < NODES; i++) {
        slab->node[i].next = f->spare;
        f->spare = &slab->node[i];
    }
    return true;
}

static struct file_node *new_node(struct files *f, enum file_kind kind, uint32_t mode)
{
    struct file_node *node;

    if (f->count >= FILES_MOST || (!f->spare && !add_slab(f)))
        return NULL;
    node = f->spare;
    f->spare = node->next;
    f->count++;
    memset(node, 0, sizeof(*node));
    node->kind = kind;
    node->mode = mode & 07777;
    node->number = ++f->created;
    return node;
}

bool files_begin(struct files *f)
{
    memset(f, 0, sizeof(*f));
    f->root = f->folder = new_node(f, FILE_FOLDER, FILES_FOLDER_MODE);
    if (f->root)
        f->root->parent = f->root;
    return f->root;
}

void files_end(struct files *f)
{
    struct slab *slab = f->slabs;

    while (slab) {
        struct slab *next = slab->next;

        for (unsigned i = 0; i < NODES; i++)
            files_resize(&slab->node[i], 0);
        page_free(slab);
        slab = next;
    }
    memset(f, 0, sizeof(*f));
}

struct file_node *files_child(struct file_node *folder, const char *name)
{
    for (struct file_node *node = folder->first; node; node = node->next)
        if (strcmp(node->name, name) == 0)
            return node;
    return NULL;
}

/* Behind the last one, so that a listing has the order of the archive. */
static void attach(struct file_node *folder, struct file_node *node)
{
    struct file_node **last = &folder->first;

    while (*last)
        last = &(*last)->next;
    *last = node;
    node->next = NULL;
    node->parent = folder;
}

static void detach(struct file_node *node)
{
    struct file_node **at = &node->parent->first;

    while (*at && *at != node)
        at = &(*at)->next;
    if (*at)
        *at = node->next;
}

struct file_node *files_make(struct files *f, struct file_node *folder, const char *name,
                             enum file_kind kind, uint32_t mode)
{
    struct file_node *node = new_node(f, kind, mode);

    if (!node)
        return NULL;
    memcpy(node->name, name, strlen(name) + 1);
    attach(folder, node);
    return node;
}

/* The next part of a path, without slashes; false at its end. */
static int next_part(const char **path, char name[FILES_NAME_BYTES])
{
    size_t bytes = 0;

    while (**path == '/')
        (*path)++;
    for (; **path && **path != '/'; (*path)++) {
        if (bytes == FILES_NAME_BYTES - 1)
            return PROGRAM_ENAMETOOLONG;
        name[bytes++] = **path;
    }
    name[bytes] = 0;
    return 0;
}

/* From a folder to what a name in it means. */
static int step(struct file_node **at, const char *name)
{
    struct file_node *next;

    if ((*at)->kind != FILE_FOLDER)
        return PROGRAM_ENOTDIR;
    next = strcmp(name, ".") == 0    ? *at
           : strcmp(name, "..") == 0 ? (*at)->parent
                                     : files_child(*at, name);
    *at = next ? next : *at;
    return next ? 0 : PROGRAM_ENOENT;
}

int files_find(struct files *f, struct file_node *from, const char *path,
               struct file_node **node)
{
    struct file_node *at = *path == '/' ? f->root : from;
    char name[FILES_NAME_BYTES];
    int error = *path ? 0 : PROGRAM_ENOENT;

    while (!error && *path) {
        error = next_part(&path, name);
        if (!error && *name)
            error = step(&at, name);
        else if (!error && at->kind != FILE_FOLDER)
            error = PROGRAM_ENOTDIR; /* a slash behind a file */
    }
    *node = at;
    return error;
}

int files_split(struct files *f, struct file_node *from, const char *path,
                struct file_node **folder, char name[FILES_NAME_BYTES])
{
    struct file_node *at = *path == '/' ? f->root : from;
    int error = *path ? next_part(&path, name) : PROGRAM_ENOENT;

    while (!error) {
        char last[FILES_NAME_BYTES];

        while (*path == '/')
            path++;
        if (!*path)
            break;
        memcpy(last, name, sizeof(last));
        error = step(&at, last);
        if (!error)
            error = next_part(&path, name);
    }
    *folder = at;
    if (!error && at->kind != FILE_FOLDER)
        error = PROGRAM_ENOTDIR;
    return error;
}

static void drop(struct files *f, struct file_node *node)
{
    files_resize(node, 0);
    node->next = f->spare;
    f->spare = node;
    f->count--;
}

int files_remove(struct files *f, struct file_node *node)
{
    if (node->first)
        return PROGRAM_ENOTEMPTY;
    if (node == f->root || node == f->folder)
        return PROGRAM_EINVAL;
    detach(node);
    node->removed = true;
    if (!node->opens)
        drop(f, node);
    return 0;
}

void files_release(struct files *f, struct file_node *node)
{
    if (--node->opens == 0 && node->removed)
        drop(f, node);
}

int files_rename(struct files *f, struct file_node *node, struct file_node *folder,
                 const char *name)
{
    struct file_node *there = files_child(folder, name);
    int error = 0;

    for (struct file_node *at = folder; at != f->root; at = at->parent)
        if (at == node)
            return PROGRAM_EINVAL; /* into itself */
    if (node == f->root)
        return PROGRAM_EINVAL;
    if (there == node)
        return 0;
    if (there && (there->kind == FILE_FOLDER) != (node->kind == FILE_FOLDER))
        return there->kind == FILE_FOLDER ? PROGRAM_EISDIR : PROGRAM_ENOTDIR;
    if (there)
        error = files_remove(f, there);
    if (error)
        return error;
    detach(node);
    memcpy(node->name, name, strlen(name) + 1);
    attach(folder, node);
    node->changed = true;
    return 0;
}

size_t files_path(const struct file_node *node, char *to, size_t bytes)
{
    size_t used = 1;
    char *at;

    for (const struct file_node *n = node; n->parent != n; n = n->parent)
        used += strlen(n->name) + 1;
    if (node->parent == node)
        used = 2;
    if (used > bytes)
        return 0;
    at = to + used - 1;
    *at = 0;
    to[0] = '/';
    for (const struct file_node *n = node; n->parent != n; n = n->parent) {
        at -= strlen(n->name);
        memcpy(at, n->name, strlen(n->name));
        *--at = '/';
    }
    return used;
}

struct file_node *files_next(struct file_node *node)
{
    if (node->first)
        return node->first;
    while (!node->next && node->parent != node)
        node = node->parent;
    return node->parent == node ? NULL : node->next;
}
