#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""picture_numbers.py FILE WIDTH HEIGHT: the numbers in the pictures of a recording of the test source, and their times, a line for each."""
import subprocess
import sys

path, width, height = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
block = min(32, width // 8, height // 8) & ~1
times = [float(line.split(",")[0]) for line in subprocess.run(
    ["ffprobe", "-v", "error", "-fflags", "+ignidx", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path],
    capture_output=True, text=True, check=True).stdout.split()]
blocks = subprocess.run(
    ["ffmpeg", "-v", "error", "-fflags", "+ignidx", "-i", path, "-vf", f"crop={8 * block}:{4 * block}:0:0,scale=8:4:flags=area,format=gray",
     "-fps_mode", "passthrough", "-f", "rawvideo", "-"], capture_output=True, check=True).stdout
assert len(blocks) == 32 * len(times), f"{len(blocks) // 32} pictures, {len(times)} packets"
for frame, time in enumerate(times):
    number = 0
    for byte in blocks[32 * frame:32 * frame + 32]:
        assert byte < 80 or byte > 170, f"picture {frame} has a block of {byte}"
        number = number << 1 | (byte > 128)
    print(number, time)
