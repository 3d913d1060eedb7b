# SPDX-License-Identifier: MIT
"""The sessions for asyncio. Their methods are those of `hwdaemon`'s, as coroutines; other tasks run while they wait.

    async with hwdaemon.aio.CompressionSession(1920, 1080, "nv12", time_base=(1, 30)) as session:
        await session.encode(frame, pts=0, duration=1)
        for packet in await session.finish(): ...

Several tasks may use a session: one may send frames while another iterates over `packets()`. Calls of the daemon are
short; `await asyncio.to_thread(hwdaemon.probe)` makes one without blocking.
"""
from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, AsyncIterator, Dict, Generic, List, Mapping, Optional, Tuple, Sequence, Type, TypeVar, Union

from . import errors
from ._core import create
from ._core.compression import MAX_PTS, CompressionLink, EncodeOptions
from ._core.create import TimeBase
from ._core.decompression import DecodeOptions, DecompressionLink
from ._core.link import Link
from ._core.loop import Waiters
from ._core.steps import Steps
from ._core.transfer import TransferLink
from .daemon import Daemon, default_daemon
from .formats import fourcc
from .images import Frame, Picture, Source
from .metadata import Color, SideData
from .packets import Packet, PacketReport

T = TypeVar("T")
L = TypeVar("L", bound=Link)
S = TypeVar("S", bound="Session[Any]")


class Session(Generic[L]):
    """A session; `async with` creates and closes it. The exceptions are those of `hwdaemon.session.Session`."""

    def __init__(
        self, link: Any, parameters: Dict[str, Any], daemon: Optional[Daemon], timeout: float, max_wait: float
    ) -> None:
        self._link: L = link
        self._parameters = create.waiting(parameters, max_wait)
        self._max_wait = max_wait
        self._daemon = daemon
        self.timeout = timeout
        self._waiters = Waiters(self._link)

    async def __aenter__(self: S) -> S:
        # Starting a private daemon takes a moment.
        daemon = self._daemon
        if daemon is None:
            daemon = await asyncio.get_running_loop().run_in_executor(None, default_daemon)
        seconds = self.timeout + self._max_wait
        await self._drive(self._link.create(daemon.address, self._parameters), "creating a session", seconds)
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is None:
            await self.close()
        else:
            self._link.abort()

    async def _run(self, steps: Steps[T], what: str, timeout: Optional[float] = None) -> T:
        self._check_is_created()
        return await self._drive(steps, what, self.timeout if timeout is None else timeout)

    def _check_is_created(self) -> None:
        if not hasattr(self._link, "channel"):
            raise RuntimeError("the session is not created: `async with` does that")

    async def _drive(self, steps: Steps[T], what: str, seconds: float) -> T:
        try:
            return await asyncio.wait_for(self._waiters.drive(steps), seconds)
        except asyncio.TimeoutError:
            raise errors.Timeout(f"{what} did not end within {seconds:g} s") from None

    @property
    def created(self) -> Any:
        """The reply to Create (`hwdaemon.control`)."""
        return self._link.created

    async def get(self, name: str) -> Any:
        """The value of a property, None if it has none."""
        return (await self._run(self._link.copy_properties([name]), f"reading {name}")).get(name)

    async def set(self, properties: Optional[Dict[str, Any]] = None, **more: Any) -> None:
        """Sets properties, all or none."""
        await self._run(self._link.set_properties({**(properties or {}), **more}), "setting properties")

    async def properties(self) -> Dict[str, Any]:
        """All properties that have a value."""
        return await self._run(self._link.copy_properties([]), "reading properties")

    async def close(self, timeout: float = 5.0) -> None:
        """Ends the session; what it has not returned is lost."""
        try:
            await self._run(self._link.close(), "closing the session", timeout)
        except errors.Timeout:
            pass
        finally:
            self._link.abort()


class CompressionSession(Session[CompressionLink]):
    """Encodes frames as HEVC; the parameters are those of `hwdaemon.CompressionSession`."""

    def __init__(
        self, width: int, height: int, pixel_format: str, *, time_base: TimeBase = (1, 90000), codec: Optional[str] = None,
        hardware: Optional[bool] = None, specification: Optional[Mapping[str, Any]] = None, daemon: Optional[Daemon] = None,
        timeout: float = 30.0, max_wait: float = 0.0, **properties: Any
    ) -> None:
        form = fourcc(pixel_format)
        parameters = create.compression((width, height), form, codec, time_base, hardware, specification, properties)
        super().__init__(CompressionLink(width, height, form), parameters, daemon, timeout, max_wait)

    @property
    def format_description(self) -> Optional[bytes]:
        return self._link.format_description

    async def prepare(self) -> bytes:
        await self._run(self._link.prepare(), "preparing")
        return self._link.format_description or b""

    async def frame(self) -> Frame:
        return await self._run(self._link.frame(), "waiting for a frame")

    async def encode(
        self, source: Source, pts: int, duration: int = 0, *, force_key_frame: bool = False, qp: Optional[int] = None,
        alpha_mode: Optional[str] = None, color: Optional[Color] = None, side_data: Optional[Sequence[SideData]] = None
    ) -> int:
        options = EncodeOptions(force_key_frame, qp, alpha_mode, color, side_data)
        return await self._run(self._link.encode(source, pts, duration, options), "encoding a frame")

    async def packets(self) -> AsyncIterator[Packet]:
        """Packets as they come, until the session ends or `finish` has returned the last one."""
        self._check_is_created()
        while True:
            try:
                await self._waiters.drive(self._link.until(lambda: bool(self._link.packets) or self._link.is_finished))
            except errors.SessionEnded as error:
                if error.code != errors.INVALID_SESSION:
                    raise
                return
            for packet in self._link.take_packets():
                yield packet
            if self._link.is_finished:
                return

    async def flush(self, until_pts: int = MAX_PTS) -> None:
        """Waits until the packets of all frames up to a pts have come, for `packets`."""
        await self._run(self._link.complete(until_pts), "completing frames")

    async def finish(self) -> List[Packet]:
        """Waits for the packets of all frames; returns those that no other task has fetched."""
        await self.flush()
        self._link.is_finished = True
        self._waiters.wake()
        return self._link.take_packets()


class DecompressionSession(Session[DecompressionLink]):
    """Decodes HEVC; the parameters are those of `hwdaemon.DecompressionSession`."""

    def __init__(
        self, format_description: bytes, *, pixel_format: Optional[str] = None, time_base: TimeBase = (1, 90000),
        hardware: Optional[bool] = None, specification: Optional[Mapping[str, Any]] = None, daemon: Optional[Daemon] = None,
        timeout: float = 30.0, max_wait: float = 0.0, **properties: Any
    ) -> None:
        parameters = create.decompression(format_description, pixel_format, time_base, hardware, specification, properties)
        super().__init__(DecompressionLink(), parameters, daemon, timeout, max_wait)

    async def decode(self, data: Any, pts: Optional[int] = None, duration: int = 0, *, do_not_output: bool = False) -> int:
        """Sends a packet; returns its number. Another task must take the pictures meanwhile, or `pictures_now`."""
        return await self._run(self._link.decode(data, pts, duration, DecodeOptions(do_not_output)), "decoding a packet")

    def pictures_now(self) -> List[Picture]:
        """The pictures that have come."""
        self._check_is_created()
        self._waiters.advance()
        if not self._link.pictures:
            self._link.check()
        return list(self._link.take_pictures())

    async def finish(self) -> AsyncIterator[Picture]:
        """The pictures of all packets sent, as they come."""
        self._check_is_created()
        number = self._link.request_finish()
        try:
            while True:
                picture = await self._run(self._link.next_picture(number), "waiting for a picture")
                if picture is None:
                    return
                yield picture
                del picture
        finally:
            self._link.abandon(number)

    def reports(self) -> List[PacketReport]:
        """As those of `hwdaemon.DecompressionSession`, of what other calls have received."""
        return self._link.take_reports()


class TransferSession(Session[TransferLink]):
    """Converts frames; the parameters are those of `hwdaemon.TransferSession`."""

    def __init__(
        self, width: int, height: int, source: Union[str, Mapping[str, str]], target: Union[str, Mapping[str, str]], *,
        target_size: Optional[Tuple[int, int]] = None, device: Optional[str] = None, daemon: Optional[Daemon] = None,
        timeout: float = 30.0, max_wait: float = 0.0, added_tables: Sequence[bytes] = (), **options: Any
    ) -> None:
        parameters = create.transfer((width, height), source, target, device, options, target_size, added_tables)
        formats = [str(parameters[side]["pixel_format"]) for side in ("source", "target")]
        link = TransferLink(width, height, formats[0], formats[1], target_size, added_tables)
        super().__init__(link, parameters, daemon, timeout, max_wait)

    async def frame(self) -> Frame:
        return await self._run(self._link.frame(), "waiting for a frame")

    async def change_effects(self, effects: Sequence[str], pts: Optional[int] = None) -> None:
        """As that of `hwdaemon.TransferSession`."""
        await self._run(self._link.change_effects(effects, pts), "changing effects")

    async def convert(self, source: Source, color: Optional[Color] = None, *, pts: Optional[int] = None) -> Frame:
        """A converted frame; several tasks may convert at once. `pts` serves `change_effects`."""
        number = await self._run(self._link.submit(source, color, pts), "sending a frame")
        return await self._run(self._link.result(number), "converting a frame")
