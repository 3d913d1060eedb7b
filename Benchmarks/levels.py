#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""levels.py BIN CLIP [--base 30 --full 240] [--qualities 0.4,0.5,0.6,0.7 | --qps 22,27,32,37] [-- hwctl options]

Measures the cost of temporal levels: the additional bits of a stream with levels, compared with the encoder's own
structure at the same PSNR. Both are encoded at several qualities; between the points of a curve (logarithm of the rate
over luma PSNR) rates are interpolated linearly, and the result is the mean over the range of PSNR that both curves
cover. BIN is the folder of hwctl. With a libva driver in the environment (see Tests/HWSim) `-- --hardware require` measures hardware's
structure.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile


def encode(arguments, clip, target, options):
    command = [os.path.join(arguments.bin, "hwctl"), "encode", clip, target, "--json"] + options + arguments.options
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def psnr(clip, target, rate):
    line = f"settb=AVTB,setpts=N/{rate}/TB"
    done = subprocess.run(
        ["ffmpeg", "-v", "info", "-nostdin", "-i", target, "-i", clip, "-lavfi",
         f"[0:v]{line}[a];[1:v]{line}[b];[a][b]psnr", "-f", "null", "-"],
        capture_output=True, text=True, timeout=1800)
    found = re.search(r"PSNR y:([0-9.]+)", done.stderr)
    if not found:
        sys.exit(f"ffmpeg reported no PSNR: {done.stderr[-400:]}")
    return float(found.group(1))


def curve(arguments, folder, structure):
    points = []
    flag, values = ("--qp", arguments.qps) if arguments.qps else ("--quality", arguments.qualities)
    for value in values.split(","):
        target = os.path.join(folder, "out.mov")
        result = encode(arguments, arguments.clip, target, [flag, value] + structure)
        rate = result["average_bit_rate"]
        points.append((psnr(arguments.clip, target, arguments.full), math.log(rate)))
        levels = result["properties"].get("NumberOfTemporalLevels")
        print(f"{flag[2:]} {value}: {levels} levels, {rate / 1000:.0f} kbit/s, {points[-1][0]:.2f} dB, "
              f"{result['EncoderID']}", flush=True)
    return sorted(points)


def at(points, x):
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x0 <= x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    raise ValueError(x)


def mean(first, second):
    """The mean distance of two curves over the interval that both cover."""
    low, high = max(first[0][0], second[0][0]), min(first[-1][0], second[-1][0])
    if low >= high:
        sys.exit("the curves have no PSNR in common: choose other qualities")
    steps = [low + (high - low) * (index + 0.5) / 100 for index in range(100)]
    return sum(at(second, x) - at(first, x) for x in steps) / len(steps)


def main():
    options = []
    if "--" in sys.argv:
        place = sys.argv.index("--")
        options, sys.argv = sys.argv[place + 1:], sys.argv[:place]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("clip")
    parser.add_argument("--base", default="30")
    parser.add_argument("--full", default="240")
    parser.add_argument("--qualities", default="0.25,0.4,0.55,0.7")
    parser.add_argument("--qps")
    arguments = parser.parse_args()
    arguments.options = options
    with tempfile.TemporaryDirectory() as folder:
        own = curve(arguments, folder, ["--expected-frame-rate", arguments.full])
        levelled = curve(
            arguments, folder,
            ["--base-layer-frame-rate", arguments.base, "--expected-frame-rate", arguments.full])
    rates = mean(own, levelled)
    swapped = [sorted((y, x) for x, y in points) for points in (own, levelled)]
    print(f"{os.path.basename(arguments.clip)}, {arguments.base} of {arguments.full} frames a second: "
          f"{(math.exp(rates) - 1) * 100:+.1f} % bits at the same PSNR, {mean(*swapped):+.2f} dB at the same rate")


main()
