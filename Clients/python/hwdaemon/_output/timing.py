# SPDX-License-Identifier: MIT
"""Item times of host times, and refreshes without jitter. Times are integers in nanoseconds."""
from __future__ import annotations

from typing import Optional, Tuple

#: Rates are integers in millionths.
ONE = 1_000_000
MAX_RATE = 2 * ONE


class TimeMap:
    """Item times of host times: an anchor of both, and a rate between them."""

    def __init__(self) -> None:
        self.rate = 0
        self.host = self.item = 0
        #: Whether the item time stands until the first frame is given.
        self.is_held = True
        self._held_rate = 0

    def at(self, host: int) -> int:
        """The item time of a host time, rounded down."""
        return self.item + (host - self.host) * self.rate // ONE

    @property
    def wanted_rate(self) -> int:
        """The rate that was asked for, in force or not."""
        return self._held_rate if self.is_held else self.rate

    def set_rate(self, rate: int, host: int) -> None:
        if self.is_held:
            self._held_rate = rate
        else:
            self.host, self.item, self.rate = host, self.at(host), rate

    def hold(self, item: int) -> None:
        """Goes to an item time and stands there until `start`."""
        self._held_rate = self.wanted_rate
        self.is_held, self.rate, self.item = True, 0, item

    def start(self, host: int) -> None:
        """Ends a hold: the item time at which it stands is that of the host time."""
        if self.is_held:
            self.is_held, self.rate, self.host = False, self._held_rate, host


class RefreshGrid:
    """Host times of display refreshes without their jitter.

    Each step is a number of whole intervals, corrected by 1/32 of the error; a gap of more than 8 intervals starts again, and so
    does a step back.
    """

    #: Positions are in 1/1024 ns.
    _UNIT = 1024

    def __init__(self, seconds: float) -> None:
        self._interval = round(seconds * 1_000_000_000 * self._UNIT)
        self.interval = self._interval // self._UNIT
        self._position: Optional[int] = None
        self._last: Tuple[int, int] = (0, 0)

    def snap(self, host: int) -> int:
        """The refresh that a host time belongs to."""
        time = host * self._UNIT
        if self._position is None:
            return self._restart(host)
        # Both questions of one refresh have one answer.
        if 0 <= (host - self._last[0]) * self._UNIT < self._interval // 2:
            return self._last[1]
        steps = max(1, (time - self._position + self._interval // 2) // self._interval)
        if steps > 8 or time < self._position - self._interval // 2:
            return self._restart(host)
        following = self._position + steps * self._interval
        self._position = following + (time - following) // 32
        self._last = (host, self._position // self._UNIT)
        return self._last[1]

    def _restart(self, host: int) -> int:
        self._position = host * self._UNIT
        self._last = (host, host)
        return host
