# SPDX-License-Identifier: MIT
"""A track of a movie that is recorded: what waits for its fragment, and the tables of what is in the file."""
from __future__ import annotations

from array import array
from typing import List, Optional, Tuple

from . import boxes
from ..bitstream import nal_units, parameter_sets
from ..errors import refused
from ..metadata import Color

MAX_ENTRY = 1 << 16
_TIME_BOUND = 1 << 55


class Waiting:
    """A packet that waits for its fragment."""

    __slots__ = ("data", "pts", "dts", "duration", "is_key")

    def __init__(self, data: bytes, pts: int, dts: int, duration: int, is_key: bool) -> None:
        self.data, self.pts, self.dts, self.duration, self.is_key = data, pts, dts, duration, is_key


class Track:
    """A track: what waits, and the tables of what is in the file."""

    def __init__(
            self, is_video: bool, scale: int, size: Tuple[int, int], rotation: int, color: Optional[Color], extra: bytes,
            is_quicktime: bool) -> None:
        self.is_video, self.scale, self._size, self._rotation = is_video, scale, size, rotation
        self._color, self._extra, self._is_quicktime = color, extra, is_quicktime
        self.entries: List[bytes] = []
        self.entry = 0
        #: The hvcC record of that entry; of video.
        self.record = b""
        self.waiting: List[Waiting] = []
        #: The decode time at which the media's time line begins, and the first that is shown.
        self.begin = (0, 0)
        self.sizes: array[int] = array("I")
        self.shown = (0, 0)
        self._sync: array[int] = array("I")
        self._chunks: List[Tuple[int, int, int]] = []
        self._durations: boxes.Runs = []
        self._shifts: boxes.Runs = []
        self._first = self._last = self._last_duration = 0

    def change(self, record: bytes) -> None:
        entry = boxes.video_entry(record, *self._size, self._color, self._extra, self._is_quicktime)
        if entry not in self.entries:
            self.entries.append(entry)
        self.entry = self.entries.index(entry) + 1
        self.record = bytes(record)

    def check(self, pts: int, dts: int, duration: int, has_head: bool) -> None:
        if not -_TIME_BOUND <= dts <= pts <= _TIME_BOUND or pts - dts >= 0xFFFFFFFF or not 0 <= duration < 0xFFFFFFFF:
            raise refused("a packet has times that a movie cannot hold, or is decoded after it is shown")
        last = self.waiting[-1].dts if self.waiting else self._last if self.sizes else dts
        if not 0 <= dts - last < 0xFFFFFFFF:
            raise refused("a packet is decoded before the one written before it, or much later")
        if has_head and dts < self.begin[0]:
            raise refused("a track that begins after the first fragment cannot begin before 0")

    def fragment(self, number: int, next_time: Optional[int], offset: int) -> bytes:
        """`traf` (8.8.6)."""
        is_shifted = any(packet.pts != packet.dts for packet in self.waiting)
        # Offset, durations, sizes, flags, and composition times where they differ.
        run = [boxes.words(0xF01 if is_shifted else 0x701, len(self.waiting), offset)]
        for index, packet in enumerate(self.waiting):
            following = self.waiting[index + 1].dts if index + 1 < len(self.waiting) else next_time
            duration = packet.duration if following is None else following - packet.dts
            run.append(boxes.words(duration, len(packet.data), 0x2000000 if packet.is_key else 0x1010000))
            if is_shifted:
                run.append(boxes.words(packet.pts - packet.dts))
        time = (self.waiting[0].dts - self.begin[0]).to_bytes(8, "big")
        return boxes.box(
            "traf", boxes.box("tfhd", boxes.words(0x20002, number, self.entry)), boxes.box("tfdt", boxes.words(1 << 24), time),
            boxes.box("trun", *run))

    def note(self, offset: int) -> None:
        """Adds the rows of the packets that are in the file, from a byte of it on."""
        self._chunks.append((offset, len(self.waiting), self.entry))
        for packet in self.waiting:
            if self.sizes:
                boxes.add_run(self._durations, packet.dts - self._last)
                self.shown = (min(self.shown[0], packet.pts), max(self.shown[1], packet.pts + packet.duration))
            else:
                self._first, self.shown = packet.dts, (packet.pts, packet.pts + packet.duration)
            self._last, self._last_duration = packet.dts, packet.duration
            boxes.add_run(self._shifts, packet.pts - packet.dts)
            self.sizes.append(len(packet.data))
            if packet.is_key:
                self._sync.append(len(self.sizes))
        self.waiting = []

    def _box(self, number: int, duration: int, media_duration: int, edits: List[Tuple[int, int]], table: bytes) -> bytes:
        return boxes.track(
            number, is_video=self.is_video, is_quicktime=self._is_quicktime, scale=self.scale, size=self._size,
            rotation=self._rotation, duration=duration, media_duration=media_duration, edits=edits,
            table=boxes.box("stbl", boxes.description(self.entries), table))

    def open_box(self, number: int, scale: int) -> bytes:
        """`trak` before the first fragment: without samples."""
        shown = max(0, self.begin[1])
        delay = movie_ticks(shown, self.scale, scale)
        empty = boxes.box("stsz", boxes.words(0, 0, 0))
        table = boxes.run_table("stts", []) + boxes.run_table("stsc", []) + empty + boxes.run_table("stco", [])
        return self._box(number, 0, 0, [(delay, -1)] * (delay > 0) + [(0, shown - self.begin[0])], table)

    def finished_box(self, number: int, scale: int) -> bytes:
        """`trak` of the finished file."""
        begin = max(0, self.shown[0])
        duration = movie_ticks(self.shown[1], self.scale, scale)
        delay = min(duration, movie_ticks(begin, self.scale, scale))
        durations = list(self._durations)
        boxes.add_run(durations, self._last_duration)
        table = boxes.run_table("stts", durations)
        if any(shift for _, shift in self._shifts):
            table += boxes.run_table("ctts", self._shifts)
        if self.is_video and len(self._sync) < len(self.sizes):
            table += boxes.box("stss", boxes.words(0, len(self._sync)), boxes.numbers(self._sync))
        table += boxes.chunk_tables(self._chunks, self.sizes)
        edits = [(delay, -1)] * (delay > 0) + [(duration - delay, begin - self._first)]
        return self._box(number, duration, self._last - self._first + self._last_duration, edits, table)


def movie_ticks(ticks: int, scale: int, other: int) -> int:
    """Ticks of a track as ticks of its movie, rounded to the nearest."""
    return (max(0, ticks) * other + scale // 2) // scale


def check_record(record: bytes) -> None:
    try:
        parameter_sets(record)
    except ValueError as error:
        raise refused(str(error)) from None
    if record[21] & 3 != 3 or len(record) > MAX_ENTRY:
        raise refused("the lengths of NAL units need 4 bytes")


def is_random_access(data: bytes) -> bool:
    """Whether the picture of a packet is a random access picture (H.265, table 7-1)."""
    try:
        units = list(nal_units(data))
    except ValueError as error:
        raise refused(str(error)) from None
    # The slices of the base layer.
    kinds = [unit[0] >> 1 & 63 for unit in units if len(unit) >= 2 and (unit[0] & 1) << 5 | unit[1] >> 3 == 0]
    slices = [kind for kind in kinds if kind < 32]
    if not slices or any(len(unit) < 2 for unit in units):
        raise refused("a packet has no HEVC picture in NAL units behind lengths of 4 bytes")
    return 16 <= slices[0] <= 23
