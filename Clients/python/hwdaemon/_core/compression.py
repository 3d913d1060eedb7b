# SPDX-License-Identifier: MIT
"""The messages of compression sessions."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Deque, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import control
from ..errors import ENCODER_MALFUNCTION
from ..formats import layout
from ..images import Frame, Image, Source
from ..metadata import Color, SideData
from ..packets import Packet
from . import payloads
from .channel import Message
from .link import Link
from .memory import Memory
from .payloads import CodedPacket, FrameToEncode, Violation
from .slots import SLOT_INTERVAL, Slots
from .steps import Steps

# More than the samples of the largest picture: 8192 x 4320 in 10 bits take 106 MB.
MAX_CODED_PACKET = 256 << 20

FORCE_KEY_FRAME = 1
ALPHA_FLAGS: Mapping[Optional[str], int] = {None: 0, "premultiplied": 2, "straight": 4}
MAX_PTS = (1 << 63) - 1


@dataclass(frozen=True)
class EncodeOptions:
    """What `encode` takes beside samples and times."""

    force_key_frame: bool = False
    qp: Optional[int] = None
    alpha_mode: Optional[str] = None
    color: Optional[Color] = None
    side_data: Optional[Sequence[SideData]] = None

    @property
    def flags(self) -> int:
        if self.alpha_mode not in ALPHA_FLAGS:
            raise ValueError(f"the alpha mode is {self.alpha_mode!r}, not 'premultiplied' or 'straight'")
        return ALPHA_FLAGS[self.alpha_mode] | (FORCE_KEY_FRAME if self.force_key_frame else 0)


class CompressionLink(Link):
    METHOD = "CreateCompressionSession"
    MALFUNCTION = ENCODER_MALFUNCTION
    created: control.CompressionCreated

    def __init__(self, width: int, height: int, pixel_format: str) -> None:
        super().__init__()
        self.layout = layout(pixel_format, width, height)
        self.packets: Deque[Packet] = deque()
        self.format_description: Optional[bytes] = None
        self._slots: Optional[Slots] = None
        self._in_flight: Dict[int, Tuple[Image, int]] = {}
        # Frames whose packets have not come, which bounds how many packets a worker can send.
        self._uncoded: Dict[int, int] = {}
        self._arenas: Dict[int, Memory] = {}
        self._errors: Optional[Tuple[int, Tuple[float, float, float]]] = None
        self._frames_sent = 0
        self._last_pts = -payloads.TIME_BOUND
        #: Whether `finish` has returned; for `aio`.
        self.is_finished = False

    def create(self, address: str, parameters: Mapping[str, Any]) -> Steps[None]:
        self.created = control.typed(control.CompressionCreated, (yield from self.open(address, parameters)))

    # Frames.

    def frame(self) -> Steps[Frame]:
        """A frame in the session's own pool; waits until a slot is free."""
        self.check()
        if self._slots is None:
            # One more than can be in flight: the app fills it meanwhile.
            self._slots = Slots(self.layout.size, self.created.max_frames_in_flight + 1)
        slots = self._slots
        if slots.is_full:
            yield from self.until(lambda: not slots.is_full, SLOT_INTERVAL)
        start = slots.take()
        assert start is not None
        return Frame(slots.memory, self.layout, start, lambda: slots.give_back(start))

    def encode(self, source: Source, pts: int, duration: int, options: EncodeOptions) -> Steps[int]:
        """Sends a frame; copies what is not in shared memory already. Returns its number."""
        self.check()
        self.is_finished = False
        self._check_times(pts, duration)
        flags = options.flags
        if options.qp is not None and not 0 <= options.qp <= 51:
            raise ValueError(f"the QP is {options.qp}, not 0 to 51")
        image = source if isinstance(source, Image) else None
        if image is None or not self._takes(image):
            frame = yield from self.frame()
            frame.fill(source)
            image = frame
        pool = yield from self.register(image.memory)
        yield from self.until(lambda: len(self._in_flight) < self.created.max_frames_in_flight)
        # Another task may have sent a frame meanwhile.
        self._check_times(pts, duration)
        number = self._frames_sent + 1
        message = FrameToEncode(number, pts, duration, pool, flags, -1 if options.qp is None else options.qp, image.places)
        if options.color is None and options.side_data is None:
            self.channel.send(payloads.ENCODE_FRAME, payloads.pack_encode(message))
        else:
            payload = payloads.pack_encode_with_metadata(message, options.color, options.side_data or ())
            self.channel.send(payloads.ENCODE_FRAME_WITH_METADATA, payload)
        self._frames_sent, self._last_pts = number, pts
        self._in_flight[number] = (image, pool)
        self._uncoded[number] = pts
        image.pin()
        self.use_pool(pool, 1)
        return number

    def _check_times(self, pts: int, duration: int) -> None:
        """Raises ValueError for times that would end the session."""
        if not self._last_pts < pts < payloads.TIME_BOUND:
            raise ValueError(f"the pts {pts} is not greater than the last one ({self._last_pts}), or too great")
        if not 0 <= duration < payloads.TIME_BOUND:
            raise ValueError(f"the duration {duration} is negative or too great")

    def _takes(self, image: Image) -> bool:
        """Whether the worker can read an image where it is."""
        return (image.pixel_format, image.width, image.height) == (
            self.layout.pixel_format, self.layout.width, self.layout.height)

    def prepare(self) -> Steps[None]:
        yield from self.request(payloads.PREPARE)

    def complete(self, until_pts: int = MAX_PTS) -> Steps[None]:
        """Waits for the packets of all frames up to a pts."""
        yield from self.request(payloads.COMPLETE_FRAMES, until_pts.to_bytes(8, "little", signed=True))

    # Messages.

    def handle(self, message: Message) -> None:
        opcode, payload = message.opcode, message.payload
        if opcode == payloads.PACKET:
            self._take_packet(message, payloads.unpack_packet(payload))
        elif opcode == payloads.FRAME_RELEASED:
            self._take_release(payloads.unpack_u64(payload))
        elif opcode == payloads.FORMAT_DESCRIPTION:
            self.format_description = payload
        elif opcode == payloads.QUALITY_METRICS:
            if self._errors is not None:
                raise Violation("it sent no packet with its quality")
            self._errors = payloads.unpack_metrics(payload)
        elif opcode == payloads.ADD_ARENA:
            number, size = payloads.unpack_memory(payload)
            if self._arenas:
                raise Violation("it sent a second arena")
            self._arenas[number] = self.receive_memory(message, size)
        else:
            super().handle(message)

    def _take_release(self, number: int) -> None:
        if number not in self._in_flight:
            raise Violation(f"it released frame {number}, which is not in flight")
        image, pool = self._in_flight.pop(number)
        image.unpin()
        self.use_pool(pool, -1)

    def _take_packet(self, message: Message, packet: CodedPacket) -> None:
        if self._uncoded.pop(packet.frame, None) != packet.pts:
            raise Violation(f"it sent a packet of frame {packet.frame}, which waits for none with the pts {packet.pts}")
        errors, self._errors = self._errors, None
        if errors is not None and errors[0] != packet.packet:
            raise Violation("it sent the quality of another packet")
        if packet.size > MAX_CODED_PACKET:
            raise Violation(f"a packet has {packet.size} bytes; {MAX_CODED_PACKET} is the limit")
        if packet.arena == payloads.OWN_MEMORY:
            memory = self.receive_memory(message, packet.offset + packet.size)
        elif packet.arena in self._arenas and not message.descriptors:
            memory = self._arenas[packet.arena]
        else:
            raise Violation("a packet is in no arena, or has a descriptor beside it")
        if packet.offset + packet.size > memory.size:
            raise Violation("a packet leaves its arena")
        if self.format_description is None:
            raise Violation("it sent a packet before the format description")
        data = bytes(memory.view[packet.offset : packet.offset + packet.size])
        self.channel.release(payloads.RELEASE_PACKET, payloads.pack_u64(packet.packet))
        self.packets.append(Packet(
            data, packet.pts, packet.dts, packet.duration, bool(packet.flags & 1), bool(packet.flags & 2),
            packet.temporal_id, packet.nal_unit_type, packet.frame, self.format_description, errors[1] if errors else None))

    def take_packets(self) -> List[Packet]:
        packets = list(self.packets)
        self.packets.clear()
        return packets

    @property
    def has_events(self) -> bool:
        return bool(self.packets)

    @property
    def frames_in_flight(self) -> int:
        return len(self._in_flight)

    def did_end(self) -> None:
        for image, _ in self._in_flight.values():
            image.unpin()
        self._in_flight.clear()
        self._arenas.clear()
