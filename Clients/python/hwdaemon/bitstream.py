# SPDX-License-Identifier: MIT
"""Conversions between length-prefixed NAL units (ISO/IEC 14496-15) and byte streams (H.265, annex B)."""
from __future__ import annotations

from typing import Iterator, List

START_CODE = b"\0\0\0\1"


def nal_units(data: bytes, length_size: int = 4) -> Iterator[bytes]:
    """The NAL units of length-prefixed data. Raises ValueError if one leaves the data."""
    place = 0
    while place < len(data):
        end = place + length_size
        size = int.from_bytes(data[place:end], "big")
        if end + size > len(data):
            raise ValueError("a NAL unit leaves its packet")
        yield data[end : end + size]
        place = end + size


def annex_b(data: bytes, length_size: int = 4) -> bytes:
    """Length-prefixed NAL units as a byte stream. Raises ValueError if one leaves the data."""
    return b"".join(START_CODE + unit for unit in nal_units(data, length_size))


def parameter_sets(record: bytes) -> List[bytes]:
    """The NAL units of an hvcC record (ISO/IEC 14496-15, 8.3.3.1.2). Raises ValueError for a damaged record."""
    if len(record) < 23 or record[0] != 1:
        raise ValueError("the format description is no hvcC record")
    units, place = [], 23
    for _ in range(record[22]):
        if place + 3 > len(record):
            raise ValueError("the hvcC record ends within its arrays")
        count = int.from_bytes(record[place + 1 : place + 3], "big")
        place += 3
        for _ in range(count):
            if place + 2 > len(record):
                raise ValueError("the hvcC record ends within its arrays")
            end = place + 2 + int.from_bytes(record[place : place + 2], "big")
            if end > len(record):
                raise ValueError("a parameter set leaves its hvcC record")
            units.append(record[place + 2 : end])
            place = end
    return units


def annex_b_parameter_sets(record: bytes) -> bytes:
    """The parameter sets of an hvcC record as a byte stream, which begins one. Raises ValueError for a damaged record."""
    return b"".join(START_CODE + unit for unit in parameter_sets(record))
