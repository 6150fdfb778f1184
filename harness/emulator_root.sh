#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A folder with the QEMU and the OVMF of a Debian release, for harness/matrix.py --root.
#
#   harness/emulator_root.sh FOLDER trixie                     what the release has
#   harness/emulator_root.sh FOLDER trixie trixie-backports    QEMU from its backports
#
# As root, with debootstrap. Nothing outside of FOLDER is touched, nothing is mounted; an
# interrupted run is begun anew in an empty folder.
set -eu

die() {
    echo "emulator_root: $*" >&2
    exit 2
}

[ $# -ge 2 ] && [ $# -le 3 ] || die "usage: $0 FOLDER RELEASE [RELEASE-backports]"
folder=$1 release=$2 backports=${3:-}
command -v debootstrap >/dev/null || die "install the package debootstrap, which is missing"
[ "$(id -u)" = 0 ] || die "only root can make such a folder"
[ ! -e "$folder" ] || die "$folder exists: name another folder, or remove it"

inside() {
    chroot "$folder" env DEBIAN_FRONTEND=noninteractive "$@"
}
install() {
    inside apt-get install -qq -y --no-install-recommends "$@"
}

debootstrap --variant=minbase "$release" "$folder"
inside apt-get update -qq
if [ -n "$backports" ]; then
    lists=$folder/etc/apt
    sed -n "s/^deb \\([^ ]*\\) $release .*/deb \\1 $backports main/p" "$lists/sources.list" \
        >"$lists/sources.list.d/backports.list"
    inside apt-get update -qq
    install -t "$backports" qemu-system-x86
    install ovmf
else
    install qemu-system-x86 ovmf
fi
inside apt-get clean
inside qemu-system-x86_64 --version | head -n 1
inside dpkg-query -W ovmf
