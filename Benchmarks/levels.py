#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""levels.py BIN CLIP... [--levels 2,3,4] [--frames 97] [--size 640x360] [--full 240] [--preset medium] [-- hwctl options]

Measures the cost of temporal levels: the additional bits of streams with levels, compared with the encoder's own
structure at the same PSNR. The first frames of each clip are scaled, and coded as if at --full frames per second, at
several qualities (--qualities 0.2,0.35,0.5) or quantizers (--qps 22,27,32). Between the points of a curve (logarithm
of the rate over luma PSNR) rates are interpolated linearly, and the result is the mean over the range of PSNR that
both curves cover. BIN is the folder of hwctl. With a libva driver in the environment (see Tests/HWSim)
`-- --hardware require` measures hardware's structures.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    return done


def scaled(arguments, clip, folder):
    """The clip's first frames, in the size and at the rate of the measurement."""
    target = os.path.join(folder, "clip.y4m")
    width, height = arguments.size.split("x")
    run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", clip, "-map", "0:v:0", "-frames:v", str(arguments.frames),
         "-vf", f"scale={width}:{height}:flags=bicubic,setsar=1,format=yuv420p,setpts=N/{arguments.full}/TB",
         "-r", str(arguments.full), target])
    return target


def psnr(clip, target):
    done = run(["ffmpeg", "-v", "info", "-nostdin", "-i", target, "-i", clip, "-lavfi",
                "[0:v]settb=1/1000,setpts=N[a];[1:v]settb=1/1000,setpts=N[b];[a][b]psnr", "-f", "null", "-"])
    found = re.search(r"PSNR y:([0-9.]+)", done.stderr)
    if not found:
        sys.exit(f"ffmpeg reported no PSNR: {done.stderr[-400:]}")
    return float(found.group(1))


def curve(arguments, clip, folder, levels):
    """(luma PSNR, logarithm of the rate) at each quality, by PSNR."""
    points = []
    flag, values = ("--qp", arguments.qps) if arguments.qps else ("--quality", arguments.qualities)
    structure = ["--expected-frame-rate", str(arguments.full)]
    if levels > 1:
        structure += ["--base-layer-frame-rate", str(arguments.full / 2 ** (levels - 1))]
    for value in values.split(","):
        target = os.path.join(folder, "out.mov")
        done = run([os.path.join(arguments.bin, "hwctl"), "encode", clip, target, "--json", flag, value]
                   + structure + arguments.options)
        result = json.loads(done.stdout)
        found = result["properties"].get("NumberOfTemporalLevels") or 1
        if found != levels:
            sys.exit(f"the stream has {found} levels, not {levels}")
        rate = result["average_bit_rate"]
        points.append((psnr(clip, target), math.log(rate)))
        print(f"{flag[2:]} {value}, {levels} levels: {rate / 1000:.0f} kbit/s, {points[-1][0]:.2f} dB, "
              f"{result['EncoderID']}", file=sys.stderr, flush=True)
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
    parser.add_argument("clips", nargs="+")
    parser.add_argument("--levels", default="2,3,4")
    parser.add_argument("--frames", type=int, default=97)
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--full", type=int, default=240)
    parser.add_argument("--preset", default="medium")
    parser.add_argument("--qualities", default="0.2,0.35,0.5")
    parser.add_argument("--qps")
    arguments = parser.parse_args()
    arguments.options = options
    if "--hardware" not in options:
        arguments.options = options + ["--hardware", "off", "--property", f"X265Preset={arguments.preset}"]
    counts = [int(count) for count in arguments.levels.split(",")]
    print("| clip | " + " | ".join(f"{count} levels" for count in counts) + " |")
    print("|---" * (len(counts) + 1) + "|", flush=True)
    sums = [0] * len(counts)
    for clip in arguments.clips:
        with tempfile.TemporaryDirectory() as folder:
            small = scaled(arguments, clip, folder)
            own = curve(arguments, small, folder, 1)
            costs = [(math.exp(mean(own, curve(arguments, small, folder, count))) - 1) * 100 for count in counts]
        sums = [total + cost for total, cost in zip(sums, costs)]
        print(f"| {os.path.basename(clip)} | " + " | ".join(f"{cost:+.1f} %" for cost in costs) + " |", flush=True)
    means = [f"{total / len(arguments.clips):+.1f} %" for total in sums]
    print("| mean | " + " | ".join(means) + " |", flush=True)


main()
