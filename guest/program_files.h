/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files with system calls about files share: bits of open and of modes. */
#ifndef GUEST_PROGRAM_FILES_H
#define GUEST_PROGRAM_FILES_H

#include "guest/program_parts.h"

#define OPEN_ACCESS    3u /* 0 reading, 1 writing, 2 both */
#define OPEN_WRITES    1u
#define OPEN_CREATE    0x40u
#define OPEN_EXCLUSIVE 0x80u
#define OPEN_TRUNCATE  0x200u
#define OPEN_APPEND    0x400u
#define OPEN_FOLDER    0x10000u
#define OPEN_CLOSES    0x80000u
#define OPEN_NAMELESS  0x400000u
#define OPEN_KEPT      (OPEN_ACCESS | OPEN_APPEND | 0x800u | 0x8000u) /* what F_GETFL shows */

#define AT_FOLDER        ((int32_t)-100) /* AT_FDCWD */
#define AT_EMPTY_PATH    0x1000u
#define AT_REMOVE_FOLDER 0x200u

#define TYPE_CHARACTER 0020000u
#define TYPE_FOLDER    0040000u
#define TYPE_REGULAR   0100000u
#define TYPE_PIPE      0010000u

/* guest/program_number.c. NULL: all are in use. */
struct open_file *program_new_open(struct program *p, struct file_node *node, unsigned flags);
/* One number less stands for it. */
void program_drop_open(struct program *p, struct open_file *open);

/* guest/program_stat.c: type and permissions as in st_mode. */
uint32_t program_mode(const struct program *p, const struct file_node *node);

/* guest/program_maps.c: the mappings as text, in a file that goes when it is closed. */
struct file_node *program_maps(struct program *p);

/* guest/program_file.c: where the next read or write of it begins, and how it went. */
uint64_t program_read_file(struct program *p, struct open_file *open, uint64_t offset,
                           uint64_t to, uint64_t count);

#endif
