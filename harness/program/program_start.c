/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program is given: words, environment, files, a clock, a seed. */
#include "harness/program/program.h"

#include "harness/suite/suite.h"

struct program_start harness_program_start(const struct program_services *services,
                                           const struct options *options)
{
    return (struct program_start){
        .words = options->words,
        .word_count = options->word_count,
        .environment = options->environment,
        .environment_count = options->environment_count,
        .path = *options->path ? options->path : options->program,
        .folder = *options->folder ? options->folder : NULL,
        .seed = options->seed,
        .epoch = services->epoch,
        .tsc_hz = suite_state()->platform->tsc_khz * 1000,
        .file = services->file,
        .file_bytes = services->file_bytes,
        .files = services->files,
        .files_bytes = services->files_bytes,
        .input = services->input,
        .input_bytes = services->input_bytes,
    };
}
