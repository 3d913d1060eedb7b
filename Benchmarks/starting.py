# SPDX-License-Identifier: GPL-2.0-or-later
"""Short commands, from their start to their end: one picture without a daemon that runs already, and a probe."""
import os
import shutil
import statistics
import subprocess
import time

from common import (BIN, ROUNDS, SMALL, Daemon, environment, interleaved, make_y4m, median_ratio, ratios, run, simulated_driver, table,
                    timed)
from figures import FIGURES

# Rounds vary less than one command does, so that each side of a round runs so often.
REPEATS = 5


def often(command):
    return ["sh", "-c", f"for _ in {'x ' * REPEATS}; do \"$@\" || exit; done", "sh", *command]


def row(name, work, wall, cpu):
    FIGURES.record(f"start and end of {work}", ratios(wall))
    return (name, *(f"{1000 * statistics.median(side) / REPEATS:.0f} ms" for side in wall), f"{median_ratio(wall):.2f}",
            f"{median_ratio(cpu):.2f}")


def apart(ours, theirs):
    """The same as interleaved(), with a pause before each command: the daemon answers a second probe within 0.1 s late."""
    wall, cpu = ([], []), ([], [])
    for _ in range(ROUNDS):
        sums = [[0, 0], [0, 0]]
        for _ in range(REPEATS):
            for side, command in enumerate((ours, theirs)):
                time.sleep(0.2)
                sums[side] = [total + one for total, one in zip(sums[side], timed(command))]
        for side, (seconds, used) in enumerate(sums):
            wall[side].append(seconds)
            cpu[side].append(used)
    return wall, cpu


def start(folder):
    """The private daemon of a command starts and ends with it."""
    picture, raw, output = (os.path.join(folder, name) for name in ("picture.mp4", "picture.nv12", "picture.raw"))
    run(["ffmpeg", "-v", "error", "-i", SMALL, "-frames:v", "1", "-an", "-c:v", "libx265", "-x265-params", "log-level=error", "-y", picture])
    run(["ffmpeg", "-v", "error", "-i", SMALL, "-frames:v", "1", "-pix_fmt", "nv12", "-f", "rawvideo", "-y", raw])
    one, coded = make_y4m(folder, SMALL, "1280x720", 8, 1), os.path.join(folder, "picture.hevc")
    x265 = ["x265", "--log-level", "error", "--no-progress", "--preset", "ultrafast", "--crf", "28", "--input", one, "-o", coded]
    ffmpeg = ["ffmpeg", "-v", "error", "-nostdin"]
    rows = [
        row("decode one 720p picture", "a decode of one 720p picture",
            *interleaved((often([f"{BIN}/hwctl", "decode", "--hardware", "off", picture, output]),
                          often(ffmpeg + ["-i", picture, "-f", "rawvideo", "-y", output])))),
        row("encode one 720p picture", "an encode of one 720p picture",
            *interleaved((often([f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", "ultrafast", "--property", "X265Params=crf=28",
                                 one, coded]), often(x265)))),
        row("convert one 720p picture to BGRA", "a conversion of one 720p picture",
            *interleaved((
                often([f"{BIN}/hwctl", "convert", "--device", "cpu", raw, output, "--size", "1280x720", "--from", "nv12", "--to", "bgra8"]),
                often(ffmpeg + ["-f", "rawvideo", "-pix_fmt", "nv12", "-s", "1280x720", "-i", raw, "-pix_fmt", "bgra", "-f", "rawvideo",
                                "-y", output])))),
    ]
    probe = "a probe that is remembered"
    driver = simulated_driver(folder)
    vainfo = ["env", *(f"{key}={value}" for key, value in driver.items()), "vainfo", "--display", "drm", "--device", driver["HWDAEMON_DEVICES"]]
    if shutil.which("vainfo") is None:
        FIGURES.skip(f"start and end of {probe}", "vainfo is not installed")
    elif subprocess.run(vainfo, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), check=False).returncode:
        FIGURES.skip(f"start and end of {probe}", "vainfo fails with the simulated driver")
    else:
        with Daemon(folder, **driver) as daemon:
            ask = ["env", f"HWDAEMON_SOCKET={daemon.socket}", f"{BIN}/hwctl", "probe"]
            run(ask)
            rows.append(row("probe", probe, *apart(ask, vainfo)))
    return "Commands from start to end, without a daemon; probe with one, and the simulated driver:\n\n" + table(
        ["command", "hwctl", "other", "time", "CPU time"], rows)
