# SPDX-License-Identifier: MIT
"""Prints the processor time that this process needs to send a 1080p frame, beside that of one copy of its samples.

    HWDAEMON_PROGRAMS=FOLDER python3 -m tests.cost [--json]

Needs numpy. FOLDER has the daemon's release build; `BENCH_ONLY=clients make bench` runs this with it.
"""
import json
import statistics
import sys
import time

import numpy

import hwdaemon

from .support import daemon

WIDTH, HEIGHT, FRAMES, WARM_UP = 1920, 1080, 200, 40


def spent(action):
    start = time.process_time_ns()
    action()
    return (time.process_time_ns() - start) / 1e6


def measure():
    """Milliseconds of each frame, by name."""
    planes = [numpy.full((HEIGHT, WIDTH), 128, numpy.uint8), numpy.full((HEIGHT // 2, WIDTH // 2, 2), 128, numpy.uint8)]
    times = {"encode of arrays": [], "one copy": [], "encode in place": []}
    with hwdaemon.CompressionSession(WIDTH, HEIGHT, "nv12", daemon=daemon(), X265Preset="ultrafast", Quality=0.2) as session:
        frames, pts = [session.frame() for _ in range(8)], 0

        def encode(source):
            nonlocal pts
            pts += 1
            session.encode(source, pts=pts)
            list(session.packets())

        def copy(frame):
            for target, plane in zip(frame.planes, planes):
                numpy.copyto(target, plane)

        for number in range(FRAMES + WARM_UP):
            while session.frames_in_flight > 4:
                time.sleep(0.01)
                session._advance()
            frame = frames[number % 8]
            # Whichever comes second finds the samples in a cache.
            work = {"encode of arrays": lambda: encode(planes), "one copy": lambda: copy(frame)}
            measured = {name: spent(work[name]) for name in (work if number % 2 else reversed(list(work)))}
            measured["encode in place"] = spent(lambda: encode(frame))
            # The first frames touch their memory for the first time.
            for name, value in measured.items() if number >= WARM_UP else ():
                times[name].append(value)
        session.finish()
    # Of pairs of frames, because the machine's speed changes, and with both orders in each.
    beyond = [whole - copied for whole, copied in zip(times["encode of arrays"], times["one copy"])]
    times["encode of arrays beyond one copy"] = [(first + second) / 2 for first, second in zip(beyond[::2], beyond[1::2])]
    return times


def main():
    times = measure()
    if "--json" in sys.argv:
        print(json.dumps({name: statistics.median(values) for name, values in times.items()}))
        return
    for name, values in times.items():
        values.sort()
        print(f"{name}: median {statistics.median(values):.3f} ms, 90 % below {values[len(values) * 9 // 10]:.3f} ms")


if __name__ == "__main__":
    main()
