# SPDX-License-Identifier: MIT
"""Frames of a file for a display: at each refresh, the frame of that time. Needs PyAV, which demuxes, and numpy."""
from __future__ import annotations

import math
import os
import threading
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Mapping, Optional, Tuple, Type, Union

from ._output.engine import OutputEngine
from ._output.playback import OutputCounts, QueuedFrame
from ._output.shared import OutputState
from ._core.source import FileSource
from ._output.timing import MAX_RATE, ONE, RefreshGrid
from .daemon import Daemon, default_daemon
from .errors import refused
from .formats import fourcc
from .images import Image, Picture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

class VideoFrame:
    """A frame to show. Keep few of them, because their memory is used again once nothing refers to it."""

    def __init__(self, frame: QueuedFrame, epoch: int, time_base: Fraction) -> None:
        #: The samples: a `Frame` where the output converts, else the decoder's `Picture`.
        self.image: Image = frame.shown
        #: When it is shown, in ticks of the stream's `time_base`, and how long it lasts; 0 where that is not known.
        self.time, self.duration, self.time_base = frame.time, frame.duration, time_base
        #: Which stretch of play it belongs to: each seek begins another.
        self.epoch = epoch
        picture: Picture = frame.picture
        #: The color of the picture before its conversion, and whether it, or one that it refers to, was damaged.
        self.color, self.is_damaged = picture.color, picture.is_damaged
        #: The part to show.
        self.clean_aperture = picture.clean_aperture

    @property
    def display_time(self) -> float:
        """When it is shown, in seconds of the item's time."""
        return float(self.time * self.time_base)

    @property
    def planes(self) -> Tuple[Array, ...]:
        """As of `Image.planes`."""
        return self.image.planes

    @property
    def pixel_format(self) -> str:
        return self.image.pixel_format

    @property
    def width(self) -> int:
        return self.image.width

    @property
    def height(self) -> int:
        return self.image.height


class VideoOutput:
    """The frames of a video by display time.

        with VideoOutput.open("clip.mov") as output:
            output.play()
            while …:
                frame = output.copy_frame(time_of_next_refresh)
                if frame is not None:
                    show(frame.planes[0])

    A session of the daemon decodes ahead, another one converts the frame that is shown next and the one behind it. The frame of a
    time is the last one at or before it, with a tolerance of 0.1 ms. Within an epoch no frame is given twice, and none behind a
    later one (in reverse, before an earlier one); a seek, another direction and each lap of a loop begin another. Time stands at
    the start, after a seek and after a change of direction until the first frame is given.

    Any thread may call any method. Where a session's process fails, another continues, three times; the picture stands for that
    time.
    """

    def __init__(self, state: "OutputState", thread: threading.Thread) -> None:
        self._state, self._thread = state, thread

    @classmethod
    def open(
        cls, path: Union[str, "os.PathLike[str]"], format: Union[str, Mapping[str, str], None] = "rgba16f", clock: str = "host", *,
        hardware: Optional[bool] = None, daemon: Optional[Daemon] = None, display_interval: Optional[float] = None
    ) -> "VideoOutput":
        """Opens the first video of a file; the output stands at time 0 until `play`.

        - path: .mov, .mp4, .mkv or another file of HEVC with times.
        - format: what frames are converted to, as `target` of TransferSession: `{"pixel_format": "rgba16f", "primaries": "p3"}` for
          half floats of Display P3. None gives the decoder's own pictures.
        - clock: "host" is time.monotonic(); "manual" begins at 0 and stands until `copy_frame` is called with another time.
        - hardware: as of DecompressionSession.
        - display_interval: seconds from one refresh to the next: host times are put on its grid, so that their jitter gives no
          frame twice and leaves out none.

        Raises ValueError for a file without HEVC, and ParameterError for one without times, an unknown format or clock;
        ModuleNotFoundError without PyAV and numpy; PyAV's errors for files; a session's errors.
        """
        if clock not in ("host", "manual"):
            raise refused(f'the clock is "host" or "manual", not {clock!r}')
        if display_interval is not None and not 1e-6 <= display_interval <= 3600:
            raise refused(f"the display's interval is {display_interval} s, not 1e-6 to 3600")
        if format is not None:
            fourcc(format if isinstance(format, str) else format.get("pixel_format", ""))
        source = FileSource(path)
        try:
            state = OutputState(source, clock == "manual", None if display_interval is None else RefreshGrid(display_interval))
            engine = OutputEngine(state, source, format, hardware, daemon or default_daemon())
        except BaseException:
            source.close()
            raise
        # The thread does not refer to the output, so that dropping the output ends it.
        thread = threading.Thread(target=engine.work, name="hwdaemon.VideoOutput", daemon=True)
        thread.start()
        return cls(state, thread)

    # Commands.

    def play(self, rate: float = 1) -> None:
        """Plays from the present position on, at -2 to 2 times real time; greater rates are limited to these, and 0 is `pause`.

        Another direction begins another epoch. In reverse, two parts of a group of pictures wait in this process's memory, 512 MB
        at most. Raises ParameterError for a rate that is no number.
        """
        if not math.isfinite(rate):
            raise refused(f"the rate is {rate}, not -2 to 2")
        with self._state.changed as playback:
            playback.play(max(-MAX_RATE, min(MAX_RATE, round(rate * ONE))), self._state.now())

    def pause(self) -> None:
        """Stops time; a seek still shows its frame."""
        self.play(0)

    def seek(self, t: float, *, key: bool = False, tolerance: float = 0) -> None:
        """Goes to a time, in seconds of the item's time; the rate stays. Times before 0 are 0; behind the end there is no frame.

        - key: to the last key frame at or before the time, which is fastest.
        - tolerance: to a key frame that is at most so many seconds away, the one before the time first; else to the time.

        Raises ParameterError for times that are no numbers, and a tolerance below 0.
        """
        nanoseconds, near = _nanoseconds(t), _nanoseconds(tolerance)
        if near < 0:
            raise refused(f"the tolerance is {tolerance}")
        with self._state.changed as playback:
            playback.seek(nanoseconds, None if key else playback.ticks(near))

    @property
    def loop(self) -> bool:
        """Whether the video begins again at its end, in reverse at its start, without a gap; each lap is another epoch."""
        with self._state.looked as playback:
            return playback.loops

    @loop.setter
    def loop(self, loops: bool) -> None:
        with self._state.changed as playback:
            playback.loop(bool(loops))

    @property
    def rate(self) -> float:
        """The rate that is played at, or that play continues with after a seek."""
        with self._state.looked as playback:
            return playback.map.wanted_rate / ONE

    # Frames.

    def item_time(self, host_time: Optional[float] = None) -> float:
        """The item time of a host time, both in seconds; it stands during a seek."""
        with self._state.looked as playback:
            return playback.item(self._state.now() if host_time is None else _nanoseconds(host_time)) / 1e9

    def copy_frame(self, host_time: Optional[float] = None, wait: float = 0) -> Optional[VideoFrame]:
        """The frame of a host time, which counts as given then; None where there is none, and `reason` says why.

        - host_time: seconds of the clock, the time at which the refresh is seen; None is now. A manual clock is set to it.
        - wait: seconds to wait for a picture that is not there yet.

        Raises StatusError for a picture that cannot be converted, once; the next one is given. Raises what made the output fail
        for good, such as SessionEnded, after the frames that were there.
        """
        answer = self._state.ask(None if host_time is None else _nanoseconds(host_time), wait)
        return None if answer is None else VideoFrame(answer[0], answer[1], self._state.playback.time_base)

    @property
    def reason(self) -> Optional[str]:
        """Why the last `copy_frame` returned None; None where it returned a frame.

        "same": the frame of the time, or one behind it, was given; "not decoded yet"; "before start"; "after end"; "seeking": a seek
        or the start waits for its first frame.
        """
        return self._state.reason

    @property
    def epoch(self) -> int:
        """How many seeks, changes of direction and laps of a loop there were."""
        with self._state.looked as playback:
            return playback.epoch

    @property
    def counts(self) -> OutputCounts:
        """What happened so far."""
        with self._state.looked as playback:
            return OutputCounts(**vars(playback.counts))

    @property
    def cut_short(self) -> Optional[str]:
        """Why the file ended early; what came before is shown."""
        return self._state.cut_short

    def close(self, timeout: float = 5.0) -> None:
        """Ends the output; frames that were given stay valid."""
        self._state.stop()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def __enter__(self) -> "VideoOutput":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state is not None:
            state.stop()


def _nanoseconds(seconds: float) -> int:
    if not math.isfinite(seconds):
        raise refused(f"a time is {seconds}")
    return round(seconds * 1_000_000_000)
