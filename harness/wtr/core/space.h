/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the addresses of a trace mean: its tasks, the images of their processes, functions, and
 * places. A place is one address of one process that some branch came from or went to; it is
 * worked out once, however often the branch was taken.
 */
#ifndef HARNESS_WTR_CORE_SPACE_H
#define HARNESS_WTR_CORE_SPACE_H

#include "harness/wtr/core/program.h"
#include "harness/wtr/core/trace.h"

#define NO_IMAGE 0xFFFFFFFFu

/* Numbers of functions that no file has. */
#define FUNCTION_UNKNOWN 0u /* addresses without a name */
#define FUNCTION_KERNEL  1u /* what handles system calls and exceptions */

struct image {
    uint32_t process; /* 0 = of all */
    uint64_t bias, entry, low, high;
    const char *recorded_path;
    const uint8_t *build_id;
    size_t build_id_bytes;
    VECTOR(struct wtr_segment) segments; /* as run */
    struct program *program;             /* NULL when the file was not found */
    uint32_t first_function;             /* number of the program's first symbol */
};

struct function {
    const char *name;
    uint64_t start, end; /* in the file */
    uint32_t image;
    bool typed; /* a function, not a bare label */
};

struct place {
    uint64_t address;
    uint32_t image;    /* NO_IMAGE: nobody's */
    uint32_t function; /* FUNCTION_UNKNOWN */
    uint32_t process;
    uint32_t segment; /* of the program, valid with code */
    bool code;        /* an instruction starts here, and the file has it */
    bool entry;       /* first address of a typed function */
    uint8_t branch;   /* enum branch_class of that instruction */
    uint8_t length;   /* of it, 0 when unknown */
    bool direct;      /* target holds the destination */
    uint64_t target;
    char *text; /* "name+0x12", made when asked for */
};

struct task {
    uint32_t number, process, parent;
    uint64_t start;    /* WTR_UNKNOWN */
    const char *name;  /* "" = none */
    char *label;       /* name and number, for people */
    uint32_t function; /* number of the function that stands for the task */
    uint64_t branches;
    bool exited;
    struct wtr_exit exit;
};

struct space {
    const struct trace *trace;
    VECTOR(struct image) images;
    size_t segment_count;      /* of all images */
    VECTOR(struct task) tasks; /* in the order of their appearance */
    VECTOR(struct function) functions;
    VECTOR(struct place) places;
    VECTOR(struct program *) programs;
    struct map task_by_number, place_by_key, process_by_number;
    uint64_t flags_seen;          /* of any branch */
    const char *const *elf_paths; /* given by the user, ended by NULL */
    bool as_recorded;             /* perf: files are called what the trace calls them */
};

/*
 * Reads images and tasks of the trace and opens their files: those of elf_paths first, by
 * build-id, by name, or because there is only one image. False with a complaint when a file
 * the user named cannot be used; then nothing has to be closed.
 */
bool space_open(struct space *space, const struct trace *trace, const char *const *elf_paths);
void space_close(struct space *space);

/* space_files.c: finds and opens the file of each image; false with a complaint. */
bool space_open_files(struct space *space);

/* Tells on standard error about images without a file; true when there is none. */
bool space_complete(const struct space *space);

/* The task's index; one that the trace did not announce is added. */
uint32_t space_task(struct space *space, uint32_t number);

/* The place's index. Pointers to places become void. */
uint32_t space_place(struct space *space, uint32_t process, uint64_t address);

struct image *space_image(const struct space *space, const struct place *place);
struct segment *place_segment(const struct space *space, const struct place *place);
const struct line *place_line(const struct space *space, const struct place *place,
                              const char **file);

/* "name+0x12", "name" at its start, or "" without a name. Lives as long as the space. */
const char *place_text(struct space *space, uint32_t place);

/* The last part of a path; both kinds of slash count. */
const char *base_name(const char *path);

#endif
