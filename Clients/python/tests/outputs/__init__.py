# SPDX-License-Identifier: MIT
"""What tests of outputs share: a coded clip whose frames carry their number."""
import os
import signal
import tempfile
import unittest

import hwdaemon

from ..support import daemon

#: Seconds for a picture; tests that pass wait much shorter.
LONG = 60


class OutputCase(unittest.TestCase):
    """Has a clip of 150 pictures at 25 a second, each with its number as bars."""

    COUNT = 150

    @classmethod
    def setUpClass(cls):
        import numpy
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = os.path.join(cls.folder.name, "numbers.mov")
        pictures = numpy.zeros((cls.COUNT, 32, 128, 3), numpy.uint8)
        for number in range(cls.COUNT):
            for bit in range(8):
                pictures[number, :, 16 * bit : 16 * bit + 16] = 255 * (number >> bit & 1)
        hwdaemon.write(cls.path, pictures, 25, MaxKeyFrameInterval=40, Quality=0.8, daemon=daemon())

    def open(self, path=None, **options):
        output = hwdaemon.VideoOutput.open(path or self.path, clock="manual", daemon=daemon(), **options)
        self.addCleanup(output.close)
        return output

    def number(self, frame):
        samples = frame.planes[0]
        # Linear light, or luma of video range.
        white = samples[..., 1] > 0.2 if frame.pixel_format == "AB4H" else samples > 128
        return sum(int(white[16, 16 * bit + 8]) << bit for bit in range(8))

    def kill_workers(self):
        sessions = [session for session in daemon().sessions() if session.pid]
        self.assertTrue(sessions)
        for session in sessions:
            os.kill(session.pid, signal.SIGKILL)
