/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the Debug Store layer's errors. */
#include "ds/error.h"

const char *ds_strerror(enum ds_error error)
{
    switch (error) {
    case DS_OK:
        return "OK";
    case DS_EPERM:
        return "EPERM";
    case DS_ESRCH:
        return "ESRCH";
    case DS_EIO:
        return "EIO";
    case DS_ENOMEM:
        return "ENOMEM";
    case DS_EFAULT:
        return "EFAULT";
    case DS_EBUSY:
        return "EBUSY";
    case DS_EINVAL:
        return "EINVAL";
    case DS_EOPNOTSUPP:
        return "EOPNOTSUPP";
    case DS_ERROR_COUNT:
        break;
    }
    return "?";
}
