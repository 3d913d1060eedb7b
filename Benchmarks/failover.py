# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions that go on in another process: how long that takes, and what being ready for it costs."""
import os
import statistics

from common import BIN, ROOT, ROUNDS, Daemon, run, table
from figures import FIGURES

FRAMES = 600
DEATHS = 60


def failover(folder):
    """720p: deaths of sessions of the simulated driver (Tests/HWSim), and x265's sessions that keep frames or do not."""
    driver = os.path.join(BIN, "hwsim-for-bench")
    run(["make", "-s", "-C", os.path.join(ROOT, "Tests/HWSim"), f"OUT={driver}", "all"])
    state = os.path.join(folder, "state")
    os.makedirs(state, exist_ok=True)
    with Daemon(folder, LD_PRELOAD=f"{driver}/nodes.so", LIBVA_DRIVER_NAME="hwsim", LIBVA_DRIVERS_PATH=driver,
                LIBVA_MESSAGING_LEVEL="0", HWSIM_PERSONALITY="full", HWDAEMON_DEVICES="/dev/null",
                STATE_DIRECTORY=state) as daemon:
        recovery = daemon.bench("recovery", DEATHS)
        verification = daemon.bench("verification", 1000)
        runs = {"kept": [], "not-kept": []}
        for index in range(ROUNDS):
            # Interleaved, and the order alternates.
            for name in list(runs) if index % 2 == 0 else reversed(runs):
                runs[name].append(daemon.bench(name, FRAMES))
    pairs = list(zip(runs["kept"], runs["not-kept"]))
    times = [a["ms"] / b["ms"] for a, b in pairs]
    ratio = statistics.median(times)
    FIGURES.record("recovery of a session at 720p, p95", [recovery["p95_ms"]], "ms")
    FIGURES.record("time with frames kept over not kept", times)
    FIGURES.record("CPU of verification, a 1080p frame", [verification["cpu_ms"]], "ms")
    held = max(a["bytes"] - b["bytes"] for a, b in pairs)
    reported = runs["kept"][0]["reported_bytes"]
    rows = [
        (f"from the call that meets the death of a process to the next packet, {DEATHS} deaths: median", f"{recovery['p50_ms']:.0f} ms", "–"),
        ("the same, 95th percentile", f"{recovery['p95_ms']:.0f} ms", "≤ 200 ms"),
        (f"time of {FRAMES} frames, x265 ultrafast, frames kept over not kept", f"{ratio:.3f}", "≤ 1.015"),
        ("CPU of the process that checks samples of a 1080p hardware session, a frame", f"{verification['cpu_ms']:.2f} ms", "≤ 0.5 ms"),
        ("memory that is kept / that Create reports", f"{held / 2**20:.1f} MiB / {reported / 2**20:.1f} MiB", "no more"),
    ]
    return "Sessions that go on in another process, 720p:\n\n" + table(["what", "measured", "goal"], rows)
