# SPDX-License-Identifier: MIT
"""What an output's thread shares with the output's callers."""
from __future__ import annotations

import copy
import os
import threading
import time
from typing import Optional, Tuple

from ..errors import INVALID_SESSION, SessionEnded
from .playback import NOT_DECODED_YET, SEEKING, Playback, QueuedFrame
from .._core.source import FileSource
from .timing import RefreshGrid


class Locked:
    """The playback, for as long as a `with` lasts."""

    def __init__(self, state: OutputState, wakes: bool) -> None:
        self._state, self._wakes = state, wakes

    def __enter__(self) -> Playback:
        self._state.condition.acquire()
        return self._state.playback

    def __exit__(self, *_: object) -> None:
        self._state.condition.release()
        if self._wakes:
            self._state.wake()


class OutputState:
    """What an output's callers and its thread share."""

    def __init__(self, source: FileSource, is_manual: bool, grid: Optional[RefreshGrid] = None) -> None:
        self.condition = threading.Condition()
        self.playback = Playback(source.time_base, source.start, grid)
        self.reason: Optional[str] = None
        self.cut_short: Optional[str] = None
        self.converts = True
        self.is_stopped = False
        self.error: Optional[Exception] = None
        self._manual: Optional[int] = 0 if is_manual else None
        self._pipe = os.pipe()
        for descriptor in self._pipe:
            os.set_blocking(descriptor, False)

    def __del__(self) -> None:
        for descriptor in getattr(self, "_pipe", ()):
            os.close(descriptor)

    @property
    def descriptor(self) -> int:
        """Is readable after `wake`."""
        return self._pipe[0]

    @property
    def looked(self) -> Locked:
        return Locked(self, False)

    @property
    def changed(self) -> Locked:
        return Locked(self, True)

    def now(self) -> int:
        return time.monotonic_ns() if self._manual is None else self._manual

    def wake(self) -> None:
        """Lets the thread look again."""
        try:
            os.write(self._pipe[1], b"\0")
        except BlockingIOError:
            pass

    def clear(self) -> None:
        try:
            os.read(self._pipe[0], 4096)
        except BlockingIOError:
            pass

    def stop(self) -> None:
        self.is_stopped = True
        self.wake()

    def ask(self, host: Optional[int], wait: float) -> Optional[Tuple[QueuedFrame, int]]:
        """The frame of a host time and its epoch; its time is that in the file."""
        deadline = time.monotonic() + wait
        with self.condition:
            if host is None:
                host = self.now()
            elif self._manual is not None:
                self._manual = host
            while True:
                if self.is_stopped:
                    raise SessionEnded(INVALID_SESSION, "the output was closed")
                frame, self.reason = self.playback.frame(host, self.converts, time.monotonic() < deadline)
                self.wake()
                if frame is not None:
                    frame.time = self.playback.base(frame.time)
                    return frame, self.playback.epoch
                if self.reason not in (NOT_DECODED_YET, SEEKING):
                    return None
                if self.error is not None:
                    # A copy: the traceback of one that is kept would keep what its callers hold.
                    raise copy.copy(self.error)
                left = deadline - time.monotonic()
                if left <= 0:
                    self.playback.give_up(self.reason)
                    return None
                # A stop wakes the thread, which wakes the callers at its end.
                self.condition.wait(min(left, threading.TIMEOUT_MAX))
