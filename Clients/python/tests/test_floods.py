# SPDX-License-Identifier: MIT
"""Workers that send without end, or read nothing: no call outlasts its timeout, and nothing is lost."""
import itertools
import select
import struct
import threading
import unittest
from unittest import mock

import hwdaemon
from hwdaemon import CompressionSession
from hwdaemon._core.decompression import MAX_REPORTS, DecompressionLink
from hwdaemon._core.link import SLICE

from .support import FakeWorker
from .test_hostile import COMPRESSION, FRAME


class FloodTests(unittest.TestCase):
    def test_a_worker_that_sends_without_end_does_not_hold_a_call(self):
        def worker(peer):
            peer.receive()
            message = struct.pack("<II", 1, 65)
            while True:
                first = peer.sent + 1
                peer.sent += 1000
                peer.socket.sendall(b"".join(
                    message + struct.pack("<II", 0, number) + b"\1" for number in range(first, first + 1000)))

        fake = FakeWorker(COMPRESSION, worker)
        session = CompressionSession(64, 48, "nv12", daemon=fake.daemon, timeout=5)
        session.timeout = 0.3
        raised = []

        def ask():
            for _ in range(3):
                try:
                    session["Quality"]
                except hwdaemon.Timeout as error:
                    raised.append(error)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(60)
        self.assertEqual(len(raised), 3)
        session.close(timeout=0.3)
        fake.close()

    def test_messages_are_handled_for_a_bounded_time_and_none_is_lost(self):
        count = 500

        def worker(peer):
            for number in range(count):
                peer.send(65, struct.pack("<I", number))
            peer.receive()

        fake = FakeWorker(COMPRESSION, worker)
        with CompressionSession(64, 48, "nv12", daemon=fake.daemon, timeout=5) as session:
            descriptor, link = session.fileno(), session._link
            handled, handle = [], link.handle
            link.handle = lambda message: (handled.append(message.payload), handle(message))
            clock = itertools.count()
            # Each message seems to take a quarter of the time.
            with mock.patch("hwdaemon._core.link.time.monotonic", lambda: next(clock) * SLICE / 4):
                while len(handled) < count:
                    before = len(handled)
                    self.assertTrue(select.select([descriptor], [], [], 10)[0], "what is left is an event")
                    session._advance()
                    self.assertLessEqual(len(handled) - before, 5)
            self.assertEqual(handled, [struct.pack("<I", number) for number in range(count)])
            session.close(timeout=0.1)
        fake.close()

    def test_a_pool_whose_registration_timed_out_is_registered(self):
        reads, found = threading.Event(), []

        def worker(peer):
            reads.wait(10)
            while True:
                opcode, payload, sequence = peer.receive()
                if opcode != 1:
                    found.append((opcode, struct.unpack_from("<I", payload, 24 if opcode == 6 else 0)[0] if payload else None))
                if opcode == 3:
                    found.append(peer.sizes)
                    peer.reply(sequence)
                if opcode == 6:
                    peer.send(67, struct.pack("<Q", 1))

        fake = FakeWorker(COMPRESSION, worker)
        session = CompressionSession(64, 48, "nv12", daemon=fake.daemon, timeout=5)
        session.timeout = 0.02
        for _ in range(8):
            with self.assertRaises(hwdaemon.Timeout):
                session.set(X265Params="x" * 60000)
        with self.assertRaises(hwdaemon.Timeout):
            session.encode(FRAME, pts=0)
        session.timeout = 10
        size = session._link._slots.memory.size
        reads.set()
        self.assertEqual(session.encode(FRAME, pts=0), 1)
        while session.frames_in_flight:
            list(session.packets(timeout=0.1))
        self.assertEqual(found, [(3, 1), [size], (6, 1)])
        session.close(timeout=0.1)
        fake.close()

    def test_reports_that_no_one_asks_for_are_bounded(self):
        link = DecompressionLink()
        link._packets_sent = 1 << 20
        for number in range(1, MAX_REPORTS + 10):
            link._take_report(number, 0, 1, "x" * 60000)
        reports = link.take_reports()
        self.assertEqual((len(reports), reports[-1].frame, len(reports[0].reason)), (MAX_REPORTS, MAX_REPORTS + 9, 1024))
        self.assertEqual(link.take_reports(), [])


if __name__ == "__main__":
    unittest.main()
