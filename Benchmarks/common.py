# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks share: paths, settings from the environment, running and timing of programs, tables."""
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(ROOT, ".build/release")
SESSION_BENCH = os.path.join(ROOT, "Benchmarks/.build/release/session-bench")
MEDIA = os.path.join(ROOT, "../shared/media")
SMALL = os.path.join(ROOT, "Tests/Media/bbb_720p.mp4")
# The same lines in about five minutes: shorter clips and fewer rounds, so that figures vary more.
QUICK = os.environ.get("QUICK", "") not in ("", "0")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "2" if QUICK else "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "1" if QUICK else "10"))
# The length of a run, of which a round has several.
RUN = 1.0
# Runs for the start and end of a command alone.
MOST_STARTS = 5


def short(count):
    """A number of frames, rounds or sessions: an eighth of it in a quick run, at least 10."""
    return max(min(count, 10), count // 8) if QUICK else count



def environment(**more):
    clean = {k: v for k, v in os.environ.items() if k != "HWDAEMON_SOCKET"}
    return {**clean, **more}


def run(command, **kwargs):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), **kwargs)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}")
    return done


def source(name, fallback):
    path = os.path.join(MEDIA, name)
    return path if os.path.exists(path) else fallback


def make_y4m(folder, clip, size, depth, frames):
    """A Y4M file of that many frames; the clip repeats."""
    path = os.path.join(folder, f"{size.replace('x', '_')}_{depth}_{frames}.y4m")
    if not os.path.exists(path):
        pixel = "yuv420p" if depth == 8 else "yuv420p10le"
        run(["ffmpeg", "-v", "error", "-stream_loop", "-1", "-i", clip, "-vf", f"scale={size.replace('x', ':')}",
             "-frames:v", str(frames), "-pix_fmt", pixel, "-strict", "-1", "-an", "-y", path])
    return path


def peak_of_workers(seen):
    """The highest resident size (KiB) so far of the workers."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/comm") as comm:
                if comm.read().strip() not in ("hwdaemon-encode", "hwdaemon-decode"):
                    continue
            with open(f"/proc/{entry}/status") as status:
                for line in status:
                    if line.startswith("VmHWM"):
                        seen[entry] = int(line.split()[1])
        except OSError:
            continue
    return seen


def timed(command, watch=False):
    """Wall seconds, CPU seconds including descendants, and the peak resident KiB of the process or of the worker."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
    seen = {}
    if watch:
        while process.poll() is None:
            peak_of_workers(seen)
            time.sleep(0.25)
    _, status, usage = os.wait4(process.pid, 0) if not watch else (0, process.returncode, None)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}\n{process.stderr.read().decode(errors='replace')[-2000:]}")
    process.stderr.close()
    if watch:
        return seconds, None, max(seen.values(), default=0)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def resident(pid):
    """The resident size of a process, in KiB."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def interleaved(sides, firsts=None, seconds=0):
    """Wall and CPU seconds of each run of two commands, a pair of lists each; the order alternates.

    A round has as many runs of each side as fill `seconds`, at least one: many short runs, each beside one of the other side, vary less
    than few long ones. With `firsts`, the commands that do the same for one picture, what those take is left out of each run, so that the
    start and end of programs do not count, whatever the runs' length.
    """
    wall, cpu, starts, count = ([], []), ([], []), ([], []), ROUNDS
    while len(wall[0]) < count:
        index = len(wall[0])
        for side in ((0, 1) if index % 2 == 0 else (1, 0)):
            took, used, _ = timed(sides[side])
            wall[side].append(took)
            cpu[side].append(used)
            if firsts and index < MOST_STARTS:
                starts[side].append(timed(firsts[side])[:2])
        if index == 0:
            count = ROUNDS * max(1, round(seconds / max(wall[0][0], wall[1][0])))
    for values, which in ((wall, 0), (cpu, 1)):
        for side, found in enumerate(starts):
            if found:
                start = statistics.median(one[which] for one in found)
                # A quick run may take no longer than the start alone.
                values[side][:] = [max(value - start, 0.001) for value in values[side]]
    return wall, cpu


def ratios(pair):
    """Each pair of runs' ratio, first side over second: a machine's speed changes from run to run."""
    return [a / b for a, b in zip(*pair)]


def median_ratio(pair):
    """The median of the ratios of pairs of runs, first side over second."""
    return statistics.median(ratios(pair))


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def simulated_driver(folder):
    """Builds the simulated driver (Tests/HWSim); returns the environment of a daemon, or another program, that uses it."""
    driver, state = os.path.join(BIN, "hwsim-for-bench"), os.path.join(folder, "state")
    run(["make", "-s", "-C", os.path.join(ROOT, "Tests/HWSim"), f"OUT={driver}", "all"])
    os.makedirs(state, exist_ok=True)
    return {"LD_PRELOAD": f"{driver}/nodes.so", "LIBVA_DRIVER_NAME": "hwsim", "LIBVA_DRIVERS_PATH": driver, "LIBVA_MESSAGING_LEVEL": "0",
            "HWSIM_PERSONALITY": "full", "HWDAEMON_DEVICES": "/dev/null", "STATE_DIRECTORY": state}


class Daemon:
    """hwdaemon on a socket in a folder, within a with block; settings are those of --set, such as "SpareWorkers=0"."""

    def __init__(self, folder, *settings, **env):
        self.socket = os.path.join(folder, "bench.sock")
        self.env = environment(HWDAEMON_SOCKET=self.socket, **env)
        # Nothing of the machine's configuration.
        command = [f"{BIN}/hwdaemon", "--socket", self.socket, "--config", f"{ROOT}/Tests/NoConfiguration", "--log-level", "error"]
        for setting in settings:
            command += ["--set", setting]
        self.process = subprocess.Popen(command, env=self.env)
        for _ in range(200):
            if os.path.exists(self.socket):
                break
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)

    def bench(self, *arguments):
        done = subprocess.run([SESSION_BENCH, *map(str, arguments)], stdout=subprocess.PIPE, env=self.env)
        if done.returncode != 0:
            sys.exit(f"session-bench {arguments}: {done.stdout.decode()}")
        return json.loads(done.stdout)

    def resident(self):
        return resident(self.process.pid)

    def workers(self, name):
        """The process ids of its workers of a program, as /proc/PID/comm names it."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    text = stat.read()
            except OSError:
                continue
            comm, parent = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()[1]
            if comm == name and int(parent) == self.process.pid:
                found.append(int(entry))
        return found

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))
