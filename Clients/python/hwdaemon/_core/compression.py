# SPDX-License-Identifier: MIT
"""The messages of compression sessions."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from operator import index
from typing import Any, Deque, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import control
from ..errors import ENCODER_MALFUNCTION
from ..formats import layout
from ..images import Frame, Image, Source
from ..metadata import Color, SideData
from ..packets import Packet
from . import payloads, rules
from .channel import Message
from .link import Link
from .memory import Memory
from .payloads import CodedPacket, FrameToEncode, Violation
from .slots import SLOT_INTERVAL, Slots
from .steps import Steps

# Bytes of a packet beside those of its samples: headers and side data.
_PACKET_OVERHEAD = 1 << 20

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
        return rules.ALPHA_FLAGS[self.alpha_mode] | (rules.FORCE_KEY_FRAME if self.force_key_frame else 0)

    @property
    def has_metadata(self) -> bool:
        return self.color is not None or self.side_data is not None


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
        self._last_pts: Optional[int] = None
        self._is_final_pass = False
        self._has_alpha = False
        self._color: Optional[Color] = None
        #: Whether `finish` has returned; for `aio`.
        self.is_finished = False

    def create(self, address: str, parameters: Mapping[str, Any]) -> Steps[None]:
        self._has_alpha = parameters.get("codec") == "hevc-with-alpha"
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
        pts, duration = index(pts), index(duration)
        yield from self._admit(pts, duration, options)
        image = source if isinstance(source, Image) else None
        if image is None or not self._takes(image):
            frame = yield from self.frame()
            frame.fill(source)
            image = frame
        image.check_use(target=False)
        pool = yield from self.lend(image)
        try:
            yield from self.until(lambda: len(self._in_flight) < self.created.max_frames_in_flight)
            # Another task may have sent a frame meanwhile.
            rules.check_order(self._frames_sent + 1, pts, self._last_pts)
            return self._send(image, pool, (pts, duration), options)
        except BaseException:
            self.take_back(image, pool)
            raise

    def _admit(self, pts: int, duration: int, options: EncodeOptions) -> Steps[None]:
        """Raises ParameterError for what the worker would refuse."""
        number = self._frames_sent + 1
        rules.check_order(number, pts, self._last_pts)
        rules.check_times(f"frame {number}", pts, duration)
        rules.check_qp(number, options.qp)
        rules.check_alpha_mode(number, options.alpha_mode, self._has_alpha)
        rules.check_color(number, options.color)
        rules.check_side_data(number, options.side_data or ())
        if options.color is not None and self.layout.is_ycbcr:
            rules.check_stream_color(number, options.color, (yield from self._stream_color()))

    def _stream_color(self) -> Steps[Color]:
        if self._color is not None:
            return self._color
        is_open = self.format_description is not None
        color = rules.stream_color((yield from self.copy_properties(rules.COLOR_PROPERTIES)))
        if is_open:
            # It can no longer change.
            self._color = color
        return color

    def _send(self, image: Image, pool: int, times: Tuple[int, int], options: EncodeOptions) -> int:
        number, (pts, duration) = self._frames_sent + 1, times
        message = FrameToEncode(
            number, pts, duration, pool, options.flags, -1 if options.qp is None else options.qp, image.places)
        if options.has_metadata:
            payload = payloads.pack_encode_with_metadata(message, options.color, options.side_data or ())
            self.channel.send(payloads.ENCODE_FRAME_WITH_METADATA, payload)
        else:
            self.channel.send(payloads.ENCODE_FRAME, payloads.pack_encode(message))
        self._frames_sent, self._last_pts = number, pts
        self._in_flight[number] = (image, pool)
        self._uncoded[number] = pts
        return number

    def _takes(self, image: Image) -> bool:
        """Whether the worker can read an image where it is."""
        return (image.pixel_format, image.width, image.height) == (
            self.layout.pixel_format, self.layout.width, self.layout.height)

    def set_properties(self, properties: Mapping[str, Any]) -> Steps[None]:
        yield from super().set_properties(properties)
        if properties.get("MultiPassStorage") == "FinalPass" and not self._is_final_pass:
            # The final pass has the times of the first one again.
            self._is_final_pass, self._last_pts = True, None

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
        self.take_back(*self._in_flight.pop(number))

    def _take_packet(self, message: Message, packet: CodedPacket) -> None:
        if self._uncoded.pop(packet.frame, None) != packet.pts:
            raise Violation(f"it sent a packet of frame {packet.frame}, which waits for none with the pts {packet.pts}")
        errors, self._errors = self._errors, None
        if errors is not None and errors[0] != packet.packet:
            raise Violation("it sent the quality of another packet")
        # A coded picture is hardly larger than its samples; packets that the app has not fetched take its memory.
        if packet.size > 2 * self.layout.size + _PACKET_OVERHEAD:
            raise Violation(f"a packet has {packet.size} bytes, and its frame {self.layout.size}")
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
        self._slots = None
