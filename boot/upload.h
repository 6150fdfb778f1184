/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results on the server that the image was booted from: the four documents of a results folder,
 * beside the image, as waymark-CARD-RUN-report.json and so on. Beside whatever files there are;
 * neither harms the other.
 */
#ifndef BOOT_UPLOAD_H
#define BOOT_UPLOAD_H

/* Sends the log so far, and says in one line where results go or why they do not. */
void upload_open(void);

/* Sends the log again when the last time is a while ago: a machine may hang later. */
void upload_flush(void);

/* Sends all of them. NULL, or one line that names the first that is not there. */
const char *upload_close(void);

#endif
