# SPDX-License-Identifier: MIT
"""Frames of a file for a display: at each refresh, the frame of that time. Needs PyAV, which demuxes, and numpy."""
from __future__ import annotations

import copy
import math
import os
import select
import threading
import time
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type, Union

from ._core.playback import MAX_RATE, NOT_DECODED_YET, ONE, SEEKING, OutputCounts, Playback, QueuedFrame
from .daemon import Daemon, default_daemon
from .decompression import DecompressionSession
from .errors import INVALID_SESSION, Error, SessionEnded, Timeout, refused
from .files import _av
from .formats import fourcc, layout
from .images import Image, Picture
from .transfer import TransferSession

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

#: Bytes of decoded pictures that wait; two pictures always may.
QUEUE_BYTES = 256 << 20
#: Packets that the decoder has not read: as few as keep it busy, so that a seek does not wait for more.
_PACKETS_AHEAD = 2
#: Pictures of the decoder that stay free, so that it can work.
_CREDITS_LEFT = 2
#: How often a session whose process failed is replaced.
_MAX_RESTARTS = 3
#: Nanoseconds of lateness behind which decoding continues with the next key frame.
_MAX_LATENESS = 500_000_000


class VideoFrame:
    """A frame to show. Keep few of them, because their memory is used again once nothing refers to it."""

    def __init__(self, image: Image, picture: Picture, time: int, duration: int, time_base: Fraction, epoch: int) -> None:
        #: The samples: a `Frame` where the output converts, else the decoder's `Picture`.
        self.image = image
        #: When it is shown, in ticks of the stream's `time_base`, and how long it lasts; 0 where that is not known.
        self.time, self.duration, self.time_base = time, duration, time_base
        #: Which stretch of play it belongs to: each seek begins another.
        self.epoch = epoch
        #: The color of the picture before its conversion, and what was damaged.
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
    later one; a seek begins another epoch. Time stands at the start and after a seek until the first frame is given.

    Any thread may call any method. Where a session's process fails, another continues, three times; the picture stands for that
    time.
    """

    def __init__(self, state: "_State", thread: threading.Thread) -> None:
        self._state, self._thread = state, thread

    @classmethod
    def open(
        cls, path: Union[str, "os.PathLike[str]"], format: Union[str, Mapping[str, str], None] = "rgba16f", clock: str = "host", *,
        hardware: Optional[bool] = None, daemon: Optional[Daemon] = None
    ) -> "VideoOutput":
        """Opens the first video of a file; the output stands at time 0 until `play`.

        - path: .mov, .mp4, .mkv or another file of HEVC with times.
        - format: what frames are converted to, as `target` of TransferSession: `{"pixel_format": "rgba16f", "primaries": "p3"}` for
          half floats of Display P3. None gives the decoder's own pictures.
        - clock: "host" is time.monotonic(); "manual" begins at 0 and stands until `copy_frame` is called with another time.
        - hardware: as of DecompressionSession.

        Raises ValueError for a file without HEVC, and ParameterError for one without times, an unknown format or clock;
        ModuleNotFoundError without PyAV and numpy; PyAV's errors for files; a session's errors.
        """
        if clock not in ("host", "manual"):
            raise refused(f'the clock is "host" or "manual", not {clock!r}')
        if format is not None:
            fourcc(format if isinstance(format, str) else format.get("pixel_format", ""))
        source = _Source(path)
        try:
            state = _State(source, clock == "manual")
            engine = _Engine(state, source, format, hardware, daemon or default_daemon())
        except BaseException:
            source.close()
            raise
        # The thread does not refer to the output, so that dropping the output ends it.
        thread = threading.Thread(target=engine.work, name="hwdaemon.VideoOutput", daemon=True)
        thread.start()
        return cls(state, thread)

    # Commands.

    def play(self, rate: float = 1) -> None:
        """Plays from the present position on, at 0 to 2 times real time; greater rates are limited to 2, and 0 is `pause`.

        Raises ParameterError for a negative rate: play in reverse is not supported.
        """
        if not math.isfinite(rate) or rate < 0:
            raise refused(f"the rate is {rate}, not 0 to 2: play in reverse is not supported")
        with self._state.changed as playback:
            playback.map.set_rate(min(MAX_RATE, round(rate * ONE)), self._state.now())

    def pause(self) -> None:
        """Stops time; a seek still shows its frame."""
        self.play(0)

    def seek(self, t: float) -> None:
        """Goes to a time, in seconds of the item's time; the rate stays. Times before 0 are 0; behind the end there is no frame."""
        nanoseconds = _nanoseconds(t)
        with self._state.changed as playback:
            playback.seek(nanoseconds)

    @property
    def rate(self) -> float:
        """The rate that is played at, or that play continues with after a seek."""
        with self._state.looked as playback:
            return playback.map.wanted_rate / ONE

    # Frames.

    def item_time(self, host_time: Optional[float] = None) -> float:
        """The item time of a host time, both in seconds; it stands during a seek."""
        with self._state.looked as playback:
            return playback.map.at(self._state.now() if host_time is None else _nanoseconds(host_time)) / 1e9

    def copy_frame(self, host_time: Optional[float] = None, wait: float = 0) -> Optional[VideoFrame]:
        """The frame of a host time, which counts as given then; None where there is none, and `reason` tells why.

        - host_time: seconds of the clock, the time at which the refresh is seen; None is now. A manual clock is set to it.
        - wait: seconds to wait for a picture that is not there yet.

        Raises StatusError for a picture that cannot be converted, once; the next one is given. Raises what made the output fail
        for good, such as SessionEnded, after the frames that were there.
        """
        return self._state.ask(None if host_time is None else _nanoseconds(host_time), wait)

    @property
    def reason(self) -> Optional[str]:
        """Why the last `copy_frame` returned None; None where it returned a frame.

        "same": the frame of the time, or one behind it, was given; "not decoded yet"; "before start"; "after end"; "seeking": a seek
        or the start waits for its first frame.
        """
        return self._state.reason

    @property
    def epoch(self) -> int:
        """How many seeks there were."""
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


class _Locked:
    """The playback, for as long as a `with` lasts."""

    def __init__(self, state: "_State", wakes: bool) -> None:
        self._state, self._wakes = state, wakes

    def __enter__(self) -> Playback:
        self._state.condition.acquire()
        return self._state.playback

    def __exit__(self, *_: object) -> None:
        self._state.condition.release()
        if self._wakes:
            self._state.wake()


class _State:
    """What an output's callers and its thread share."""

    def __init__(self, source: "_Source", is_manual: bool) -> None:
        self.condition = threading.Condition()
        self.playback = Playback(source.time_base, source.start)
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
    def looked(self) -> _Locked:
        return _Locked(self, False)

    @property
    def changed(self) -> _Locked:
        return _Locked(self, True)

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

    def ask(self, host: Optional[int], wait: float) -> Optional[VideoFrame]:
        deadline = time.monotonic() + wait
        with self.condition:
            if host is None:
                host = self.now()
            elif self._manual is not None:
                self._manual = host
            while True:
                if self.is_stopped:
                    raise SessionEnded(INVALID_SESSION, "the output was closed")
                frame, self.reason = self.playback.frame(host, self.converts)
                self.wake()
                if frame is not None:
                    return VideoFrame(
                        frame.shown, frame.picture, frame.time, frame.duration, self.playback.time_base, self.playback.epoch)
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


class _Source:
    """The packets of a file's video, which PyAV reads."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        from .av import format_description

        av = _av(path)
        self._file = av.open(os.fspath(path))
        try:
            if not self._file.streams.video:
                raise ValueError(f"{os.fspath(path)} has no video")
            self._stream = self._file.streams.video[0]
            self.format = format_description(self._stream)
            self.time_base = Fraction(self._stream.time_base)
            rate = self._stream.average_rate
            #: Pictures a second, about.
            self.rate = float(rate) if rate else 30.0
            self._packets: Iterator[Any] = iter(())
            self._first: Optional[Any] = None
            self._restart()
            first = self._next_key()
            if first is None:
                raise ValueError(f"{os.fspath(path)} has no key frame with a time")
            #: The time of the first key frame.
            self.start: int = first.pts
        except BaseException:
            self._file.close()
            raise

    def _restart(self) -> None:
        self._packets = iter(self._file.demux(self._stream))

    def _next_key(self) -> Optional[Any]:
        packet = self.next()
        while packet is not None and not packet.is_keyframe:
            packet = self.next()
        self._first = packet
        return packet

    def next(self) -> Optional[Any]:
        """The next packet in decoding order; None at the end."""
        if self._first is not None:
            packet, self._first = self._first, None
            return packet
        for packet in self._packets:
            # The last one is empty.
            if packet.size:
                if packet.pts is None:
                    raise refused("a packet has no time; byte streams have none")
                return packet
        return None

    def seek(self, target: int) -> int:
        """Goes to a key frame at or before a time, else to the first; returns its time."""
        # Demuxers search by the times of decoding, and may find a key frame that is shown later.
        wanted = max(target, self.start)
        for attempt in range(8):
            self._first = None
            self._file.seek(wanted, stream=self._stream)
            self._restart()
            key = self._next_key()
            if key is not None and key.pts <= max(target, self.start):
                return int(key.pts)
            found = wanted if key is None or key.dts is None else min(wanted, key.dts)
            wanted = found - (1 << attempt)
        self._first = None
        self._file.seek(min(0, self.start), stream=self._stream)
        self._restart()
        key = self._next_key()
        return self.start if key is None else int(key.pts)

    def close(self) -> None:
        self._file.close()


def _new_format(packet: Any) -> Optional[bytes]:
    """The record from this packet on, where it changes."""
    if not hasattr(packet, "has_sidedata") or not packet.has_sidedata("new_extradata"):
        return None
    return bytes(packet.get_sidedata("new_extradata"))


class _Engine:
    """An output's thread: reads the file, decodes ahead and converts what is shown next."""

    def __init__(
        self, state: _State, source: _Source, target: Union[str, Mapping[str, str], None], hardware: Optional[bool], daemon: Daemon
    ) -> None:
        self._state, self._source, self._target = state, source, target
        self._hardware, self._daemon = hardware, daemon
        state.converts = target is not None
        self._format = source.format
        self._decoder = self._decode()
        #: The stretches of packets whose pictures have not come, by the decoder's numbers.
        self._sent: Dict[int, int] = {}
        #: The stretches whose pictures the decoder was told to return.
        self._finishes: List[Tuple[int, Optional[int]]] = []
        self._run = -1
        self._key = source.start
        self._is_fed = self._is_read = self._skips_to_key = False
        self._converter: Optional[TransferSession] = None
        self._converter_key: Tuple[int, int, str] = (0, 0, "")
        self._restarts = 0

    def _decode(self) -> DecompressionSession:
        return DecompressionSession(
            self._format, time_base=self._source.time_base, hardware=self._hardware, daemon=self._daemon)

    def work(self) -> None:
        """Works until the output is closed or a session fails for good."""
        state = self._state
        try:
            while not state.is_stopped:
                state.clear()
                try:
                    is_busy = self._receive()
                    is_busy = self._step() or is_busy
                    is_busy = self._convert() or is_busy
                except SessionEnded:
                    self._restart()
                    is_busy = True
                if is_busy:
                    with state.condition:
                        state.condition.notify_all()
                else:
                    self._wait()
        except Exception as error:
            state.error = error
        finally:
            self._decoder.close(0)
            if self._converter is not None:
                self._converter.close(0)
            self._source.close()
            with state.condition:
                if not state.is_stopped:
                    state.error = state.error or SessionEnded(INVALID_SESSION, "the output's thread ended")
                state.condition.notify_all()

    def _restart(self) -> None:
        """Replaces the session whose process failed; raises its error where that has been done too often."""
        converter = self._converter
        if self._restarts >= _MAX_RESTARTS:
            (converter if converter is not None and converter._link.ended is not None else self._decoder)._link.check()
        self._restarts += 1
        with self._state.looked as playback:
            playback.counts.restarts = self._restarts
        if converter is not None and converter._link.ended is not None:
            self._converter = None
        if self._decoder._link.ended is not None:
            self._decoder = self._decode()
            self._sent, self._finishes, self._is_fed = {}, [], False
            with self._state.looked as playback:
                playback.replay()

    def _wait(self) -> None:
        """Sleeps until there is something to do."""
        channel = self._decoder._link.channel
        if channel.has_input:
            return
        poller = select.poll()
        poller.register(self._state.descriptor, select.POLLIN)
        poller.register(channel.fileno(), channel.events)
        # Frames that an app drops cause no message.
        poller.poll(200)

    # Packets.

    def _step(self) -> bool:
        """Sends the next packet; false if nothing is to be done."""
        link = self._decoder._link
        with self._state.looked as playback:
            run, target, waiting = playback.run, playback.target, playback.waiting
            speed = playback.map.wanted_rate / ONE
        if run != self._run:
            self._flush(None)
            self._run, self._is_read, self._skips_to_key = run, False, False
            try:
                self._key = self._source.seek(target)
            except Exception as error:
                self._end(str(error))
            return True
        if self._is_read or len(link._in_flight) > _PACKETS_AHEAD or waiting >= self._ahead(speed):
            return False
        try:
            packet = self._source.next()
        except Exception as error:
            self._end(str(error))
            return True
        if packet is None:
            self._end(None)
        else:
            self._send(packet)
        return True

    def _ahead(self, speed: float) -> int:
        """Pictures that are decoded ahead: a tenth of a second, three at least, and no more than the decoder and the bound admit."""
        created = self._decoder._link.created
        size = layout(created.pixel_format, created.width, created.height).size
        wanted = max(3, math.ceil(0.1 * min(1000.0, self._source.rate) * max(1.0, speed)))
        return max(2, min(wanted, created.max_frames_in_flight - _CREDITS_LEFT, QUEUE_BYTES // size))

    def _send(self, packet: Any) -> None:
        state = self._state
        is_key, pts, duration = bool(packet.is_keyframe), int(packet.pts), max(0, packet.duration or 0)
        with state.looked as playback:
            if is_key and self._skips_to_key:
                self._skips_to_key, self._key = False, pts
            elif not is_key and playback.is_strained and playback.lateness(pts, state.now()) > _MAX_LATENESS:
                self._skips_to_key = True
            if self._skips_to_key:
                playback.skip(pts)
                return
        # Leading pictures may refer to what is not decoded.
        if pts < self._key:
            return
        changed = _new_format(packet)
        if changed is not None and changed != self._format:
            self._decoder.change_format(changed)
            self._format = changed
        self._is_fed = True
        hides = bool(packet.is_discard)
        number = self._decoder.send(bytes(packet), pts, duration, do_not_output=hides)
        if not hides:
            self._sent[number] = self._run

    def _flush(self, run: Optional[int]) -> None:
        """Lets the decoder return every picture; the packet behind is a key frame."""
        if self._is_fed:
            self._finishes.append((self._decoder._link.request_finish(), run))
            self._is_fed = False
        elif run is not None:
            self._complete(run)

    def _end(self, fault: Optional[str]) -> None:
        """The file has no more packets, or fails."""
        self._is_read = True
        self._state.cut_short = fault or self._state.cut_short
        self._flush(self._run)

    def _complete(self, run: int) -> None:
        with self._state.looked as playback:
            if playback.run == run:
                playback.complete()

    # Pictures.

    def _receive(self) -> bool:
        """Takes what the decoder has sent; false if that is nothing."""
        link, is_busy = self._decoder._link, False
        # A wait asks the daemon why the process has ended.
        for picture in self._decoder.pictures(5.0 if link.channel.at_end else 0.0):
            is_busy = True
            self._take(picture)
            del picture
        for report in self._decoder.reports():
            if report.has_no_picture:
                self._sent.pop(report.frame, None)
        while self._finishes and link.is_answered(self._finishes[0][0]):
            is_busy = True
            number, run = self._finishes.pop(0)
            link.answer(number)
            # A picture may have come with the answer.
            for picture in link.take_pictures():
                self._take(picture)
                del picture
            if run is not None:
                self._complete(run)
        return is_busy

    def _take(self, picture: Picture) -> None:
        run = self._sent.pop(picture.frame, None)
        if run is None or picture.pts is None:
            return
        with self._state.looked as playback:
            if playback.run == run:
                playback.add(picture.pts, picture.duration, picture)

    # Conversion.

    def _convert(self) -> bool:
        """Converts what is shown next; false if nothing was done."""
        if self._target is None:
            return False
        is_busy = False
        with self._state.looked as playback:
            expected = playback.expected(self._state.now())
            wanted = [(frame, frame.picture) for frame in expected if frame.shown is None and frame.error is None]
        for frame, picture in wanted[:1]:
            is_busy = self._convert_one(frame, picture) or is_busy
        return is_busy

    def _convert_one(self, frame: QueuedFrame, picture: Picture) -> bool:
        assert self._target is not None
        key = (picture.width, picture.height, picture.pixel_format)
        error: Optional[Exception] = None
        shown: Optional[Image] = None
        try:
            if self._converter is None or self._converter_key != key:
                if self._converter is not None:
                    self._converter.close(0)
                self._converter = None
                self._converter = TransferSession(key[0], key[1], key[2], self._target, daemon=self._daemon)
                self._converter_key = key
            try:
                # An app that keeps all frames gets no more of them; the decoder is not to wait for that.
                number = self._converter.submit(picture, picture.color, 0.05)
            except Timeout:
                return False
            shown = self._converter.result(number)
        except SessionEnded:
            raise
        except Error as fault:
            error = fault
        with self._state.looked as playback:
            frame.shown, frame.error = shown, error
            playback.counts.converted += shown is not None
        return True
