# SPDX-License-Identifier: MIT
"""The thread of an output, which reads its file, decodes and converts, and what it shares with the output's callers."""
from __future__ import annotations

import copy
import math
import os
import select
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ..daemon import Daemon
from ..decompression import DecompressionSession
from ..errors import INVALID_SESSION, Error, SessionEnded, Timeout
from ..formats import layout
from ..images import Image, Picture
from ..transfer import TransferSession
from .playback import NOT_DECODED_YET, ONE, SEEKING, Playback, QueuedFrame
from .source import FileSource, can_be_left_out, new_format

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
#: Pictures behind the present one that wait, where the decoder keeps up.
_LEAST_LEAD = 2


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

    def __init__(self, source: FileSource, is_manual: bool) -> None:
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
        """The frame of a host time and its epoch."""
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


class OutputEngine:
    """An output's thread: reads the file, decodes ahead and converts what is shown next."""

    def __init__(
        self, state: OutputState, source: FileSource, target: Union[str, Mapping[str, str], None], hardware: Optional[bool], daemon: Daemon
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
        self._restarts = self._highest = 0

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
        data = bytes(packet)
        with state.looked as playback:
            if is_key and self._skips_to_key:
                self._skips_to_key, self._key = False, pts
            elif not is_key and playback.is_strained and self._is_left_out(data, playback.lateness(pts, state.now()), playback.lead(state.now())):
                playback.skip(pts)
                return
        # Leading pictures may refer to what is not decoded.
        if pts < self._key:
            return
        changed = new_format(packet)
        if changed is not None and changed != self._format:
            self._decoder.change_format(changed)
            self._format = changed
        self._is_fed = True
        hides = bool(packet.is_discard)
        number = self._decoder.send(data, pts, duration, do_not_output=hides)
        if not hides:
            self._sent[number] = self._run

    def _is_left_out(self, data: bytes, late: int, lead: int) -> bool:
        """Whether a packet that is no key frame is not decoded, because it would come too late."""
        # Rec. ISO/IEC 14496-15, 8.3.3.1: the version of a record, and the size of a length.
        is_record = len(self._format) > 22 and self._format[0] == 1
        size = (self._format[21] & 3) + 1 if is_record else 0
        is_free, level = can_be_left_out(data, not is_record, size, self._highest)
        self._highest = max(self._highest, level)
        if late > _MAX_LATENESS:
            self._skips_to_key = True
        return self._skips_to_key or is_free and lead < _LEAST_LEAD

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
