/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text out of the bytes that firmware passes as load options, or that a file holds. Pure, so
 * it is tested on the host.
 *
 * Who starts the image decides what the bytes are: a boot entry may carry any binary data (a
 * GUID from OVMF), QEMU's -append and boot loaders give UTF-16, the UEFI shell and iPXE put
 * the program's name first.
 */
#ifndef BOOT_LOAD_OPTIONS_H
#define BOOT_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum text_kind {
    TEXT_EMPTY,   /* nothing, or only white space */
    TEXT_WORDS,   /* ASCII text */
    TEXT_BINARY,  /* not text: to be left alone */
    TEXT_TOO_LONG /* text that does not fit */
};

/* UTF-16 of an even or odd number of bytes, up to a 0 unit; out is terminated on TEXT_WORDS. */
enum text_kind load_options_text(const void *data, size_t bytes, char *out, size_t out_bytes);

/*
 * Some firmware (Dell's) hands over the whole boot entry, an EFI_LOAD_OPTION, in place of the
 * data in it. Returns where those begin, 0 when the bytes are no such entry; its description
 * goes to name, empty when it is no ASCII. Source: UEFI, "Load Options".
 */
size_t load_option_unwrap(const void *data, size_t bytes, char *name, size_t name_bytes);

/* A file: ASCII, with a byte order mark also UTF-8 or little-endian UTF-16. */
enum text_kind file_text(const void *data, size_t bytes, char *out, size_t out_bytes);

/*
 * Where the words start behind a program name. The first word counts as one when it ends in
 * ".efi" or equals the image's file name (no folder; NULL when unknown) with or without that
 * ending, whatever the case. A name in double quotes may hold spaces.
 */
const char *skip_program_name(const char *text, const char *file_name);

#endif
