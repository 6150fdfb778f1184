/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of a program: a tree in memory, filled from a tar archive (the "ustar" form of
 * POSIX.1, "pax"). What is not written to stays in the archive; changed pages come from the
 * page pool. No links: a name is one file's.
 *
 * Functions that can fail return 0 or one of Linux's error numbers.
 */
#ifndef GUEST_FILES_H
#define GUEST_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILES_OPEN_MOST   128u /* numbers of open files */
#define FILES_NAME_BYTES  256u
#define FILES_MOST        5000u /* files and folders */
#define FILES_LARGEST     (1ull << 30)
#define FILES_FOLDER_MODE 0755u

enum file_kind {
    FILE_REGULAR,
    FILE_FOLDER,
    FILE_NULL,   /* reads as ended, takes everything */
    FILE_ZERO,   /* reads as zeros */
    FILE_RANDOM, /* reads as the program's own random numbers */
    FILE_OUTPUT, /* standard output and standard error; number says which */
    FILE_MAPS    /* the program's mappings as text, made when it is opened */
};

struct file_node {
    char name[FILES_NAME_BYTES];
    struct file_node *parent, *first, *next; /* folder; its own files; the folder's next one */
    enum file_kind kind;
    uint32_t mode, number, opens;
    uint64_t bytes, time; /* length; of the last change, in nanoseconds since 1970 */
    const uint8_t *given; /* content of pages that nothing was written to */
    uint64_t given_bytes;
    uint8_t ***pages; /* the others: tables of tables of pages, or NULL */
    bool changed, removed;
};

struct open_file {
    struct file_node *node;
    uint64_t offset;
    unsigned flags, users; /* O_ bits; numbers that stand for it, 0 = free */
};

struct files {
    struct file_node *root, *folder; /* folder: the working folder */
    struct file_node *spare;         /* removed ones, to be used again */
    void *slabs;                     /* pages with nodes in them */
    unsigned count, created;
    struct open_file open[FILES_OPEN_MOST];
    struct open_file *number[FILES_OPEN_MOST];
    bool closes[FILES_OPEN_MOST]; /* FD_CLOEXEC: told, never needed */
};

/* A tree with nothing in it. */
bool files_begin(struct files *f);
/* NULL, or what is wrong with the archive, as the end of a sentence. */
const char *files_unpack(struct files *f, const uint8_t *archive, size_t count);
/* Gives every page back. */
void files_end(struct files *f);

/* guest/files_tree.c: names. A path begins at `from` unless it begins with a slash. */
int files_find(struct files *f, struct file_node *from, const char *path,
               struct file_node **node);
/* The folder of the path's last part, and that part; for what need not be there. */
int files_split(struct files *f, struct file_node *from, const char *path,
                struct file_node **folder, char name[FILES_NAME_BYTES]);
struct file_node *files_child(struct file_node *folder, const char *name);
/* NULL: the page pool is empty, or there are too many files. */
struct file_node *files_make(struct files *f, struct file_node *folder, const char *name,
                             enum file_kind kind, uint32_t mode);
int files_remove(struct files *f, struct file_node *node);
int files_rename(struct files *f, struct file_node *node, struct file_node *folder,
                 const char *name);
/* Somebody who had it open is done with it. */
void files_release(struct files *f, struct file_node *node);
/* "/a/b"; the bytes with the NUL, 0 when it does not fit. */
size_t files_path(const struct file_node *node, char *to, size_t bytes);
/* The node behind this one in a walk of everything below the root, NULL after the last. */
struct file_node *files_next(struct file_node *node);

/* guest/files_content.c: bytes of regular files. The count that was read. */
size_t files_read(const struct file_node *node, uint64_t offset, void *to, size_t count);
/* The count that was written: less when the page pool is empty or the file too large. */
size_t files_write(struct file_node *node, uint64_t offset, const void *from, size_t count);
int files_resize(struct file_node *node, uint64_t bytes);

#endif
