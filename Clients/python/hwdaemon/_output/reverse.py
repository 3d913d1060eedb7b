# SPDX-License-Identifier: MIT
"""Play in reverse: a group of pictures is decoded in parts, the last part first."""
from __future__ import annotations

import bisect
from typing import Dict, List, NamedTuple, Optional, Tuple

from ..formats import layout
from ..images import Picture
from .._core.memory import Memory
from .._core.source import FileSource

#: Bytes of a memory of copies; a larger picture has one of its own.
MEMORY_BYTES = 16 << 20


class Part(NamedTuple):
    """One run of the decoder, from the key frame to the last packet that a picture of the part needs."""

    #: Its pictures' times, ascending.
    times: Tuple[int, ...]
    #: Packets from the key frame on.
    packets: int


class Group(NamedTuple):
    #: The time of its key frame.
    key: int
    #: The last one first.
    parts: List[Part]
    #: The time behind the last picture, where the file was read to its end.
    end: Optional[int]


def parts(times: List[Optional[int]], key: int, end: int, capacity: int) -> List[Part]:
    """Parts of a group.

    - times: of its packets in decoding order; None for one that is not shown.
    - end: the time of the picture behind.
    - capacity: pictures that a part may have.
    """
    shown = sorted({time for time in times if time is not None and key <= time < end})
    positions = {time: position for position, time in enumerate(times)}
    found = []
    for upper in range(len(shown), 0, -capacity):
        part = tuple(shown[max(0, upper - capacity) : upper])
        found.append(Part(part, 1 + max(positions[time] for time in part)))
    return found


def read_group(source: FileSource, end: int, capacity: int) -> Group:
    """Reads the last group of pictures that has one before a time."""
    key = source.seek(end - 1)
    times: List[Optional[int]] = []
    span = Span()
    next_key: Optional[int] = None
    while True:
        packet = source.next()
        if packet is None:
            return Group(key, parts(times, key, end, capacity), span.end)
        # What follows a later key frame in both orders is no part of the group, nor is what is decoded behind its end.
        if next_key is not None and packet.pts > next_key or packet.dts is not None and packet.dts >= end:
            return Group(key, parts(times, key, end, capacity), None)
        if packet.is_keyframe and packet.pts >= end:
            next_key = packet.pts
        if not packet.is_discard:
            span.add(packet.pts, packet.duration or 0)
        times.append(None if packet.is_discard else packet.pts)


def end_of(source: FileSource) -> Optional[int]:
    """The time behind the last picture of a file; None if it has none."""
    return read_group(source, 1 << 62, 1).end


class Span:
    """The end of what was read; a last picture without a duration lasts as long as the one before, or a tick."""

    def __init__(self) -> None:
        self._last: Optional[Tuple[int, int]] = None
        self._before: Optional[int] = None

    def add(self, time: int, duration: int) -> None:
        if self._last is None or time > self._last[0]:
            self._before = None if self._last is None else self._last[0]
            self._last = (time, duration)
        elif time < self._last[0] and (self._before is None or time > self._before):
            self._before = time

    @property
    def end(self) -> Optional[int]:
        if self._last is None:
            return None
        time, duration = self._last
        if duration <= 0 and self._before is not None:
            duration = time - self._before
        return time + max(1, duration)


class Copy(Picture):
    """A copy of a picture in memory of this process: a decoder has fewer pictures than a part."""

    #: Bytes of its memory.
    size = 0


class Copies:
    """Memory of copies: each memory takes two descriptors, so that it has slots for many small pictures."""

    def __init__(self) -> None:
        #: Bytes of the last copy; 0 before the first one.
        self.size = 0
        #: Free slots by their size.
        self._slots: Dict[int, List[Tuple[Memory, int]]] = {}

    def copy(self, picture: Picture) -> Copy:
        """Copies a picture. The slot is used again once nothing refers to the copy."""
        form = layout(picture.pixel_format, picture.width, picture.height)
        # Few sizes, whatever the pictures have; pages that are not written take no memory.
        size = 1 << (form.size - 1).bit_length()
        slots = self._slots.setdefault(size, [])
        if form.size > MEMORY_BYTES:
            size, slots = form.size, []
        if not slots:
            count = max(1, MEMORY_BYTES // size)
            memory = Memory.create(size * count)
            slots += [(memory, size * index) for index in reversed(range(count))]
        slot = slots.pop()
        copy = Copy(
            (slot[0], picture.pixel_format, (picture.width, picture.height), form.at(slot[1])), lambda: slots.append(slot))
        copy.size = self.size = form.size
        copy.fill(list(picture.planes))
        for name in ("frame", "pts", "duration", "color", "is_sync", "is_damaged", "is_hardware", "lacks_side_data", "has_alpha",
                     "is_premultiplied", "is_alpha_missing", "is_rpu_applied", "coded_bit_depth", "clean_aperture",
                     "aspect_ratio", "side_data"):
            setattr(copy, name, getattr(picture, name))
        return copy


class Collection:
    """The pictures of the part that is decoded."""

    def __init__(self, copies: Copies) -> None:
        self.copies = copies
        #: Times, durations and copies, in the order of the times.
        self.pictures: List[Tuple[int, int, Copy]] = []
        self.size = 0
        self._is_cut = False

    def add(self, time: int, picture: Picture, limit: int) -> None:
        """Adds a copy. Where that makes more than `limit` bytes, the first pictures go, which are shown last; one stays."""
        copy = self.copies.copy(picture)
        self.pictures.append((time, picture.duration, copy))
        self.size += copy.size
        while self.size > limit and len(self.pictures) > 1:
            self.size -= self.pictures.pop(0)[2].size
            self._is_cut = True

    def rest(self, part: Part, offset: int, limit: int) -> List[Part]:
        """Parts of the pictures that did not fit, the last one first; each is decoded as far as the part.

        - offset: of the pictures' times to those of the part.
        - limit: bytes of a part.
        """
        if not self._is_cut:
            return []
        count = bisect.bisect_left(part.times, self.pictures[0][0] - offset)
        capacity = max(1, limit // self.copies.size)
        return [part._replace(times=part.times[max(0, upper - capacity) : upper]) for upper in range(count, 0, -capacity)]
