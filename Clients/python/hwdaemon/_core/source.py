# SPDX-License-Identifier: MIT
"""The packets of a file's video, for an output."""
from __future__ import annotations

import os
from fractions import Fraction
from typing import Any, Iterator, Optional, Tuple, Union

from ..av import format_description
from ..bitstream import START_CODE
from ..errors import refused
from ..files import _av


class FileSource:
    """The packets of a file's video, which PyAV reads."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        av = _av(path)
        self._file = av.open(os.fspath(path))
        try:
            if not self._file.streams.video:
                raise ValueError(f"{os.fspath(path)} has no video")
            self._stream = self._file.streams.video[0]
            self.format = format_description(self._stream)
            self.time_base = Fraction(self._stream.time_base)
            rate = self._stream.average_rate
            #: Pictures a second, about.
            self.rate = float(rate) if rate else 30.0
            self._packets: Iterator[Any] = iter(())
            self._first: Optional[Any] = None
            self._restart()
            first = self._next_key()
            if first is None:
                raise ValueError(f"{os.fspath(path)} has no key frame with a time")
            #: The time of the first key frame.
            self.start: int = first.pts
        except BaseException:
            self._file.close()
            raise

    def _restart(self) -> None:
        self._packets = iter(self._file.demux(self._stream))

    def _next_key(self) -> Optional[Any]:
        packet = self.next()
        while packet is not None and not packet.is_keyframe:
            packet = self.next()
        self._first = packet
        return packet

    def next(self) -> Optional[Any]:
        """The next packet in decoding order; None at the end."""
        if self._first is not None:
            packet, self._first = self._first, None
            return packet
        for packet in self._packets:
            # The last one is empty.
            if packet.size:
                if packet.pts is None:
                    raise refused("a packet has no time; byte streams have none")
                return packet
        return None

    def seek(self, target: int) -> int:
        """Goes to a key frame at or before a time, else to the first; returns its time."""
        # Demuxers search by the times of decoding, and may find a key frame that is shown later.
        wanted = max(target, self.start)
        for attempt in range(8):
            self._first = None
            self._file.seek(wanted, stream=self._stream)
            self._restart()
            key = self._next_key()
            if key is not None and key.pts <= max(target, self.start):
                return int(key.pts)
            found = wanted if key is None or key.dts is None else min(wanted, key.dts)
            wanted = found - (1 << attempt)
        self._first = None
        self._file.seek(min(0, self.start), stream=self._stream)
        self._restart()
        key = self._next_key()
        return self.start if key is None else int(key.pts)

    def key_after(self, time: int, limit: int) -> Optional[int]:
        """The time of the next key frame behind a time, up to a limit; reads packets, so that a `seek` must follow."""
        packet = self.next()
        while packet is not None and (packet.dts is None or packet.dts <= limit):
            if packet.is_keyframe and time < packet.pts <= limit:
                return int(packet.pts)
            packet = self.next()
        return None

    def close(self) -> None:
        self._file.close()


def new_format(packet: Any) -> Optional[bytes]:
    """The record from this packet on, where it changes."""
    if not hasattr(packet, "has_sidedata") or not packet.has_sidedata("new_extradata"):
        return None
    return bytes(packet.get_sidedata("new_extradata"))


def can_be_left_out(data: bytes, is_byte_stream: bool, length_size: int, highest: int) -> Tuple[bool, int]:
    """Whether no other picture refers to that of a packet, and its temporal level, by its first slice's header.

    `highest` is the highest level of the stream so far: pictures of the highest level above 0 are left out whole.
    """
    start = 0
    while True:
        if is_byte_stream:
            start = data.find(START_CODE[1:], start) + 3
            if start < 3:
                return False, 0
        else:
            size = int.from_bytes(data[start : start + length_size], "big")
            start += length_size
        if start + 2 > len(data):
            return False, 0
        # Rec. ITU-T H.265, 7.3.1.2 and table 7-1: the even types to 14 are of pictures that none of their level refers to.
        kind, layer = data[start] >> 1 & 0x3F, (data[start] & 1) << 5 | data[start + 1] >> 3
        if kind < 32 and layer == 0:
            level = max(0, (data[start + 1] & 7) - 1)
            return level >= highest and (level > 0 or kind <= 14 and kind % 2 == 0), level
        if not is_byte_stream:
            start += size
