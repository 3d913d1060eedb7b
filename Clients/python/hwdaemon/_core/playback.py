# SPDX-License-Identifier: MIT
"""Which frame of a video is shown when: everything of an output but its sessions and its file.

Times of the host and the item are integers in nanoseconds, times of frames are ticks of the stream.
"""
from __future__ import annotations

import bisect
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, List, Optional, Tuple

#: Rates are integers in millionths.
ONE = 1_000_000
MAX_RATE = 2 * ONE
#: Frames are shown this much before their time, in nanoseconds: what jitter and rounded times need.
TOLERANCE = 100_000
#: A picture that is later than its own time is shown only if none was for this long, in nanoseconds.
LATE_LIMIT = 100_000_000

SAME = "same"
NOT_DECODED_YET = "not decoded yet"
BEFORE_START = "before start"
AFTER_END = "after end"
SEEKING = "seeking"


@dataclass
class OutputCounts:
    """What an output did since it was opened."""

    #: Frames given.
    shown: int = 0
    #: Questions without an answer because a picture was not there in time.
    late: int = 0
    #: Decoded pictures whose time passed before they were given.
    dropped: int = 0
    #: Pictures that were not decoded, because the machine is too slow for them.
    skipped: int = 0
    #: Pictures that were converted.
    converted: int = 0
    #: How often a session was replaced after its process had failed.
    restarts: int = 0


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


class QueuedFrame:
    """A decoded picture that waits for its time."""

    def __init__(self, time: int, duration: int, picture: Any) -> None:
        self.time = time
        #: 0 where it is not known.
        self.duration = duration
        #: As it was decoded; None once it is given or dropped.
        self.picture = picture
        #: What the app gets, once it is converted.
        self.shown: Any = None
        #: Why it cannot be converted.
        self.error: Optional[Exception] = None


class Playback:
    """The decoded frames of one stretch of play after another; a seek begins another."""

    def __init__(self, time_base: Fraction, start: int) -> None:
        self.time_base = time_base
        #: The first time of the stream, and the time behind its last picture once that is known.
        self.start = start
        self.end: Optional[int] = None
        self.map = TimeMap()
        self.epoch = 0
        #: Counts the stretches of decoding: pictures of earlier ones are not taken.
        self.run = 0
        self.counts = OutputCounts()
        #: In the order of their times.
        self.frames: List[QueuedFrame] = []
        #: Times of pictures that were not decoded, ascending.
        self._skipped: List[int] = []
        #: Where decoding begins: earlier pictures only lead there.
        self.target = 0
        #: Pictures up to this time are known already, because decoding was repeated.
        self.known: Optional[int] = None
        #: Whether no picture is to come.
        self.is_complete = False
        #: Whether an answer was late: only then is anything left out.
        self.is_strained = False
        self._given: Optional[int] = None
        self._asked: Optional[int] = None
        self._shown_at: Optional[int] = None
        #: When the display asked last, and how far apart its questions are.
        self._refresh: Optional[int] = None
        self._interval = 16_666_667

    def ticks(self, nanoseconds: int) -> int:
        """The last tick at or before a time; exact, so that comparing ticks is comparing times."""
        return nanoseconds * self.time_base.denominator // (self.time_base.numerator * 1_000_000_000)

    def nanoseconds(self, ticks: int) -> int:
        """The time of a tick, rounded up, so that `ticks` of it is the tick again."""
        return -(-ticks * self.time_base.numerator * 1_000_000_000 // self.time_base.denominator)

    def _tick(self, item: int) -> int:
        return self.ticks(item + TOLERANCE)

    # Commands.

    def seek(self, item: int) -> None:
        item = max(0, item)
        if self.end is not None:
            item = min(item, self.nanoseconds(self.end))
        self.map.hold(item)
        self.epoch += 1
        self._given = self._shown_at = None
        self.frames = []
        self._begin(self._tick(item))
        self.known = None
        # What lies before the frame of the time does not wait.
        self._asked = self.target

    def replay(self) -> None:
        """Decodes again what a failed process had not returned; the frames that wait stay."""
        if self.is_complete:
            return
        known = self.frames[-1].time if self.frames else self._given
        self._begin(self.target if known is None else known)
        self.known = known

    def _begin(self, target: int) -> None:
        self.run += 1
        self.target = target
        self.is_complete = False
        self._skipped = []

    # Filling.

    @property
    def waiting(self) -> int:
        """Pictures that wait for their time."""
        return sum(frame.picture is not None for frame in self.frames)

    def add(self, time: int, duration: int, picture: Any) -> None:
        if self.known is not None and time <= self.known:
            return
        if self._given is not None and time <= self._given:
            self.counts.dropped += 1
            return
        frame = QueuedFrame(time, max(0, duration), picture)
        self.frames.insert(bisect.bisect_right([other.time for other in self.frames], time), frame)
        if self._asked is not None:
            self._discard(self._asked)

    def skip(self, time: int) -> None:
        """A picture is left out."""
        if time >= self.target:
            bisect.insort(self._skipped, time)
            self.counts.skipped += 1

    def complete(self) -> None:
        """No packet follows, and every picture is there."""
        self.is_complete = True
        if not self.frames:
            last = self.start if self._given is None else self._given
            self.end = last + 1
            return
        duration = self.frames[-1].duration
        if not duration and len(self.frames) > 1:
            duration = self.frames[-1].time - self.frames[-2].time
        self.end = self.frames[-1].time + max(1, duration)

    def lateness(self, time: int, host: int) -> int:
        """How much after its time a packet is read, in nanoseconds of the item's time."""
        return 0 if self.map.is_held or not self.map.rate else self.map.at(host) - self.nanoseconds(time)

    def lead(self, host: int) -> int:
        """Pictures that wait for a later time than that of the host."""
        time = self._tick(self.map.at(host))
        return sum(frame.picture is not None and frame.time > time for frame in self.frames)

    # Choice.

    def _index(self, time: int) -> int:
        """The index of the last frame at or before a time; -1 if there is none."""
        return bisect.bisect_right([frame.time for frame in self.frames], time) - 1

    def _is_settled(self, index: int, time: int) -> bool:
        """Whether no other picture can be that of the time."""
        if index < 0:
            return False
        frame = self.frames[index]
        # Decoders return pictures in the order of their times.
        return self.is_complete or index + 1 < len(self.frames) or time < frame.time + frame.duration

    def _outside(self, time: int) -> Optional[str]:
        if self.end is not None and time >= self.end:
            return AFTER_END
        return BEFORE_START if time < self.start else None

    def _is_overdue(self, index: int, host: int) -> bool:
        """Whether the latest picture is better than none: the machine is too slow, and none was shown for long."""
        if not self.is_strained or index < 0 or self.frames[index].picture is None:
            return False
        return self._shown_at is not None and host - self._shown_at >= LATE_LIMIT

    def frame(self, host: int, needs_conversion: bool, waits: bool = False) -> Tuple[Optional[QueuedFrame], Optional[str]]:
        """The frame of a host time, which counts as given, or why there is none. `waits`: whether the caller waits for it.

        Raises the error of a picture that could not be converted, which counts as given, too.
        """
        if self._refresh is not None and 0 < host - self._refresh < 200_000_000:
            self._interval = host - self._refresh
        self._refresh = host
        time = self._tick(self.map.at(host))
        try:
            return self._choose(time, host, needs_conversion, waits)
        finally:
            self._asked = time

    def _choose(self, time: int, host: int, needs_conversion: bool, waits: bool) -> Tuple[Optional[QueuedFrame], Optional[str]]:
        outside = self._outside(time)
        if outside is not None:
            # Where nothing can be shown, nothing is waited for.
            if self.frames or self.is_complete:
                self.map.start(host)
            return None, outside
        index = self._index(time)
        if not self._is_settled(index, time) and (waits or not self._is_overdue(index, host)):
            # A clock that jumped back.
            if self._given is not None and time < self._given:
                return None, SAME
            self._discard(time)
            return self._missing()
        frame = self.frames[index]
        if frame.picture is None or self._given is not None and frame.time <= self._given:
            return None, SAME
        if needs_conversion and frame.shown is None and frame.error is None:
            return self._missing()
        if self._is_late(frame, time) and self._shown_at is not None and host - self._shown_at < LATE_LIMIT:
            frame.picture = frame.shown = None
            self.counts.dropped += 1
            return self._missing()
        taken = QueuedFrame(frame.time, frame.duration, frame.picture)
        taken.shown = frame.shown if needs_conversion else frame.picture
        frame.picture = frame.shown = None
        self._given = frame.time
        self._discard(time)
        self.map.start(host)
        if frame.error is not None:
            raise frame.error
        self.counts.shown += 1
        self._shown_at = host
        return taken, None

    def _missing(self) -> Tuple[None, str]:
        return None, SEEKING if self.map.is_held else NOT_DECODED_YET

    def _is_late(self, frame: QueuedFrame, time: int) -> bool:
        """Whether a picture that was left out belongs to the time, and an earlier question could have had this one."""
        if self._asked is None or self._asked < frame.time:
            return False
        return any(frame.time < skipped <= time for skipped in self._skipped)

    def give_up(self, reason: str) -> None:
        """Counts a question that stays without an answer."""
        if reason == NOT_DECODED_YET:
            self.counts.late += 1
            self.is_strained = True

    def _discard(self, time: int) -> None:
        """Forgets what lies before the frame of a time."""
        index = self._index(time)
        if index > 0:
            self._drop(index)
            del self._skipped[: bisect.bisect_left(self._skipped, self.frames[0].time)]

    def _drop(self, count: int) -> None:
        # Pictures on the way to the first one were never to be shown.
        first = self._index(self.target)
        for index, frame in enumerate(self.frames[:count]):
            if frame.picture is not None and index >= first:
                self.counts.dropped += 1
        del self.frames[:count]

    def expected(self, host: int) -> List[QueuedFrame]:
        """The frames that are shown next, two at most: the next one and one ahead."""
        found: List[QueuedFrame] = []
        begin = host if self._refresh is None else self._refresh
        if not self.map.is_held:
            begin = max(begin, self.map.host)
        for step in range(4):
            time = self._tick(self.map.at(begin + self._interval * step))
            index = self._index(time)
            is_chosen = self._is_settled(index, time) or step == 0 and self._is_overdue(index, begin)
            if len(found) == 2 or self._outside(time) is not None or not is_chosen:
                continue
            frame = self.frames[index]
            is_new = self._given is None or frame.time > self._given
            if frame.picture is not None and is_new and frame not in found:
                found.append(frame)
        return found
