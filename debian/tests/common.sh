# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests share: a folder to work in, and the installed daemon on a socket there, without any device, unless
# HWDAEMON_SOCKET names that of a daemon that runs already.
set -eu
examples=/usr/share/doc
work=${AUTOPKGTEST_TMP:-$(mktemp -d)}
cd "$work"

if [ -z "${HWDAEMON_SOCKET:-}" ]; then
    HWDAEMON_SOCKET=$work/hwdaemon.sock
    HWDAEMON_DEVICES=/dev/null /usr/libexec/hwdaemon/hwdaemon --socket "$HWDAEMON_SOCKET" --log-level error 2>daemon.log &
    daemon=$!
    trap 'kill $daemon' EXIT
    waited=0
    while [ ! -S "$HWDAEMON_SOCKET" ]; do
        waited=$((waited + 1))
        [ $waited -le 200 ] || { echo "the daemon does not start"; cat daemon.log; exit 1; }
        sleep 0.05
    done
fi
export HWDAEMON_SOCKET

# has_frames FILE COUNT: ffprobe decodes COUNT frames of HEVC.
has_frames() {
    found=$(ffprobe -v error -select_streams v -count_frames -show_entries stream=codec_name,nb_read_frames -of csv=p=0 "$1")
    [ "$found" = "hevc,$2" ] || { echo "ffprobe finds '$found' in $1, not hevc,$2"; exit 1; }
    echo "$1: $2 frames of HEVC"
}

# make_clip FILE: 60 frames of ffmpeg's test picture.
make_clip() {
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=640x360:rate=30 -frames:v 60 "$@"
}
