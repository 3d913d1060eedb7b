#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""large_file.py HWCTL RECORDING: makes 2 GB of 8 Mbit/s out of a recording that was not finished, and finishes that.

The bytes that hwctl repair writes are counted by the kernel: at most 1 MB.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

import recording

SIZE = 2 * 10**9
# A NAL unit of filler data (H.265 7.3.2.8), with its length before it.
FILLER = (33_000).to_bytes(4, "big") + b"\x4c\x01" + b"\xff" * 32_997 + b"\x80"


def number(data, start, count=4):
    return int.from_bytes(data[start:start + count], "big")


def video_track(data):
    """The number of the track of pictures."""
    movie = next(box for box in recording.boxes(data) if box[0] == "moov")
    track = None
    for path, start, _ in recording.tree(data, movie[2], movie[3]):
        if path == "trak/tkhd":
            track = number(data, start + (20 if data[start] == 1 else 12))
        elif path == "trak/mdia/hdlr" and data[start + 8:start + 12] == b"vide":
            return track
    raise ValueError("no video")


def padded(data, fragment, media, video):
    """A fragment whose pictures have filler data behind them, the places of its tracks' times, and their ends."""
    moof = bytearray(data[fragment[1]:fragment[3]])
    body, times, ends, added = bytearray(), [], {}, 0
    track = None
    for path, start, _ in recording.tree(moof, fragment[2] - fragment[1], len(moof)):
        if path == "traf/tfhd":
            track = number(moof, start + 4)
        elif path == "traf/tfdt":
            assert moof[start] == 1
            times.append((track, start + 4, number(moof, start + 4, 8)))
            ends[track] = times[-1][2]
        elif path == "traf/trun":
            flags, count = number(moof, start) & 0xFFFFFF, number(moof, start + 4)
            # An offset, durations, sizes and flags, perhaps composition times.
            assert flags & 0x701 == 0x701, hex(flags)
            place = fragment[1] + number(moof, start + 8)
            moof[start + 8:start + 12] = (number(moof, start + 8) + added).to_bytes(4, "big")
            for row in range(start + 12, start + 12 + count * 4 * bin(flags & 0xF00).count("1"), 4 * bin(flags & 0xF00).count("1")):
                size = number(moof, row + 4)
                body += data[place:place + size]
                place += size
                ends[track] += number(moof, row)
                if track == video:
                    body += FILLER
                    added += len(FILLER)
                    moof[row + 4:row + 8] = (size + len(FILLER)).to_bytes(4, "big")
    assert len(body) - added == media[3] - media[2]
    return moof + (len(body) + 8).to_bytes(4, "big") + b"mdat" + body, times, ends


def repeat(data, file):
    """Writes the recording with its fragments again and again, each with the times that follow."""
    boxes = [box for box in recording.boxes(data) if box[3] <= len(data)]
    fragments = [pair for pair in zip(boxes, boxes[1:]) if pair[0][0] == "moof" and pair[1][0] == "mdat"]
    video = video_track(data)
    file.write(data[:fragments[0][0][1]])
    body, times, spans = bytearray(), [], {}
    for fragment, media in fragments:
        bytes_, places, ends = padded(data, fragment, media, video)
        times += [(track, len(body) + place, first) for track, place, first in places]
        body += bytes_
        spans.update(ends)
    for rounds in range(SIZE // len(body) + 1):
        for track, place, first in times:
            body[place:place + 8] = (first + rounds * spans[track]).to_bytes(8, "big")
        file.write(body)
    file.flush()
    # What the recorder flushes meanwhile.
    os.fsync(file.fileno())


def main(hwctl, path):
    with open(path, "rb") as file:
        data = file.read()
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < 2 * SIZE:
            return print("check-capture: left out: no space for a recording of 2 GB")
        large = os.path.join(folder, "large.mov")
        with open(large, "wb") as file:
            repeat(data, file)
        size, begin = os.path.getsize(large), time.monotonic()
        process = subprocess.Popen([hwctl, "repair", "--quiet", large], stdout=subprocess.DEVNULL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        seconds = time.monotonic() - begin
        with open(f"/proc/{process.pid}/io", encoding="ascii") as file:
            written = int(next(line for line in file if line.startswith("wchar:")).split()[1])
        if process.wait() != 0 or written > 10**6:
            sys.exit(f"check-capture: 2 GB: status {process.returncode}, {written} bytes written")
        probe = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=nb_frames", large], capture_output=True, text=True)
        if probe.returncode != 0 or probe.stderr:
            sys.exit(f"check-capture: 2 GB: {probe.stderr}")
        print(f"check-capture: {size / 1e9:.1f} GB are finished in {seconds:.2f} s with {written} bytes written")


if __name__ == "__main__":
    main(*sys.argv[1:])
