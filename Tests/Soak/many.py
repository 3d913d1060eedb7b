# SPDX-License-Identifier: GPL-2.0-or-later
"""The soak test of many short sessions, and what a daemon goes through after them: few descriptors, upgrades, its end."""
import os
import queue
import re
import signal
import socket
import subprocess
import threading
import time

from . import short
from .report import Report, quantile, slope
from .server import Server, run

#: Of the slope, in KiB for 10,000 sessions; and of the daemon's memory altogether in a run too short for a slope.
MAX_SLOPE, MAX_GROWTH = 64, 512
#: Sessions from which on slope and drift are checked.
FULL_RUN = 10_000
#: Share by which the slowest hundredth of the Create calls may grow from the first third to the last.
MAX_DRIFT = 0.2
SECONDS_BETWEEN_STORMS = 5


class Many:
    """A daemon, some processes of clients, and samples of the daemon meanwhile."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.failures, self.done, self.faults, self.reports = [], {}, {}, 0
        run(["ffmpeg", "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=192x128:rate=30", "-frames:v",
             str(short.CLIP_FRAMES), "-pix_fmt", "yuv420p", work / "clip.y4m"])
        self.server = Server(options.programs, work / "daemon")
        self.report = Report(f"soak: {options.sessions} sessions, {options.processes} at a time")
        try:
            self.make_references(short.Client(self.server, work, options.seed))
        except BaseException:
            # run(), which stops the daemon, is not called then.
            self.server.stop()
            raise

    def make_references(self, first):
        """A stream to decode, and the outputs without a fault."""
        session, send = first.open("software")
        with session:
            for number in range(short.FRAMES):
                send(number)
            packets = session.finish()
        self.stream = first.stream = (packets[0].format_description, [packet.data for packet in packets])
        self.references = {kind: first.whole(kind) for kind in short.KINDS}

    def sample(self, at):
        self.report.samples.append({
            "at": at, "seconds": round(time.monotonic() - self.start, 1), "rss_kib": self.server.memory(),
            "anonymous_kib": self.server.memory("RssAnon"), "files": self.server.files(), "children": self.server.children()})

    def run(self):
        try:
            before = self.server.idle()
            self.start = time.monotonic()
            self.load()
            after = self.server.idle(before)
            self.check_load(before, after)
            for name, phase in [("few descriptors", self.few_files), ("upgrades", self.upgrades), ("drain", self.drain)]:
                self.check(name, phase)
        finally:
            self.server.stop()
        return self.report

    def load(self):
        plan = short.choose_faults(self.options.sessions, self.options.fault_every, self.options.seed)
        processes, results = short.start(
            self.server, self.work, self.options.sessions, plan, self.references, self.stream, self.options.seed,
            self.options.processes)
        left, storm, step, silent = len(processes), self.start, max(1, self.options.sessions // 100), 0
        while left:
            try:
                result = results.get(timeout=20)
            except queue.Empty:
                # Not one time alone: a machine that was suspended comes back with all its timeouts over.
                silent += 1
                if silent < 4:
                    continue
                self.failures.append("no session ended for 80 s")
                break
            silent = 0
            if result is None:
                left -= 1
                continue
            self.take(result)
            if self.reports % step == 0:
                self.sample(self.reports)
            if time.monotonic() - storm > SECONDS_BETWEEN_STORMS:
                storm = time.monotonic()
                for _ in range(20):
                    os.kill(self.server.pid, signal.SIGHUP)
                self.faults["sighup-storm"] = self.faults.get("sighup-storm", 0) + 1
        for process in processes:
            process.join(30)

    def take(self, result):
        number, kind, fault, _, seconds, error = result
        self.reports += 1
        if error:
            self.failures.append(f"session {number}: {error}")
        self.done[kind] = self.done.get(kind, 0) + 1
        if fault:
            self.faults[fault] = self.faults.get(fault, 0) + 1
        else:
            self.report.latencies.append((self.reports, seconds))

    def check_load(self, before, after):
        report, samples, is_full = self.report, self.report.samples, self.options.sessions >= FULL_RUN
        seconds = time.monotonic() - self.start
        report.add("sessions", f"{self.reports} in {seconds:.0f} s", f"{self.options.sessions}",
                   self.reports == self.options.sessions)
        report.add("kinds", ", ".join(f"{count} {name}" for name, count in sorted(self.done.items())))
        report.add("faults", ", ".join(f"{count} {name}" for name, count in sorted(self.faults.items())))
        report.add("lost or wrong", len(self.failures), "0", not self.failures)
        for failure in self.failures[:10]:
            report.add("", failure[:300])
        settled = [sample for sample in samples if sample["at"] >= self.reports / 5]
        # Pages of the program's file that are used for the first time are no leak.
        rise = slope([(sample["at"], sample["anonymous_kib"]) for sample in settled]) * 10_000
        report.add("memory of the broker", f"{samples[0]['rss_kib']} to {samples[-1]['rss_kib']} KiB",
                   "" if is_full else f"+{MAX_GROWTH} KiB from a fifth on",
                   None if is_full else settled[-1]["rss_kib"] - settled[0]["rss_kib"] <= MAX_GROWTH)
        report.add("slope of its own pages for 10,000 sessions", f"{rise:+.0f} KiB", f"±{MAX_SLOPE} KiB", abs(rise) <= MAX_SLOPE if is_full else None)
        # Only root may list the daemon's descriptors.
        holds = None if None in (before[0], after[0]) else before[0] == after[0]
        report.add("descriptors, idle", f"{before[0]} before, {after[0]} after" if holds is not None else "not checked", "the same", holds)
        report.add("children, idle", f"{before[1]} before, {after[1]} after", "the same", before[1] == after[1])
        metrics = self.server.metrics()
        created, ended, running = (metrics.get(f"hwdaemon_sessions_{name}", 0) for name in ("created_total", "ended_total", "running"))
        report.add("created = ended + running", f"{created:.0f} = {ended:.0f} + {running:.0f}", "", created == ended + running)
        thirds = [[value for _, value in part] for part in (
            report.latencies[:len(report.latencies) // 3], report.latencies[-(len(report.latencies) // 3):])]
        slow = [1000 * (quantile(part, 0.99) or 0) for part in thirds]
        middle = [1000 * (quantile(part, 0.5) or 0) for part in thirds]
        report.add("Create, median", f"{middle[0]:.1f} ms in the first third, {middle[1]:.1f} ms in the last")
        report.add("Create, slowest hundredth", f"{slow[0]:.1f} ms in the first third, {slow[1]:.1f} ms in the last",
                   f"+{MAX_DRIFT:.0%}", slow[1] <= slow[0] * (1 + MAX_DRIFT) if is_full else None)

    def check(self, name, phase):
        try:
            self.report.add(name, phase(), "", True)
        except (RuntimeError, OSError, subprocess.SubprocessError, short.hwdaemon.Error) as error:
            self.report.add(name, f"{type(error).__name__}: {error}"[:300], "", False)

    def few_files(self):
        """A daemon of 40 descriptors: connections take what is left, sessions that run finish, and it serves again."""
        server = Server(self.options.programs, self.work / "few", prefix=["prlimit", "--nofile=40:40"],
                        settings=["SpareWorkers=0"])
        connections = []
        try:
            client = short.Client(server, self.work, 1)
            client.stream = self.stream
            session, send = client.open("software")
            with session:
                send(0)
                for _ in range(60):
                    connection = socket.socket(socket.AF_UNIX)
                    connection.settimeout(5)
                    connection.connect(f"{server.socket}")
                    connections.append(connection)
                server.wait_for(lambda: "cannot accept connections" in server.log, "the shortage")
                packets = 1 + len([send(number) for number in range(1, short.FRAMES)])
                if len(session.finish()) != packets:
                    raise RuntimeError("the running session lost frames")
            for connection in connections:
                connection.close()
            server.wait_for(lambda: server.hwctl(["sessions"]).returncode == 0, "service again")
            if client.whole("decode") != self.references["decode"]:
                raise RuntimeError("the output differs afterwards")
            return "40: the running session finished, the next ones were served"
        finally:
            server.stop()

    def upgrades(self):
        """Three upgrades under load: every session is right, and the processes of before end."""
        results, stop = [], threading.Event()

        def work():
            client = short.Client(self.server, self.work, 2)
            client.stream = self.stream
            while not stop.is_set():
                kind = short.KINDS[len(results) % len(short.KINDS)]
                try:
                    results.append(None if client.whole(kind) == self.references[kind] else f"{kind}: another output")
                except Exception as error:  # pylint: disable=broad-except
                    results.append(f"{kind}: {type(error).__name__}: {error}")

        thread = threading.Thread(target=work)
        thread.start()
        past = []
        try:
            for _ in range(3):
                time.sleep(1)
                past.append(self.server.upgrade())
            time.sleep(1)
        finally:
            stop.set()
            thread.join()
        wrong = [result for result in results if result]
        if wrong:
            raise RuntimeError(f"{len(wrong)} of {len(results)} sessions failed: {wrong[0]}")
        for pid in past:
            self.server.wait_for(lambda pid=pid: self.server.has_ended(pid), f"the end of the process before, {pid}")
        return f"{len(past)}, {len(results)} sessions meanwhile, all as before"

    def drain(self):
        """SIGTERM under a running session, which finishes; then the daemon ends."""
        client = short.Client(self.server, self.work, 3)
        session, send = client.open("software")
        with session:
            send(0)
            os.kill(self.server.pid, signal.SIGTERM)
            self.server.wait_for(lambda: re.search(r"SIGTERM: stopping", self.server.log), "the drain")
            for number in range(1, short.FRAMES):
                send(number)
            count = len(session.finish())
        if count != short.FRAMES:
            raise RuntimeError(f"{count} frames instead of {short.FRAMES}")
        self.server.wait_for(self.server.has_ended, "the daemon's end")
        if self.server.socket.exists():
            raise RuntimeError("the socket is left behind")
        return "the running session finished, then the daemon ended"
