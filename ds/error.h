/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors of the Debug Store layer, under the names that its forerunners gave them. */
#ifndef DS_ERROR_H
#define DS_ERROR_H

enum ds_error {
    DS_OK = 0,
    DS_EPERM,      /* the caller does not own what it wants to change */
    DS_ESRCH,      /* no tracer: nothing was set up here */
    DS_EIO,        /* a destination is too small, or the hardware's index is out of bounds */
    DS_ENOMEM,     /* the pool or a table is exhausted */
    DS_EFAULT,     /* an address that the processor could not store through */
    DS_EBUSY,      /* in use: by a running trace, another owner or an interrupted call */
    DS_EINVAL,     /* arguments that contradict a rule of the manual or each other */
    DS_EOPNOTSUPP, /* the processor lacks it */
    DS_ERROR_COUNT,
};

/* "EBUSY" and so on; "OK" for DS_OK, "?" for anything that is no ds_error. */
const char *ds_strerror(enum ds_error error);

#endif
