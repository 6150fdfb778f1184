/* SPDX-License-Identifier: BSD-2-Clause */
/* The beginning of a program, from its file to its first instruction, and its end. */
#include "guest/program_parts.h"

#include "hw/overlay.h"
#include "hw/regs.h"
#include "hw/string.h"

static const char *build(struct program *p)
{
    static const char too_big[] = "it does not fit into the memory there is";
    const char *why;

    if (!program_load(p))
        return too_big;
    why = program_first_files(p);
    return why ? why : program_first_stack(p);
}

const char *program_open(struct program *p, const struct elf_plan *plan,
                         const struct program_start *start)
{
    p->plan = *plan;
    p->start = *start;
    p->mappings.count = 0;
    p->fs_base = p->gs_base = 0;
    p->heap = p->heap_end = (plan->end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    memset(&p->signals, 0, sizeof(p->signals));
    p->random = start->seed;
    p->began = tsc_read();
    p->skipped = p->clear_tid = 0;
    p->umask = 022;
    p->end = PROGRAM_PAUSED;
    p->code = 0;
    p->signal = 0;
    p->stuck_at = NULL;
    p->address = p->calls = 0;
    p->refusals = 0;
    p->avx = p->pause_wanted = p->kill_wanted = false;
    fpu_start(&p->fpu);
    return build(p);
}

void program_close(struct program *p)
{
    if (!p->space.cr3)
        return;
    program_unmap(p, 0, CANONICAL_END);
    files_end(&p->files);
    overlay_free(&p->space);
    paging_space_destroy(&p->space);
}
