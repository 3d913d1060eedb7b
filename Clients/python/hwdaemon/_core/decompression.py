# SPDX-License-Identifier: MIT
"""The messages of decompression sessions."""
from __future__ import annotations

from collections import deque
from operator import index
from typing import Any, Deque, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from .. import control
from ..errors import DECODER_MALFUNCTION, refused
from ..formats import MAX_DIMENSION, PIXEL_FORMATS, fault
from ..images import Picture
from ..packets import PacketReport
from . import payloads, rules
from .channel import Message
from .link import Link
from .memory import Memory
from .payloads import DecodedPicture, PacketToDecode, Violation
from .slots import Slots
from .steps import Steps

MAX_PACKET = 64 << 20
MAX_ARENAS = 64
#: Reports that wait for the app; it may never ask for them.
MAX_REPORTS = 4096
_MAX_REASON = 1024
_SMALLEST_SLOT = 256 << 10
_ASYNCHRONOUS, _DO_NOT_OUTPUT = 1, 2


class DecodeOptions(NamedTuple):
    """What `decode` takes beside a packet and its times."""

    do_not_output: bool = False
    synchronous: bool = False


class DecompressionLink(Link):
    METHOD = "CreateDecompressionSession"
    MALFUNCTION = DECODER_MALFUNCTION
    created: control.DecompressionCreated

    def __init__(self) -> None:
        super().__init__()
        self.pictures: Deque[Picture] = deque()
        self.reports: Deque[PacketReport] = deque(maxlen=MAX_REPORTS)
        self._slots: Optional[Slots] = None
        self._in_flight: Dict[int, Tuple[Slots, int, int]] = {}
        self._arenas: Dict[int, Memory] = {}
        self._packets_sent = 0
        self._reports_received = 0
        # Pictures that the worker's credits count: also those that no call has fetched.
        self._held: Dict[int, bool] = {}

    def create(self, address: str, parameters: Mapping[str, Any]) -> Steps[None]:
        self.created = control.typed(control.DecompressionCreated, (yield from self.open(address, parameters)))

    # Packets.

    def decode(self, data: Any, pts: Optional[int], duration: int, options: DecodeOptions) -> Steps[int]:
        """Copies a packet and sends it. Returns its number."""
        self.check()
        packet = memoryview(data).cast("B")
        if len(packet) > MAX_PACKET:
            raise refused(f"a packet has {len(packet)} bytes; {MAX_PACKET} is the limit")
        pts, duration = None if pts is None else index(pts), index(duration)
        rules.check_times(f"packet {self._packets_sent + 1}", pts, duration)
        yield from self.until(lambda: len(self._in_flight) < self.created.max_packets_in_flight)
        slots = yield from self._slots_for(len(packet))
        pool = yield from self.pools.take(slots.memory)
        try:
            yield from self.until(lambda: not slots.is_full and len(self._in_flight) < self.created.max_packets_in_flight)
            start = slots.take()
            assert start is not None
        except BaseException:
            self.pools.give_back(pool)
            raise
        slots.memory.view[start : start + len(packet)] = packet
        number = self._packets_sent + 1
        flags = (0 if options.synchronous else _ASYNCHRONOUS) | (_DO_NOT_OUTPUT if options.do_not_output else 0)
        time = payloads.NO_TIME if pts is None else pts
        payload = payloads.pack_decode(PacketToDecode(number, time, duration, pool, flags, start, len(packet)))
        self._packets_sent = number
        self._in_flight[number] = (slots, start, pool)
        if options.synchronous:
            yield from self.request(payloads.DECODE_FRAME, payload)
        else:
            self.channel.send(payloads.DECODE_FRAME, payload)
        return number

    def _slots_for(self, size: int) -> Steps[Slots]:
        """A pool whose slots hold a packet of this size."""
        if self._slots is None or self._slots.size < size:
            old = self._slots
            slot = max(_SMALLEST_SLOT, 1 << (size - 1).bit_length() if size else 0)
            self._slots = Slots(slot, self.created.max_packets_in_flight)
            if old is not None:
                # Packets may still be in the old one.
                memory = old.memory
                yield from self.until(lambda: self.pools.is_idle(memory))
                yield from self.pools.remove(memory)
        assert self._slots is not None
        return self._slots

    def request_finish(self) -> int:
        """Asks for the pictures of all packets; `is_answered` and `answer` take the number."""
        return self.post(payloads.FINISH_DELAYED_FRAMES)

    def next_picture(self, finish: Optional[int]) -> Steps[Optional[Picture]]:
        """The next picture; None when a finish is answered."""
        if not self.pictures:
            yield from self.until(lambda: bool(self.pictures) or finish is not None and self.is_answered(finish))
        if self.pictures:
            return self.pictures.popleft()
        if finish is not None:
            self.answer(finish)
        return None

    def check_format(self, format_description: bytes) -> Steps[None]:
        yield from self.request(payloads.CAN_ACCEPT_FORMAT, _bounded(format_description))

    def change_format(self, format_description: bytes) -> Steps[None]:
        yield from self.request(payloads.CHANGE_FORMAT, _bounded(format_description))

    # Messages.

    def handle(self, message: Message) -> None:
        opcode, payload = message.opcode, message.payload
        if opcode == payloads.FRAME_DECODED:
            self._take_picture(payloads.unpack_picture(payload))
        elif opcode == payloads.FRAME_RELEASED:
            self._take_release(payloads.unpack_u64(payload))
        elif opcode == payloads.PACKET_REPORT:
            self._take_report(*payloads.unpack_status(payload))
        elif opcode == payloads.ADD_ARENA:
            number, size = payloads.unpack_memory(payload)
            if number in self._arenas or len(self._arenas) >= MAX_ARENAS:
                raise Violation(f"it sent arena {number} twice, or too many")
            self._arenas[number] = self.receive_memory(message, size)
        elif opcode == payloads.REMOVE_ARENA:
            # Pictures that the app holds keep its memory.
            if self._arenas.pop(payloads.unpack_u32(payload), None) is None:
                raise Violation("it removed an arena that does not exist")
        else:
            super().handle(message)

    def _take_release(self, number: int) -> None:
        if number not in self._in_flight:
            raise Violation(f"it released packet {number}, which is not in flight")
        slots, start, pool = self._in_flight.pop(number)
        slots.give_back(start)
        self.pools.give_back(pool)

    def _take_report(self, frame: int, status: int, flags: int, reason: str) -> None:
        self._reports_received += 1
        # A packet can be damaged, lack its picture, and lack its alpha.
        if not 0 < frame <= self._packets_sent or self._reports_received > 4 * self._packets_sent:
            raise Violation("it reported a packet that was never sent, or one too often")
        no_picture, alpha, level, rpu = (bool(flags & 1 << bit) for bit in range(4))
        self.reports.append(PacketReport(frame, status, no_picture, alpha, level, reason[:_MAX_REASON], rpu))

    def _take_picture(self, decoded: DecodedPicture) -> None:
        memory = self._arenas.get(decoded.arena)
        if memory is None or decoded.picture in self._held or len(self._held) >= self.created.max_frames_in_flight:
            raise Violation("a picture is in no arena, was sent twice, or exceeds its credits")
        if not 0 < decoded.frame <= self._packets_sent:
            raise Violation("a picture is that of a packet that was never sent")
        reason = _picture_fault(decoded, memory.size)
        if reason:
            raise Violation(f"of a picture {reason}")
        self._held[decoded.picture] = True
        self.pictures.append(self._picture(decoded, memory))

    def _picture(self, decoded: DecodedPicture, memory: Memory) -> Picture:
        image = (memory, decoded.pixel_format, (decoded.width, decoded.height), decoded.planes)
        picture = Picture(image, lambda: self._release_picture(decoded.picture))
        picture.frame, picture.pts, picture.duration = decoded.frame, decoded.pts, decoded.duration
        flags = (bool(decoded.flags & 1 << bit) for bit in range(8))
        (picture.is_sync, picture.is_damaged, picture.is_hardware, picture.lacks_side_data, picture.has_alpha,
         picture.is_premultiplied, picture.is_alpha_missing, picture.is_rpu_applied) = flags
        picture.color, picture.coded_bit_depth = decoded.color, decoded.coded_bit_depth
        picture.clean_aperture, picture.aspect_ratio = decoded.clean_aperture, decoded.aspect_ratio
        picture.side_data = decoded.side_data
        return picture

    def _release_picture(self, number: int) -> None:
        if self._held.pop(number, None):
            self.channel.release(payloads.RELEASE_FRAME, payloads.pack_u64(number))

    def take_reports(self) -> List[PacketReport]:
        reports = list(self.reports)
        self.reports.clear()
        return reports

    def take_pictures(self) -> Iterator[Picture]:
        while self.pictures:
            yield self.pictures.popleft()

    @property
    def has_events(self) -> bool:
        return bool(self.pictures or self.reports)

    def did_end(self) -> None:
        self._in_flight.clear()
        self._arenas.clear()
        self._slots = None


def _picture_fault(picture: DecodedPicture, size: int) -> str:
    if picture.pixel_format not in PIXEL_FORMATS:
        return f"the pixel format is {picture.pixel_format!r}"
    if not (1 <= picture.width <= MAX_DIMENSION and 1 <= picture.height <= MAX_DIMENSION):
        return f"the size is {picture.width}x{picture.height}"
    clean = picture.clean_aperture
    inside = clean.x + clean.width <= picture.width and clean.y + clean.height <= picture.height
    if not inside or clean.width == 0 or clean.height == 0:
        return "the clean aperture is outside"
    return fault(picture.pixel_format, picture.width, picture.height, picture.planes, size)


def _bounded(format_description: Union[bytes, bytearray, memoryview]) -> bytes:
    if len(format_description) > payloads.MAX_PAYLOAD:
        raise refused(f"a format description has {len(format_description)} bytes; {payloads.MAX_PAYLOAD} is the limit")
    return bytes(format_description)
