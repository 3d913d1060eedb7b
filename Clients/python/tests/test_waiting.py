# SPDX-License-Identifier: MIT
"""Sessions that wait for a slot."""
import threading
import time
import unittest

import hwdaemon
from hwdaemon import CompressionSession, DecompressionSession, StatusError, TransferSession, aio

from .support import clip, daemon


def full():
    """A daemon with one place for a session."""
    return daemon("--max-sessions", "1")


class WaitingTests(unittest.TestCase):
    def test_one_gets_the_place_of_a_session_that_ends(self):
        creates = [
            lambda wait: CompressionSession(64, 48, "nv12", daemon=full(), max_wait=wait),
            lambda wait: TransferSession(64, 48, "nv12", "ab24", device="cpu", daemon=full(), max_wait=wait),
        ]
        with CompressionSession(64, 48, "nv12", daemon=full(), max_wait=60) as session:
            record = session.prepare()
        creates.append(lambda wait: DecompressionSession(record, daemon=full(), max_wait=wait))
        for create in creates:
            first = CompressionSession(64, 48, "nv12", daemon=full(), max_wait=60)
            timer = threading.Timer(0.5, first.close)
            start = time.monotonic()
            timer.start()
            with create(60):
                self.assertGreaterEqual(time.monotonic() - start, 0.5)
            timer.join()

    def test_one_is_refused_at_once_or_after_its_time(self):
        with CompressionSession(64, 48, "nv12", daemon=full(), max_wait=60):
            for wait in (0, 0.3):
                start = time.monotonic()
                with self.assertRaises(StatusError) as refused:
                    CompressionSession(64, 48, "nv12", daemon=full(), max_wait=wait)
                self.assertEqual(refused.exception.name, "VideoEncoderNotAvailableNow")
                self.assertIn("MaxSessions", str(refused.exception))
                self.assertEqual("(max_wait_ms)" in str(refused.exception), wait > 0)
                self.assertGreaterEqual(time.monotonic() - start, wait)

    def test_a_live_session_does_not_wait(self):
        with CompressionSession(64, 48, "nv12", daemon=full(), max_wait=60):
            with self.assertRaises(StatusError) as refused:
                CompressionSession(64, 48, "nv12", daemon=full(), max_wait=0.3, RealTime=True)
            self.assertNotIn("(max_wait_ms)", str(refused.exception))

    def test_the_time_has_bounds(self):
        for wait in (-0.001, 3600.001, float("nan"), float("inf")):
            with self.assertRaises(hwdaemon.ParameterError, msg=wait):
                CompressionSession(64, 48, "nv12", daemon=full(), max_wait=wait)


class AsyncWaitingTests(unittest.IsolatedAsyncioTestCase):
    async def test_one_gets_the_place_of_a_session_that_ends(self):
        first = CompressionSession(64, 48, "nv12", daemon=full(), max_wait=60)
        timer = threading.Timer(0.5, first.close)
        timer.start()
        async with aio.CompressionSession(64, 48, "nv12", daemon=full(), max_wait=60) as session:
            await session.encode(clip(64, 48, 1)[0], pts=0)
            self.assertEqual(len(await session.finish()), 1)
        timer.join()


if __name__ == "__main__":
    unittest.main()
