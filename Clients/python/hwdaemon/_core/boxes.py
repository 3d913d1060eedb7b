# SPDX-License-Identifier: MIT
"""Boxes of .mov and .mp4 files (ISO/IEC 14496-12; clauses in parentheses are its)."""
from __future__ import annotations

import struct
import sys
from array import array
from typing import Iterable, List, Optional, Sequence, Tuple

from ..metadata import Color

#: Of a track that is not turned, and of the movie.
_MATRICES = {
    0: (0x10000, 0, 0, 0x10000), 90: (0, 0x10000, -0x10000, 0), 180: (-0x10000, 0, 0, -0x10000), 270: (0, -0x10000, 0x10000, 0)}
_WIDE = 1 << 32

Runs = List[Tuple[int, int]]


def words(*values: int) -> bytes:
    """Words of 32 bits, big-endian, signed or not."""
    return b"".join((value & 0xFFFFFFFF).to_bytes(4, "big") for value in values)


def numbers(values: array[int]) -> bytes:
    """Words of an array of them."""
    if sys.byteorder == "little":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def box(kind: str, *parts: bytes) -> bytes:
    """A box of less than 4 GiB."""
    size = 8 + sum(map(len, parts))
    return b"".join((size.to_bytes(4, "big"), kind.encode("ascii"), *parts))


def are_boxes(data: bytes) -> bool:
    """Whether bytes are whole boxes, one after another."""
    place = 0
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        if not 8 <= size <= len(data) - place:
            return False
        place += size
    return True


def file_type(is_quicktime: bool) -> bytes:
    """`ftyp` (4.3)."""
    return box("ftyp", b"qt  ", words(0x200), b"qt  ") if is_quicktime else box("ftyp", b"isom", words(0x200), b"isomiso6mp41")


def matrix(rotation: int) -> bytes:
    """The matrix of a header for a clockwise turn in degrees."""
    a, b, c, d = _MATRICES[rotation]
    return words(a, b, 0, c, d, 0, 0, 0, 0x40000000)


def times(flags: int, duration: int, *between: int) -> bytes:
    """Version, flags, times that are unknown, and the duration of a header; of version 1 where 32 bits do not hold that."""
    if duration < _WIDE:
        return words(flags, 0, 0, *between, duration)
    return words(1 << 24 | flags, 0, 0, 0, 0, *between) + duration.to_bytes(8, "big")


def movie_header(scale: int, duration: int, next_track: int) -> bytes:
    """`mvhd` (8.2.2)."""
    return box("mvhd", times(0, duration, scale), words(0x10000, 0x1000000, 0, 0), matrix(0), bytes(24), words(next_track))


def video_entry(record: bytes, width: int, height: int, color: Optional[Color], boxes: bytes, is_quicktime: bool) -> bytes:
    """`hvc1` (ISO/IEC 14496-15 8.4.1): pictures of a record's parameter sets."""
    fields = bytes(6) + b"\0\1" + bytes(16) + struct.pack(">HH", width, height) + words(0x480000, 0x480000, 0) + b"\0\1" + bytes(32)
    parts = [fields + words(0x18FFFF), box("hvcC", record)]
    if color is not None:
        points = struct.pack(">HHH", color.primaries, color.transfer, color.matrix)
        flag = b"" if is_quicktime else bytes([0x80 if color.full_range else 0])
        parts.append(box("colr", b"nclc" if is_quicktime else b"nclx", points, flag))
    return box("hvc1", *parts, boxes)


def _handler(kind: bytes, component: bytes, name: bytes, is_quicktime: bool) -> bytes:
    text = bytes([len(name)]) + name if is_quicktime else name + b"\0"
    return box("hdlr", bytes(4), component if is_quicktime else bytes(4), kind, bytes(12), text)


def track(
        number: int, *, is_video: bool, is_quicktime: bool, scale: int, size: Tuple[int, int], rotation: int, duration: int,
        media_duration: int, edits: Iterable[Tuple[int, int]], table: bytes) -> bytes:
    """`trak` (8.3.1). Edits are durations in ticks of the movie and media times, -1 for nothing."""
    header = times(3, duration, number, 0) + words(0, 0, 0, 0 if is_video else 0x1000000) + matrix(rotation)
    kind, name = (b"vide", b"VideoHandler") if is_video else (b"soun", b"SoundHandler")
    data = [box("vmhd", words(1), bytes(8)) if is_video else box("smhd", bytes(8))]
    if is_quicktime:
        data.append(_handler(b"url ", b"dhlr", b"DataHandler", True))
    data += [box("dinf", box("dref", words(0, 1), box("url ", words(1)))), table]
    media = box(
        "mdia", box("mdhd", times(0, media_duration, scale), words(0x55C40000)), _handler(kind, b"mhlr", name, is_quicktime),
        box("minf", *data))
    return box("trak", box("tkhd", header, words(size[0] << 16, size[1] << 16)), _edits(list(edits)), media)


def _edits(rows: List[Tuple[int, int]]) -> bytes:
    is_wide = any(duration >= _WIDE or media >= _WIDE // 2 for duration, media in rows)
    body = b"".join(struct.pack(">Qq" if is_wide else ">Ii", *row) + words(0x10000) for row in rows)
    return box("edts", box("elst", words(int(is_wide) << 24, len(rows)), body))


def description(entries: Sequence[bytes]) -> bytes:
    """`stsd` (8.5.2)."""
    return box("stsd", words(0, len(entries)), *entries)


def add_run(runs: Runs, value: int) -> None:
    """Adds a sample to rows that each are for several."""
    if runs and runs[-1][1] == value:
        runs[-1] = (runs[-1][0] + 1, value)
    else:
        runs.append((1, value))


def run_table(kind: str, runs: Runs) -> bytes:
    """`stts` or `ctts` (8.6.1)."""
    return box(kind, words(0, len(runs)), b"".join(struct.pack(">II", *run) for run in runs))


def chunk_tables(chunks: Sequence[Tuple[int, int, int]], sizes: array[int]) -> bytes:
    """`stsc`, `stsz`, and `stco` or `co64` (8.7): chunks are offsets, numbers of samples, and sample entries."""
    rows = [(number + 1, *chunk[1:]) for number, chunk in enumerate(chunks) if number == 0 or chunks[number - 1][1:] != chunk[1:]]
    is_wide = any(offset >= _WIDE for offset, _, _ in chunks)
    offsets = struct.pack(f">{len(chunks)}{'Q' if is_wide else 'I'}", *(offset for offset, _, _ in chunks))
    return (
        box("stsc", words(0, len(rows)), b"".join(struct.pack(">III", *row) for row in rows))
        + box("stsz", words(0, 0, len(sizes)), numbers(sizes))
        + box("co64" if is_wide else "stco", words(0, len(chunks)), offsets))
