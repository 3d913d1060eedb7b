# SPDX-License-Identifier: MIT
"""Finding and starting a daemon, and its calls."""
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

import hwdaemon
from hwdaemon._core import private

from .support import PROGRAMS, clip, daemon


class CallTests(unittest.TestCase):
    def test_every_method_has_a_typed_call(self):
        asked = daemon()
        definition = asked.interface_description()
        methods = {line.split("(")[0].split()[1] for line in definition.splitlines() if line.startswith("method ")}
        with mock.patch.object(hwdaemon.Daemon, "call", autospec=True, side_effect=hwdaemon.Daemon.call) as call:
            self.assertIn("org.hwdaemon", asked.info().interfaces)
            self.assertIn("frame-metadata", asked.features().features)
            self.assertEqual(asked.features().limits.max_dimension, hwdaemon.formats.MAX_DIMENSION)
            self.assertIn("org.hwdaemon.encoder.x265", [encoder.id for encoder in asked.encoders()])
            self.assertIn("hevc", [decoder.codec for decoder in asked.decoders()])
            self.assertFalse(asked.is_hardware_encode_supported(10, 3840, 2160).supported)
            self.assertTrue(asked.is_hardware_decode_supported().reason)
            self.assertEqual(asked.is_still_encode_supported(4032, 3024).columns, 8)
            self.assertEqual(asked.supported_properties()["Quality"].access, "live")
            self.assertIn("lut", [effect.name for effect in asked.effects()])
            self.assertEqual(asked.probe(verify=False).schema, 2)
            self.assertTrue(asked.metrics().endswith("# EOF\n"))
            with hwdaemon.CompressionSession(64, 48, "nv12", daemon=asked) as session:
                running = {entry.session: entry for entry in asked.sessions()}[session.session_id]
                self.assertEqual((running.kind, running.width, running.uid), ("compression", 64, os.getuid()))
                self.assertFalse(asked.session_result(session.session_id).finished)
            self.assertEqual(asked.session_result(session.session_id, wait=5).code, 0)
            called = {entry.args[1].split(".")[-1] for entry in call.call_args_list}
        creates = {method for method in methods if method.startswith("Create")}
        self.assertEqual(methods - creates, called - {"GetInfo", "GetInterfaceDescription"})
        self.assertEqual(len(creates), 3)

    def test_errors_of_calls(self):
        with self.assertRaises(hwdaemon.StatusError) as unknown:
            daemon().session_result("0" * 32)
        self.assertEqual(unknown.exception.name, "InvalidSession")
        with self.assertRaises(hwdaemon.CallError) as method:
            daemon().call("NoSuchMethod")
        self.assertEqual(method.exception.error, "org.varlink.service.MethodNotFound")
        with self.assertRaises(ValueError):
            daemon().call("Probe", {"device": "x" * 70000})


class PrivateTests(unittest.TestCase):
    PATH = f"{PROGRAMS}:{os.environ['PATH']}"

    def test_it_serves_sessions_and_ends_with_its_object(self):
        with mock.patch.dict(os.environ, PATH=self.PATH, HWDAEMON_DEVICES="/dev/null"):
            started = hwdaemon.Daemon.start_private()
        self.assertTrue(started.is_private and started.is_running)
        with hwdaemon.CompressionSession(64, 48, "nv12", daemon=started) as session:
            session.encode(clip(64, 48, 1)[0], pts=0)
            self.assertEqual(len(session.finish()), 1)
        process = started._process._process
        started.close()
        self.assertIsNotNone(process.returncode)
        with self.assertRaises(hwdaemon.NotRunning):
            started.info()

    def test_it_ends_with_the_process_however_that_ends(self):
        script = "import hwdaemon, os; d = hwdaemon.Daemon.start_private(); d.info(); print(d._process._process.pid, flush=True); os.kill(os.getpid(), 9)"
        environment = {**os.environ, "PATH": self.PATH, "PYTHONPATH": str(Path(hwdaemon.__file__).parents[1])}
        result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
        pid = int(result.stdout)
        for _ in range(500):
            try:
                if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                    break
            except FileNotFoundError:
                break
            time.sleep(0.02)
        else:
            self.fail(f"the daemon {pid} still runs")

    def test_sessions_start_one_where_no_daemon_listens(self):
        from hwdaemon import daemon as module
        environment = {name: value for name, value in os.environ.items() if name != "HWDAEMON_SOCKET"}
        with mock.patch.dict(os.environ, {**environment, "PATH": self.PATH, "HWDAEMON_DEVICES": "/dev/null"}, clear=True), \
                mock.patch.object(module, "DEFAULT_ADDRESS", "@hwdaemon-nobody-is-here"), mock.patch.object(module, "_default", None):
            with hwdaemon.CompressionSession(64, 48, "nv12") as session:
                session.encode(clip(64, 48, 1)[0], pts=0)
                self.assertEqual(len(session.finish()), 1)
            started = hwdaemon.default_daemon()
            self.assertTrue(started.is_private)
            self.assertIs(hwdaemon.default_daemon(), started)
            # A forked child's exit does not end it.
            child = os.fork()
            if child == 0:
                started.close()
                os._exit(0)
            os.waitpid(child, 0)
            self.assertIn("org.hwdaemon", started.info().interfaces)
            started._process._process.kill()
            started._process._process.wait()
            another = hwdaemon.default_daemon()
            self.assertIsNot(another, started)
            another.close()

    def test_the_explicit_address_alone_is_tried(self):
        with mock.patch.dict(os.environ, HWDAEMON_SOCKET="@hwdaemon-nobody-is-here", PATH=self.PATH):
            with self.assertRaises(hwdaemon.NotRunning):
                hwdaemon.Daemon.find()
        with mock.patch.dict(os.environ, HWDAEMON_SOCKET=daemon().address):
            self.assertEqual(hwdaemon.Daemon.find().address, daemon().address)

    def test_where_the_program_is_looked_for(self):
        with mock.patch.dict(os.environ, PATH=f".:relative:{PROGRAMS}"):
            self.assertEqual(private.executable(), f"{PROGRAMS}/hwdaemon")
            self.assertNotIn("./hwdaemon", list(private._candidates()))
        with mock.patch.dict(os.environ, PATH="/nonexistent"), mock.patch.object(private, "_INSTALLED", ("/nonexistent/hwdaemon",)):
            with self.assertRaises(hwdaemon.NotRunning):
                private.executable()


if __name__ == "__main__":
    unittest.main()
