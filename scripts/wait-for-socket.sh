# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by checks that start a daemon; `fail` is the check's own.

# For --config: daemons that checks start read nothing of the machine's /etc/hwdaemon.
no_configuration=$PWD/Tests/NoConfiguration
export HWDAEMON_CAPABILITIES_DIR=/dev/null/none HWDAEMON_PRESETS_DIR=/dev/null/none

# wait_for_socket PATH PID [LOG]: returns once a socket is at the path; fails, with the log, if the process ends before that or
# hangs for a minute.
wait_for_socket() {
    local end=$((SECONDS + 60))
    until [ -S "$1" ]; do
        if ! kill -0 "$2" 2>/dev/null || [ $SECONDS -ge $end ]; then
            [ -z "${3:-}" ] || cat "$3" >&2
            fail "no daemon listens on $1"
        fi
        sleep 0.05
    done
}
