#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The first program of the guest: makes it usable, runs /run/words or a shell, sends back /out.
#
# Words go to the port org.waymark.words, results as one tar archive to the disk whose serial
# number is waymark-out; the file `status` comes last in it, so that an archive that was cut
# short cannot be taken for a whole one.

busybox=/usr/bin/busybox
$busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin:/usr/sbin:/ HOME=/root TERM=linux PAGER=cat PERF_PAGER=cat
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /dev/shm
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
for module in /modules/*; do
    [ -e "$module" ] && insmod "$module"
done
ip link set lo up
ln -s /proc/self/fd /dev/fd
ln -s fd/0 /dev/stdin
ln -s fd/1 /dev/stdout
ln -s fd/2 /dev/stderr
hostname waymark

# An emulator is slow: perf must not lower its rate for that. Root sees all addresses.
cd /proc/sys/kernel || exit
echo 0 >perf_cpu_time_max_percent
echo 1000000 >perf_event_max_sample_rate 2>/dev/null
echo -1 >perf_event_paranoid
echo 0 >kptr_restrict
cd /

# Waits for a device that a driver finds in its own time; prints its name.
await() {
    i=0
    while [ $i -lt 50 ]; do
        for place in $2; do
            [ "$(cat "$place" 2>/dev/null)" = "$1" ] && {
                place=${place%/*}
                echo "${place##*/}"
                return 0
            }
        done
        sleep 0.1
        i=$((i + 1))
    done
    echo "init: found no $1" >/dev/console
    return 1
}

if [ -e /run/words ]; then
    port=$(await org.waymark.words '/sys/class/virtio-ports/*/name') || port=console
    # Through a pipe: a port cannot be opened twice, and words may write to /dev/stderr.
    { sh /run/words 2>&1 </dev/null; echo $? >/run/words-status; } | cat >"/dev/$port"
    status=$(cat /run/words-status)
else
    echo "bts: $(ls -d /sys/bus/event_source/devices/intel_bts 2>/dev/null ||
        echo 'no intel_bts here')"
    setsid cttyhack sh
    status=0
fi

dmesg >/run/dmesg
echo $status >/run/status
disk=$(await waymark-out '/sys/block/*/serial') &&
    tar -c -f "/dev/$disk" -C / out run/dmesg run/status
sync
poweroff -f
