# SPDX-License-Identifier: GPL-2.0-or-later
"""Scaling of 4K frames to 1080p in a session, against ffmpeg's zscale (libzimg), in one run and on as many threads."""
import os
import re
import statistics
import subprocess

from common import ROUNDS, Daemon, environment, ratios, run, short, table
from figures import FIGURES

FRAMES = short(40)


def used(filters, raw, threads):
    """User CPU milliseconds a frame of ffmpeg."""
    command = ["ffmpeg", "-hide_banner", "-benchmark", "-filter_threads", str(threads), "-stream_loop", str(FRAMES - 1), "-f",
               "rawvideo", "-pix_fmt", "yuv420p10le", "-s", "3840x2160", "-i", raw, "-vf", filters, "-f", "null", "-"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), check=True)
    return float(re.search(r"utime=([0-9.]+)s", done.stderr.decode()).group(1)) * 1000 / FRAMES


def scaling(folder):
    """zscale takes planar frames of 10 bits only; sessions scale them and P010, which has the same samples."""
    raw = os.path.join(folder, "scaled.raw")
    run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=3840x2160,noise=alls=20", "-frames:v", "1", "-pix_fmt",
         "yuv420p10le", "-f", "rawvideo", "-y", raw])
    ours, theirs, wall, threads = {"P010": [], "I010": []}, [], {"P010": [], "I010": []}, 1
    with Daemon(folder) as daemon:
        for _ in range(ROUNDS):
            for name in ours:
                result = daemon.bench("scaling-" + name.lower(), FRAMES)
                threads = result["threads"]
                ours[name].append(result["cpu_ms"])
                wall[name].append(result["wall_ms"])
            theirs.append(used("zscale=1920:1080:filter=lanczos", raw, threads) - used("null", raw, threads))
    rows = []
    for name, found in ours.items():
        ratio = statistics.median(ratios((found, theirs)))
        FIGURES.record(f"CPU to scale 4K {name} to 1080p", ratios((found, theirs)))
        rows.append((f"session, {name}", f"{statistics.median(found):.2f} ms", f"{statistics.median(wall[name]):.2f} ms",
                     f"{ratio:.2f} of zscale's CPU time", "≤ 1.2"))
    rows.append(("ffmpeg zscale, yuv420p10le, minus the same without the filter", f"{statistics.median(theirs):.2f} ms", "–", "", ""))
    return f"4K to 1080p, Lanczos, 10 bits, {threads} threads, a frame:\n\n" + table(
        ["what", "CPU time", "time", "ratio", "goal"], rows)
