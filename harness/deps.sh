#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs what building and testing need and this machine lacks, from the distribution.
#
# Says what it installs; when nothing is missing it changes nothing and asks nobody. POSIX
# shell, because a fresh machine may have nothing else.
set -u

# package, then a command (no slash) or files (any one of them is enough) that prove it.
table() {
    cat <<'END'
gcc gcc
libc6-dev /usr/include/stdio.h
binutils objcopy
make make
nasm nasm
gnu-efi /usr/include/efi/efi.h
libdw-dev /usr/include/elfutils/libdw.h
qemu-system-x86 qemu-system-x86_64
ovmf /usr/share/OVMF/OVMF_CODE_4M.fd /usr/share/OVMF/OVMF_CODE.fd /usr/share/ovmf/OVMF.fd
mtools mformat
xz-utils xz
sbsigntool sbsign
openssl openssl
python3 python3
git git
gdb gdb
linux-perf perf
clang-format clang-format
libxml2-utils xmllint
libelf-dev /usr/include/gelf.h
dosfstools /usr/sbin/fsck.fat /sbin/fsck.fat
gdisk /usr/sbin/sgdisk /sbin/sgdisk
chromium chromium chromium-browser
lcov genhtml
lava-common /usr/lib/python3/dist-packages/lava_common/schemas/__init__.py
python3-labgrid /usr/lib/python3/dist-packages/labgrid/__init__.py
END
}

# True when a command or one of the files is there.
present() {
    for proof in "$@"; do
        case $proof in
        /*) [ -e "$proof" ] && return 0 ;;
        *) command -v "$proof" >/dev/null 2>&1 && return 0 ;;
        esac
    done
    return 1
}

missing() {
    table | while read -r package proofs; do
        # The proofs are words without blanks.
        # shellcheck disable=SC2086
        present $proofs || echo "$package"
    done | tr '\n' ' ' | sed 's/ $//'
}

# Ubuntu has perf in another package than Debian.
local_names() {
    for package in "$@"; do
        if [ "$package" = linux-perf ] && ! apt-cache show linux-perf >/dev/null 2>&1; then
            package=linux-tools-generic
        fi
        # Only a shell that fetches a snap on Ubuntu, under this name.
        if [ "$package" = chromium ] && ! apt-cache show chromium >/dev/null 2>&1; then
            package=chromium-browser
        fi
        echo "$package"
    done | tr '\n' ' ' | sed 's/ $//'
}

debian_like() {
    command -v apt-get >/dev/null 2>&1 || return 1
    [ -r /etc/os-release ] || return 1
    # shellcheck source=/dev/null
    case " $(. /etc/os-release && echo "${ID:-} ${ID_LIKE:-}") " in
    *" debian "* | *" ubuntu "*) return 0 ;;
    esac
    return 1
}

# Runs its words as root; says which words when that is not possible here.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        sudo "$@"
    else
        echo "deps: not root and no sudo here; run as root: apt-get install $lacking" >&2
        exit 1
    fi
}

lacking=$(missing)
if [ -z "$lacking" ]; then
    echo "deps: nothing is missing"
    exit 0
fi
if ! debian_like; then
    echo "deps: not Debian or Ubuntu; install what gives (Debian's names): $lacking" >&2
    exit 1
fi
echo "deps: missing: $lacking"
# A stale source elsewhere in the list must not stop us: the installation decides.
as_root apt-get -q update || echo "deps: apt-get update had trouble, going on" >&2
# shellcheck disable=SC2046,SC2086
set -- $(local_names $lacking)
echo "deps: installing: $*"
as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y install --no-install-recommends "$@" || {
    echo "deps: the installation failed" >&2
    exit 1
}
lacking=$(missing)
if [ -n "$lacking" ]; then
    echo "deps: still missing after the installation: $lacking" >&2
    exit 1
fi
echo "deps: done"
