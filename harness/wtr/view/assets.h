/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of the web page of `wtr html`, kept in the program.
 */
#ifndef HARNESS_WTR_VIEW_ASSETS_H
#define HARNESS_WTR_VIEW_ASSETS_H

/* Texts that end in NUL. */
extern const char asset_page[], asset_style[], asset_script[];

#endif
