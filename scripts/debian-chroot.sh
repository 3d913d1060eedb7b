# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by check-packages, check-admin-guide and check-debian-13, which set `folder`: Debian 12, or the release named by `release`,
# in folder/base, made once by debootstrap, and fresh roots over it. `fail` is the script's own.
base=$folder/base root=$folder/root log=$folder/log
mkdir -p "$folder"

# quietly COMMAND...: what it prints appears only where it fails.
quietly() { "$@" >"$log" 2>&1 || { tail -n 30 "$log" >&2; fail "failed: $*"; }; }

# inside COMMAND...: runs it in the root, as root, with an environment of its own; in systemd's namespaces once it is booted.
inside() {
    local enter=(chroot "$root")
    [ -z "$init" ] || enter=(nsenter --target "$init" --mount --pid --ipc --uts --cgroup --root --wd)
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "${enter[@]}" "$@"
}

# Mounts and processes end with the script.
in_namespace() { [ -n "${HWD_UNSHARED:-}" ] || HWD_UNSHARED=1 exec unshare --mount --pid --mount-proc --fork --kill-child "$0" "$@"; }

make_base() {
    [ ! -e "$base/etc/debian_version" ] || return 0
    quietly debootstrap --variant=minbase "${release:-bookworm}" "$base"
    quietly chroot "$base" apt-get update
}

# mount_root: the root is the base, unchanged, with devices that programs need. Services do not start by being installed.
mount_root() {
    ! mountpoint -q "$root" || umount -R "$root"
    rm -rf "$folder/upper" "$folder/work"
    mkdir -p "$root" "$folder/upper" "$folder/work"
    mount -t overlay overlay -o "lowerdir=$base,upperdir=$folder/upper,workdir=$folder/work" "$root"
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    local device
    for device in null zero full random urandom; do
        touch "$root/dev/$device"
        mount --bind /dev/$device "$root/dev/$device"
    done
    mkdir "$root/dev/shm"
    mount -t tmpfs tmpfs "$root/dev/shm"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
}

# boot_root: systemd as process 1 of the root, in namespaces of its own but for the network; `init` is its number, `booted`
# that of the process that made the namespaces. The root is entered by pivot_root, because the kernel makes no user namespace in a
# chroot, and units such as Prometheus's want one.
init= booted=
boot_root() {
    local groups
    groups=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
    [ -n "$groups" ] || fail "there is no cgroup2 file system, so systemd cannot run"
    control_group=$groups/hwdaemon-$$
    umount -R "$root/proc" "$root/dev"
    rm "$root/usr/sbin/policy-rc.d"
    mkdir -p "$control_group"
    # shellcheck disable=SC2016
    bash -c 'echo $$ >"$1/cgroup.procs"; exec unshare --mount --pid --ipc --uts --cgroup --fork --kill-child bash -euc "$2" "$3"' \
        bash "$control_group" '
        mount --rbind "$0" "$0"
        cd "$0"
        mount -t proc proc proc
        mount -t sysfs -o ro sysfs sys
        mount -t cgroup2 cgroup2 sys/fs/cgroup
        mount -t tmpfs -o mode=755 tmpfs dev
        for device in null zero full random urandom tty; do
            touch dev/$device
            mount --bind /dev/$device dev/$device
        done
        mkdir dev/shm dev/pts
        ln -s /proc/self/fd dev/fd
        mount -t tmpfs tmpfs dev/shm
        mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
        ln -s pts/ptmx dev/ptmx
        mount -t tmpfs -o mode=755 tmpfs run
        mount -t tmpfs tmpfs tmp
        pivot_root . mnt
        umount -l /mnt
        exec env -i container=chroot PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal' "$root" \
        >"$folder/systemd.log" 2>&1 &
    booted=$!
    for _ in $(seq 120); do
        sleep 0.5
        init=$(pgrep -P "$booted" -f /lib/systemd/systemd) || continue
        inside systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded' && return
    done
    fail "systemd does not start: $(cat "$folder/systemd.log")"
}

# halt_root: ends systemd and all that runs under it, also where it has not started, or has ended by itself.
halt_root() {
    [ -n "$booted" ] || return 0
    kill -9 "$booted" 2>/dev/null || true
    wait "$booted" 2>/dev/null || true
    find "$control_group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    init= booted=
}
