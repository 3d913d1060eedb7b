# SPDX-License-Identifier: MIT
"""Opcodes and payloads (docs/protocol.md, Messages, byte by byte). Unpacking checks sizes, counts and reserved fields."""
from __future__ import annotations

import struct
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..formats import Plane
from ..metadata import MAX_SIDE_DATA, Color, Rectangle, SideData

SET_PROPERTIES, COPY_PROPERTIES, ADD_POOL, REMOVE_POOL, PREPARE, ENCODE_FRAME, COMPLETE_FRAMES = range(1, 8)
RELEASE_PACKET, INVALIDATE, DECODE_FRAME, FINISH_DELAYED_FRAMES, CAN_ACCEPT_FORMAT, CHANGE_FORMAT = range(8, 14)
RELEASE_FRAME, ENCODE_FRAME_WITH_METADATA = 14, 15
TRANSFER_FRAME, FINISH_FRAMES, TRANSFER_TIMED_FRAME, ADD_TABLE, CHANGE_EFFECTS, ADD_PICTURE, ADD_FENCE = range(20, 27)
REPLY, FORMAT_DESCRIPTION, ADD_ARENA, FRAME_RELEASED, PACKET, END, FRAME_DECODED, PACKET_REPORT = range(64, 72)
REMOVE_ARENA, QUALITY_METRICS, FRAME_TRANSFERRED = 72, 73, 80

#: How many descriptors the worker's messages may carry; the others carry none.
DESCRIPTOR_COUNTS: Mapping[int, Tuple[int, ...]] = {ADD_ARENA: (1,), PACKET: (0, 1)}

MAX_PAYLOAD = 65536
OWN_MEMORY = (1 << 32) - 1
NO_TIME = -(1 << 63)

_U64 = struct.Struct("<Q")
_I64 = struct.Struct("<q")
_PLANE = struct.Struct("<QII")
_ADD_MEMORY = struct.Struct("<IIQ")
_PICTURE = struct.Struct("<6IQ")
_PICTURE_PLANE = struct.Struct("<IIQ")
_FENCE = struct.Struct("<II")
_ENCODE = struct.Struct("<QqqIIiI")
_ENCODE_METADATA = struct.Struct("<QqqIIi8BI")
_DECODE = struct.Struct("<QqqIIQII")
_TRANSFER = struct.Struct("<II8B")
_PACKET = struct.Struct("<QQqqqIIQIBBH")
_DECODED = struct.Struct("<QQqqIIIII4I8BiiI")
_METRICS = struct.Struct("<QQddd")
_STATUS = struct.Struct("<QiI")
_SIDE_DATA = struct.Struct("<II")


class Violation(Exception):
    """The worker broke the protocol; the text says how and continues "the worker broke the protocol: "."""


# What the client sends.

def pack_memory(number: int, size: int) -> bytes:
    return _ADD_MEMORY.pack(number, 0, size)


class PictureToAdd(NamedTuple):
    pool: int
    fourcc: int
    width: int
    height: int
    #: 1 for a source, 2 for a target.
    uses: int
    modifier: int
    #: dma-buf, stride, offset
    planes: Sequence[Tuple[int, int, int]]


def pack_picture(picture: PictureToAdd) -> bytes:
    fixed = _PICTURE.pack(*picture[:5], len(picture.planes), picture.modifier)
    return fixed + b"".join(_PICTURE_PLANE.pack(*plane) for plane in picture.planes)


def pack_fence(pool: int) -> bytes:
    return _FENCE.pack(pool, 0)


def pack_u64(number: int) -> bytes:
    return _U64.pack(number)


def _pack_planes(planes: Sequence[Plane]) -> bytes:
    return b"".join(_PLANE.pack(plane.offset, plane.stride, 0) for plane in planes)


def _pack_color(color: Optional[Color]) -> Tuple[int, int, int, int, int, int]:
    if color is None:
        return (0, 0, 0, 0, 0, 0)
    location = 255 if color.chroma_location is None else color.chroma_location
    return (1, color.primaries, color.transfer, color.matrix, int(color.full_range), location)


class FrameToEncode(NamedTuple):
    frame: int
    pts: int
    duration: int
    pool: int
    flags: int
    qp: int
    planes: Sequence[Plane]


def pack_encode(frame: FrameToEncode) -> bytes:
    return _ENCODE.pack(*frame[:6], len(frame.planes)) + _pack_planes(frame.planes)


def pack_encode_with_metadata(frame: FrameToEncode, color: Optional[Color], side_data: Sequence[SideData]) -> bytes:
    fixed = _ENCODE_METADATA.pack(*frame[:6], *_pack_color(color), len(frame.planes), len(side_data), 0)
    entries = b"".join(_SIDE_DATA.pack(entry.kind, len(entry.data)) + entry.data for entry in side_data)
    return fixed + _pack_planes(frame.planes) + entries


class PacketToDecode(NamedTuple):
    frame: int
    pts: int
    duration: int
    pool: int
    flags: int
    offset: int
    size: int


def pack_decode(packet: PacketToDecode) -> bytes:
    return _DECODE.pack(*packet, 0)


class FrameToTransfer(NamedTuple):
    frame: int
    source_pool: int
    target_pool: int
    color: Optional[Color]
    source: Sequence[Plane]
    target: Sequence[Plane]
    #: None in transferFrame.
    pts: Optional[int] = None


def pack_transfer(frame: FrameToTransfer) -> bytes:
    """transferTimedFrame if the frame has a time, otherwise transferFrame."""
    start = _U64.pack(frame.frame) + (b"" if frame.pts is None else _I64.pack(frame.pts))
    fixed = _TRANSFER.pack(
        frame.source_pool, frame.target_pool, *_pack_color(frame.color), len(frame.source), len(frame.target))
    return start + fixed + _pack_planes(frame.source) + _pack_planes(frame.target)


def pack_effects(pts: int, effects: bytes) -> bytes:
    return _I64.pack(pts) + effects


# What the worker sends.

def _unpack(layout: struct.Struct, payload: bytes, exact: bool = True) -> Tuple[int, ...]:
    if len(payload) < layout.size or exact and len(payload) != layout.size:
        raise Violation(f"a message has {len(payload)} bytes")
    return layout.unpack_from(payload)


def _check_reserved(*fields: int) -> None:
    if any(fields):
        raise Violation("a reserved field is not zero")


def text(data: bytes) -> str:
    """A sentence for people: in one line, without control characters."""
    return "".join(character if character.isprintable() else " " for character in data.decode("utf-8", "replace"))


def unpack_u64(payload: bytes) -> int:
    return _unpack(_U64, payload)[0]


def unpack_u32(payload: bytes) -> int:
    return _unpack(struct.Struct("<I"), payload)[0]


def unpack_reply(payload: bytes) -> Tuple[int, int, bytes]:
    """The sequence number that it answers, a status, and the body."""
    sequence, status = _unpack(struct.Struct("<Ii"), payload, exact=False)
    return sequence, status, payload[8:]


def unpack_end(payload: bytes) -> Tuple[int, str]:
    return _unpack(struct.Struct("<i"), payload, exact=False)[0], text(payload[4:])


def unpack_memory(payload: bytes) -> Tuple[int, int]:
    """An arena's number and size."""
    number, reserved, size = _unpack(_ADD_MEMORY, payload)
    _check_reserved(reserved)
    return number, size


def unpack_status(payload: bytes) -> Tuple[int, int, int, str]:
    """A frame, a status, flags (reserved in frameTransferred) and a reason."""
    frame, status, flags = _unpack(_STATUS, payload, exact=False)
    return frame, status, flags, text(payload[_STATUS.size :])


class CodedPacket(NamedTuple):
    packet: int
    frame: int
    pts: int
    dts: int
    duration: int
    arena: int
    flags: int
    offset: int
    size: int
    nal_unit_type: int
    temporal_id: int


def unpack_packet(payload: bytes) -> CodedPacket:
    *fields, reserved = _unpack(_PACKET, payload)
    _check_reserved(reserved)
    return CodedPacket(*fields)


def unpack_metrics(payload: bytes) -> Tuple[int, Tuple[float, float, float]]:
    """A packet, and the mean squared errors of Y', Cb and Cr."""
    packet, _, luma, blue, red = _unpack(_METRICS, payload)
    return packet, (float(luma), float(blue), float(red))


class DecodedPicture(NamedTuple):
    picture: int
    frame: int
    pts: Optional[int]
    duration: int
    arena: int
    flags: int
    pixel_format: str
    width: int
    height: int
    clean_aperture: Rectangle
    color: Color
    coded_bit_depth: int
    aspect_ratio: Optional[Tuple[int, int]]
    planes: Tuple[Plane, ...]
    side_data: Tuple[SideData, ...]


def unpack_picture(payload: bytes) -> DecodedPicture:
    fields = _unpack(_DECODED, payload, exact=False)
    picture, frame, pts, duration, arena, flags, form, width, height = fields[:9]
    primaries, transfer, matrix, full_range, location, depth, plane_count, side_data_count = fields[13:21]
    numerator, denominator, reserved = fields[21:24]
    _check_reserved(reserved)
    if plane_count > 4 or side_data_count > MAX_SIDE_DATA:
        raise Violation(f"a picture has {plane_count} planes and {side_data_count} entries of side data")
    place = _DECODED.size + plane_count * _PLANE.size
    if place > len(payload):
        raise Violation("a picture's planes exceed their message")
    planes = []
    for offset, stride, zero in _PLANE.iter_unpack(payload[_DECODED.size : place]):
        _check_reserved(zero)
        planes.append(Plane(offset, stride))
    color = Color(primaries, transfer, matrix, bool(full_range), None if location == 255 else location)
    return DecodedPicture(
        picture, frame, None if pts == NO_TIME else pts, duration, arena, flags, _fourcc(form), width, height,
        Rectangle(*fields[9:13]), color, depth, (numerator, denominator) if numerator > 0 < denominator else None,
        tuple(planes), tuple(_unpack_side_data(payload, place, side_data_count)))


def _fourcc(number: int) -> str:
    return number.to_bytes(4, "little").decode("latin-1")


def _unpack_side_data(payload: bytes, place: int, count: int) -> List[SideData]:
    entries = []
    for _ in range(count):
        if len(payload) - place < _SIDE_DATA.size:
            raise Violation("side data exceed their message")
        kind, size = _SIDE_DATA.unpack_from(payload, place)
        place += _SIDE_DATA.size
        if size > len(payload) - place:
            raise Violation("side data exceed their message")
        entries.append(SideData(kind, payload[place : place + size]))
        place += size
    if place != len(payload):
        raise Violation(f"{len(payload) - place} bytes follow a picture's side data")
    return entries
