# SPDX-License-Identifier: MIT
"""Decompression sessions: packets in, pictures out."""
from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional

from ._core import create
from ._core.create import TimeBase
from ._core.decompression import DecodeOptions, DecompressionLink
from ._core.steps import run
from .daemon import Daemon, default_daemon
from .errors import StatusError, Timeout
from .images import Picture
from .packets import PacketReport
from .session import Session


class DecompressionSession(Session[DecompressionLink]):
    """Decodes HEVC.

        with DecompressionSession(hvcc, time_base=(1, 30)) as session:
            for data, pts in packets:
                for picture in session.decode(data, pts): ...
            for picture in session.finish(): ...

    A picture is the worker's memory, and the worker has few: drop or `release` it before the next, or copy its arrays.
    """

    def __init__(
        self,
        format_description: bytes,
        *,
        pixel_format: Optional[str] = None,
        time_base: TimeBase = (1, 90000),
        hardware: Optional[bool] = None,
        specification: Optional[Mapping[str, Any]] = None,
        daemon: Optional[Daemon] = None,
        timeout: float = 30.0,
        max_wait: float = 0.0,
        **properties: Any,
    ) -> None:
        """Creates a session; returns when the daemon has chosen its decoder.

        - format_description: an hvcC record, for packets of NAL units with their lengths; or parameter sets with start
          codes, for packets with start codes.
        - pixel_format: of the pictures; by default the stream's own. "ab4h" returns extended-linear half floats.
        - hardware: True requires it, False excludes it, None prefers it.
        - max_wait: seconds to wait for a slot, 0 to 3600, in addition to `timeout`; with 0 a full daemon refuses at once.
        - properties: initial properties, such as MaxTemporalLevel or DestinationColorPrimaries.

        Raises StatusError, CallError, NotRunning, NotPermitted, Timeout; ParameterError for a wrong pixel format or time base.
        """
        parameters = create.decompression(format_description, pixel_format, time_base, hardware, specification, properties)
        parameters = create.waiting(parameters, max_wait)
        super().__init__(DecompressionLink(), timeout)
        run(self._link.create((daemon or default_daemon()).address, parameters), timeout + max_wait, "creating a session")

    @property
    def decoder_id(self) -> str:
        return self._link.created.decoder_id

    @property
    def width(self) -> int:
        """Of the pictures, by the format description given at Create."""
        return self._link.created.width

    @property
    def height(self) -> int:
        return self._link.created.height

    @property
    def pixel_format(self) -> str:
        return self._link.created.pixel_format

    def decode(
        self, data: Any, pts: Optional[int] = None, duration: int = 0, *, do_not_output: bool = False,
        timeout: Optional[float] = None
    ) -> Iterator[Picture]:
        """Sends a packet; returns the pictures that have come, also of packets before it.

        The packet is sent when this returns, whether its result is used or not.
        """
        self.send(data, pts, duration, do_not_output=do_not_output, timeout=timeout)
        return self._link.take_pictures()

    def send(
        self, data: Any, pts: Optional[int] = None, duration: int = 0, *, do_not_output: bool = False,
        synchronous: bool = False, timeout: Optional[float] = None
    ) -> int:
        """Sends a packet; returns its number, which pictures and reports have as `frame`.

        Take `pictures` between calls: the decoder waits when many have come. `do_not_output` decodes without a picture;
        `synchronous` waits until the decoder has taken the packet.
        """
        options = DecodeOptions(do_not_output, synchronous)
        try:
            return self._run(self._link.decode(data, pts, duration, options), "decoding a packet", timeout)
        except Timeout as error:
            count = len(self._link.pictures)
            raise Timeout(f"{error}: {count} pictures are to be taken by pictures()") if count else error

    def pictures(self, timeout: float = 0.0) -> Iterator[Picture]:
        """The pictures that have come; waits for the first for at most `timeout` seconds."""
        self._advance()
        if timeout > 0 and not self._link.pictures:
            try:
                self._run(self._link.until(lambda: bool(self._link.pictures)), "waiting for pictures", timeout)
            except Timeout:
                pass
        if not self._link.pictures:
            self._link.check()
        return self._link.take_pictures()

    def finish(self, timeout: Optional[float] = None) -> Iterator[Picture]:
        """The pictures of all packets sent; the next packet must be a key frame. `timeout` is that of each picture."""
        number = self._link.request_finish()
        return self._finished(number, timeout)

    def _finished(self, number: int, timeout: Optional[float]) -> Iterator[Picture]:
        try:
            while True:
                picture = self._run(self._link.next_picture(number), "waiting for a picture", timeout)
                if picture is None:
                    return
                yield picture
                # Kept no longer than by the app, so that the worker can use its memory.
                del picture
        finally:
            self._link.abandon(number)

    def reports(self) -> List[PacketReport]:
        """What was reported of packets since the last call, of the last 4096 reports: damage, and packets without a picture."""
        self._advance()
        reports = self._link.take_reports()
        self._update()
        return reports

    def can_accept(self, format_description: bytes) -> bool:
        """Whether packets of another format can follow in this session."""
        try:
            self.check_format(format_description)
            return True
        except StatusError:
            self._link.check()
            return False

    def check_format(self, format_description: bytes) -> None:
        """Raises StatusError, with the reason, if packets of another format cannot follow in this session."""
        self._run(self._link.check_format(format_description), "asking for a format")

    def change_format(self, format_description: bytes) -> None:
        """The packets that follow are of this format. Raises StatusError."""
        self._run(self._link.change_format(format_description), "changing the format")
