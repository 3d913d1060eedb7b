# SPDX-License-Identifier: GPL-2.0-or-later
"""Thousands of short sessions of every kind from a few processes, some with a fault of their own."""
import fcntl
import hashlib
import multiprocessing
import os
import queue
import random
import re
import resource
import signal
import time
import traceback
from pathlib import Path

import hwdaemon

WIDTH, HEIGHT, FRAMES = 128, 96, 4
#: Of the clip that hwctl encodes under faults of the driver.
CLIP_FRAMES = 24
KINDS = ["encode", "software", "decode", "convert"]
#: Of a session itself, and of the simulated driver under an encode of hwctl, which must lose no frame.
OWN_FAULTS = ["kill", "stop", "vanish", "slow-reader", "memory"]
DRIVER_FAULTS = ["crash", "hang", "fail", "corrupt", "gpu-reset"]
#: Seconds within which a client must learn that its session has ended.
END = 20.0


def frame(number):
    """Luma and interleaved chroma in NV12."""
    row = bytes((column * 2 + 9 * number) % 220 + 16 for column in range(WIDTH))
    return [row * HEIGHT, bytes([128 + number, 128 - number]) * (WIDTH // 2 * HEIGHT // 2)]


SOURCES = [frame(number) for number in range(FRAMES)]


class Lock:
    """A file's lock, shared by sessions on the hardware, exclusive while a fault of the driver waits for its session."""

    def __init__(self, path, kind):
        self.path, self.kind = path, kind

    def __enter__(self):
        self.file = open(self.path, "w", encoding="ascii")
        fcntl.flock(self.file, self.kind)

    def __exit__(self, *_):
        self.file.close()


class Client:
    """One process that makes sessions."""

    def __init__(self, server, work, seed):
        self.server, self.work = server, Path(work)
        self.daemon = hwdaemon.Daemon(f"{server.socket}")
        self.chance = random.Random(seed)
        self.create_seconds = 0.0
        self.stream = None

    def begin(self, make):
        start = time.monotonic()
        session = make()
        self.create_seconds = time.monotonic() - start
        return session

    def encoder(self, hardware, **properties):
        return self.begin(lambda: hwdaemon.CompressionSession(
            WIDTH, HEIGHT, "nv12", time_base=(1, 30), hardware=hardware, daemon=self.daemon, timeout=END, **properties))

    def open(self, kind):
        """A session, and a function that sends it frame N."""
        if kind == "encode":
            session = self.encoder(True, Quality=0.6)
        elif kind == "software":
            session = self.encoder(False, Quality=0.6)
        elif kind == "decode":
            session = self.begin(lambda: hwdaemon.DecompressionSession(
                self.stream[0], time_base=(1, 30), hardware=False, daemon=self.daemon, timeout=END))
            return session, lambda number: session.send(self.stream[1][number], pts=number, duration=1)
        else:
            session = self.begin(lambda: hwdaemon.TransferSession(
                WIDTH, HEIGHT, "nv12", "bgra", device="cpu", daemon=self.daemon, timeout=END))
            return session, lambda number: session.submit(SOURCES[number])
        return session, lambda number: session.encode(SOURCES[number], pts=number, duration=1)

    def results(self, kind, session, sent):
        """What comes back, as bytes."""
        if kind in ("encode", "software"):
            return [packet.data for packet in session.finish()]
        if kind == "decode":
            return [picture.tobytes() for picture in session.finish()]
        return [session.result(number).tobytes() for number in sent]

    def output(self, kind, session, send, fault=None):
        """The digest of a whole session's output."""
        sent = [send(number) for number in range(FRAMES)]
        if fault == "slow-reader":
            time.sleep(0.3)
        found = self.results(kind, session, sent)
        if len(found) != FRAMES:
            raise RuntimeError(f"{kind}: {len(found)} frames instead of {FRAMES}")
        return hashlib.sha256(b"|".join(found)).hexdigest()

    def whole(self, kind, fault=None):
        session, send = self.open(kind)
        with session:
            return self.output(kind, session, send, fault)

    def process_of(self, session):
        return next((entry.pid for entry in self.daemon.sessions() if entry.session == session.session_id), None)

    def broken(self, kind, fault):
        """A session that cannot finish: its client must learn of that, with a reason, and in time."""
        session, send = self.open(kind)
        try:
            if fault == "vanish":
                send(0)
                return
            pid = self.process_of(session)
            if pid is None:
                raise RuntimeError(f"{kind}: the session is not listed")
            if fault == "memory":
                used = re.search(r"VmData:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
                limit = (int(used[1]) + 256) << 10
                resource.prlimit(pid, resource.RLIMIT_DATA, (limit, limit))
            else:
                os.kill(pid, signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
            try:
                self.output(kind, session, send)
                if fault != "memory":
                    raise RuntimeError(f"{kind} {fault}: it finished")
            except hwdaemon.Timeout as error:
                raise RuntimeError(f"{kind} {fault}: the client was not informed: {error}") from error
            except (hwdaemon.StatusError, hwdaemon.ConnectionClosed):
                result = self.daemon.session_result(session.session_id, 10)
                if not result.finished or not result.reason:
                    raise RuntimeError(f"{kind} {fault}: no reason: {result}") from None
        finally:
            session._link.abort()  # pylint: disable=protected-access

    def replayed(self, fault, number):
        """An encode of hwctl whose driver fails at a picture: every frame must come, in another process."""
        with Lock(self.work / "hardware", fcntl.LOCK_EX):
            self.server.plan.write_text(f"{fault} {2 + number % 10}\n", encoding="ascii")
            output = self.work / f"{os.getpid()}.mov"
            output.unlink(missing_ok=True)
            run = self.server.hwctl(["encode", self.work / "clip.y4m", output])
            taken = not self.server.plan.read_text(encoding="ascii").strip(" !\n")
            self.server.plan.write_text("", encoding="ascii")
            if run.returncode or not taken:
                raise RuntimeError(f"{fault}: status {run.returncode}, fault {'taken' if taken else 'left'}: {run.stderr.strip()}")
            info = self.server.hwctl(["info", "--json", output])
            count = re.search(r'"(?:frames|samples|frame_count)"\s*:\s*(\d+)', info.stdout)
            frames = int(count[1]) if count else -1
            if frames != CLIP_FRAMES:
                raise RuntimeError(f"{fault}: {frames} frames instead of {CLIP_FRAMES}")

    def work_on(self, number, plan, references):
        """Session N; returns its kind, its fault and whether its Create counts as undisturbed."""
        fault = plan.get(number)
        if fault in DRIVER_FAULTS:
            self.replayed(fault, number)
            return "hwctl"
        kind = KINDS[number % len(KINDS)]
        with Lock(self.work / "hardware", fcntl.LOCK_SH if kind == "encode" else fcntl.LOCK_UN):
            if fault in (None, "slow-reader"):
                if self.whole(kind, fault) != references[kind]:
                    raise RuntimeError(f"{kind}: the output differs from that of the first session")
            else:
                self.broken(kind, fault)
        return kind


def choose_faults(count, every, seed):
    """Which sessions have which fault: one in `every`; of those that take seconds, few."""
    chance = random.Random(seed)
    common, slow = ["kill", "vanish", "slow-reader", "memory"], ["stop", *DRIVER_FAULTS]
    plan = {}
    for number in range(every, count, every):
        plan[number] = chance.choice(slow if len(plan) % 4 == 3 else common)
    return plan


def serve(index, server, work, numbers, results, plan, references, stream, seed):
    """The body of one process."""
    client = Client(server, work, seed + index)
    client.stream = stream
    while True:
        try:
            number = numbers.get_nowait()
        except queue.Empty:
            break
        start = time.monotonic()
        try:
            kind = client.work_on(number, plan, references)
            results.put((number, kind, plan.get(number), start, client.create_seconds, None))
        except Exception as error:  # pylint: disable=broad-except
            kinds = f"{type(error).__name__}: {error}"
            if not isinstance(error, (RuntimeError, hwdaemon.Error, OSError)):
                kinds = traceback.format_exc()
            results.put((number, KINDS[number % len(KINDS)], plan.get(number), start, client.create_seconds, kinds))
    results.put(None)


def start(server, work, count, plan, references, stream, seed, processes):
    """Starts the processes; returns them and the queue of their results."""
    context = multiprocessing.get_context("fork")
    numbers, results = context.Queue(), context.Queue()
    for number in range(count):
        numbers.put(number)
    # The feeder must have written them before the first process finds an empty queue.
    server.wait_for(lambda: numbers.qsize() == count, "the numbers of sessions")
    started = [
        context.Process(target=serve, args=(index, server, work, numbers, results, plan, references, stream, seed), daemon=True)
        for index in range(processes)]
    for process in started:
        process.start()
    return started, results

