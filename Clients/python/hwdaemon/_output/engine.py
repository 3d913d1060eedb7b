# SPDX-License-Identifier: MIT
"""The thread of an output, which reads its file, decodes and converts."""
from __future__ import annotations

import math
import select
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ..daemon import Daemon
from ..decompression import DecompressionSession
from ..errors import INVALID_SESSION, SessionEnded
from ..formats import layout
from ..images import Picture
from .converter import Converter
from .reverse import Collection, Copies, Part, Span, end_of, read_group
from .shared import OutputState
from .._core.source import FileSource, can_be_left_out, new_format
from .timing import ONE

#: Bytes of decoded pictures that wait; two pictures always may.
QUEUE_BYTES = 256 << 20
#: Bytes of the two parts of a group that wait in reverse: one is shown while the next is decoded.
REVERSE_BYTES = 512 << 20
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


class OutputEngine:
    """An output's thread: reads the file, decodes ahead and converts what is shown next."""

    def __init__(
        self, state: OutputState, source: FileSource, target: Union[str, Mapping[str, str], None], hardware: Optional[bool], daemon: Daemon
    ) -> None:
        self._state, self._source = state, source
        self._hardware, self._daemon = hardware, daemon
        state.converts = target is not None
        self._format = source.format
        self._decoder = self._decode()
        #: The stretches of packets whose pictures have not come, by the decoder's numbers.
        self._sent: Dict[int, int] = {}
        #: The stretches whose pictures the decoder was asked to return.
        self._finishes: List[Tuple[int, Optional[int]]] = []
        self._run = -1
        self._key = source.start
        self._is_fed = self._is_read = self._skips_to_key = False
        #: What is added to the file's times, which run on in a loop; and the file's end.
        self._offset, self._span = 0, Span()
        #: Whether a loop has begun this lap, and whether a picture of it has come.
        self._is_whole_lap = self._has_picture = False
        #: In reverse: the time behind what is decoded next, the parts of its group, and how far the first of them was read.
        self._limit = 0
        self._parts: List[Part] = []
        self._position: Optional[int] = None
        self._collected = Collection(Copies())
        self._converter = None if target is None else Converter(state, target, daemon)
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
                self._converter.close()
            self._source.close()
            with state.condition:
                if not state.is_stopped:
                    state.error = state.error or SessionEnded(INVALID_SESSION, "the output's thread ended")
                state.condition.notify_all()

    def _restart(self) -> None:
        """Replaces the session whose process failed; raises its error where that has been done too often."""
        converter = self._converter
        if self._restarts >= _MAX_RESTARTS:
            if converter is not None and converter.has_ended:
                converter.check()
            self._decoder._link.check()
        self._restarts += 1
        with self._state.looked as playback:
            playback.counts.restarts = self._restarts
        if converter is not None and converter.has_ended:
            converter.close()
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
            run, waiting = playback.run, playback.waiting
            speed, is_reverse = abs(playback.map.wanted_rate) / ONE, playback.direction < 0
        if run != self._run:
            self._flush(None)
            self._run, self._is_read, self._skips_to_key = run, False, False
            self._parts, self._position = [], None
            # In reverse the memory of the last stretch serves this one.
            self._collected = Collection(self._collected.copies if is_reverse else Copies())
            try:
                self._begin()
            except Exception as error:
                self._end(str(error))
            return True
        if is_reverse:
            return self._step_back()
        if self._is_read or len(link._in_flight) > _PACKETS_AHEAD or waiting >= self._ahead(speed):
            return False
        try:
            packet = self._source.next()
        except Exception as error:
            self._end(str(error))
            return True
        if packet is not None:
            if not packet.is_discard:
                self._span.add(packet.pts, packet.duration or 0)
            self._send(packet)
        elif self._is_whole_lap and not self._has_picture and (self._is_fed or self._finishes):
            # Whether the lap has a picture is known once the decoder has returned all of them.
            self._flush(None)
            return False
        elif not self._next_lap(1):
            self._end(None)
        return True

    def _begin(self) -> None:
        """Goes to where a stretch of play begins."""
        with self._state.looked as playback:
            run, target, tolerance = playback.run, playback.target, playback.tolerance
            self._offset = playback.laps(target) * playback.length if playback.loops else playback.lap * playback.length
        self._span = Span()
        self._is_whole_lap = self._has_picture = False
        target -= self._offset
        self._key = self._source.seek(target)
        if tolerance != 0:
            landed: Optional[int] = self._key
            if tolerance is not None and abs(self._key - target) > tolerance:
                landed = self._source.key_after(target, target + tolerance)
                self._key = self._source.seek(target if landed is None else landed)
            if landed is not None:
                target = landed
                with self._state.looked as playback:
                    playback.land(run, landed)
        self._limit = target + 1

    def _next_lap(self, direction: int) -> bool:
        """Continues at the other end of the file in a loop; false where it is not to."""
        end = self._span.end
        with self._state.looked as playback:
            if end is not None:
                playback.measure(end)
            if not playback.loops or playback.run != self._run or direction > 0 and (end is None or playback.length <= 0):
                return False
            length = playback.length
        if self._is_whole_lap and not self._has_picture:
            self._state.cut_short = "the file has no picture that can be decoded"
            return False
        if direction > 0:
            self._flush(None)
            self._key = self._source.seek(self._source.start)
            self._offset += length
        elif length > 0:
            self._limit = self._source.start + length
            self._offset -= length
        else:
            return False
        self._span = Span()
        self._is_whole_lap, self._has_picture = True, False
        return True

    def _step_back(self) -> bool:
        """Sends the next packet of play in reverse; false if nothing is to be done."""
        if self._is_read or len(self._decoder._link._in_flight) > _PACKETS_AHEAD:
            return False
        try:
            if self._position is not None:
                return self._read_part(self._position)
            if not self._parts:
                self._read_group(max(1, REVERSE_BYTES // 2 // (self._collected.copies.size or self._picture_bytes())))
            elif self._waiting_bytes() > REVERSE_BYTES // 2:
                return False
            else:
                self._key = self._source.seek(self._key)
                self._position = 0
        except SessionEnded:
            raise
        except Exception as error:
            self._end(str(error))
        return True

    def _read_group(self, capacity: int) -> None:
        if self._limit <= self._source.start:
            self._measure_end()
            if not self._next_lap(-1):
                self._end(None)
                return
        group = read_group(self._source, self._limit, capacity)
        self._key, self._parts = group.key, group.parts
        if group.end is not None:
            with self._state.looked as playback:
                playback.measure(group.end)
        # A group may have no picture that is shown; its key frame is the limit in any case.
        self._limit = min(group.key, self._limit - 1)

    def _measure_end(self) -> None:
        """In a loop in reverse the file's end must be known."""
        with self._state.looked as playback:
            if not playback.loops or playback.length > 0:
                return
        end = end_of(self._source)
        with self._state.looked as playback:
            if end is not None:
                playback.measure(end)

    def _read_part(self, position: int) -> bool:
        part = self._parts[0]
        if position > part.packets:
            # The decoder returns its pictures.
            return False
        packet = self._source.next() if position < part.packets else None
        if packet is None:
            self._position = part.packets + 1
            self._flush(self._run)
            return True
        self._position = position + 1
        if packet.pts >= self._key:
            self._decode_packet(packet, hides=bool(packet.is_discard) or packet.pts not in part.times)
        return True

    def _picture_bytes(self) -> int:
        created = self._decoder._link.created
        return layout(created.pixel_format, created.width, created.height).size

    def _waiting_bytes(self) -> int:
        """Bytes of the copies that wait for their time."""
        with self._state.looked as playback:
            return sum(frame.picture.size for frame in playback.frames if frame.picture is not None)

    def _ahead(self, speed: float) -> int:
        """Pictures that are decoded ahead: a tenth of a second, three at least, and no more than the decoder and the bound admit."""
        created, size = self._decoder._link.created, self._picture_bytes()
        wanted = max(3, math.ceil(0.1 * min(1000.0, self._source.rate) * max(1.0, speed)))
        return max(2, min(wanted, created.max_frames_in_flight - _CREDITS_LEFT, QUEUE_BYTES // size))

    def _send(self, packet: Any) -> None:
        state = self._state
        is_key, pts = bool(packet.is_keyframe), int(packet.pts)
        with state.looked as playback:
            if is_key and self._skips_to_key:
                self._skips_to_key, self._key = False, pts
            elif not is_key and playback.is_strained and self._is_left_out(
                    bytes(packet), playback.lateness(pts + self._offset, state.now()), playback.lead(state.now())):
                playback.skip(pts + self._offset)
                return
        # Leading pictures may refer to what is not decoded.
        if pts >= self._key:
            self._decode_packet(packet, hides=bool(packet.is_discard))

    def _decode_packet(self, packet: Any, hides: bool) -> None:
        changed = new_format(packet)
        if changed is not None and changed != self._format:
            self._decoder.change_format(changed)
            self._format = changed
        self._is_fed = True
        number = self._decoder.send(
            bytes(packet), int(packet.pts) + self._offset, max(0, packet.duration or 0), do_not_output=hides)
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
        if self._span.end is not None:
            with self._state.looked as playback:
                if playback.run == self._run and playback.direction > 0:
                    playback.measure(self._span.end)
        self._position = None
        self._flush(self._run)

    def _complete(self, run: int) -> None:
        with self._state.looked as playback:
            if playback.run != run:
                return
            if self._position is None:
                playback.complete()
                return
            for time, duration, picture in self._collected.pictures:
                playback.add(time, duration, picture)
        self._parts[:1] = self._collected.rest(self._parts[0], self._offset, REVERSE_BYTES // 2)
        self._position, self._collected = None, Collection(self._collected.copies)

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
            if playback.run != run:
                return
            self._has_picture = True
            if playback.direction > 0:
                playback.add(picture.pts, picture.duration, picture)
                return
        self._collected.add(picture.pts, picture, REVERSE_BYTES // 2)

    def _convert(self) -> bool:
        """Converts what is shown next; false if nothing was done."""
        if self._converter is None:
            return False
        with self._state.looked as playback:
            expected = playback.expected(self._state.now())
            wanted = [(frame, frame.picture) for frame in expected if frame.shown is None and frame.error is None]
        return bool(wanted) and self._converter.convert(*wanted[0])
