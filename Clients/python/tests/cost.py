# SPDX-License-Identifier: MIT
"""Prints the processor time that this process needs to send a frame, beside that of one copy of its samples.

    python3 -m tests.cost
"""
import statistics
import time

import numpy

import hwdaemon

from .support import daemon

WIDTH, HEIGHT, FRAMES = 1920, 1080, 200


def spent(action):
    start = time.process_time_ns()
    action()
    return (time.process_time_ns() - start) / 1e6


def main():
    planes = [numpy.full((HEIGHT, WIDTH), 128, numpy.uint8), numpy.full((HEIGHT // 2, WIDTH // 2, 2), 128, numpy.uint8)]
    times = {"encode from numpy": [], "one copy": [], "encode in place": []}
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

        for number in range(FRAMES + 40):
            while session.frames_in_flight > 4:
                time.sleep(0.01)
                session._advance()
            frame = frames[number % 8]
            measured = (spent(lambda: encode(planes)), spent(lambda: copy(frame)), spent(lambda: encode(frame)))
            # The first frames touch their memory for the first time.
            for name, value in zip(times, measured if number >= 40 else ()):
                times[name].append(value)
        session.finish()
    for name, values in times.items():
        values.sort()
        print(f"{name}: median {statistics.median(values):.3f} ms, 90 % below {values[len(values) * 9 // 10]:.3f} ms")


if __name__ == "__main__":
    main()
