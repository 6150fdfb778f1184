/* SPDX-License-Identifier: BSD-2-Clause */
/* The version of the sources this image was built from. */
#ifndef HARNESS_SUITE_VERSION_H
#define HARNESS_SUITE_VERSION_H

extern const char waymark_version[];

#endif
