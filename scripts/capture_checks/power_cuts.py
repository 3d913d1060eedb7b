#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""power_cuts.py HWCTL RECORDING: cuts a recording that was not finished at 50 bytes behind its first fragment.

Each part plays to within a second of the cut, hwctl repair finishes it, ffprobe reads all of it without a complaint, and its
boxes are those of a plain movie.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import recording


def check(condition, text):
    if not condition:
        sys.exit(f"check-capture: {text}")


def check_plain(data, name):
    """The boxes of a movie that was finished in place: the media's size has 64 bits, and each table is there."""
    top = list(recording.boxes(data))
    check([box[0] for box in top] == ["ftyp", "mdat", "moov"], f"{name}: {[box[0] for box in top]}")
    check(top[1][2] - top[1][1] == 16 and top[2][3] == len(data), f"{name}: the media or the movie box has a wrong size")
    paths = [path for path, _, _ in recording.tree(data, top[2][2], top[2][3])]
    wanted = ["trak/edts/elst"] + [f"trak/mdia/minf/stbl/{kind}" for kind in ("stsd", "stts", "stss", "sdtp", "stsc", "stsz", "sgpd", "sbgp")]
    for path in wanted:
        check(path in paths, f"{name}: no {path}")
    check("mvex" not in paths and any(path.endswith(("/stco", "/co64")) for path in paths), f"{name}: {paths}")


def main(hwctl, path):
    with open(path, "rb") as file:
        whole = file.read()
    packets = recording.packets(path)
    fragments = [box for box in recording.boxes(whole) if box[0] == "mdat"]
    generator = random.Random(49)
    shortest, worst = None, 0.0
    with tempfile.TemporaryDirectory() as folder:
        part = os.path.join(folder, "part.mov")
        for _ in range(50):
            cut = generator.randrange(fragments[0][3] + 1, len(whole))
            name = f"cut at byte {cut}"
            with open(part, "wb") as file:
                file.write(whole[:cut])
            # What was shown when the byte at the cut was written.
            reached = max(end for (position, _), end in packets.items() if position < cut)
            # libavformat returns what is left of a packet, too.
            played = max(end for packet, end in recording.packets(part).items() if packet in packets)
            check(played >= reached - 1.0, f"{name}: plays to {played:.2f} of {reached:.2f} s")
            worst = max(worst, reached - played)
            answer = json.loads(subprocess.run([hwctl, "repair", "--quiet", "--json", part], capture_output=True, check=True).stdout)
            check(answer["repaired"] and answer["duration_s"] >= reached - 1.0, f"{name}: {answer}")
            with open(part, "rb") as file:
                check_plain(file.read(), name)
            probe = subprocess.run(["ffprobe", "-v", "error", "-show_packets", part], capture_output=True, text=True)
            check(probe.returncode == 0 and not probe.stderr, f"{name}: {probe.stderr}")
            check(probe.stdout.count("codec_type=video") >= sum(position < cut for position, _ in packets) - 1, f"{name}: packets are lost")
            shortest = min(shortest or reached, reached)
    print(f"check-capture: cut at 50 bytes of {len(whole)}, from {shortest:.1f} s on: {worst:.2f} s are lost at most, and hwctl repair finishes each")


if __name__ == "__main__":
    main(*sys.argv[1:])
