# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks of the clients in C and Python: loading, Create beside the client in Swift, a frame beside a copy of it."""
import importlib.util
import json
import os
import statistics
import sys

from common import BIN, ROOT, ROUNDS, Daemon, ratios, run, short, table
from figures import FIGURES

BUILD = os.path.join(ROOT, ".build/clients/bench")


def cost(*arguments):
    return json.loads(run([f"{BUILD}/cost", *map(str, arguments)]).stdout)


def creates(daemon):
    """Medians of Create in each round, by the library in C and by HWClient; the order alternates."""
    sides = (lambda: cost("create", daemon.socket, short(60)), lambda: daemon.bench("latency", short(60)))
    times = ([], [])
    for side in sides:
        side()
    for index in range(ROUNDS):
        for side in ((0, 1) if index % 2 == 0 else (1, 0)):
            times[side].append(sides[side]()["create_p50_ms"])
    return times


def numpy_rows():
    """What Clients/python/tests/cost.py measures; nothing where numpy is not installed."""
    if importlib.util.find_spec("numpy") is None:
        FIGURES.skip("CPU of a client in Python", "numpy is not installed")
        return [("the same from numpy", "numpy is not installed", "≤ 0.3 ms")]
    command = ["env", f"HWDAEMON_PROGRAMS={BIN}", sys.executable, "-m", "tests.cost", "--json"]
    times = json.loads(run(command, cwd=os.path.join(ROOT, "Clients/python")).stdout)
    FIGURES.record("CPU of a client in Python for a 1080p NV12 frame, arrays", [times["encode of arrays"] / times["one copy"]])
    FIGURES.record("CPU of a client in Python for a 1080p NV12 frame, in place", [times["encode in place"] / times["one copy"]])
    return [("the same from numpy, beyond one copy / in place",
             f"{times['encode of arrays beyond one copy']:.3f} / {times['encode in place']:.3f} ms (copy {times['one copy']:.3f} ms)",
             "≤ 0.3 ms")]


def clients(folder):
    run(["make", "--silent", "-C", os.path.join(ROOT, "Clients/c"), f"BUILD={BUILD}", "CFLAGS=-O2 -g", "all", f"{BUILD}/cost"])
    with Daemon(folder) as daemon:
        ours, theirs = creates(daemon)
        ratio = statistics.median(ratios((ours, theirs)))
        FIGURES.record("Create by libhwdaemon", ratios((ours, theirs)))
        frames = [cost("frame", daemon.socket, short(200)) for _ in range(ROUNDS)]
        frame = frames[-1]
    # The program itself is linked to the archive, so the library is not loaded yet.
    loads, others = ([cost("load", library)["dlopen_p50_ms"] for _ in range(ROUNDS)]
                     for library in (f"{BUILD}/libhwdaemon.so.0", "libdrm.so.2"))
    FIGURES.record("dlopen of libhwdaemon.so.0", ratios((loads, others)))
    FIGURES.record("CPU of a client in C for a 1080p NV12 frame", [one["frame_p50_ms"] / one["copy_p50_ms"] for one in frames])
    rows = [
        ("dlopen of libhwdaemon.so.0, p50", f"{statistics.median(loads):.3f} ms", "≤ 0.2 ms"),
        ("Create by libhwdaemon over Create by HWClient, p50 of 1080p medium",
         f"{ratio:.2f} ({statistics.median(ours):.2f} / {statistics.median(theirs):.2f} ms)", "≤ 1"),
        ("CPU of a client in C for a 1080p NV12 frame beside one copy, p50",
         f"{frame['frame_p50_ms']:.3f} ms (copy {frame['copy_p50_ms']:.3f} ms)", "≤ 0.3 ms"),
    ]
    return "Clients:\n\n" + table(["what", "measured", "goal"], rows + numpy_rows())
