# SPDX-License-Identifier: MIT
"""Which listening users the package trusts, and where private daemons listen."""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import hwdaemon
from hwdaemon._core import private
from hwdaemon._core.peer import Folder, allows

from .support import PROGRAMS, clip

STRANGER = 65534
OPEN_TO_OTHERS = (0o775, 0o757, 0o777, 0o1777, 0o3770, 0o720, 0o702)
# Prints a line when it listens, and one with what each connection has sent.
LISTENER = """
import os, socket, sys, time
address, user = sys.argv[1], int(sys.argv[2])
os.setgroups([]); os.setgid(user); os.setuid(user)
with socket.socket(socket.AF_UNIX) as listener:
    while True:
        try:
            listener.bind("\\0" + address[1:] if address[0] == "@" else address)
            break
        except OSError:
            # A child that a killed daemon was starting holds the socket until it calls exec.
            time.sleep(0.01)
    listener.listen(8)
    print(flush=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            print(connection.recv(65536), flush=True)
"""


class RuleTests(unittest.TestCase):
    def trusts(self, peer, owner=None, *folders):
        return allows(peer, 1000, owner, [Folder(*folder) for folder in folders])

    def test_root_and_the_user_are_trusted_wherever_they_listen(self):
        for peer in (0, 1000):
            self.assertTrue(self.trusts(peer))
            self.assertTrue(self.trusts(peer, 1001, (1001, 0o777)))

    def test_others_are_not_trusted_without_a_file(self):
        for peer in (1, 999, 1001, STRANGER, 2**32 - 1):
            self.assertFalse(self.trusts(peer))
            self.assertFalse(self.trusts(peer, peer))

    def test_who_alone_can_replace_the_socket_is_trusted(self):
        self.assertTrue(self.trusts(998, 998, (0, 0o755), (998, 0o2750)))
        self.assertTrue(self.trusts(998, 998, (0, 0o755), (1000, 0o700), (0, 0o755)))
        for mode in OPEN_TO_OTHERS:
            self.assertFalse(self.trusts(998, 998, (0, 0o755), (998, mode)), oct(mode))
            self.assertFalse(self.trusts(998, 998, (0, mode), (998, 0o755)), oct(mode))
        self.assertFalse(self.trusts(998, 998, (0, 0o755), (997, 0o755)))
        self.assertFalse(self.trusts(998, 997, (0, 0o755), (998, 0o755)))


@unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
class StrangerTests(unittest.TestCase):
    def listen(self, address):
        listener = subprocess.Popen([sys.executable, "-c", LISTENER, address, str(STRANGER)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(listener.stdout.close)
        self.addCleanup(listener.wait)
        self.addCleanup(listener.kill)
        self.assertEqual(listener.stdout.readline(), "\n")
        return listener

    def refuse(self, listener, address):
        with self.assertRaisesRegex(hwdaemon.NotPermitted, f"user {STRANGER} listens on {address} and is not trusted"):
            hwdaemon.Daemon(address).info()
        self.assertEqual(listener.stdout.readline(), "b''\n")

    def test_nothing_is_sent_to_an_abstract_name_of_another_user(self):
        address = f"@hwdaemon-stranger-{os.getpid()}"
        self.refuse(self.listen(address), address)

    def test_nothing_is_sent_where_others_can_replace_the_socket(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as in_tmp, tempfile.TemporaryDirectory(dir="/run") as in_run:
            for folder, mode in ((in_tmp, 0o755), (in_run, 0o775)):
                os.chown(folder, STRANGER, STRANGER)
                os.chmod(folder, mode)
                self.refuse(self.listen(f"{folder}/socket"), f"{folder}/socket")
            os.chmod(in_run, 0o755)
            listener = self.listen(f"{in_run}/other")
            # The client sends its call; the listener does not answer.
            with self.assertRaises(hwdaemon.ConnectionClosed):
                hwdaemon.Daemon(f"{in_run}/other").info()
            self.assertIn("GetInfo", listener.stdout.readline())

    def test_the_name_of_a_killed_private_daemon_gets_nothing(self):
        path = f"{PROGRAMS}:{os.environ['PATH']}"
        with mock.patch.dict(os.environ, PATH=path, HWDAEMON_DEVICES="/dev/null", XDG_RUNTIME_DIR=""):
            started = hwdaemon.Daemon.start_private()
        self.addCleanup(started.close)
        self.assertTrue(started.address.startswith("@"))
        self.assertIn("org.hwdaemon", started.info().interfaces)
        started._process._process.send_signal(signal.SIGKILL)
        started._process._process.wait()
        listener = self.listen(started.address)
        self.refuse(listener, started.address)
        with self.assertRaises(hwdaemon.NotPermitted):
            hwdaemon.CompressionSession(64, 48, "nv12", daemon=started)
        self.assertEqual(listener.stdout.readline(), "b''\n")


class RuntimeFolderTests(unittest.TestCase):
    def start(self, folder):
        environment = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "HWDAEMON_DEVICES": "/dev/null", "XDG_RUNTIME_DIR": folder}
        with mock.patch.dict(os.environ, environment):
            started = hwdaemon.Daemon.start_private()
        self.addCleanup(started.close)
        return started

    def test_a_private_daemon_listens_there_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = self.start(folder), self.start(folder)
            self.assertEqual(Path(first.address).parent, Path(folder))
            self.assertNotEqual(first.address, second.address)
            with hwdaemon.CompressionSession(64, 48, "nv12", daemon=first) as session:
                session.encode(clip(64, 48, 1)[0], pts=0)
                self.assertEqual(len(session.finish()), 1)
            first.close()
            self.assertEqual(os.listdir(folder), [Path(second.address).name])
            # The client removes the socket of a daemon that was killed.
            second._process._process.kill()
            second._process._process.wait()
            second.close()
            self.assertEqual(os.listdir(folder), [])

    def test_it_listens_elsewhere_where_others_can_enter_the_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "file").touch()
            for mode in (0o750, 0o705, 0o710, 0o701, 0o1777):
                os.chmod(folder, mode)
                self.assertTrue(self.address(folder).startswith("@"), oct(mode))
            os.chmod(folder, 0o700)
            for path in ("", ".", "/nonexistent", f"{folder}/file", folder + "/." * 50):
                self.assertTrue(self.address(path).startswith("@"), path)
            self.assertEqual(os.listdir(folder), ["file"])

    def address(self, folder):
        with mock.patch.dict(os.environ, XDG_RUNTIME_DIR=folder):
            listener, address = private._listen()
        with listener, socket.socket(socket.AF_UNIX) as client:
            client.connect("\0" + address[1:] if address.startswith("@") else address)
        return address


if __name__ == "__main__":
    unittest.main()
