# SPDX-License-Identifier: MIT
"""Which frame is shown when, without sessions."""
import collections
import random
import unittest
from fractions import Fraction

from hwdaemon._output.playback import Playback
from hwdaemon._output.reverse import parts
from hwdaemon._output.timing import ONE, RefreshGrid


class TimingTests(unittest.TestCase):
    """The choice of frames, without sessions: cadences of the table in the contract, computed by exact fractions."""

    def cadence(self, rate, display, seconds=60, speed=1, wobble=None, grid=None):
        """How many frames stay for how many refreshes, and how many are left out."""
        playback = Playback(1 / (rate * 1000), 0, grid)
        count = int(seconds * rate * abs(speed)) + 1
        if speed < 0:
            playback.play(round(speed * ONE), 0)
            playback.measure(count * 1000)
            playback.seek(playback.nanoseconds((count - 1) * 1000))
        else:
            playback.play(round(speed * ONE), 0)
        # As much as is decoded ahead: the queue is searched in order.
        numbers = iter(range(count) if speed > 0 else range(count - 1, -1, -1))
        shown = []
        for refresh in range(int(seconds * display)):
            while playback.waiting < 16:
                number = next(numbers, None)
                if number is None:
                    playback.complete()
                    break
                playback.add(number * 1000, 1000, number)
            host = int(refresh * 1_000_000_000 / display) + (wobble() if wobble else 0)
            frame, reason = playback.frame(host, False)
            if frame is None:
                self.assertIn(reason, ("same", "before start") if shown else ())
            shown.append(frame.shown if frame is not None else shown[-1])
        self.assertEqual(shown, sorted(shown, reverse=speed < 0))
        self.assertEqual(playback.counts.late, 0)
        return collections.Counter(collections.Counter(shown).values()), count - 1 - len(set(shown)), shown

    #: Of each rate at 60, 59.94 and 144 Hz for 60 s: how many frames stay for how many refreshes. The last frame is cut by the end.
    CADENCES = {
        "23.976": ({2: 715, 3: 723}, {2: 719, 3: 719}, {6: 1429, 7: 9}),
        "24": ({2: 719, 3: 720}, {2: 723, 3: 716}, {6: 1439}),
        "25": ({2: 899, 3: 600}, {2: 902, 3: 597}, {5: 359, 6: 1140}),
        "29.97": ({2: 1793, 3: 4}, {2: 1798}, {4: 350, 5: 1447}),
        "30": ({2: 1799}, {1: 3, 2: 1796}, {4: 359, 5: 1440}),
        "50": ({1: 2399, 2: 600}, {1: 2402, 2: 597}, {2: 359, 3: 2640}),
        "59.94": ({1: 3591, 2: 4}, {1: 3596}, {2: 2148, 3: 1447}),
        "60": ({1: 3599}, {1: 3597}, {2: 2159, 3: 1440}),
        "120": ({1: 3600}, {1: 3597}, {1: 5759, 2: 1440}),
    }

    def fraction(self, name):
        return {"23.976": Fraction(24000, 1001), "29.97": Fraction(30000, 1001), "59.94": Fraction(60000, 1001)}.get(name) or Fraction(name)

    def test_cadences(self):
        for name, columns in self.CADENCES.items():
            for display, expected in zip(("60", "59.94", "144"), columns):
                with self.subTest(stream=name, display=display):
                    found, _, shown = self.cadence(self.fraction(name), self.fraction(display))
                    # Rates that drift: a refresh more or less on two frames, and the last one, which is cut.
                    difference = sum(abs(found[stay] - expected.get(stay, 0)) for stay in {*found, *expected})
                    self.assertLessEqual(difference, 5, f"{dict(found)}, not {expected}")
                    self.assertEqual(len(shown), int(60 * self.fraction(display)))

    def test_other_rates(self):
        for stream, speed, expected in (
                (30, 0.5, {4: 150}), (30, 2, {1: 600}), (24, 2, {1: 360, 2: 120}), (30, -0.5, {4: 150}), (30, -1, {2: 300}),
                (30, -2, {1: 600}), (24, -1, {2: 120, 3: 119}), (24, -2, {1: 360, 2: 120})):
            with self.subTest(stream=stream, speed=speed):
                found, dropped, _ = self.cadence(Fraction(stream), Fraction(60), seconds=10, speed=speed)
                difference = sum(abs(found[stay] - expected.get(stay, 0)) for stay in {*found, *expected})
                self.assertLessEqual(difference, 4, f"{dict(found)}, not {expected}")
                self.assertLessEqual(dropped, 1)
        runs, dropped, _ = self.cadence(Fraction(60), Fraction(60), seconds=10, speed=2)
        self.assertEqual((runs, dropped), ({1: 600}, 600))

    def test_a_wobble_on_the_grid(self):
        choose = random.Random(4)
        wobble = lambda: choose.randrange(-1_000_000, 1_000_001)
        found, dropped, _ = self.cadence(Fraction(60), Fraction(60), wobble=wobble, grid=RefreshGrid(1 / 60))
        self.assertGreaterEqual(found[1], 3590, found)
        self.assertLessEqual(dropped, 1)
        # Without it, the same times leave out hundreds.
        self.assertGreater(self.cadence(Fraction(60), Fraction(60), wobble=wobble)[1], 200)

    def test_the_tolerance_is_that_of_the_other_clients(self):
        # The second frame is 0.333 ms behind the second refresh.
        for grid, expected in ((None, (None, "same")), (RefreshGrid(1 / 60), 1)):
            playback = Playback(Fraction(1, 100_000), 0, grid)
            playback.add(0, 1700, 0)
            playback.add(1700, 1700, 1)
            playback.play(ONE, 0)
            self.assertEqual(playback.frame(0, False)[0].shown, 0)
            answer = playback.frame(16_666_667, False)
            self.assertEqual(answer if grid is None else answer[0].shown, expected)

    def test_parts_of_a_group(self):
        # Two B pictures between others; the group behind begins at 12, and its leading pictures 10 and 11 belong to this one.
        times = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8, 12, 10, 11]
        found = parts(times, 0, 12, 5)
        self.assertEqual([part.times for part in found], [(7, 8, 9, 10, 11), (2, 3, 4, 5, 6), (0, 1)])
        self.assertEqual([part.packets for part in found], [13, 7, 3])
        self.assertEqual(parts([0, None, 1], 0, 1, 4), [((0,), 1)])
        self.assertEqual(parts([], 0, 5, 4), [])

    def test_what_is_left_out(self):
        playback = Playback(Fraction(1, 25), 0)
        for number in range(3):
            playback.add(number, 1, number)
        playback.map.set_rate(ONE, 0)
        host = [number * 40_000_000 for number in range(20)]
        self.assertEqual(playback.frame(host[0], False)[0].shown, 0)
        self.assertEqual(playback.frame(host[1], False)[0].shown, 1)
        for number in range(3, 8):
            playback.skip(number)
        self.assertEqual(playback.frame(host[2], False)[0].shown, 2)
        self.assertEqual(playback.frame(host[3], False), (None, "not decoded yet"))
        playback.add(8, 1, 8)
        # The frame before the gap stays through it.
        self.assertEqual(playback.frame(host[4], False), (None, "same"))
        self.assertEqual(playback.frame(host[9], False), (None, "not decoded yet"))
        playback.add(9, 1, 9)
        self.assertEqual(playback.frame(host[9], False)[0].shown, 9)
        self.assertEqual((playback.counts.skipped, playback.counts.dropped), (5, 1))


if __name__ == "__main__":
    unittest.main()
