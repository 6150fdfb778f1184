#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs what building and testing need and this machine lacks, from the distribution.
#
# deps.sh [--list] [GOAL...]: what these goals of make need; without a goal, or with one that
# goals() does not know, everything. Says what it installs; when nothing is missing it changes
# nothing and asks nobody. --list prints the packages and installs none. POSIX shell, because a
# fresh machine may have nothing else.
set -u

# package, who needs it (commas between), then a command (no slash) or files (any one of them
# is enough) that prove it. `build` is needed by every goal.
table() {
    cat <<'END'
gcc build gcc
libc6-dev build /usr/include/stdio.h
binutils build objcopy
make build make
nasm build nasm
gnu-efi build /usr/include/efi/efi.h
xz-utils build xz
python3 build python3
qemu-system-x86 boot qemu-system-x86_64
ovmf boot /usr/share/OVMF/OVMF_CODE_4M.fd /usr/share/OVMF/OVMF_CODE.fd /usr/share/ovmf/OVMF.fd
mtools boot,disk mformat
libdw-dev wtr /usr/include/elfutils/libdw.h
libelf-dev wtr /usr/include/gelf.h
gdb gdb,linux gdb
sbsigntool sign sbsign
openssl sign openssl
git check git
linux-perf linux perf
busybox linux busybox
clang-format check clang-format
libxml2-utils check xmllint
dosfstools check /usr/sbin/fsck.fat /sbin/fsck.fat
gdisk check /usr/sbin/sgdisk /sbin/sgdisk
chromium check chromium chromium-browser
lcov check genhtml
lava-common check /usr/lib/python3/dist-packages/lava_common/schemas/__init__.py
python3-labgrid check /usr/lib/python3/dist-packages/labgrid/__init__.py
END
}

# Who is meant by a goal, as in the table's second column; `every` is all of it.
goals() {
    case $1 in
    all | clean | help) echo build ;;
    run-qemu | under | bench | defects | policies | fuzz) echo build boot ;;
    debug | gdb) echo build boot gdb ;;
    linux) echo build boot linux ;;
    trace | profile) echo build boot wtr ;;
    program | wtr) echo build wtr ;;
    image) echo build disk ;;
    sign) echo build disk sign ;;
    *) echo every ;;
    esac
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

# The packages that somebody of $wanted needs, with their proofs.
rows() {
    table | while read -r package who proofs; do
        case " $wanted " in
        *" every "*) echo "$package $proofs" && continue ;;
        esac
        for one in $(echo "$who" | tr ',' ' '); do
            case " $wanted " in
            *" $one "*) echo "$package $proofs" && break ;;
            esac
        done
    done
}

missing() {
    rows | while read -r package proofs; do
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

list=
if [ "${1-}" = --list ]; then
    list=1
    shift
fi
wanted=
for goal in "$@"; do
    wanted="$wanted $(goals "$goal")"
done
wanted=${wanted:-every}
if [ -n "$list" ]; then
    rows | cut -d ' ' -f 1
    exit 0
fi
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
