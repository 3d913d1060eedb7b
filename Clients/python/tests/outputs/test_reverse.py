# SPDX-License-Identifier: MIT
"""Play in reverse and in loops."""
import importlib.util
import os
import unittest
import unittest.mock

import hwdaemon
import hwdaemon._output.engine

from . import LONG, OutputCase


@unittest.skipUnless(importlib.util.find_spec("av") and importlib.util.find_spec("numpy"), "needs PyAV and numpy")
class ReverseTests(OutputCase):
    def play_back(self, output, first, refreshes=400):
        shown = []
        for refresh in range(first, first + refreshes):
            frame = output.copy_frame(refresh / 60, LONG)
            shown += [self.number(frame)] if frame is not None else []
            if output.reason == "before start":
                break
        return shown

    def test_reverse(self):
        # Parts of five pictures and of whole groups.
        for size in (None, 10 * 8192):
            with self.subTest(size=size), unittest.mock.patch.object(
                    hwdaemon._output.engine, "REVERSE_BYTES", size or hwdaemon._output.engine.REVERSE_BYTES), self.open() as output:
                output.seek(2.6)
                output.play(-1)
                self.assertEqual(output.epoch, 2)
                self.assertEqual(self.play_back(output, 0), list(range(65, -1, -1)))
                self.assertEqual(output.reason, "before start")
                # And forward again.
                output.play(1)
                self.assertEqual(self.number(output.copy_frame(10, LONG)), 0)
                self.assertEqual(self.number(output.copy_frame(11, LONG)), 25)
                output.play(-2)
                self.assertEqual(self.number(output.copy_frame(11, LONG)), 25)
                self.assertEqual(self.play_back(output, 661, 10), list(range(24, 15, -1)))
                self.assertEqual(output.counts.late, 0)

    def test_reverse_from_the_end(self):
        with self.open(format=None) as output:
            output.play(-1)
            output.seek(60)
            self.assertEqual(self.play_back(output, 0), list(range(149, -1, -1)))

    def test_reverse_with_few_descriptors(self):
        with self.open(format=None) as output:
            output.seek(6)
            output.play(-1)
            before = len(os.listdir("/proc/self/fd"))
            # The whole group waits, and then all of the clip.
            kept = [output.copy_frame(0, LONG)]
            shown, most = [self.number(kept[0])], 0
            for refresh in range(1, 400):
                frame = output.copy_frame(refresh / 60, LONG)
                most = max(most, len(os.listdir("/proc/self/fd")))
                if frame is not None:
                    kept.append(frame)
                    shown.append(self.number(frame))
                if output.reason == "before start":
                    break
            self.assertEqual(shown, list(range(149, -1, -1)))
            # Memory is not used again while a frame refers to it.
            self.assertEqual([self.number(frame) for frame in kept], shown)
            self.assertLess(most - before, 32)

    def test_reverse_of_larger_pictures(self):
        engine = hwdaemon._output.engine.OutputEngine
        collected, all_copies = [], []

        def complete(self, run):
            collected.append(self._collected.size)
            all_copies.append(collected[-1] + self._waiting_bytes())
            return original(self, run)

        original = engine._complete
        # The session was created for pictures of one byte; five of those that come fit a part.
        with unittest.mock.patch.object(hwdaemon._output.engine, "REVERSE_BYTES", 10 * 8192), unittest.mock.patch.object(
                engine, "_picture_bytes", lambda self: 1), unittest.mock.patch.object(engine, "_complete", complete):
            with self.open(format=None) as output:
                output.seek(3)
                output.play(-1)
                self.assertEqual(self.play_back(output, 0), list(range(75, -1, -1)))
        self.assertEqual(max(collected), 5 * 8192)
        self.assertLessEqual(max(all_copies), 10 * 8192)

    def test_reverse_with_a_killed_worker(self):
        with self.open(format=None) as output:
            output.play(-1)
            output.seek(4)
            first = self.play_back(output, 0, 37)
            self.kill_workers()
            self.assertEqual(first + self.play_back(output, 37), list(range(100, -1, -1)))
            self.assertLessEqual(output.counts.restarts, 1)

    def test_a_loop(self):
        for rate in (1, -1):
            with self.subTest(rate=rate), self.open(format=None) as output:
                output.loop = True
                output.play(rate)
                # Within a picture: at its very time, the tolerance gives the one before in reverse.
                output.seek(5.02)
                shown, epochs = [], []
                for refresh in range(25 * 15):
                    frame = output.copy_frame(refresh / 25, LONG)
                    if frame is None:
                        self.assertEqual((output.reason, rate), ("same", -1))
                        continue
                    shown.append(self.number(frame))
                    epochs.append(frame.epoch)
                    self.assertAlmostEqual(frame.display_time, shown[-1] / 25, delta=1e-9)
                self.assertEqual(shown, [(125 + rate * step) % 150 for step in range(len(shown))])
                self.assertGreaterEqual(len(shown), 25 * 15 - 1)
                self.assertEqual(sorted(set(epochs)), list(range(epochs[0], epochs[0] + (4 if rate > 0 else 3))))
                self.assertLess(abs(output.item_time(0 if rate < 0 else 15) - 5), 5)
                # Without it the lap is the last one.
                output.loop = False
                for refresh in range(400):
                    output.copy_frame(15 + refresh / 25, LONG)
                    if output.reason in ("after end", "before start"):
                        break
                self.assertEqual(output.reason, "after end" if rate > 0 else "before start")

    def test_a_loop_without_a_picture(self):
        import av
        path = os.path.join(self.folder.name, "nothing.mov")
        with open(self.path, "rb") as file:
            data = bytearray(file.read())
        with av.open(self.path) as file:
            positions = [packet.pos for packet in file.demux(video=0) if packet.size]
        for position in positions:
            # Table 7-1: a reserved type, which decoders ignore.
            data[position + 4] = 47 << 1
        with open(path, "wb") as file:
            file.write(data)
        for rate, reason in ((1, "after end"), (-1, "before start")):
            with self.subTest(rate=rate), self.open(path, format=None) as output:
                output.loop = True
                output.seek(2)
                output.play(rate)
                self.assertIsNone(output.copy_frame(0, LONG))
                self.assertEqual(output.reason, reason)
                self.assertEqual(output.cut_short, "the file has no picture that can be decoded")


if __name__ == "__main__":
    unittest.main()
