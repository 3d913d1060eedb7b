# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon with hardware that Tests/HWSim simulates: a libva driver that codes in software."""
import os
import subprocess
import time

from pictures import HWCTL, Failed, run

# Seconds after which the daemon has hung.
HANG = 60


class SimulatedHardware:
    """hwdaemon on a socket in a folder, within a with block, after it has verified its hardware."""

    def __init__(self, folder):
        programs = os.path.dirname(os.path.realpath(HWCTL))
        driver, state, configuration = f"{programs}/hwsim-for-daemons", os.path.join(folder, "state"), os.path.join(folder, "config")
        run(["make", "-s", "-C", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../HWSim"), f"OUT={driver}", "all"])
        os.makedirs(state)
        # Empty: the machine's configuration is not read.
        os.makedirs(configuration)
        self.socket = os.path.join(folder, "hardware.sock")
        environment = {
            **os.environ, "LD_PRELOAD": f"{driver}/nodes.so", "LIBVA_DRIVER_NAME": "hwsim", "LIBVA_DRIVERS_PATH": driver,
            "LIBVA_MESSAGING_LEVEL": "0", "HWSIM_PERSONALITY": "full", "HWDAEMON_DEVICES": "/dev/null", "STATE_DIRECTORY": state}
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [f"{programs}/hwdaemon", "--socket", self.socket, "--config", configuration, "--log-level", "error"], env=environment)

    def __enter__(self):
        try:
            self.wait_until_verified()
        except BaseException:
            # A with block whose __enter__ raises does not call __exit__.
            self.__exit__()
            raise
        return self

    def wait_until_verified(self):
        deadline = time.monotonic() + HANG
        while not os.path.exists(self.socket):
            if self.process.poll() is not None:
                raise Failed(f"hwdaemon ends with {self.process.returncode}")
            if time.monotonic() > deadline:
                raise Failed("hwdaemon does not listen")
            time.sleep(0.05)
        # Sessions do not wait for a verification that is under way; this does.
        run([HWCTL, "probe"], env={**os.environ, "HWDAEMON_SOCKET": self.socket})

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(HANG)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed(f"hwdaemon does not end within {HANG} s of SIGTERM") from None
