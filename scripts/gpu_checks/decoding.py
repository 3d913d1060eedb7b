# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks NVIDIA's decoder through the daemon: that its pictures are those of software, its speed, its memory, and what its sandbox
refuses."""
import hashlib
import json
import os
import re
import signal
import subprocess
import time

from gpu_checks.traces import HARMLESS, calls

REFUSAL = re.compile(r"= -1 (EACCES|EPERM|ENOSYS)|^--- SIGSYS")


def md5(path):
    digest = hashlib.md5()
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()


class Decoding:
    """The checks of a decoder, on a `Check`'s daemon."""

    def __init__(self, check, clips):
        self.check, self.clips = check, clips
        self.facts = json.loads((clips / "clips.json").read_text())
        self.report = check.report.setdefault("decoding", {})

    def run(self):
        if not self.find():
            return
        works = [self.decode(name) for name in self.facts if name != "long"]
        if not all(works):
            self.diagnose()
        if not any(works):
            return
        self.compare_speed()
        self.kill()
        self.trace()

    # ---- what the probe says ----

    def find(self):
        check = self.check
        status, output, errors = check.run("hwctl", "probe", "--json", timeout=90)
        if status != 0:
            check.result("decoder", False, errors.strip())
            return False
        found = json.loads(output)
        paths = [path for path in found.get("paths", []) if "nvidia" in (path.get("device") or "")]
        self.report["paths"] = paths
        for node in found.get("nodes", []):
            check.say(f"      {node['node']}: {node.get('state')}, {node.get('driver')}; {node.get('reason') or 'no fault'}")
        for path in paths:
            check.say(f"      {path['id']}: {'verified' if path['verified'] else path.get('reason')}")
        hevc = [path for path in paths if path["codec"] == "hevc"]
        verified = [path["id"] for path in hevc if path["verified"]]
        check.result("decoder", len(hevc) >= 2 and len(verified) == len(hevc),
                     f"{', '.join(verified) or 'nothing'} verified" if paths else "no card of NVIDIA's is in the probe's answer")
        if not paths:
            self.show_nodes()
        elif not verified:
            self.diagnose()
        return bool(verified)

    def show_nodes(self):
        for command in ("ls -l /dev/nvidia* /dev/dri", "cat /sys/module/nvidia/version", "ldconfig -p | grep -e libcuda -e nvcuvid",
                        "cat /proc/driver/nvidia/gpus/*/information", "nvidia-smi -L"):
            _, output, errors = self.check.run("sh", "-c", command)
            self.check.say(f"      $ {command}\n" + (output.decode(errors="replace") + errors).rstrip())

    # ---- pictures ----

    def command(self, name, target, *options):
        return ["hwctl", "decode", "--json", "--no-progress", "-y", *options, str(self.clips / f"{name}.mp4"), str(target)]

    def decode(self, name, hardware="require"):
        check, facts = self.check, self.facts[name]
        target = check.work / "decoded.yuv"
        target.unlink(missing_ok=True)
        before = time.monotonic()
        status, output, errors = check.run(*self.command(name, target, "--hardware", hardware), timeout=60)
        seconds = time.monotonic() - before
        try:
            summary = json.loads(output)
        except ValueError:
            summary = {}
        is_same = status == 0 and target.exists() and md5(target) == facts["md5"]
        hardware_frames = summary.get("hardware_frames", 0)
        is_whole = hardware_frames == facts["frames"] and not summary.get("damaged_frames") and not summary.get("decode_errors")
        self.report[name] = {"is_same": is_same, "seconds": seconds, "summary": summary, "errors": errors}
        why = "" if is_same and is_whole else f"; status {status}; {errors.strip()} {json.dumps(summary)[:1200]}"
        check.result(f"decode {name}", is_same and is_whole,
                     f"{facts['size']}, {facts['bits']} bits: {hardware_frames} of {facts['frames']} frames by "
                     f"{summary.get('DecoderID')}, {'the same' if is_same else 'OTHER'} samples, {seconds:.2f} s{why}")
        target.unlink(missing_ok=True)
        return is_same and is_whole

    # ---- speed and memory ----

    def sessions(self):
        """The decompression sessions that the daemon lists."""
        status, output, _ = self.check.run("hwctl", "sessions", "--json")
        try:
            sessions = json.loads(output)["sessions"] if status == 0 else []
        except (ValueError, KeyError):
            sessions = []
        return [session for session in sessions if session["kind"] == "decompression"]

    def next_session(self, old):
        """The running session, apart from those that are about to end; None without one."""
        return next((session for session in self.sessions() if session["pid"] not in old), None)

    def watch(self, process, old):
        """The most memory of the worker, in KiB by the names of proc_pid_status(5), and its processor time in seconds."""
        peak, ticks, pid = {}, 0, None
        while process.poll() is None:
            if pid is None:
                session = self.next_session(old)
                pid = session and session["pid"]
            try:
                if pid:
                    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                        for line in file:
                            key, _, value = line.partition(":")
                            if key in ("VmPeak", "VmData", "VmHWM", "RssAnon", "RssFile", "RssShmem", "Threads"):
                                peak[key] = max(peak.get(key, 0), int(value.split()[0]))
                    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                        fields = file.read().rpartition(")")[2].split()
                        ticks = int(fields[11]) + int(fields[12])
            except OSError:
                pass
            time.sleep(0.02)
        return peak, ticks / os.sysconf("SC_CLK_TCK")

    def compare_speed(self):
        frames = self.facts["long"]["frames"]
        for hardware in ("require", "off"):
            words = ["hwctl", "decode", "-q", "--no-progress", "--hardware", hardware, str(self.clips / "long.mp4"), "-"]
            old = {session["pid"] for session in self.sessions()}
            before = time.monotonic()
            process = subprocess.Popen(words, env=self.check.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            peak, processor = self.watch(process, old)
            seconds, errors = time.monotonic() - before, process.stderr.read().decode(errors="replace").strip()
            name = "hardware" if hardware == "require" else "software"
            self.report[f"speed {name}"] = {"seconds": seconds, "processor_seconds": processor, "memory_kib": peak}
            text = (f"{frames} frames of {self.facts['long']['size']} in {seconds:.2f} s with the start, {frames / seconds:.0f} a "
                    f"second; worker: {processor:.2f} s of processors, KiB {peak} {errors}")
            self.check.result(f"speed in {name}", process.returncode == 0, text)

    # ---- faults ----

    def kill(self):
        """Kills the worker once it has decoded a picture; the session must continue with the same pictures."""
        check, target = self.check, self.check.work / "killed.yuv"
        old = {session["pid"] for session in self.sessions()}
        process = subprocess.Popen(self.command("long", target, "--hardware", "require"), env=check.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        killed = None
        while process.poll() is None and killed is None:
            session = self.next_session(old)
            if session and session["frames_out"] > 0:
                os.kill(session["pid"], signal.SIGKILL)
                killed = session["pid"]
            time.sleep(0.02)
        try:
            output, errors = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
        is_same = process.returncode == 0 and target.exists() and md5(target) == self.facts["long"]["md5"]
        target.unlink(missing_ok=True)
        self.report["kill"] = {"killed": killed, "is_same": is_same}
        check.result("decoder recovery", killed is not None and is_same,
                     f"a worker was {'killed' if killed else 'not found'}; {'the same' if is_same else 'OTHER'} samples; "
                     f"status {process.returncode}; {errors.decode(errors='replace').strip()}"
                     + ("" if is_same else f" {output.decode(errors='replace')[:1200]}"))

    # ---- the sandbox ----

    def trace(self):
        """Lists what the sandbox refuses while a clip is decoded, and how many calls that was; without a sandbox, what it would see."""
        check = self.check
        strace = check.programs / "strace"
        if not strace.exists():
            return check.say("      strace is not in the bundle")
        mode = check.environment.get("HWDAEMON_SANDBOX", "on")
        file = check.out / f"decoder-trace-sandbox-{mode}.txt"
        check.stop_daemon()
        check.start_daemon(str(strace), "-f", "-qq", "-s", "160", "-e", "trace=!ioctl,read,write,futex,poll", "-o", str(file))
        _, _, errors = check.run(*self.command("main-pyramid", check.work / "traced.yuv", "--hardware", "require"), timeout=120)
        check.stop_daemon()
        text = file.read_text(errors="replace") if file.exists() else ""
        refused = {}
        for call in calls(text):
            if REFUSAL.search(call):
                refused[call] = refused.get(call, 0) + 1
        other = [call for call in refused if not HARMLESS.search(call)]
        self.report["refused"] = refused
        check.say(f"      traced {len(text.splitlines())} calls; {len(refused)} kinds refused, {len(other)} of them not known as "
                  f"harmless; {errors.strip()}")
        for call in other[:60]:
            check.say(f"        {refused[call]} × {call[:180]}")
        subprocess.run(["xz", "-qf", str(file)], check=False)
        check.start_daemon()

    def diagnose(self):
        """Says whether the sandbox is the cause, and prints what the daemon logged."""
        check = self.check
        for mode in ("report", "off"):
            check.stop_daemon()
            check.forget()
            check.environment["HWDAEMON_SANDBOX"] = mode
            check.start_daemon()
            _, output, errors = check.run("hwctl", "probe", "--json", timeout=90)
            try:
                for path in json.loads(output).get("paths", []):
                    if "nvidia" in (path.get("device") or "") and path["codec"] == "hevc":
                        check.say(f"      sandbox {mode}: {path['id']}: {'verified' if path['verified'] else path.get('reason')}")
            except ValueError:
                check.say(f"      sandbox {mode}: {errors.strip()}")
            self.decode("main-pyramid")
        self.trace()
        del check.environment["HWDAEMON_SANDBOX"]
        self.trace()
        self.show_nodes()
        log = (check.out / "daemon.log").read_text(errors="replace").splitlines()
        for line in log[-80:]:
            check.say(f"      log: {line}")
