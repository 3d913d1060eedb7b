# SPDX-License-Identifier: MIT
"""How a video can be played on a machine whose decoder's speed is known."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence, Tuple

from ..errors import refused

#: Pictures a second that play shows at least: below, a slow machine would show nothing.
LEAST_RATE = 10.0


@dataclass(frozen=True)
class PlayMode:
    """What a speed of play, or scrubbing, comes down to."""

    #: "every frame", "levels", "key frames" or "no".
    answer: str
    #: The highest temporal level that is shown; None for other answers.
    level: Optional[int]
    #: Decoded pictures a second that showing every frame needs.
    needed: float
    #: Decoded pictures for each that is shown, showing every frame; for scrubbing those of the last picture of a group.
    decodes_per_frame: float


@dataclass(frozen=True)
class Playability:
    """How a video can be played; see `playability`."""

    #: Forward, at real time and at twice that.
    forward: PlayMode
    forward_2x: PlayMode
    #: Backward, at real time and at twice that.
    reverse: PlayMode
    reverse_2x: PlayMode
    #: A picture at any time that is asked for, ten times a second.
    scrubbing: PlayMode
    #: Decoded pictures a second at the video's size.
    frames_per_second: float
    #: Whether that is scaled from another size, by the number of samples: then it is an estimate.
    is_scaled: bool
    #: Pictures that play in reverse holds: one part of a group is shown while the next is decoded.
    reverse_pictures: int


def decodes_per_frame(group: int, buffer: int) -> float:
    """Pictures to decode for each that is shown in reverse, where a group of `group` pictures is decoded again for each part of
    `buffer` pictures."""
    parts = -(-group // buffer)
    return parts - buffer * parts * (parts - 1) / 2 / group


def playability(
    width: int, height: int, frame_rate: float, group_length: int, decoded: float, *, bit_depth: int = 8,
    level_rates: Sequence[float] = (), measured_size: Optional[Tuple[int, int]] = None, reverse_bytes: int = 512 << 20
) -> Playability:
    """How a video can be played: computed from a decoder's speed, as in the Swift client.

    - width, height: of the pictures, in luma samples.
    - frame_rate: pictures a second.
    - group_length: pictures from a key frame to the next, the most where that varies.
    - decoded: measured pictures that are decoded in a second.
    - bit_depth: bits of a sample; above 8, it takes two bytes.
    - level_rates: for each temporal level, the pictures a second that remain without the levels above.
    - measured_size: the size that `decoded` was measured with; None for the video's own.
    - reverse_bytes: the most bytes of decoded pictures in reverse; half of them for each of two parts.

    Raises ParameterError for figures that are not positive and finite.
    """
    measured = measured_size or (width, height)
    numbers = [width, height, frame_rate, group_length, decoded, *measured, *level_rates]
    if not all(math.isfinite(number) and number > 0 for number in numbers) or any(r > frame_rate * 1.001 for r in level_rates):
        raise refused("sizes, rates and lengths are positive and finite, and no level has more pictures than the video")
    available = decoded * (measured[0] * measured[1]) / (width * height)
    part = max(1, reverse_bytes // 2 // (width * height * 3 // 2 * (2 if bit_depth > 8 else 1) or 1))
    # Answer, level, shown pictures a second, decoded pictures of a group; the most pictures first.
    steps: List[Tuple[str, Optional[int], float, int]] = [("every frame", None, frame_rate, group_length)]
    for level in reversed(range(len(level_rates) - 1)):
        rate = level_rates[level]
        steps.append(("levels", level, rate, max(1, math.ceil(group_length * rate / frame_rate))))
    steps.append(("key frames", None, frame_rate / group_length, 1))

    def mode(least: float, decodes: Callable[[int], float], rate: Callable[[float], float]) -> PlayMode:
        all_rate, each = rate(frame_rate), decodes(group_length)
        for answer, level, shown, length in steps:
            if rate(shown) >= min(least, all_rate) and decodes(length) * rate(shown) <= available:
                return PlayMode(answer, level, each * all_rate, each)
        return PlayMode("no", None, each * all_rate, each)

    def forward(speed: int) -> PlayMode:
        return mode(LEAST_RATE, lambda length: 1, lambda shown: shown * speed)

    def reverse(speed: int) -> PlayMode:
        return mode(0, lambda length: decodes_per_frame(length, part), lambda shown: shown * speed)

    return Playability(
        forward(1), forward(2), reverse(1), reverse(2), mode(0, float, lambda shown: LEAST_RATE), available,
        measured != (width, height), 2 * part)
