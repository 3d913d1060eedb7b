#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""clicks.py FILE: when the clicks of the test source are heard, a line for each."""
import array
import subprocess
import sys

sound = array.array("f", subprocess.run(
    ["ffmpeg", "-v", "error", "-i", sys.argv[1], "-map", "0:a", "-af", "aresample=async=1:first_pts=0", "-ac", "1", "-ar", "48000",
     "-f", "f32le", "-"], capture_output=True, check=True).stdout)
last = -1
for index, sample in enumerate(sound):
    if abs(sample) > 0.3 and index - last > 4800:
        print(index / 48000)
        last = index
