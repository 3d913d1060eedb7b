# SPDX-License-Identifier: MIT
"""Frames by display time, of coded clips whose frames carry their number."""
import collections
import importlib.util
import os
import random
import threading
import unittest
import unittest.mock
from fractions import Fraction

import hwdaemon
import hwdaemon._output.engine

from .outputs import LONG, OutputCase
from .support import daemon, ffmpeg


@unittest.skipUnless(importlib.util.find_spec("av") and importlib.util.find_spec("numpy"), "needs PyAV and numpy")
class OutputTests(OutputCase):
    def test_25_at_60(self):
        with self.open() as output:
            self.assertIsNone(output.reason)
            output.play()
            shown, times = [], []
            for refresh in range(240):
                frame = output.copy_frame(refresh / 60, LONG)
                if frame is None:
                    self.assertEqual(output.reason, "same")
                    shown.append(shown[-1])
                    continue
                number = self.number(frame)
                self.assertEqual((frame.pixel_format, frame.width, frame.height), ("AB4H", 128, 32))
                self.assertAlmostEqual(frame.display_time, number / 25, delta=1e-9)
                self.assertEqual(frame.time * frame.time_base, Fraction(number, 25))
                self.assertEqual(frame.epoch, 0)
                shown.append(number)
                times.append(frame.display_time)
            # 12 refreshes for 5 frames.
            self.assertEqual(shown, [int(refresh * 25 / 60 + 0.0025) for refresh in range(240)])
            self.assertEqual(len(set(times)), len(times))
            counts = output.counts
            self.assertEqual((counts.shown, counts.late, counts.dropped, counts.restarts), (100, 0, 0, 0))
            # The next frame may be there already.
            self.assertLessEqual(counts.converted, 102)

    def test_random_seeks(self):
        choose = random.Random(47)
        with self.open() as output:
            output.play()
            host, seen = 0.0, set()
            for seek in range(1, 51):
                number = choose.randrange(self.COUNT - 3)
                output.seek(number / 25 + choose.choice((0, 0.013, 0.039)))
                self.assertEqual(output.epoch, seek)
                last = None
                for refresh in range(5):
                    frame = output.copy_frame(host, LONG)
                    host += 1 / 60
                    if frame is None:
                        self.assertEqual(output.reason, "same")
                        continue
                    self.assertEqual(frame.epoch, seek)
                    shown = self.number(frame)
                    self.assertAlmostEqual(frame.display_time, shown / 25, delta=1e-9)
                    self.assertTrue(last is None or shown > last)
                    if last is None:
                        self.assertEqual(shown, number)
                    self.assertNotIn((seek, shown), seen)
                    seen.add((seek, shown))
                    last = shown
                self.assertIsNotNone(last)
            self.assertEqual(output.counts.late, 0)

    def test_seeks_to_key_frames(self):
        with self.open(format=None) as output:
            for time, options, number in (
                    (2.5, {"key": True}, 40), (1.6, {"key": True}, 40), (1.5, {"key": True}, 0), (2.5, {"tolerance": 1}, 40),
                    (3.1, {"tolerance": 0.2}, 80), (2.5, {"tolerance": 0.3}, 62), (0, {"tolerance": 1}, 0)):
                with self.subTest(time=time, options=options):
                    output.seek(time, **options)
                    frame = output.copy_frame(0, LONG)
                    self.assertEqual(self.number(frame), number)
                    self.assertAlmostEqual(output.item_time(0), time if number == 62 else number / 25)

    def test_coded_cadences(self):
        for display, expected in ((60, {2: 90, 3: 60}), (Fraction(60000, 1001), {2: 90, 3: 60}), (144, {5: 36, 6: 114})):
            with self.subTest(display=display), self.open(format=None) as output:
                output.play()
                shown = []
                for refresh in range(int(6 * display)):
                    frame = output.copy_frame(float(refresh / display), LONG)
                    shown.append(self.number(frame) if frame is not None else shown[-1])
                found = collections.Counter(collections.Counter(shown).values())
                self.assertEqual(sorted(set(shown)), list(range(self.COUNT)))
                difference = sum(abs(found[stay] - expected.get(stay, 0)) for stay in {*found, *expected})
                self.assertLessEqual(difference, 5, f"{dict(found)}, not {expected}")

    def test_pause(self):
        with self.open() as output:
            output.play()
            self.assertEqual(self.number(output.copy_frame(0, LONG)), 0)
            self.assertEqual(self.number(output.copy_frame(0.4, LONG)), 10)
            output.pause()
            for host in (0.4, 1, 5):
                self.assertIsNone(output.copy_frame(host, LONG))
                self.assertEqual(output.reason, "same")
            self.assertAlmostEqual(output.item_time(), 0.4)
            output.seek(2)
            self.assertAlmostEqual(output.copy_frame(5, LONG).display_time, 2)
            self.assertIsNone(output.copy_frame(9, LONG))
            output.play(2)
            self.assertEqual(output.rate, 2)
            self.assertAlmostEqual(output.copy_frame(9.1, LONG).display_time, 2.2)
            # A clock that jumps back.
            self.assertIsNone(output.copy_frame(9, LONG))
            self.assertEqual(output.reason, "same")

    def test_the_end(self):
        with self.open() as output:
            output.play()
            output.seek(5.8)
            shown = []
            for refresh in range(60):
                frame = output.copy_frame(refresh / 60, LONG)
                shown += [self.number(frame)] if frame is not None else []
            self.assertEqual(shown, [145, 146, 147, 148, 149])
            self.assertEqual(output.reason, "after end")
            output.seek(60)
            self.assertIsNone(output.copy_frame(1, LONG))
            self.assertEqual(output.reason, "after end")
            output.seek(-3)
            self.assertEqual(self.number(output.copy_frame(2, LONG)), 0)
        with self.assertRaises(hwdaemon.SessionEnded):
            output.copy_frame(3)
        # The first seek may be behind the end, too.
        with self.open() as output:
            output.seek(60)
            self.assertIsNone(output.copy_frame(0, LONG))
            self.assertEqual(output.reason, "after end")

    def test_nothing_waits_unless_it_is_asked_to(self):
        with self.open() as output:
            output.play()
            output.seek(3)
            self.assertIsNone(output.copy_frame(0))
            self.assertEqual(output.reason, "seeking")
            while output.copy_frame(0) is None:
                threading.Event().wait(0.01)
            self.assertIsNone(output.reason)
            # Time has stood meanwhile.
            self.assertAlmostEqual(output.item_time(0), 3)

    def test_a_killed_worker(self):
        with self.open(format=None) as output:
            output.play()
            shown = []
            for refresh in range(180):
                frame = output.copy_frame(refresh / 60, LONG)
                shown += [self.number(frame)] if frame is not None else []
                if refresh in (37, 100):
                    self.kill_workers()
            self.assertEqual(shown, list(range(75)))
            self.assertEqual((output.counts.restarts, output.counts.shown), (2, 75))

    def test_a_killed_converter(self):
        with self.open() as output:
            output.play()
            self.assertEqual(self.number(output.copy_frame(0, LONG)), 0)
            self.kill_workers()
            shown = []
            for refresh in range(1, 120):
                frame = output.copy_frame(refresh / 60, LONG)
                shown += [self.number(frame)] if frame is not None else []
            self.assertEqual(shown, list(range(1, 50)))
            self.assertGreaterEqual(output.counts.restarts, 2)

    def test_workers_that_die_again_and_again(self):
        with self.open(format=None) as output:
            output.play()
            with self.assertRaises(hwdaemon.SessionEnded):
                for refresh in range(300):
                    output.copy_frame(refresh / 25, LONG)
                    if refresh % 20 == 0:
                        self.kill_workers()
            self.assertEqual(output.counts.restarts, 3)

    def test_a_slow_decoder(self):
        now, ready, done = [0.0], [-1.0], threading.Event()

        class Slow(hwdaemon.DecompressionSession):
            def send(self, *arguments, **options):
                # 18 packets a second of the output's clock, for 25 pictures.
                while now[0] < ready[0] and not done.is_set():
                    threading.Event().wait(0.001)
                ready[0] = ready[0] if ready[0] < 0 else max(ready[0], now[0]) + 1 / 18
                return super().send(*arguments, **options)

        with unittest.mock.patch.object(hwdaemon._output.engine, "DecompressionSession", Slow):
            output = self.open()
        # Before the output is closed.
        self.addCleanup(done.set)
        output.play()
        self.assertEqual(self.number(output.copy_frame(0, LONG)), 0)
        # The decoder is slow from now on.
        ready[0], last = 0, 0
        for refresh in range(1, 240):
            now[0] = refresh / 60
            threading.Event().wait(0.02)
            frame = output.copy_frame(now[0])
            if frame is not None:
                self.assertGreater(self.number(frame), last)
                self.assertLessEqual(frame.display_time, refresh / 60 + 0.0002)
                last = self.number(frame)
        done.set()
        counts = output.counts
        self.assertGreater(counts.late, 0)
        self.assertGreater(counts.skipped, 0)
        # How many depends on how busy the machine is.
        self.assertGreater(counts.shown, 0, counts)

    def test_other_files_and_arguments(self):
        path = os.path.join(self.folder.name, "a.mp4")
        ffmpeg("-y", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=10", "-frames:v", "4", "-c:v", "mpeg4", path)
        with self.assertRaisesRegex(ValueError, "not HEVC"):
            self.open(path)
        stream = os.path.join(self.folder.name, "a.hevc")
        ffmpeg("-y", "-i", self.path, "-c", "copy", stream)
        with self.assertRaisesRegex(hwdaemon.ParameterError, "no time"):
            self.open(stream)
        with self.assertRaisesRegex(hwdaemon.ParameterError, "clock"):
            hwdaemon.VideoOutput.open(self.path, clock="wall", daemon=daemon())
        with self.assertRaisesRegex(hwdaemon.ParameterError, "unknown"):
            self.open(format="rgb565")
        with self.open() as output:
            with self.assertRaisesRegex(hwdaemon.ParameterError, "rate"):
                output.play(float("nan"))
            with self.assertRaisesRegex(hwdaemon.ParameterError, "tolerance"):
                output.seek(1, tolerance=-1)
            output.play(5)
            self.assertEqual(output.rate, 2)
            output.play(-5)
            self.assertEqual(output.rate, -2)
        with self.assertRaisesRegex(hwdaemon.ParameterError, "interval"):
            self.open(display_interval=0)

    def test_a_file_that_ends_early(self):
        import av
        path = os.path.join(self.folder.name, "cut.mkv")
        ffmpeg("-y", "-i", self.path, "-c", "copy", path)
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data[: len(data) // 2])
        with av.open(path) as file:
            times = [packet.pts for packet in file.demux(video=0) if packet.size]
        with self.open(path) as output:
            output.play(2)
            shown = []
            for refresh in range(400):
                frame = output.copy_frame(refresh / 60, LONG)
                shown += [self.number(frame)] if frame is not None else []
                if output.reason == "after end":
                    break
            self.assertEqual(output.reason, "after end")
            # At twice the rate 60 Hz show every picture; the cut leaves out some that are shown before the last one.
            self.assertEqual(shown, sorted(time // 40 for time in times))
            self.assertTrue(10 < len(shown) < self.COUNT)

    def test_the_host_s_clock(self):
        import time
        with hwdaemon.VideoOutput.open(self.path, daemon=daemon()) as output:
            output.play()
            first = output.copy_frame(wait=LONG)
            self.assertEqual(self.number(first), 0)
            self.assertLess(output.item_time(time.monotonic()), 60)
            later = output.copy_frame(time.monotonic() + 1, wait=LONG)
            self.assertGreaterEqual(self.number(later), 25)


if __name__ == "__main__":
    unittest.main()
