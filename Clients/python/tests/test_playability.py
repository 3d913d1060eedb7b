# SPDX-License-Identifier: MIT
"""The figures and answers of Tests/OutputTests/Timing/PlayabilityTests.swift."""
from __future__ import annotations

import math
import unittest
from typing import Any, List

import hwdaemon
from hwdaemon._core.playability import decodes_per_frame


class PlayabilityTests(unittest.TestCase):
    def answers(self, decoded: float, levels: Any = (), group: int = 60, rate: float = 60) -> List[str]:
        found = hwdaemon.playability(3840, 2160, rate, group, decoded, bit_depth=10, level_rates=levels)
        modes = [found.forward, found.forward_2x, found.reverse, found.reverse_2x, found.scrubbing]
        return [mode.answer if mode.level is None else f"{mode.answer} {mode.level}" for mode in modes]

    def test_a_group_is_decoded_again_for_each_part(self) -> None:
        for buffer, expected in ((60, 1.0), (30, 1.5), (15, 2.5), (8, 256 / 60), (4, 8.0)):
            self.assertAlmostEqual(decodes_per_frame(60, buffer), expected)

    def test_figures(self) -> None:
        found = hwdaemon.playability(3840, 2160, 60, 60, 300, bit_depth=10)
        self.assertEqual((found.reverse_pictures, found.is_scaled), (20, False))
        self.assertEqual((found.reverse.decodes_per_frame, found.reverse.needed), (3.5, 210))
        self.assertEqual((found.reverse_2x.needed, found.forward_2x.needed, found.scrubbing.needed), (420, 120, 600))

    def test_answers(self) -> None:
        every, key, no = "every frame", "key frames", "no"
        self.assertEqual(self.answers(600), [every] * 5)
        self.assertEqual(self.answers(599), [every] * 4 + [key])
        self.assertEqual(self.answers(209), [every, every, key, key, key])
        self.assertEqual(self.answers(119), [every, no, key, key, key])
        self.assertEqual(self.answers(9), [no, no, key, key, no])
        self.assertEqual(self.answers(0.5), [no] * 5)
        self.assertEqual(self.answers(30, group=4), [key] * 5)
        self.assertEqual(self.answers(100, [15, 30, 60]), [every, "levels 1", "levels 1", "levels 0", key])
        self.assertEqual(self.answers(19, [15, 30, 60]), ["levels 0", no, key, key, key])

    def test_another_size_is_scaled(self) -> None:
        found = hwdaemon.playability(3840, 2160, 60, 60, 240, measured_size=(1920, 1080))
        self.assertEqual((found.is_scaled, found.frames_per_second, found.forward.answer), (True, 60, "every frame"))

    def test_impossible_figures_are_refused(self) -> None:
        for wrong in (0, -1, math.nan, math.inf):
            with self.assertRaises(hwdaemon.ParameterError):
                hwdaemon.playability(3840, 2160, wrong, 60, 60)
            with self.assertRaises(hwdaemon.ParameterError):
                hwdaemon.playability(3840, 2160, 60, 60, wrong)


if __name__ == "__main__":
    unittest.main()
