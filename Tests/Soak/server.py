# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon on the simulated driver of Tests/HWSim, and what /proc and its metrics say of it."""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
#: Seconds after which something has hung.
HANG = 60.0
#: Equal readings in a row, 0.2 s apart, of a daemon that is idle.
STABLE = 10


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, **options).stdout


class Server:
    """A daemon with a socket of its own, on the simulated driver or in software; after an upgrade the process that serves then."""

    def __init__(self, programs, work, prefix=(), settings=(), simulated=True):
        self.programs, self.work = Path(programs).resolve(), Path(work)
        self.work.mkdir(exist_ok=True)
        self.socket, self.plan = self.work / "socket", self.work / "plan" / "faults"
        self.plan.parent.mkdir()
        self.plan.write_text("")
        self.path = self.work / "log"
        hwsim = self.programs / "hwsim-for-daemons"
        run(["make", "-s", "-C", ROOT / "Tests/HWSim", f"OUT={hwsim}", "all"])
        environment = {
            **os.environ, "HWDAEMON_DEVICES": "/dev/null", "VK_DRIVER_FILES": "/dev/null/none", "STATE_DIRECTORY": f"{self.work}",
            "HWDAEMON_CAPABILITIES_DIR": "/dev/null/none"}
        if simulated:
            environment |= {
                "LD_PRELOAD": f"{hwsim}/nodes.so", "LIBVA_DRIVER_NAME": "hwsim", "LIBVA_DRIVERS_PATH": f"{hwsim}",
                "LIBVA_MESSAGING_LEVEL": "0", "HWSIM_PERSONALITY": "full", "HWSIM_FAULTS": f"{self.plan}",
                "HWDAEMON_SANDBOX_PATHS": f"{self.plan.parent}"}
        words = [f"--set={setting}" for setting in ("HardwareStallTimeout=1", "StallTimeout=2", *settings)]
        # Never reads the machine's configuration.
        (self.work / "config").mkdir()
        with open(self.path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*prefix, self.programs / "hwdaemon", "--socket", self.socket, "--config", self.work / "config", *words],
                env=environment, stdout=log, stderr=log)
        self.pid = self.process.pid
        try:
            self.wait_for(self.listens, "the daemon's socket")
            self.verify(simulated)
        except BaseException:
            # The caller has no object yet whose stop() it could call.
            self.stop()
            raise

    def listens(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the daemon ended with {self.process.returncode}: {self.log[-1000:]}")
        return self.socket.exists()

    def verify(self, simulated):
        """Waits until the hardware is verified, which sessions do not."""
        listed = self.hwctl(["probe", "--verify", "--json"])
        if listed.returncode:
            raise RuntimeError(f"hwctl probe: status {listed.returncode}: {listed.stderr.strip()}")
        has_hardware = any(encoder["hardware"] for encoder in json.loads(listed.stdout)["encoders"])
        if has_hardware != simulated:
            raise RuntimeError("the simulated driver is not verified" if simulated else "there is hardware")

    @staticmethod
    def wait_for(condition, what, seconds=HANG):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{what}: not within {seconds:g} s")
            time.sleep(0.02)

    def hwctl(self, words, timeout=120):
        environment = {**os.environ, "HWDAEMON_SOCKET": f"{self.socket}"}
        return subprocess.run([self.programs / "hwctl", *words], env=environment, capture_output=True, text=True,
                              timeout=timeout, check=False)

    @property
    def log(self):
        return self.path.read_text(encoding="utf-8", errors="replace")

    def sessions(self):
        listed = self.hwctl(["sessions", "--json"])
        return json.loads(listed.stdout)["sessions"] if listed.returncode == 0 else []

    def metrics(self):
        """Sums over labels, by name; what was counted for sessions that had no codec yet is left out."""
        sums = {}
        for line in self.hwctl(["sessions", "--metrics"]).stdout.splitlines():
            match = re.fullmatch(r"([a-z_]+)(\{.*\})? ([0-9.e+]+)", line)
            if match and 'encoder="none"' not in (match[2] or ""):
                sums[match[1]] = sums.get(match[1], 0) + float(match[3])
        return sums

    def upgrade(self):
        """Upgrades the daemon; returns the number of the process that finishes its sessions."""
        before, known = self.pid, len(re.findall(r"successor=", self.log))
        os.kill(before, signal.SIGUSR2)
        self.wait_for(lambda: len(re.findall(r"successor=", self.log)) > known, "the new daemon")
        self.pid = int(re.findall(r"successor=([0-9]+)", self.log)[-1])
        return before

    def memory(self, name="VmRSS"):
        """A line of proc_pid_status(5) in KiB."""
        for line in Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise RuntimeError(f"process {self.pid} has no {name}")

    def files(self):
        """Open descriptors; None for users who may not see them, because the daemon is not dumpable."""
        try:
            return len(os.listdir(f"/proc/{self.pid}/fd"))
        except PermissionError:
            return None

    def children(self):
        return int(Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii").count(" "))

    def idle(self, before=None):
        """Descriptors and children (the spare worker) of the idle daemon: once they are those of `before`, else once they are stable."""
        self.wait_for(lambda: not self.sessions(), "the sessions' end")
        end, seen = time.monotonic() + HANG, []
        while time.monotonic() < end:
            seen.append((self.files(), self.children()))
            if seen[-1] == before or before is None and len(seen) >= STABLE and len(set(seen[-STABLE:])) == 1:
                break
            time.sleep(0.2)
        return seen[-1]

    def has_ended(self, pid=None):
        pid = pid or self.pid
        if pid == self.process.pid and self.process.poll() is not None:
            return True
        try:
            return ") Z " in Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return True

    def stop(self):
        for pid in {self.pid, self.process.pid}:
            if not self.has_ended(pid):
                os.kill(pid, signal.SIGTERM)
        try:
            self.wait_for(lambda: self.has_ended() and self.has_ended(self.process.pid), "the daemon's end")
        except RuntimeError:
            for pid in {self.pid, self.process.pid}:
                if not self.has_ended(pid):
                    os.kill(pid, signal.SIGKILL)
        self.process.wait()
