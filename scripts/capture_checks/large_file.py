#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""large_file.py HWCTL RECORDING: makes 2 GB of 8 Mbit/s out of a recording that was not finished, and finishes that.

The bytes that hwctl repair writes are counted by the kernel: at most 1 MB. Media but the first are holes in the file, which take no
space on the disk.
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
    """A fragment whose pictures have filler data behind them, the places of its tracks' times, their ends, its boxes' bytes, and pictures."""
    moof = bytearray(data[fragment[1]:fragment[3]])
    body, times, ends, added, pictures = bytearray(), [], {}, 0, 0
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
                    pictures += 1
                    body += FILLER
                    added += len(FILLER)
                    moof[row + 4:row + 8] = (size + len(FILLER)).to_bytes(4, "big")
    assert len(body) - added == media[3] - media[2]
    head = moof + (len(body) + 8).to_bytes(4, "big") + b"mdat"
    return head + body, times, ends, len(head), pictures


def repeat(data, file):
    """Writes the recording with its fragments again and again, each with the times that follow; returns the number of its pictures."""
    boxes = [box for box in recording.boxes(data) if box[3] <= len(data)]
    fragments = [pair for pair in zip(boxes, boxes[1:]) if pair[0][0] == "moof" and pair[1][0] == "mdat"]
    video = video_track(data)
    file.write(data[:fragments[0][0][1]])
    body, times, spans, heads, count = bytearray(), [], {}, [], 0
    for fragment, media in fragments:
        bytes_, places, ends, head, pictures = padded(data, fragment, media, video)
        heads.append((len(body), len(body) + head))
        count += pictures
        times += [(track, len(body) + place, first) for track, place, first in places]
        body += bytes_
        spans.update(ends)
    file.write(body)
    start, rounds = file.tell() - len(body), SIZE // len(body) + 1
    for number in range(1, rounds):
        for track, place, first in times:
            body[place:place + 8] = (first + number * spans[track]).to_bytes(8, "big")
        for begin, end in heads:
            file.seek(start + number * len(body) + begin)
            file.write(body[begin:end])
    file.truncate(start + rounds * len(body))
    return rounds * count


def main(hwctl, path):
    with open(path, "rb") as file:
        data = file.read()
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < SIZE // 8:
            return print("check-capture: left out: no space for the boxes of a recording of 2 GB")
        large = os.path.join(folder, "large.mov")
        with open(large, "wb") as file:
            count = repeat(data, file)
        size, begin = os.path.getsize(large), time.monotonic()
        process = subprocess.Popen([hwctl, "repair", "--quiet", large], stdout=subprocess.DEVNULL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        seconds = time.monotonic() - begin
        with open(f"/proc/{process.pid}/io", encoding="ascii") as file:
            written = int(next(line for line in file if line.startswith("wchar:")).split()[1])
        if process.wait() != 0 or written > 10**6:
            sys.exit(f"check-capture: 2 GB: status {process.returncode}, {written} bytes written")
        probe = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=nb_frames", "-of", "csv=p=0", large],
                               capture_output=True, text=True)
        if probe.returncode != 0 or probe.stderr or probe.stdout.strip() != str(count):
            sys.exit(f"check-capture: 2 GB: {probe.stdout.strip()} of {count} pictures {probe.stderr}")
        print(f"check-capture: {size / 1e9:.1f} GB are finished in {seconds:.2f} s with {written} bytes written")


if __name__ == "__main__":
    main(*sys.argv[1:])
