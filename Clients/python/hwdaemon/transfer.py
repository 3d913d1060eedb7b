# SPDX-License-Identifier: MIT
"""Pixel-transfer sessions: frames to frames of another layout and color."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Tuple, Union

from ._core import create
from ._core.steps import run
from ._core.transfer import TransferLink
from .daemon import Daemon, default_daemon
from .images import DMABufFrame, Frame, Source
from .metadata import Color
from .session import Session


class TransferSession(Session[TransferLink]):
    """Converts frames.

        with TransferSession(1920, 1080, {"pixel_format": "p010", "transfer": "pq"}, "ab4h") as session:
            half_floats = session.convert(frame).planes[0]
    """

    def __init__(
        self,
        width: int,
        height: int,
        source: Union[str, Mapping[str, str]],
        target: Union[str, Mapping[str, str]],
        *,
        target_size: Optional[Tuple[int, int]] = None,
        device: Optional[str] = None,
        daemon: Optional[Daemon] = None,
        timeout: float = 30.0,
        max_wait: float = 0.0,
        added_tables: Sequence[bytes] = (),
        **options: Any,
    ) -> None:
        """Creates a session; returns when the daemon has chosen its converter.

        - source, target: a pixel format, or the members of TransferImage (pixel_format, primaries, transfer, matrix, range,
          siting, alpha).
        - target_size: width and height of the converted frames; those of the source when absent.
        - device: "auto" (the default), "vulkan", "cpu" or a GPU's PCI address.
        - max_wait: seconds to wait for a slot, 0 to 3600, in addition to `timeout`; with 0 a full daemon refuses at once.
        - added_tables: contents of .cube files, up to 64 MiB each, which effects name by their numbers after those of `tables`, such as
          "lut:table=0,space=pq"; they need the feature `effects.tables`.
        - options: the members of TransferOptions, such as reference_white, or effects: ["exposure:ev=1", "sepia"], which need
          the feature `effects.list`; Daemon.effects() describes them.

        Raises StatusError, CallError, NotRunning, NotPermitted, Timeout; ParameterError for a wrong pixel format or size.
        """
        parameters = create.transfer((width, height), source, target, device, options, target_size, added_tables)
        parameters = create.waiting(parameters, max_wait)
        formats = [str(parameters[side]["pixel_format"]) for side in ("source", "target")]
        super().__init__(TransferLink(width, height, formats[0], formats[1], target_size, added_tables), timeout)
        run(self._link.create((daemon or default_daemon()).address, parameters), timeout + max_wait, "creating a session")

    @property
    def device(self) -> str:
        """The converting device, for people."""
        return self._link.created.device

    @property
    def device_reason(self) -> Optional[str]:
        """Why it is that device."""
        return self._link.created.device_reason

    @property
    def using_gpu(self) -> bool:
        return self._link.created.using_gpu

    def frame(self, timeout: Optional[float] = None) -> Frame:
        """A source frame in shared memory to fill without a copy. Waits until there is room."""
        return self._run(self._link.frame(), "waiting for a frame", timeout)

    def change_effects(self, effects: Sequence[str], pts: Optional[int] = None) -> None:
        """Changes the parameters of the session's effects, given in the same order, from a time on; up to 64 changes may wait for
        their frames.

        - pts: the time, by the `pts` of frames; None is that of the next frame, and of frames without a time.

        Raises StatusError for other effects and for parameters out of range; the session continues.
        """
        self._run(self._link.change_effects(effects, pts), "changing effects")

    def submit(
        self, source: Source, color: Optional[Color] = None, timeout: Optional[float] = None, *, pts: Optional[int] = None,
        target: Optional[DMABufFrame] = None
    ) -> int:
        """Sends a frame, as `CompressionSession.encode` does; returns its number for `result`. `pts` serves `change_effects`.

        The frame is converted into `target`, or else into a frame of the session's own memory. Raises ParameterError for a picture
        that was made for the other use.
        """
        return self._run(self._link.submit(source, color, pts, target), "sending a frame", timeout)

    def add_fence(self, frame: DMABufFrame, fence: int) -> None:
        """Makes the next submitted frame that has `frame` as source or target wait until a sync file is signaled, 2 s at most.

        Another fence for the same frame replaces it: merge several (SYNC_IOC_MERGE).

        Raises StatusError for a descriptor that is no sync file; the session continues.
        """
        self._run(self._link.add_fence(frame, fence), "adding a fence")

    def result(self, number: int, timeout: Optional[float] = None) -> Frame:
        """Waits for a converted frame.

        Raises StatusError if the color is not supported; the session continues.
        """
        return self._run(self._link.result(number), "converting a frame", timeout)

    def convert(
        self, source: Source, color: Optional[Color] = None, timeout: Optional[float] = None, *, pts: Optional[int] = None
    ) -> Frame:
        """A converted frame: `submit` and `result`."""
        return self.result(self.submit(source, color, timeout, pts=pts), timeout)
