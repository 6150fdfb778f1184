/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which file an image of the trace is: one that the user named, else the one at the path in
 * the trace. A file with another build-id than the recorded one is not believed.
 */
#include "harness/wtr/core/space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct program *open_program(struct space *space, const char *path, const char **why)
{
    struct program *program = allocate(1, sizeof *program);

    *why = program_open(program, path);
    if (*why) {
        free(program);
        return NULL;
    }
    *PUSH(&space->programs) = program;
    return program;
}

static bool other_build(const struct image *image, const struct program *program)
{
    return image->build_id_bytes &&
           (image->build_id_bytes != program->build_id_bytes ||
            memcmp(image->build_id, program->build_id, image->build_id_bytes) != 0);
}

static bool same_build(const struct image *image, const struct program *program)
{
    return image->build_id_bytes && !other_build(image, program);
}

/* Gives a file to the images that it fits by build-id, else by name, else to the only one. */
static size_t hand_out(struct space *space, struct program *program)
{
    size_t given = 0;

    for (size_t i = 0; i < space->images.count; i++) {
        struct image *image = &space->images.items[i];

        if (!image->program && same_build(image, program)) {
            image->program = program;
            given++;
        }
    }
    for (size_t i = 0; i < space->images.count && !given; i++) {
        struct image *image = &space->images.items[i];
        bool named = strcmp(base_name(image->recorded_path), base_name(program->path)) == 0;

        if (!image->program && (named || space->images.count == 1) &&
            !other_build(image, program)) {
            image->program = program;
            given++;
        }
    }
    return given;
}

static bool use_given(struct space *space, const char *path)
{
    const char *why;
    struct program *program = open_program(space, path, &why);

    if (!program) {
        complain("%s: %s", path, why);
        return false;
    }
    if (!space->images.count) {
        complain("%s: no image is recorded in %s; leave --elf out", path, space->trace->path);
        return false;
    }
    if (!hand_out(space, program)) {
        complain("%s: not what %s was recorded from (build-id or name differ); "
                 "give that build",
                 path, space->trace->path);
        return false;
    }
    return true;
}

static struct program *already_open(const struct space *space, const char *path)
{
    for (size_t i = 0; i < space->programs.count; i++) {
        if (strcmp(space->programs.items[i]->path, path) == 0)
            return space->programs.items[i];
    }
    return NULL;
}

/* A trace can name anything; waiting at a pipe or reading a device helps nobody. */
static bool is_plain_file(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* Beside the trace's own path there is no search: a wrong file is worse than none. */
static void use_recorded(struct space *space, struct image *image)
{
    const char *why;
    struct program *program = already_open(space, image->recorded_path);

    if (!program && is_plain_file(image->recorded_path))
        program = open_program(space, image->recorded_path, &why);
    if (program && !other_build(image, program))
        image->program = program;
}

bool space_open_files(struct space *space)
{
    for (size_t i = 0; space->elf_paths && space->elf_paths[i]; i++) {
        if (!use_given(space, space->elf_paths[i]))
            return false;
    }
    for (size_t i = 0; i < space->images.count; i++) {
        if (!space->images.items[i].program)
            use_recorded(space, &space->images.items[i]);
    }
    return true;
}

bool space_complete(const struct space *space)
{
    bool complete = true;

    for (size_t i = 0; i < space->images.count; i++) {
        const struct image *image = &space->images.items[i];

        if (image->program)
            continue;
        complain("%s: no file, or another build, at this path of the trace; "
                 "give it with --elf",
                 image->recorded_path);
        complete = false;
    }
    return complete;
}
