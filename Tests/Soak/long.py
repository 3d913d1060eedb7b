# SPDX-License-Identifier: GPL-2.0-or-later
"""The soak test of longer jobs side by side, on the simulated driver and in software, with a fault every two seconds: a session's
process is killed or stopped, or the driver crashes, hangs, fails, codes wrong pictures or is reset. Each of these must occur, and
no frame may be lost."""
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

from .report import Report, quantile, slope
from .server import HANG, Server, run

FRAMES = 120
#: One size per concurrent job, to attribute sessions to jobs.
SIZES = [(320, 180), (304, 180), (288, 180)]
SECONDS_BETWEEN_FAULTS = 2
#: Seconds by which a run is longer at most if a kind of fault is still missing.
MAX_EXTENSION = 300
#: Failures after which a run ends.
MAX_FAILURES = 10
#: Of one session, by the protocol; its next failure ends it.
MAX_RESTARTS = 3
#: Which jobs a fault of the driver may hit.
ENCODERS, DECODERS = {"encode", "transcode"}, {"decode", "transcode"}
PLANS = {"crash": ENCODERS, "hang": ENCODERS, "fail": ENCODERS, "corrupt": ENCODERS, "gpu-reset": ENCODERS | DECODERS,
         "decode-crash": DECODERS, "decode-hang": DECODERS, "decode-fail": DECODERS}
FAULTS = [*PLANS, "SIGKILL", "SIGSTOP"]
JOBS = ["encode", "software", "transcode", "decode", "convert"]
#: What hwctl says where the machine was too slow to look at samples of the hardware's output.
UNVERIFIED = ("its output was not checked within", "that the process had sent were not verified", "not all samples were verified")
#: A wrong picture is found among the first eight of a group.
LAST_SAMPLED = 7
#: dB that each frame must have.
MIN_QUALITY = 30
#: KiB by which the broker's memory may grow, and seconds that a run must have for this to be checked.
MAX_GROWTH, MIN_SECONDS = 256, 60
#: What hwctl says of a session whose process failed.
RESTARTED = "continued in another process"


class Slot:
    """Runs one job at a time, on clips of its own size."""

    def __init__(self, work, size):
        self.size, self.work = size, work / f"{size[0]}"
        self.work.mkdir()
        self.kind, self.hits, self.outputs = None, 0, 0
        source = ["ffmpeg", "-y", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={size[0]}x{size[1]}:rate=30", "-frames:v",
                  f"{FRAMES}"]
        run([*source, "-pix_fmt", "yuv420p", self.work / "clip.y4m"])
        run([*source, "-pix_fmt", "nv12", "-f", "rawvideo", self.work / "clip.nv12"])
        run([*source, "-pix_fmt", "yuv420p", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
             "log-level=none:keyint=48:open-gop=1:bframes=3", self.work / "clip.mp4"])
        self.references = {}

    def command(self, kind):
        """hwctl's words, without the output, and how the output's name ends."""
        extent = f"{self.size[0]}x{self.size[1]}"
        return {
            "encode": (["encode", "--json", self.work / "clip.y4m"], "mov"),
            "software": (["encode", "--json", "--hardware", "off", "--preset", "ultrafast", self.work / "clip.y4m"], "mov"),
            "transcode": (["encode", "--json", self.work / "clip.mp4"], "mov"),
            "decode": (["decode", self.work / "clip.mp4"], "y4m"),
            "convert": (["convert", "--size", extent, "--from", "nv12", "--to", "rgba16f", "--device", "cpu", self.work / "clip.nv12"],
                        "raw"),
        }[kind]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def packet_times(path):
    """In decoding order, in seconds."""
    lines = run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time,dts_time", "-of", "csv=p=0", path])
    return [tuple(float(word) for word in line.split(",")[:2]) for line in lines.split()]


def check_video(slot, output, is_verified):
    """Every frame once and at its time, and like its source unless a wrong picture was not verified."""
    times = packet_times(output)
    if [round(30 * pts, 2) for pts in sorted(pts for pts, _ in times)] != list(range(FRAMES)):
        raise RuntimeError(f"{len(times)} packets, whose times are not those of {FRAMES} frames")
    if any(dts >= other for (_, dts), (_, other) in zip(times, times[1:])):
        raise RuntimeError("decoding times do not rise")
    psnr = output.with_suffix(".psnr")
    done = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", output, "-i", slot.work / "clip.y4m", "-lavfi",
         f"[0:v]format=yuv420p,settb=1/30,setpts=N[a];[1:v]settb=1/30,setpts=N[b];[a][b]psnr=stats_file={psnr}", "-f", "null", "-"],
        capture_output=True, text=True, timeout=120, check=False)
    if done.stderr or done.returncode:
        raise RuntimeError(f"ffmpeg: {(done.stderr or 'it failed').splitlines()[0]}")
    values = [99 if value == "inf" else float(value) for value in re.findall(r"psnr_y:(\S+)", psnr.read_text(encoding="ascii"))]
    if len(values) != FRAMES or is_verified and min(values) < MIN_QUALITY:
        raise RuntimeError(f"{len(values)} frames with a PSNR of {min(values, default=0)} dB and more")


class Long:
    """A daemon, jobs beside each other, and their faults."""

    def __init__(self, options, work):
        self.seconds, self.chance = options.duration, random.Random(options.seed)
        self.lock, self.stopping = threading.Lock(), threading.Event()
        self.server = Server(options.programs, work / "daemon")
        self.done, self.faults, self.failures, self.restarts = {}, {}, [], 0
        self.seconds_of_faults = 0.0
        self.pending, self.without_fault, self.undisturbed, self.unverified = None, 0, 0, 0
        self.report = Report(f"soak: {options.duration} s of {len(SIZES)} jobs at a time", "a job without a fault")
        try:
            self.slots = [Slot(work, size) for size in SIZES]
            self.make_references()
        except BaseException:
            # run(), which stops the daemon, is not called then.
            self.server.stop()
            raise

    def make_references(self):
        """The outputs and encoders without a fault."""
        for slot in self.slots:
            for kind in JOBS:
                slot.references[kind] = self.reference(slot, kind)

    def reference(self, slot, kind):
        """A job that was not disturbed. A slow machine may stop a process; then sessions avoid its hardware for a minute."""
        end = time.monotonic() + 3 * HANG
        while True:
            output, encoder, printed = self.job(slot, kind)
            if RESTARTED not in printed and (kind not in ENCODERS or "vaapi" in encoder):
                return digest(output), encoder
            if time.monotonic() > end:
                raise RuntimeError(f"{kind}: no reference of the simulated driver, but of {encoder}: {printed.strip()}")
            time.sleep(1)

    # Jobs

    def job(self, slot, kind):
        """Runs one job; its output, its encoder, and what it said."""
        words, ending = slot.command(kind)
        output = slot.work / f"{kind}.{ending}"
        output.unlink(missing_ok=True)
        result = self.server.hwctl([*words, output])
        if result.returncode == 75:
            # A process that was stopped before it answered Create: nothing was lost, and the client may try again.
            result = self.server.hwctl([*words, output])
            result.stderr += "tried again"
        if result.returncode:
            raise RuntimeError(f"status {result.returncode}: {result.stderr.strip()}")
        return output, json.loads(result.stdout)["EncoderID"] if ending == "mov" else None, result.stderr

    def work_on(self, slot):
        while not self.stopping.is_set():
            with self.lock:
                slot.kind = self.chance.choice(JOBS)
                # A fault that is planned may come.
                slot.hits = 1 if self.pending and slot.kind in PLANS[self.pending] else 0
            start = time.monotonic()
            try:
                output, encoder, printed = self.job(slot, slot.kind)
                seconds = time.monotonic() - start
                is_disturbed = self.check(slot, output, encoder, printed)
            except Exception as error:  # pylint: disable=broad-except
                self.fail(f"{slot.kind}: {type(error).__name__}: {error}")
                continue
            with self.lock:
                self.done[slot.kind] = self.done.get(slot.kind, 0) + 1
                self.restarts += printed.count(RESTARTED)
                if not is_disturbed:
                    self.undisturbed += 1
                    self.report.latencies.append((time.monotonic() - self.start, seconds))

    def fail(self, text):
        print(f"soak: {text}", file=sys.stderr)
        with self.lock:
            self.failures.append(text)
            if len(self.failures) >= MAX_FAILURES:
                self.stopping.set()

    def check(self, slot, output, encoder, printed):
        """Whether the job was disturbed: pictures that are decoded or converted do not depend on that, but packets do."""
        expected, usual = slot.references[slot.kind]
        # A fault may have hit it, or its process was stopped because the machine is slow; and after a failure the daemon chooses
        # software for a time.
        is_disturbed = slot.hits > 0 or RESTARTED in printed or "tried again" in printed or encoder != usual
        if (encoder is None or not is_disturbed) and digest(output) != expected:
            raise RuntimeError(f"the output differs from the first one: {printed.strip()}")
        if encoder is not None:
            is_verified = not any(text in printed for text in UNVERIFIED)
            with self.lock:
                self.unverified += not is_verified
            check_video(slot, output, is_verified)
        return is_disturbed

    # Faults

    def settle_plan(self):
        """Counts the fault that was planned, if the driver has taken it."""
        if self.pending and not self.server.plan.read_text(encoding="ascii").strip(" !\n"):
            self.faults[self.pending] = self.faults.get(self.pending, 0) + 1
            self.pending = None

    def plan(self, fault):
        """Lets the driver fail, unless an earlier fault is pending, or a session may not fail once more."""
        with self.lock:
            hit = [slot for slot in self.slots if slot.kind in PLANS[fault]]
            if self.pending or not hit or any(slot.hits >= MAX_RESTARTS for slot in hit):
                return False
            for slot in hit:
                slot.hits += 1
            self.pending = fault
            position = self.chance.randint(2, LAST_SAMPLED if fault == "corrupt" else FRAMES // 3)
            self.server.plan.write_text(f"{fault} {position}\n", encoding="ascii")
        return True

    def send_signal(self, name):
        """Sends a signal to a session's process, unless no session may fail once more."""
        sessions = self.server.sessions()
        self.chance.shuffle(sessions)
        with self.lock:
            for session in sessions:
                slot = next((slot for slot in self.slots if slot.size[0] == session["width"]), None)
                if slot is None or slot.hits >= MAX_RESTARTS:
                    continue
                try:
                    os.kill(session["pid"], getattr(signal, name))
                except ProcessLookupError:
                    continue
                slot.hits += 1
                self.faults[name] = self.faults.get(name, 0) + 1
                return True
        return False

    def fail_once(self):
        with self.lock:
            self.settle_plan()
        # The rarest ones first, so that a short run has each.
        faults = self.chance.sample(FAULTS, len(FAULTS))
        faults.sort(key=lambda fault: self.faults.get(fault, 0))
        if not any(self.plan(fault) if fault in PLANS else self.send_signal(fault) for fault in faults):
            self.without_fault += 1

    def missing(self):
        return [fault for fault in FAULTS if fault not in self.faults]

    # The run

    def sample(self):
        seconds = round(time.monotonic() - self.start, 1)
        self.report.samples.append({
            "at": seconds, "seconds": seconds, "rss_kib": self.server.memory(), "anonymous_kib": self.server.memory("RssAnon"),
            "files": self.server.files(), "children": self.server.children()})

    def is_over(self):
        seconds = time.monotonic() - self.start
        return self.stopping.is_set() or seconds >= self.seconds and (
            not self.missing() or seconds >= self.seconds + MAX_EXTENSION)

    def load(self):
        """Jobs and faults, for the duration and until each kind of fault has occurred."""
        threads = [threading.Thread(target=self.work_on, args=(slot,)) for slot in self.slots]
        self.start, number = time.monotonic(), 0
        try:
            for thread in threads:
                thread.start()
            while not self.is_over():
                number += 1
                self.stopping.wait(max(0.0, self.start + number * SECONDS_BETWEEN_FAULTS - time.monotonic()))
                self.fail_once()
                if number % 5 == 0:
                    self.sample()
            self.server.plan.write_text("", encoding="ascii")
            self.seconds_of_faults = time.monotonic() - self.start
        finally:
            self.stopping.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()

    def run(self):
        try:
            before = self.server.idle()
            self.load()
            self.check_results(before, self.server.idle(before))
        finally:
            self.server.stop()
        return self.report

    def check_results(self, before, after):
        report, found, missing = self.report, sum(self.faults.values()), self.missing()
        report.add("jobs", f"{sum(self.done.values())}: " + ", ".join(f"{count} {name}" for name, count in sorted(self.done.items())))
        report.add("faults", f"{found}, one in {self.seconds_of_faults / max(1, found):.1f} s")
        report.add("", ", ".join(f"{self.faults.get(name, 0)} {name}" for name in sorted(FAULTS)), "each", not missing)
        report.add("without a fault, because the jobs may not fail once more", f"{self.without_fault}")
        report.add(RESTARTED, f"{self.restarts}")
        report.add("undisturbed outputs, like the first ones", f"{self.undisturbed}")
        report.add("outputs whose samples were not decoded in time", f"{self.unverified}")
        report.add("lost or wrong", f"{len(self.failures)}", "0", not self.failures)
        for failure in self.failures[:10]:
            report.add("", failure[:300])
        self.check_memory()
        self.check_leftovers(before, after)
        times = [1000 * seconds for _, seconds in report.latencies]
        if times:
            report.add("a job without a fault", f"{quantile(times, 0.5):.0f} ms, slowest hundredth {quantile(times, 0.99):.0f} ms")

    def check_memory(self):
        report, samples = self.report, self.report.samples
        settled = [sample for sample in samples if sample["at"] >= self.seconds / 5]
        if self.seconds < MIN_SECONDS or len(settled) < 2:
            report.add("memory of the broker", f"not checked: {len(settled)} samples in {self.seconds} s", "",
                       None if self.seconds < MIN_SECONDS else False)
            return
        first, last = settled[0]["rss_kib"], settled[-1]["rss_kib"]
        report.add("memory of the broker", f"{samples[0]['rss_kib']} KiB at {samples[0]['at']:.0f} s, {first} at a fifth, {last} at the end",
                   f"+{MAX_GROWTH} KiB from a fifth on", last - first <= MAX_GROWTH)
        rise = slope([(sample["at"], sample["anonymous_kib"]) for sample in settled]) * 3600
        report.add("slope of its own pages for an hour", f"{rise:+.0f} KiB")

    def check_leftovers(self, before, after):
        """What the idle daemon has after the jobs, and its counters."""
        report = self.report
        # Only root may list the daemon's descriptors.
        holds = None if None in (before[0], after[0]) else before[0] == after[0]
        report.add("descriptors, idle", f"{before[0]} before, {after[0]} after" if holds is not None else "not checked", "the same", holds)
        report.add("children, idle", f"{before[1]} before, {after[1]} after", "the same", before[1] == after[1])
        metrics = self.server.metrics()
        created, ended, running = (metrics.get(f"hwdaemon_sessions_{name}", 0) for name in ("created_total", "ended_total", "running"))
        report.add("created = ended + running", f"{created:.0f} = {ended:.0f} + {running:.0f}", "", created == ended + running)
