# SPDX-License-Identifier: MIT
"""Compression sessions: frames in, packets out."""
from __future__ import annotations

from fractions import Fraction
from typing import Any, Iterator, List, Mapping, Optional, Sequence

from ._core import create
from ._core.compression import MAX_PTS, CompressionLink, EncodeOptions
from ._core.create import TimeBase
from ._core.steps import run
from .daemon import Daemon, default_daemon
from .formats import fourcc
from .images import Frame, Source
from .metadata import Color, SideData
from .packets import Packet
from .session import Session


class CompressionSession(Session[CompressionLink]):
    """Encodes frames as HEVC.

        with CompressionSession(1920, 1080, "nv12", time_base=(1, 30), AverageBitRate=8_000_000) as session:
            for number, frame in enumerate(frames):
                session.encode(frame, pts=number, duration=1)
                for packet in session.packets(): ...
            for packet in session.finish(): ...
    """

    def __init__(
        self,
        width: int,
        height: int,
        pixel_format: str,
        *,
        time_base: TimeBase = (1, 90000),
        codec: Optional[str] = None,
        hardware: Optional[bool] = None,
        specification: Optional[Mapping[str, Any]] = None,
        daemon: Optional[Daemon] = None,
        timeout: float = 30.0,
        max_wait: float = 0.0,
        **properties: Any,
    ) -> None:
        """Creates a session; returns when the daemon has chosen its encoder.

        - pixel_format: a DRM fourcc ("nv12", "p010", "yuva", "ab4h") or FFmpeg's name ("yuv420p", "rgba").
        - time_base: seconds of one unit of pts and durations, as a fraction.
        - codec: "hevc" or "hevc-with-alpha", which is the default of YUVA.
        - hardware: True requires it, False excludes it, None prefers it.
        - specification: more members of encoder_specification, such as EncoderID.
        - max_wait: seconds to wait for a slot, 0 to 3600, in addition to `timeout`; with 0 a full daemon refuses at once.
        - properties: initial properties by VideoToolbox's names without prefix.

        Raises StatusError, CallError, NotRunning, NotPermitted, Timeout; ParameterError for a wrong pixel format, size or
        time base.
        """
        form = fourcc(pixel_format)
        parameters = create.compression((width, height), form, codec, time_base, hardware, specification, properties)
        parameters = create.waiting(parameters, max_wait)
        super().__init__(CompressionLink(width, height, form), timeout)
        #: Seconds of one unit of pts, dts and durations.
        self.time_base = Fraction(parameters["time_base"]["numerator"], parameters["time_base"]["denominator"])
        run(self._link.create((daemon or default_daemon()).address, parameters), timeout + max_wait, "creating a session")

    @property
    def encoder_id(self) -> str:
        return self._link.created.encoder_id

    @property
    def frames_in_flight(self) -> int:
        """Frames that the encoder still reads."""
        return self._link.frames_in_flight

    @property
    def format_description(self) -> Optional[bytes]:
        """The hvcC record of the packets that come next; None before `prepare` and the first packet."""
        return self._link.format_description

    def prepare(self, timeout: Optional[float] = None) -> bytes:
        """Opens the encoder now, not at the first frame; returns the format description."""
        self._run(self._link.prepare(), "preparing", timeout)
        return self._link.format_description or b""

    def frame(self, timeout: Optional[float] = None) -> Frame:
        """A frame in shared memory to fill without a copy: `frame().planes[0][...] = luma`. Waits until there is room.

        Without numpy `frame().fill(source)` copies bytes into it.
        """
        return self._run(self._link.frame(), "waiting for a frame", timeout)

    def encode(
        self,
        source: Source,
        pts: int,
        duration: int = 0,
        *,
        force_key_frame: bool = False,
        qp: Optional[int] = None,
        alpha_mode: Optional[str] = None,
        color: Optional[Color] = None,
        side_data: Optional[Sequence[SideData]] = None,
        timeout: Optional[float] = None,
    ) -> int:
        """Sends a frame; returns its number. Waits while as many frames are in flight as the session allows.

        - source: a Frame of `frame()`, a decoded Picture or another session's Frame, which the worker reads in place; or
          samples that are copied: one buffer without padding, or a buffer for each plane (numpy arrays, bytes, …).
        - pts: greater than that of the frame before; the final pass of `MultiPassStorage` starts over. duration: 0 if unknown.
        - alpha_mode: "premultiplied" or "straight", of this frame. qp: 0 to 51.
        - color, side_data: this frame's own; need the feature `frame-metadata`.

        Raises ParameterError for what the session would refuse; the session continues. Samples of another size or type are
        refused in the same way.
        """
        options = EncodeOptions(force_key_frame, qp, alpha_mode, color, side_data)
        return self._run(self._link.encode(source, pts, duration, options), "encoding a frame", timeout)

    def packets(self, timeout: float = 0.0) -> Iterator[Packet]:
        """The packets that have come; waits for the first for at most `timeout` seconds."""
        self._advance()
        if timeout > 0 and not self._link.packets:
            try:
                self._run(self._link.until(lambda: bool(self._link.packets)), "waiting for packets", timeout)
            except TimeoutError:
                pass
        if not self._link.packets:
            self._link.check()
        packets = self._link.take_packets()
        self._update()
        return iter(packets)

    def flush(self, until_pts: int = MAX_PTS, timeout: Optional[float] = None) -> List[Packet]:
        """Waits for the packets of all frames up to a pts; returns what has come. Frames may follow."""
        self._run(self._link.complete(until_pts), "completing frames", timeout)
        packets = self._link.take_packets()
        self._update()
        return packets

    def finish(self, timeout: Optional[float] = None) -> List[Packet]:
        """Waits for the packets of all frames; returns those that were not fetched."""
        return self.flush(timeout=timeout)
