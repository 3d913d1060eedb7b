# SPDX-License-Identifier: MIT
"""The messages of pixel-transfer sessions."""
from __future__ import annotations

import json
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from .. import control
from ..errors import INVALID_SESSION, StatusError, refused
from ..formats import Layout, layout
from ..images import DMABufFrame, Frame, Image, Source
from ..metadata import Color
from . import payloads, rules
from .channel import Message
from .link import Link
from .memory import Fence, Memory
from .payloads import FrameToTransfer, Violation
from .pools import MAX_POOLS
from .slots import SLOT_INTERVAL, Slots
from .steps import Steps


class _Transfer(NamedTuple):
    source: Image
    source_pool: int
    target: Frame
    target_pool: int


class TransferLink(Link):
    METHOD = "CreateTransferSession"
    MALFUNCTION = INVALID_SESSION
    created: control.TransferCreated

    def __init__(
        self, width: int, height: int, source: str, target: str, target_size: Optional[Tuple[int, int]] = None,
        tables: Sequence[bytes] = ()
    ) -> None:
        super().__init__()
        self._tables = tables
        self.source_layout = layout(source, width, height)
        self.target_layout = layout(target, *(target_size or (width, height)))
        self._sources: Optional[Slots] = None
        self._targets: Optional[Slots] = None
        self._in_flight: Dict[int, _Transfer] = {}
        self._done: Dict[int, Any] = {}
        #: Pictures with a fence that no frame has waited for, by pool. A pool that is removed loses its fence.
        self._fenced: Dict[int, DMABufFrame] = {}
        self._frames_sent = 0

    def create(self, address: str, parameters: Mapping[str, Any]) -> Steps[None]:
        self.created = control.typed(control.TransferCreated, (yield from self.open(address, parameters)))
        first = len(parameters.get("options", {}).get("tables", []))
        try:
            for number, text in enumerate(self._tables, first):
                memory = Memory.create(len(text))
                memory.map[:] = text
                yield from self.request(payloads.ADD_TABLE, payloads.pack_memory(number, len(text)), [memory])
        except BaseException:
            self.abort()
            raise
        self._tables = ()

    def change_effects(self, effects: Sequence[str], pts: Optional[int]) -> Steps[None]:
        text = json.dumps(list(effects)).encode()
        if len(text) + 8 > payloads.MAX_PAYLOAD:
            raise refused("the effects do not fit a message")
        rules.check_times("a change", pts, 0)
        yield from self.request(payloads.CHANGE_EFFECTS, payloads.pack_effects(payloads.NO_TIME if pts is None else pts, text))

    def frame(self) -> Steps[Frame]:
        """A source frame in the session's own pool; waits until a slot is free."""
        self.check()
        if self._sources is None:
            self._sources = self._make_slots(self.source_layout)
        return (yield from self._take(self._sources, self.source_layout))

    def _target(self) -> Steps[Frame]:
        if self._targets is None:
            self._targets = self._make_slots(self.target_layout)
        return (yield from self._take(self._targets, self.target_layout))

    def _make_slots(self, form: Layout) -> Slots:
        # Half of a session's memory each; one more than can be in flight, which the app fills or reads meanwhile.
        count = min(self.created.max_frames_in_flight + 1, max(2, (1 << 29) // form.size))
        return Slots(form.size, count)

    def _take(self, slots: Slots, form: Layout) -> Steps[Frame]:
        if slots.is_full:
            yield from self.until(lambda: not slots.is_full, SLOT_INTERVAL)
        start = slots.take()
        assert start is not None
        return Frame(slots.memory, form, start, lambda: slots.give_back(start))

    def add_fence(self, frame: DMABufFrame, fence: int) -> Steps[None]:
        """The next frame that uses a picture waits for a sync file."""
        pool = yield from self.lend(frame)
        try:
            # A frame needs two pools, for which those with fences must leave room.
            if pool not in self._fenced and len(self._fenced) >= MAX_POOLS - 2:
                raise refused(f"{len(self._fenced)} pictures have fences that no frame has waited for")
            number = self.post(payloads.ADD_FENCE, payloads.pack_fence(pool), [Fence(fence)])
        except BaseException:
            self.take_back(frame, pool)
            raise
        # The pool stays in use until a frame names it. One that had a fence is in use already.
        if pool in self._fenced:
            self.take_back(frame, pool)
            is_new = False
        else:
            self._fenced[pool] = frame
            is_new = True
        try:
            yield from self.until(lambda: self.is_answered(number))
            self.answer(number)
        except StatusError:
            # Where the wait was given up instead, the worker may have the fence.
            if is_new:
                self._end_fence(pool)
            raise
        finally:
            self.abandon(number)

    def _end_fence(self, pool: int) -> None:
        frame = self._fenced.pop(pool, None)
        if frame is not None:
            self.take_back(frame, pool)

    def submit(
        self, source: Source, color: Optional[Color], pts: Optional[int] = None, target: Optional[DMABufFrame] = None
    ) -> Steps[int]:
        """Sends a frame; copies what is not in shared memory already. Returns its number."""
        self.check()
        rules.check_times(f"frame {self._frames_sent + 1}", pts, 0)
        rules.check_color(self._frames_sent + 1, color)
        # Before the wait for a slot, which would precede the error.
        if target is not None:
            target.check_use(target=True)
        image = source if isinstance(source, Image) else None
        if image is None or (image.pixel_format, image.width, image.height) != (
                self.source_layout.pixel_format, self.source_layout.width, self.source_layout.height):
            frame = yield from self.frame()
            frame.fill(source)
            image = frame
        image.check_use(target=False)
        into: Frame = target if target is not None else (yield from self._target())
        # The session's own pool first: tasks that each had one of the last pools for a source would wait for it without end.
        target_pool = yield from self.lend(into)
        try:
            source_pool = yield from self.lend(image)
        except BaseException:
            self.take_back(into, target_pool)
            raise
        transfer = _Transfer(image, source_pool, into, target_pool)
        try:
            yield from self.until(lambda: len(self._in_flight) < self.created.max_frames_in_flight)
            number = self._frames_sent + 1
            opcode = payloads.TRANSFER_FRAME if pts is None else payloads.TRANSFER_TIMED_FRAME
            self.channel.send(opcode, payloads.pack_transfer(
                FrameToTransfer(number, source_pool, target_pool, color, image.places, into.places, pts)))
        except BaseException:
            self._take_back(transfer)
            raise
        self._frames_sent = number
        self._in_flight[number] = transfer
        self._end_fence(source_pool)
        self._end_fence(target_pool)
        return number

    def _take_back(self, transfer: _Transfer) -> None:
        self.take_back(transfer.source, transfer.source_pool)
        self.take_back(transfer.target, transfer.target_pool)

    def result(self, number: int) -> Steps[Frame]:
        """The converted frame. Raises StatusError where the conversion is not supported; the session continues."""
        if number not in self._in_flight and number not in self._done:
            self.check()
            raise refused(f"frame {number} was not sent, or its result was fetched")
        yield from self.until(lambda: number in self._done)
        result = self._done.pop(number)
        if isinstance(result, StatusError):
            raise result
        frame: Frame = result
        return frame

    def handle(self, message: Message) -> None:
        if message.opcode != payloads.FRAME_TRANSFERRED:
            super().handle(message)
        number, status, reserved, reason = payloads.unpack_status(message.payload)
        if reserved or number not in self._in_flight:
            raise Violation(f"it answered frame {number}, which is not in flight")
        transfer = self._in_flight.pop(number)
        self._take_back(transfer)
        self._done[number] = StatusError(status, reason) if status else transfer.target

    @property
    def has_events(self) -> bool:
        return bool(self._done)

    def did_end(self) -> None:
        for transfer in self._in_flight.values():
            transfer.source.unpin()
            transfer.target.unpin()
        for frame in self._fenced.values():
            frame.unpin()
        self._in_flight.clear()
        self._fenced.clear()
        self._sources = self._targets = None
