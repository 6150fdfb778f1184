/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes the files of the web page into the program. wtr.mk names them as prerequisites.
 */
#include "harness/wtr/view/assets.h"

#define ASSET(name, files)                                                                     \
    __asm__(".pushsection .rodata\n.globl asset_" name "\nasset_" name ":\n" files             \
            "\n.byte 0\n.popsection\n")
#define FILE_OF(name) ".incbin \"harness/wtr/view/" name "\"\n"

ASSET("page", FILE_OF("view.html"));
ASSET("style", FILE_OF("view.css"));
ASSET("script", FILE_OF("view_data.js") FILE_OF("view_timeline.js") FILE_OF("view_input.js")
                    FILE_OF("view_tree.js") FILE_OF("view_tables.js") FILE_OF("view_main.js"));
