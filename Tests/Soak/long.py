# SPDX-License-Identifier: GPL-2.0-or-later
"""The soak test of longer jobs side by side, on the simulated driver and in software, with a fault every two seconds: a session's
process is killed or stopped, or the driver crashes, hangs, fails, codes wrong pictures or is reset. No frame may be lost."""
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
from .server import Server, run

FRAMES = 120
#: A size for each job that runs at a time, by which a session's job is known.
SIZES = [(320, 180), (304, 180), (288, 180)]
SECONDS_BETWEEN_FAULTS = 2
#: Share of the faults that one every two seconds would be.
MIN_FAULTS = 0.9
#: Of one session, by the protocol; its next failure ends it.
MAX_RESTARTS = 3
#: Which jobs a fault of the driver may hit.
ENCODERS, DECODERS = {"encode", "transcode"}, {"decode", "transcode"}
PLANS = {"crash": ENCODERS, "hang": ENCODERS, "fail": ENCODERS, "corrupt": ENCODERS, "gpu-reset": ENCODERS | DECODERS,
         "decode-crash": DECODERS, "decode-hang": DECODERS, "decode-fail": DECODERS}
JOBS = ["encode", "software", "transcode", "decode", "convert"]
#: What hwctl says where the machine was too slow to look at samples of the hardware's output.
UNVERIFIED = ("its output was not checked within", "that the process had sent were not verified", "not all samples were verified")
#: A wrong picture is found among the first eight of a group.
LAST_SAMPLED = 7
#: KiB by which the broker's memory may grow, and dB that each frame must have.
MAX_GROWTH, MIN_QUALITY = 256, 30


class Slot:
    """A place for one job after another, with its clips."""

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
    """Every frame once and at its time, and like its source, unless the driver coded another picture and nobody looked."""
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
        self.lock, self.end = threading.Lock(), 0.0
        self.server = Server(options.programs, work / "daemon")
        self.done, self.faults, self.failures, self.restarts = {}, {}, [], 0
        self.pending, self.without_fault, self.undisturbed, self.unverified = None, 0, 0, 0
        self.report = Report(f"soak: {options.duration} s of {len(SIZES)} jobs at a time", "a job without a fault")
        try:
            self.slots = [Slot(work, size) for size in SIZES]
            self.make_references()
        except BaseException:
            # run, which stops the daemon in the end, is not called then.
            self.server.stop()
            raise

    def make_references(self):
        """The outputs and encoders without a fault."""
        for slot in self.slots:
            for kind in JOBS:
                output, encoder, _ = self.job(slot, kind)
                slot.references[kind] = (digest(output), encoder)

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
        while time.monotonic() < self.end:
            with self.lock:
                slot.kind = self.chance.choice(JOBS)
                # A fault that is planned may come.
                slot.hits = 1 if self.pending and slot.kind in PLANS[self.pending] else 0
            start = time.monotonic()
            try:
                output, encoder, printed = self.job(slot, slot.kind)
                seconds = time.monotonic() - start
                is_disturbed = self.check(slot, output, encoder, printed)
            except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
                with self.lock:
                    self.failures.append(f"{slot.kind}: {error}")
                print(f"soak: {slot.kind}: {error}", file=sys.stderr)
                continue
            with self.lock:
                self.done[slot.kind] = self.done.get(slot.kind, 0) + 1
                self.restarts += printed.count("went on in another process")
                if not is_disturbed:
                    self.undisturbed += 1
                    self.report.latencies.append((time.monotonic() - self.start, seconds))

    def check(self, slot, output, encoder, printed):
        """Whether the job was disturbed: pictures that are decoded or converted do not depend on that, but packets do."""
        expected, usual = slot.references[slot.kind]
        # A fault may have hit it, or its process was stopped because the machine is slow; and after a failure the daemon chooses
        # software for a time.
        is_disturbed = slot.hits > 0 or "went on in another process" in printed or "tried again" in printed or encoder != usual
        if (encoder is None or not is_disturbed) and digest(output) != expected:
            raise RuntimeError(f"the output differs from the first one: {printed.strip()}")
        if encoder is not None:
            is_verified = not any(text in printed for text in UNVERIFIED)
            self.unverified += not is_verified
            check_video(slot, output, is_verified)
        return is_disturbed

    # Faults

    def settle_plan(self):
        """Counts the fault that was planned, if the driver has taken it."""
        if self.pending and not self.server.plan.read_text(encoding="ascii").strip(" !\n"):
            self.faults[self.pending] = self.faults.get(self.pending, 0) + 1
            self.pending = None

    def plan(self):
        """Lets the driver fail, unless it has yet to, or a session may not fail once more."""
        fault = self.chance.choice(list(PLANS))
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

    def strike(self, name):
        """Sends a signal to a session's process."""
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
        ways = [self.plan, self.plan, lambda: self.strike("SIGKILL"), lambda: self.strike("SIGSTOP")]
        self.chance.shuffle(ways)
        if not any(way() for way in ways):
            self.without_fault += 1

    # The run

    def sample(self):
        seconds = round(time.monotonic() - self.start, 1)
        self.report.samples.append({
            "at": seconds, "seconds": seconds, "rss_kib": self.server.memory(), "anonymous_kib": self.server.memory("RssAnon"),
            "files": self.server.files(), "children": self.server.children()})

    def run(self):
        try:
            before = self.server.idle()
            self.start = time.monotonic()
            self.end = self.start + self.seconds
            threads = [threading.Thread(target=self.work_on, args=(slot,)) for slot in self.slots]
            for thread in threads:
                thread.start()
            for number in range(1, int(self.seconds / SECONDS_BETWEEN_FAULTS) + 1):
                time.sleep(max(0.0, self.start + number * SECONDS_BETWEEN_FAULTS - time.monotonic()))
                self.fail_once()
                if number % 5 == 0:
                    self.sample()
            self.settle_plan()
            self.server.plan.write_text("", encoding="ascii")
            for thread in threads:
                thread.join()
            self.judge(before, self.server.idle())
        finally:
            self.server.stop()
        return self.report

    def judge(self, before, after):
        report = self.report
        wanted, found = self.seconds / SECONDS_BETWEEN_FAULTS, sum(self.faults.values())
        report.add("jobs", f"{sum(self.done.values())}: " + ", ".join(f"{count} {name}" for name, count in sorted(self.done.items())))
        report.add("faults", f"{found}, one in {self.seconds / max(1, found):.1f} s", f"{MIN_FAULTS * wanted:.0f}",
                   found >= MIN_FAULTS * wanted)
        report.add("", ", ".join(f"{count} {name}" for name, count in sorted(self.faults.items())))
        report.add("without a fault, because the jobs may not fail once more", f"{self.without_fault}")
        report.add("went on in another process", f"{self.restarts}")
        report.add("undisturbed outputs, like the first ones", f"{self.undisturbed}")
        report.add("outputs whose samples were not decoded in time", f"{self.unverified}")
        report.add("lost or wrong", f"{len(self.failures)}", "0", not self.failures)
        for failure in self.failures[:10]:
            report.add("", failure[:300])
        self.judge_broker(before, after)
        times = [1000 * seconds for _, seconds in report.latencies]
        if times:
            report.add("a job without a fault", f"{quantile(times, 0.5):.0f} ms, slowest hundredth {quantile(times, 0.99):.0f} ms")

    def judge_broker(self, before, after):
        report, samples = self.report, self.report.samples
        settled = [sample for sample in samples if sample["at"] >= self.seconds / 5]
        if settled:
            first, last = settled[0]["rss_kib"], settled[-1]["rss_kib"]
            report.add("memory of the broker", f"{samples[0]['rss_kib']} KiB at {samples[0]['at']:.0f} s, {first} at a fifth, {last} at the end",
                       f"+{MAX_GROWTH} KiB from a fifth on", last - first <= MAX_GROWTH)
            rise = slope([(sample["at"], sample["anonymous_kib"]) for sample in settled]) * 3600
            report.add("slope of its own pages for an hour", f"{rise:+.0f} KiB")
        # Not everybody may see the daemon's descriptors.
        holds = None if None in (before[0], after[0]) else before[0] == after[0]
        report.add("descriptors, idle", f"{before[0]} before, {after[0]} after" if holds is not None else "not judged", "the same", holds)
        report.add("children, idle", f"{before[1]} before, {after[1]} after", "the same", before[1] == after[1])
        metrics = self.server.metrics()
        created, ended, running = (metrics.get(f"hwdaemon_sessions_{name}", 0) for name in ("created_total", "ended_total", "running"))
        report.add("created = ended + running", f"{created:.0f} = {ended:.0f} + {running:.0f}", "", created == ended + running)
