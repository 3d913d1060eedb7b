# SPDX-License-Identifier: MIT
"""Which frame of a video is shown when: everything of an output but its sessions and its file.

Times of the host and the item are integers in nanoseconds, times of frames are ticks of the stream.
"""
from __future__ import annotations

import bisect
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, List, Optional, Tuple

from .timing import ONE, RefreshGrid, TimeMap

#: Frames are shown this much before their time, in nanoseconds: what rounded times need, and with a grid of refreshes what is left
#: of jitter.
TOLERANCE = 100_000
GRID_TOLERANCE = 500_000
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
    """The decoded frames of one stretch of play after another; a seek and a change of direction begin another.

    In a loop times run on, by the video's length from lap to lap: `base` is the time in the file.
    """

    def __init__(self, time_base: Fraction, start: int, grid: Optional[RefreshGrid] = None) -> None:
        self.time_base = time_base
        #: The first time of the stream, and the time behind its last picture once that is known.
        self.start = start
        self.end: Optional[int] = None
        self.map = TimeMap()
        self.grid = grid
        self._tolerance = TOLERANCE if grid is None else GRID_TOLERANCE
        #: 1, or -1 in reverse.
        self.direction = 1
        self.loops = False
        #: Ticks of a lap, once the video was read to its end; 0 before. And the lap of the frame that was given last.
        self.length = 0
        self.lap = 0
        #: How far a seek may land from its time, in ticks; None: on the key frame at or before it.
        self.tolerance: Optional[int] = 0
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
        self._interval = 16_666_667 if grid is None else grid.interval

    def ticks(self, nanoseconds: int) -> int:
        """The last tick at or before a time; exact, so that comparing ticks is comparing times."""
        return nanoseconds * self.time_base.denominator // (self.time_base.numerator * 1_000_000_000)

    def nanoseconds(self, ticks: int) -> int:
        """The time of a tick, rounded up, so that `ticks` of it is the tick again."""
        return -(-ticks * self.time_base.numerator * 1_000_000_000 // self.time_base.denominator)

    def _tick(self, item: int) -> int:
        # In reverse, too, a seek shows the frame of the time itself first.
        is_back = self.direction < 0 and not self.map.is_held
        return self.ticks(item - self._tolerance if is_back else item + self._tolerance)

    def laps(self, time: int) -> int:
        """The lap that a time is in, from 0; less in reverse."""
        return (time - self.start) // self.length if self.length > 0 else 0

    def base(self, time: int) -> int:
        """The time in the file."""
        return time - self.laps(time) * self.length

    def item(self, host: int) -> int:
        """The item time of a host time, in the file."""
        item = self.map.at(host)
        laps = self.laps(self.ticks(item)) if self.loops else 0
        return item - (self.nanoseconds(self.start + laps * self.length) - self.nanoseconds(self.start))

    # Commands.

    def seek(self, item: int, tolerance: Optional[int] = 0) -> None:
        item = max(0, item)
        if self.end is not None:
            # Behind the end the last picture is the first one in reverse.
            item = min(item, self.nanoseconds(self.end if self.direction > 0 else self.end - 1))
        self.map.hold(item)
        self._flush(item, tolerance)

    def play(self, rate: int, host: int) -> None:
        """Another rate; a change of direction begins another epoch, in which time stands until its first frame is given."""
        direction = -1 if rate < 0 else 1 if rate > 0 else self.direction
        if direction == self.direction:
            self.map.set_rate(rate, host)
            return
        item = max(0, self.item(host))
        if self.end is not None:
            item = min(item, self.nanoseconds(self.end if direction > 0 else self.end - 1))
        self.direction = direction
        self.map.set_rate(rate, host)
        # A seek that has shown no frame yet stays as it is.
        tolerance = self.tolerance if self.map.is_held else 0
        self.map.hold(item)
        self._flush(item, tolerance)

    def loop(self, loops: bool) -> None:
        """Whether the video begins again at its end; frames of other laps are decoded no more."""
        if loops == self.loops:
            return
        self.loops, self.is_complete = loops, False
        self.frames = [frame for frame in self.frames if self.laps(frame.time) == self.lap]
        self.replay()

    def measure(self, end: int) -> None:
        """The file was read to its end."""
        self.end = end
        self.length = max(0, end - self.start)
        last = self.nanoseconds(end - 1)
        if self.direction < 0 and self.map.is_held and self.map.item > last and not self.lap:
            self.map.hold(last)

    def land(self, run: int, time: int) -> None:
        """A seek lands at another time than its own."""
        if self.run == run and self.map.is_held:
            self.map.hold(self.nanoseconds(time))
            self.target = self._asked = time

    def _flush(self, item: int, tolerance: Optional[int]) -> None:
        self.epoch += 1
        self.lap = 0
        self.tolerance = tolerance
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
        known = self._given
        if self.frames:
            known = self.frames[-1 if self.direction > 0 else 0].time
        # In reverse parts are whole, so that decoding begins before the first picture that is known.
        self._begin(self.target if known is None else known if self.direction > 0 else known - 1)
        self.known = known if self.direction > 0 else None
        self.tolerance = 0

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
        if not self._is_new(time):
            self.counts.dropped += 1
            return
        frame = QueuedFrame(time, max(0, duration), picture)
        self.frames.insert(bisect.bisect_right([other.time for other in self.frames], time), frame)
        if self._asked is not None:
            self._discard(self._asked)

    def _is_new(self, time: int) -> bool:
        """Whether a picture lies on the side of the play direction of what was given last."""
        return self._given is None or (time > self._given if self.direction > 0 else time < self._given)

    def skip(self, time: int) -> None:
        """A picture is left out."""
        if time >= self.target:
            bisect.insort(self._skipped, time)
            self.counts.skipped += 1

    def complete(self) -> None:
        """No packet follows, and every picture is there."""
        self.is_complete = True
        if self.direction < 0 or self.end is not None:
            return
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
        late = self.map.at(host) - self.nanoseconds(time)
        return 0 if self.map.is_held or not self.map.rate else late * self.direction

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
        # Decoders return pictures in the order of their times; in reverse they come in whole parts.
        return self.direction < 0 or self.is_complete or index + 1 < len(self.frames) or time < frame.time + frame.duration

    def _outside(self, time: int) -> Optional[str]:
        if self.is_complete and not self.frames and self._given is None:
            # No picture could be decoded.
            return AFTER_END if self.direction > 0 else BEFORE_START
        passed = self.lap * self.length
        # In reverse a seek behind the end shows the last picture.
        can_be_after = not self.loops and (self.direction > 0 or not self.map.is_held)
        if self.end is not None and time >= self.end + passed and can_be_after:
            return AFTER_END
        is_before = time < self.start + passed and not (self.loops and (self.direction < 0 or self.lap))
        return BEFORE_START if is_before else None

    def _is_overdue(self, index: int, host: int) -> bool:
        """Whether the latest picture is better than none: the machine is too slow, and none was shown for long."""
        if self.direction < 0 or not self.is_strained or index < 0 or self.frames[index].picture is None:
            return False
        return self._shown_at is not None and host - self._shown_at >= LATE_LIMIT

    def frame(self, host: int, needs_conversion: bool, waits: bool = False) -> Tuple[Optional[QueuedFrame], Optional[str]]:
        """The frame of a host time, which counts as given, or why there is none. `waits`: whether the caller waits for it.

        Raises the error of a picture that could not be converted, which counts as given, too.
        """
        if self.grid is not None:
            host = self.grid.snap(host)
        elif self._refresh is not None and 0 < host - self._refresh < 200_000_000:
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
            if self._given is not None and (time < self._given if self.direction > 0 else time > self._given):
                return None, SAME
            self._discard(time)
            return self._missing()
        frame = self.frames[index]
        if frame.picture is None or not self._is_new(frame.time):
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
        lap = self.laps(frame.time)
        self.epoch += abs(lap - self.lap)
        self.lap = lap
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
        if self.direction < 0 or self._asked is None or self._asked < frame.time:
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
        if self.direction < 0:
            passed = self.frames[index + 1 :]
            self.counts.dropped += sum(frame.picture is not None for frame in passed)
            del self.frames[index + 1 :]
        elif index > 0:
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
            if frame.picture is not None and self._is_new(frame.time) and frame not in found:
                found.append(frame)
        return found
