# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by check-admin-guide: the lines of the guide in its order, but for Uninstall, which comes last; what each must do; and what the
# guide assumes between them.
# shellcheck disable=SC2016

serves='su - alice -c "hwctl sessions"'
main_pid='systemctl show -p MainPID --value hwdaemon'
# PROMISE of an upgrade: another main process, after the one in /var/tmp/pid.
replaced_daemon='for i in $(seq 600); do [ "$('$main_pid')" != "$(cat /var/tmp/pid)" ] && exit; sleep 0.1; done; exit 1'
journal() { echo "(for i in \$(seq 600); do journalctl -u hwdaemon | grep -qE '$1' && exit; sleep 0.1; done; exit 1)"; }
configure() { prepare "echo '$1' >/etc/hwdaemon/local.conf; systemctl reload hwdaemon"; }
simulate() { # [ENVIRONMENT...]: HWSim's driver for the daemon
    prepare "mkdir -p /etc/systemd/system/hwdaemon.service.d
        echo '[Service]
        Environment=LD_PRELOAD=/opt/hwsim/nodes.so LIBVA_DRIVERS_PATH=/opt/hwsim LIBVA_MESSAGING_LEVEL=0 $*' >/etc/systemd/system/hwdaemon.service.d/simulated.conf
        systemctl daemon-reload; systemctl restart hwdaemon"
}
# Nodes of the null device, which HWSim's nodes.so makes render nodes.
plug() { prepare "mkdir -p /dev/dri; mknod -m 660 /dev/dri/$1 c 1 3; chgrp render /dev/dri/$1"; }

stage_packages() {
    system
    outside mkdir -p "${root:-}/home/alice/hwdaemon/.build"
    outside cp -r .build/deb "${root:-}/home/alice/hwdaemon/.build/"
    boot
    prepare 'echo /home/alice/hwdaemon >/var/tmp/cwd'

    at install.md "Debian packages"
    not_run 'sudo apt build-dep .' "the packages are those of an earlier 'make deb'"
    not_run 'make deb' "it needs Swift; the packages are those of an earlier 'make deb'"
    run 'sudo apt install ./.build/deb/*.deb' \
        'systemctl is-active hwdaemon.socket && ! systemctl is-active hwdaemon.service && [ "$(dpkg -l | grep -c "^ii .*hwdaemon")" -eq 8 ]'
    prepare 'echo /home/alice >/var/tmp/cwd'
    at admin.md Install
    run -77 'hwctl sessions' 'grep -q "sudo usermod -aG hwdaemon" /var/tmp/out'
    at install.md "Debian packages"
    run 'sudo usermod -aG hwdaemon alice' 'id -nG alice | grep -qw hwdaemon'
    not_run 'DEB_BUILD_PROFILES=pkg.hwdaemon.noswift dpkg-buildpackage --build=binary --no-sign' "it builds"
    not_run 'scripts/make-deb --source FOLDER' "it builds"

    at admin.md Install
    further "$serves && systemctl is-active hwdaemon.service"
    run -1 'hwctl doctor' 'grep -q "no render node" /var/tmp/out && grep -q "Encoding  in software: x265" /var/tmp/out'

    at admin.md Units
    run 'systemd-analyze security --offline=true' 'grep -q "exposure level .*: 0.9 " /var/tmp/out' \
        'systemd-analyze security --offline=true --no-pager /lib/systemd/system/hwdaemon.service'
    run 'systemctl status' 'grep -q "Status: \"Serving 0 sessions" /var/tmp/out' 'systemctl status --no-pager hwdaemon'
    run 'systemctl reload' "su - alice -c 'hwctl sessions --metrics' | grep -q 'reloads_total{result=\"ok\"} 1'" 'sudo systemctl reload hwdaemon'
    prepare "$main_pid >/var/tmp/pid"
    run 'systemctl kill --kill-whom=main --signal=SIGUSR2 hwdaemon' "$replaced_daemon" 'sudo systemctl kill --kill-whom=main --signal=SIGUSR2 hwdaemon'
    run 'systemctl stop' "! systemctl is-active hwdaemon && $serves && systemctl is-active hwdaemon" 'sudo systemctl stop hwdaemon'

    at admin.md Configuration
    prepare 'echo MaxSessions=three >/etc/hwdaemon/local.conf'
    run -78 '/usr/libexec/hwdaemon/hwdaemon --check-config' 'grep -q "/etc/hwdaemon/local.conf:1: MaxSessions" /var/tmp/out'
    run -1 'systemctl reload hwdaemon' "su - alice -c 'hwctl sessions --metrics' | grep -q 'sessions_limit{scope=\"all\"} 64'" 'sudo systemctl reload hwdaemon'
    run 'systemctl status hwdaemon' 'grep -q "Serving 0 sessions.*rejected.*/etc/hwdaemon/local.conf:1: MaxSessions" /var/tmp/out' 'systemctl status --no-pager hwdaemon'
    configure MaxSessions=3
    further 'systemctl status --no-pager hwdaemon | grep -q "Status: \"Serving 0 sessions.\""'
    further "su - alice -c 'hwctl sessions --metrics' | grep -q 'sessions_limit{scope=\"all\"} 3'"
    prepare "echo MaxSessions=three >/etc/hwdaemon/local.conf; systemctl restart hwdaemon || true; $serves || true
        systemctl show -p Result hwdaemon.socket | grep service-start-limit-hit; systemctl show -p ExecMainStatus hwdaemon | grep =78"
    prepare 'rm /etc/hwdaemon/local.conf'
    # systemd refuses more than five starts in 10 s.
    run 'sudo systemctl reset-failed hwdaemon' '! systemctl is-failed hwdaemon.service'
    run 'sudo systemctl restart hwdaemon.socket hwdaemon' "$serves && systemctl is-active hwdaemon hwdaemon.socket"

    at admin.md Upgrade
    outside make_later_package
    start_encode
    prepare "$main_pid >/var/tmp/pid; apt-get install /home/alice/later.deb"
    further "$replaced_daemon"
    run 'systemctl status' 'grep -q "The daemon before finishes 1" /var/tmp/out' 'systemctl status --no-pager hwdaemon'
    further 'su - alice -c "hwctl sessions" | grep -q "^alice .*encode"'
    further 'su - alice -c "hwctl encode -y short.mp4 second.mov"'
    finish_encode
    further "for i in \$(seq 600); do systemctl status --no-pager hwdaemon | grep -q 'Status: \"Serving 0 sessions.\"' && exit; sleep 0.1; done; exit 1"
    prepare 'echo MaxSessions=three >/etc/hwdaemon/local.conf; systemctl kill --kill-whom=main --signal=SIGUSR2 hwdaemon'
    further "$(journal 'the upgrade failed, this daemon continues') && systemctl status --no-pager hwdaemon | grep -q 'The upgrade failed, this daemon continues'"
    prepare 'rm /etc/hwdaemon/local.conf'
    further "$serves"
    start_encode
    prepare "$main_pid >/var/tmp/pid; systemctl kill --kill-whom=main --signal=SIGUSR2 hwdaemon; $replaced_daemon"
    run 'systemctl stop' '! systemctl is-active hwdaemon && ! pgrep -u hwdaemon' 'sudo systemctl stop hwdaemon.socket hwdaemon'
    open_gate
    $listing || wait "$encode" || true
    prepare 'systemctl start hwdaemon.socket; mkdir -p /etc/systemd/system/hwdaemon.service.d
        printf "[Service]\nEnvironment=TRIAL=1\n" >/etc/systemd/system/hwdaemon.service.d/trial.conf; systemctl daemon-reload'
    run 'systemctl restart' "tr '\\0' '\\n' </proc/\$($main_pid)/environ | grep -qx TRIAL=1" 'sudo systemctl restart hwdaemon'
    run 'hwctl probe' 'grep -q "^software: x265" /var/tmp/out'
    run 'man hwdaemon' 'grep -q SIGUSR2 /var/tmp/out'

    at admin.md "Two GPUs"
    plug renderD128
    plug renderD129
    simulate LIBVA_DRIVER_NAME=hwsim
    prepare 'for i in $(seq 600); do [ "$(hwctl probe --table | grep -c "^hevc-.*renderD12.*yes  *yes")" -eq 8 ] && exit; sleep 0.1; done; exit 1'
    run 'hwctl probe --table' 'grep -q "^org.hwdaemon.encoder.vaapi.renderD128" /var/tmp/out && grep -q "^org.hwdaemon.encoder.vaapi.renderD129" /var/tmp/out'
    run 'hwctl probe' '[ "$(grep -c "^/dev/dri/renderD12[89]: ready" /var/tmp/out)" -eq 2 ]'
    not_run 'hwctl convert --device' "it needs a GPU with Vulkan"
    simulate LIBVA_DRIVER_NAME=other
    run -1 'hwctl doctor' 'grep -q "LIBVA_DRIVER_NAME is other" /var/tmp/out && grep -q "systemctl edit hwdaemon" /var/tmp/out'

    at admin.md Hot-plug
    simulate LIBVA_DRIVER_NAME=hwsim
    further "$serves"
    prepare 'rm /dev/dri/renderD129'
    further "$(journal 'the device nodes have changed: /dev/dri/renderD129 is gone')"
    run 'hwctl probe' 'grep -q "renderD128: ready" /var/tmp/out && ! grep -q renderD129 /var/tmp/out'
    plug renderD129
    further "$(journal 'the device nodes have changed: /dev/dri/renderD129 is there')"
    further 'for i in $(seq 600); do hwctl probe | grep -q "renderD129: ready" && exit; sleep 0.1; done; exit 1'

    at admin.md "Hardware to buy"
    run 'hwctl probe' 'grep -q "Encodes  *hevc main (8 bits), main10 (10 bits)" /var/tmp/out'

    at admin.md Hardware
    run 'hwctl doctor' 'grep -q "Encoding  in hardware" /var/tmp/out && grep -q "No problem was found" /var/tmp/out'
    run 'hwctl probe' 'grep -q "renderD128: ready" /var/tmp/out'
    run 'hwctl probe --verify' 'grep -q "renderD128: ready" /var/tmp/out'
    run 'hwctl bench CLIP' 'grep -q renderD12 /var/tmp/out && grep -q x265 /var/tmp/out' 'hwctl bench short.mp4'
    run 'hwctl encode' 'grep -q "encoding in hardware: " /var/tmp/out' 'hwctl encode --hardware require -y short.mp4 hardware.mov'
    run 'hwctl decode' '[ -s /home/alice/out.y4m ]' 'hwctl decode hardware.mov out.y4m'
    not_run 'hwctl convert --device 0000:03:00.0' "it needs a GPU with Vulkan"
    not_run 'systemctl edit hwdaemon' "an editor; other steps change a drop-in"
    prepare "echo 'MaxHardwareSessions=0' >/etc/hwdaemon/local.conf"

    at admin.md Sandbox
    run 'hwctl probe' '! grep -q forbids /var/tmp/out'
    prepare 'mkdir -p /etc/hwdaemon/capabilities.d; : >/etc/hwdaemon/capabilities.d/vendor.json'
    for text in '{"schema": 1, "quirks": [{"id": "vendor-needs-socket", "driver": "Vendor driver {version}*",' \
        '  "sandbox": "report", "why": "it asks a service of the vendor'\''s for its license"}]}'; do
        sample "$text" "sed 's/Vendor driver/HWSim/' >>/etc/hwdaemon/capabilities.d/vendor.json <<'TEXT'
$text
TEXT"
    done
    prepare 'systemctl restart hwdaemon'
    further 'for i in $(seq 600); do hwctl probe 2>&1 | tr -s " \n" " " | grep -q "service of the vendor.s for its license" && exit; sleep 0.1; done; exit 1'
    prepare 'rm -r /etc/hwdaemon/capabilities.d'
    not_run 'ausearch -m SECCOMP' "the kernel's audit log belongs to the machine outside"
    run 'hwctl verify' '! grep -qi "lost" /var/tmp/out' 'hwctl verify short.mp4 hardware.mov'

    at admin.md "Fair shares"
    prepare 'rm -r /dev/dri; rm /etc/systemd/system/hwdaemon.service.d/simulated.conf; systemctl daemon-reload; systemctl restart hwdaemon'
    start_encode --priority background
    sample 'hwctl encode --priority background' \
        'for i in $(seq 600); do for process in $(pgrep -f hwdaemon-encoder); do awk "{print \$19}" /proc/$process/task/*/stat; done | grep -qx 19 && exit; sleep 0.1; done; exit 1'
    finish_encode
    configure MaxSessions=1
    start_encode
    $listing || check 'hwctl encode -y short.mp4 second.mov' 75 'grep -q "1 session" /var/tmp/out'
    open_gate_when_waiting
    run 'hwctl encode --wait' "$(journal 'session waits')" 'hwctl encode --wait -y short.mp4 second.mov'
    $listing || wait "$encode" || failed "the first encode fails"

    at admin.md Memory
    sample '# /etc/systemd/system/hwdaemon.service.d/memory.conf' ': >/etc/systemd/system/hwdaemon.service.d/memory.conf'
    sample '[Service]' 'echo "[Service]" >>/etc/systemd/system/hwdaemon.service.d/memory.conf'
    sample 'MemoryMax=48G' 'echo "MemoryMax=48G" >>/etc/systemd/system/hwdaemon.service.d/memory.conf'
    run 'sudo systemctl daemon-reload && sudo systemctl restart hwdaemon' 'systemctl show -p MemoryMax hwdaemon | grep -qx MemoryMax=51539607552'
    configure MaxSessionsPerUser=16
    start_encode
    run 'hwctl sessions' 'grep -q "^USER.*MEMORY" /var/tmp/out && grep -q "^alice .* MiB " /var/tmp/out'
    run 'hwctl encode' 'grep -q "60 frames" /var/tmp/out' 'hwctl encode -y short.mp4 second.mov'

    at admin.md Logs
    prepare "echo 'MaxSessionsPerUser=1' >/etc/hwdaemon/local.conf; systemctl reload hwdaemon; ! su - alice -c 'hwctl encode -y short.mp4 second.mov'"
    prepare 'pkill -SEGV -f hwdaemon-encoder'
    further "$(journal 'session ended code=-12912 .*signal 11')"
    run 'sudo journalctl -u hwdaemon -p warning' 'grep -q "session ended code=-12912 .*signal 11" /var/tmp/out' 'sudo journalctl --no-pager -u hwdaemon -p warning'
    finish_encode
    sample 'session started client=4242 codec=hevc format=NV12 kind=compression pid=4243 session=5f0c… size=1280x720 uid=1000' \
        "$(journal 'session started client=[0-9]+ codec=hevc format=[A-Z0-9]+ kind=compression pid=[0-9]+ session=[0-9a-f]+ size=320x180 uid=1000')"
    sample 'session created codec=hevc encoder=org.hwdaemon.encoder.x265 fallback="this machine has no render node (/dev/dri/renderD*)" hardware=false …' \
        "$(journal 'session created codec=hevc encoder=org.hwdaemon.encoder.x265 fallback="this machine has no render node .*" hardware=false ')"
    # A user may have one session now, and that of the encode may not have ended yet.
    prepare 'su - alice -c "hwctl decode --wait long.mov decoded.y4m"'
    sample 'session created codec=hevc decoder=org.hwdaemon.decoder.libavcodec format=NV12 hardware=false kind=decompression size=1920x1080 …' \
        "$(journal 'session created codec=hevc decoder=org.hwdaemon.decoder.libavcodec .*format=[A-Z0-9]+ hardware=false kind=decompression .*size=320x180')"
    sample 'session ended code=0 codec=hevc frames_in=300 frames_out=300 kind=compression pid=4243 …' \
        "$(journal 'session ended code=0 codec=hevc frames_in=60 frames_out=60 kind=compression pid=[0-9]+ ')"
    sample 'session refused client=4250 code=-12915 codec=hevc kind=compression reason="user 1000 has 16 sessions; …" session=77ab… size=… uid=1000' \
        "$(journal 'session refused client=[0-9]+ code=-12915 codec=hevc kind=compression reason="user 1000 has 1 session; .*" session=[0-9a-f]+ size=320x180 uid=1000')"

    at admin.md Monitoring
    prepare 'apt-get install --no-install-recommends prometheus prometheus-node-exporter'
    run 'hwctl sessions --metrics' '[ -z "$(promtool check metrics </var/tmp/out 2>&1)" ]'
    run 'cd /usr/share/doc/hwdaemon/examples/monitoring' '[ -e "$(cat /var/tmp/cwd)/hwdaemon-dashboard.json" ]'
    run 'sudo cp hwdaemon-metrics.service hwdaemon-metrics.timer /etc/systemd/system/' '[ "$(ls /etc/systemd/system/hwdaemon-metrics.* | wc -l)" -eq 2 ]'
    run 'sudo systemctl daemon-reload' 'systemctl cat hwdaemon-metrics.timer'
    run 'sudo systemctl enable --now hwdaemon-metrics.timer' 'for i in $(seq 600); do [ -s /var/lib/prometheus/node-exporter/hwdaemon.prom ] && exit; sleep 0.1; done; exit 1'
    further 'read_url() { python3 -c "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=9).read().decode())" "$1"; }
        read_url http://127.0.0.1:9100/metrics >/var/tmp/scraped
        grep -qx "node_textfile_scrape_error 0" /var/tmp/scraped && grep -q "^hwdaemon_build_info{" /var/tmp/scraped'
    run 'sudo cp hwdaemon.rules.yml /etc/prometheus/' '[ -e /etc/prometheus/hwdaemon.rules.yml ]'
    run 'sudoedit /etc/prometheus/prometheus.yml' 'grep -A1 "^rule_files:" /etc/prometheus/prometheus.yml | grep -qx "  - hwdaemon.rules.yml"' \
        'printf "#!/bin/sh\nsed -i \"/^rule_files:/a\\\\\\\\  - hwdaemon.rules.yml\" \"\$1\"\n" >~/editor && chmod 755 ~/editor && SUDO_EDITOR=~/editor sudoedit /etc/prometheus/prometheus.yml'
    run 'promtool check config /etc/prometheus/prometheus.yml && sudo systemctl reload prometheus' \
        'for i in $(seq 600); do python3 -c "import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:9090/api/v1/rules\", timeout=9).read().decode())" | grep -q HWDaemon && exit; sleep 0.1; done; exit 1'
    not_run 'make check-monitoring' "a check of its own"

    at admin.md Uninstall
    run 'sudo systemctl disable --now hwdaemon.socket hwdaemon.service' '! systemctl is-active hwdaemon hwdaemon.socket && ! systemctl is-enabled hwdaemon.socket'
    run 'apt remove' '[ -e /etc/hwdaemon/hwdaemon.conf ] && [ ! -e /usr/bin/hwctl ]' 'sudo apt remove hwdaemon'
    run 'sudo apt purge hwdaemon' '[ ! -e /etc/hwdaemon/hwdaemon.conf ] && [ ! -e /var/lib/hwdaemon ] && [ ! -e /var/cache/hwdaemon ] && grep -q ^hwdaemon: /etc/passwd'
    further '[ -e /etc/systemd/system/hwdaemon.service.d/memory.conf ] && [ -e /etc/prometheus/hwdaemon.rules.yml ] && dpkg -l libhwdaemon0 | grep -q ^ii'
    run 'sudo rm -rf /var/lib/hwdaemon /var/cache/hwdaemon /etc/hwdaemon' '[ ! -e /etc/hwdaemon ]'
    run 'sudo deluser hwdaemon' '! grep -q ^hwdaemon: /etc/passwd && grep -q ^hwdaemon: /etc/group'
    run 'sudo delgroup hwdaemon' '! grep -q ^hwdaemon: /etc/group'
    halt
}

make_later_package() {
    rm -rf "$folder/later"
    dpkg-deb -R .build/deb/hwdaemon_*.deb "$folder/later"
    sed -i 's/^Version: .*/&+later/' "$folder/later/DEBIAN/control"
    dpkg-deb -Zgzip -z1 -b "$folder/later" "$root/home/alice/later.deb"
}

install_from_build() { make --silent install DESTDIR="$root"; }

stage_source() {
    system
    # What scripts/install-deps has installed where the sources are built; the packages' dependencies are the same libraries.
    $listing || quietly inside apt-get install --no-install-recommends \
        $(dpkg-deb -f .build/deb/hwdaemon_*.deb Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/,//g')
    at install.md "From source"
    instead 'make && sudo make install' "the build is an earlier 'make all', installed with DESTDIR" '[ -x /usr/bin/hwctl ] && [ -e /lib/systemd/system/hwdaemon.socket ]' install_from_build
    not_run 'make install' "named only; see 'make && sudo make install'"
    run 'sudo systemd-sysusers && sudo systemd-tmpfiles --create' 'id hwdaemon'
    run 'sudo usermod -aG hwdaemon alice' 'id -nG alice | grep -qw hwdaemon'
    not_run 'scripts/vendor-packages vendor' "it loads the sources of Swift packages, for a build"
    not_run 'HWDAEMON_VENDOR=$PWD/vendor make' "it builds"
    not_run 'make gstreamer' "it builds"
    not_run 'make -C Clients/gstreamer install' "scripts/check-gstreamer does so"

    at admin.md Install
    not_run 'make install' "named only; see install.md"
    run 'sudo install -d -o hwdaemon -g hwdaemon /run/hwdaemon /var/lib/hwdaemon' '[ "$(stat -c %U:%G /run/hwdaemon /var/lib/hwdaemon | uniq)" = hwdaemon:hwdaemon ]'
    run 'sudo setpriv --reuid hwdaemon --regid hwdaemon --groups render,video /usr/libexec/hwdaemon/hwdaemon' \
        "for i in \$(seq 600); do [ \"\$(stat -c %a:%U:%G /run/hwdaemon/hwdaemon.sock)\" = 660:hwdaemon:hwdaemon ] && break; sleep 0.1; done; $serves" \
        'sudo setpriv --reuid hwdaemon --regid hwdaemon --groups render,video /usr/libexec/hwdaemon/hwdaemon 2>daemon.log &'
    further 'su - alice -c "hwctl encode -y short.mp4 second.mov"'
    at admin.md Upgrade
    start_encode
    run 'kill -USR2' 'for i in $(seq 600); do [ "$(pgrep -x hwdaemon | wc -l)" -eq 2 ] && exit; sleep 0.1; done; exit 1' 'sudo kill -USR2 $(pgrep -x hwdaemon)'
    finish_encode
    prepare 'pkill -TERM -x hwdaemon; for i in $(seq 600); do pgrep -x hwdaemon || break; sleep 0.1; done; rm -rf /run/hwdaemon'

    boot
    at install.md "From source"
    run 'sudo systemctl daemon-reload && sudo systemctl enable --now hwdaemon.socket' 'systemctl is-active hwdaemon.socket && systemctl is-enabled hwdaemon.socket'
    run 'hwctl encode --preset-name' 'grep -q "60 frames" /var/tmp/out' 'hwctl encode --preset-name hevc-1080p -y short.mp4 second.mov'
    further 'systemctl is-active hwdaemon.service'

    at admin.md Upgrade
    start_encode
    prepare "$main_pid >/var/tmp/pid"
    instead 'make install' "the same build again, with DESTDIR" true install_from_build
    run 'sudo systemctl daemon-reload' '[ "$(systemctl show -p NeedDaemonReload --value hwdaemon)" = no ]'
    run 'sudo systemctl kill --kill-whom=main --signal=SIGUSR2 hwdaemon' "$replaced_daemon"
    run 'systemctl status hwdaemon' "grep -q \"Main PID: \$($main_pid) \" /var/tmp/out" 'systemctl status --no-pager hwdaemon'
    finish_encode

    at admin.md Uninstall
    $listing || check 'sudo systemctl disable --now hwdaemon.socket hwdaemon.service' 0 '! systemctl is-active hwdaemon hwdaemon.socket'
    at install.md "From source"
    instead 'sudo make uninstall' "with DESTDIR, from outside" '[ ! -e /usr/bin/hwctl ] && [ ! -e /usr/libexec/hwdaemon ]' make --silent uninstall DESTDIR="${root:-}"
    at admin.md Uninstall
    $listing || check 'sudo rm -rf /var/lib/hwdaemon /var/cache/hwdaemon /etc/hwdaemon' 0 '[ ! -e /etc/hwdaemon ]'
    $listing || check 'sudo deluser hwdaemon' 0 '! grep -q ^hwdaemon: /etc/passwd'
    $listing || check 'sudo delgroup hwdaemon' 0 '! grep -q ^hwdaemon: /etc/group'
    halt
}

stage_container() {
    system
    local packages=/home/alice/packages image=/srv/image text
    # Those of an earlier run.
    outside rm -rf "${folder:-}/image-upper" "${folder:-}/image-work"
    outside mkdir -p "${folder:-}/image-upper" "${folder:-}/image-work" "${root:-}$packages" "${root:-}$image"
    outside sh -c "cp .build/deb/*.deb '${root:-}$packages'"
    at install.md Containers
    instead 'FROM debian:12' "there is no network for images; the same Debian by debootstrap" "[ -e $image/etc/debian_version ]" \
        mount -t overlay overlay -o "lowerdir=${base:-},upperdir=${folder:-}/image-upper,workdir=${folder:-}/image-work" "${root:-}$image"
    boot
    prepare "apt-get install --no-install-recommends $packages/hwdaemon_*.deb; usermod -aG hwdaemon alice; mount -t proc proc $image/proc; mount --rbind /dev $image/dev
        mkdir -p $image/var/cache/apt/archives; mount --bind /var/cache/apt/archives $image/var/cache/apt/archives"
    instead 'COPY libhwdaemon0_*.deb gstreamer1.0-hwdaemon_*.deb python3-hwdaemon_*.deb hwdaemon-x265_*.deb /packages/' "a copy into that root" true \
        inside sh -c "cd $packages && mkdir $image/packages && cp libhwdaemon0_*.deb gstreamer1.0-hwdaemon_*.deb python3-hwdaemon_*.deb hwdaemon-x265_*.deb $image/packages/"
    text='apt-get update && apt-get install -y --no-install-recommends ffmpeg python3 gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad /packages/*.deb'
    instead "RUN $text" "the command, in that root" "[ -x $image/usr/bin/hwdaemon-ffmpeg ]" inside chroot "$image" sh -c "$text"
    not_run 'podman build -t clients .' "podman is not here; the root is the image"
    plug renderD128
    simulate LIBVA_DRIVER_NAME=hwsim
    prepare "$serves; for i in \$(seq 600); do hwctl probe | grep -q 'renderD128: ready' && break; sleep 0.1; done
        mkdir -p $image/run/hwdaemon $image/work; mount --bind /run/hwdaemon $image/run/hwdaemon; mount --bind /home/alice $image/work
        umount -R $image/dev; mount -t tmpfs tmpfs $image/dev; mknod -m 666 $image/dev/null c 1 3; mknod -m 666 $image/dev/urandom c 1 9
        mkdir $image/dev/shm; chmod 1777 $image/dev/shm"
    instead 'podman run --rm --user 1000:1000 --group-add $(getent group hwdaemon | cut -d: -f3) -v /run/hwdaemon:/run/hwdaemon -v $PWD:/work -w /work clients hwdaemon-ffmpeg -i in.mp4 -c:v libx265 out.mp4' \
        "the same user, group, folders and command, at the clip's rate, in that root, without /dev/dri" \
        "grep -q vaapi /var/tmp/out && grep -q '^alice .* encode .* renderD128 ' /var/tmp/sessions" \
        inside bash -c "chroot --userspec=1000:1000 --groups=\$(getent group hwdaemon | cut -d: -f3) $image sh -c 'cd /work && HWDAEMON_X265_LOG=1 hwdaemon-ffmpeg -nostdin -y -re -i in.mp4 -c:v libx265 out.mp4' &
            for i in \$(seq 1200); do $serves >/var/tmp/sessions; grep -q renderD128 /var/tmp/sessions && break; sleep 0.05; done; wait \$!"
    $listing || has_frames "$root/home/alice/out.mp4" 300
    at admin.md Containers
    sample 'hwctl sessions' "grep -q '^alice ' /var/tmp/sessions"
    halt
}
