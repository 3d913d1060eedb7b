# SPDX-License-Identifier: MIT
"""Movies that survive a crash: packets in, a .mov or .mp4 out, without a daemon and without other packages."""
from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import threading
from types import TracebackType
from typing import List, Optional, Tuple, Type, Union

from ._core import boxes
from ._core.movie_track import MAX_ENTRY, Track, Waiting, check_record, is_random_access, movie_ticks
from .errors import refused
from .metadata import Color
from .packets import Packet

#: Bytes behind the first movie box for formats that come later.
_HEAD_SPACE = 4096
#: Bytes of packets that wait for their fragment.
_MAX_WAITING = 32 << 20
_MAX_PACKET = 256 << 20
#: Samples of a file, of all tracks.
_MAX_SAMPLES = 1 << 24
#: What the readers that finish a file take of its fragments, all together: their number, bytes of their boxes, and runs of samples.
_MAX_FRAGMENTS, _MAX_BOXES, _MAX_RUNS = (1 << 20) - 8, 256 << 20, 1 << 21
_MAX_TRACKS = 16


def _flush_folder(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        # File systems that do not flush folders have errors of their own.
        if error.errno == errno.EIO:
            raise


class MovieRecorder:
    """Records HEVC, and sound that the app brings, in a file that plays at any time up to its last fragment.

    The file has its final name from its first fragment on and grows by fragments, each with one write. A program that is killed leaves
    a file that plays, and that `hwctl repair` finishes; `finish` makes it a plain movie in place, without moving media. As a context
    manager it is finished at the end of the block, and left as it is where the block raises an exception.

        with CompressionSession(1280, 720, "nv12", time_base=(1, 30)) as session, MovieRecorder("out.mov") as movie:
            track = movie.add_video(session.prepare(), 1280, 720, time_scale=30)
            session.encode(samples, pts=0, duration=1)
            for packet in session.finish():
                movie.add(track, packet)

    Any thread may call it. Raises ParameterError for what no movie can hold, after which packets that can be written may follow, and
    OSError: after one of `append` or `flush` only `finish` is left, which finishes what was written.
    """

    def __init__(
            self, path: Union[str, "os.PathLike[str]"], *, container: Optional[str] = None, replace: bool = True,
            fragment_duration: float = 0.5) -> None:
        """Creates a file; one without packets does not stay.

        - container: "mov" or "mp4"; None: that of the name's suffix, where others than .mov are MP4.
        - replace: False: a file that exists is an error (FileExistsError); True: it is emptied.
        - fragment_duration: in seconds, above 0 and at most 1; what a crash loses.

        Raises OSError; BlockingIOError where the file is being recorded.
        """
        if container not in (None, "mov", "mp4"):
            raise refused(f"a container is mov or mp4, not {container!r}")
        if not 0 < fragment_duration <= 1:
            raise refused(f"fragments last for at most a second, not {fragment_duration} s")
        self._path = os.fspath(path)
        self._is_quicktime = container == "mov" if container else self._path.lower().endswith(".mov")
        self._fragment_duration = fragment_duration
        self._lock = threading.RLock()
        self._tracks: List[Track] = []
        self._position = self._sequence = self._samples = self._boxes = self._runs = 0
        self._waiting = self._waiting_size = 0
        self._head: Optional[Tuple[int, int]] = None
        self._failure: Optional[OSError] = None
        self._is_finished = False
        # A power cut may leave a file without a name until its folder is flushed. None: a folder that may not be read.
        self._folder: Optional[int] = None
        self._is_named = False
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
        self._fd = os.open(self._path, flags if replace else flags | os.O_EXCL, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file", self._path)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._fd, 0)
            with contextlib.suppress(OSError):
                folder = os.path.dirname(os.path.realpath(self._path))
                self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except BaseException:
            os.close(self._fd)
            self._fd = -1
            raise

    @property
    def size(self) -> int:
        """Bytes that were written so far."""
        return self._position

    def add_video(
            self, record: bytes, width: int, height: int, *, time_scale: int, color: Optional[Color] = None, rotation: int = 0,
            extra: bytes = b"") -> int:
        """Adds a track of HEVC before the first packet, and returns its number.

        - record: the hvcC record of a session's `format_description` or `prepare`; lengths of NAL units have 4 bytes.
        - width, height: of the pictures, 1 to 65535.
        - time_scale: ticks per second of its packets' times: the session's time base, inverted.
        - rotation: clockwise, 0, 90, 180 or 270 degrees.
        - extra: more boxes of the sample entry, as they are: mdcv, clli, ….
        """
        check_record(record)
        if not 0 < width < 1 << 16 or not 0 < height < 1 << 16:
            raise refused(f"a movie cannot hold pictures of {width}x{height}")
        if rotation not in (0, 90, 180, 270):
            raise refused(f"a track is turned by 0, 90, 180 or 270 degrees, not {rotation}")
        if len(extra) > MAX_ENTRY or not boxes.are_boxes(extra):
            raise refused("the boxes of the sample entry are not whole")
        track = Track(True, time_scale, (width, height), rotation, color, extra, self._is_quicktime)
        track.change(record)
        return self._add(track)

    def add_sound(self, entry: bytes, *, time_scale: int) -> int:
        """Adds a track of sound before the first packet, and returns its number.

        - entry: the sample entry, a box: mp4a with its esds, alac, ….
        - time_scale: ticks per second of its packets' times: the sample rate.
        """
        if not 36 <= len(entry) <= MAX_ENTRY or int.from_bytes(entry[:4], "big") != len(entry):
            raise refused("a track of sound needs a whole sample entry")
        track = Track(False, time_scale, (0, 0), 0, None, b"", self._is_quicktime)
        track.entries.append(bytes(entry))
        track.entry = 1
        return self._add(track)

    def _add(self, track: Track) -> int:
        if not 0 < track.scale < 1 << 31:
            raise refused("a track needs a time scale above 0")
        with self._lock:
            self._check()
            if self._head or self._samples:
                raise refused("a track is added before the first packet")
            if len(self._tracks) == _MAX_TRACKS:
                raise refused(f"a movie has {_MAX_TRACKS} tracks at most")
            self._tracks.append(track)
            return len(self._tracks) - 1

    def add(self, track: int, packet: Packet) -> None:
        """Takes a session's packet, with the format description that it needs."""
        with self._lock:
            self.change_format(track, packet.format_description)
            self.append(track, packet.data, packet.pts, packet.dts, packet.duration)

    def change_format(self, track: int, record: bytes) -> None:
        """The hvcC record of a track's packets that follow, for pictures of the same size."""
        with self._lock:
            found = self._track(track)
            if not found.is_video:
                raise refused(f"track {track} has no video")
            if record == found.record:
                return
            check_record(record)
            self.flush()
            before = (list(found.entries), found.entry, found.record)
            try:
                found.change(record)
                if self._head and len(found.entries) > len(before[0]):
                    start, end = self._head
                    head = self._open_box()
                    space = end - start - len(head)
                    if space != 0 and space < 8:
                        raise refused("the format changes too often for the first movie box")
                    self._put(head + (boxes.box("free", bytes(space - 8)) if space else b""), start)
            except BaseException:
                found.entries[:], found.entry, found.record = before
                raise

    def append(self, track: int, data: bytes, pts: int, dts: Optional[int] = None, duration: int = 0) -> None:
        """Takes a track's next packet in decoding order; it is written with its fragment.

        - data: of video, NAL units behind lengths of 4 bytes, with a picture, as sessions give them.
        - pts, dts, duration: in ticks of the track; dts is pts without reordering, does not fall, and is at most pts. What precedes 0
          is decoded and not shown.
        """
        dts = pts if dts is None else dts
        with self._lock:
            found = self._track(track)
            if not 0 < len(data) <= _MAX_PACKET:
                raise refused(f"a packet of {len(data)} bytes cannot be written")
            found.check(pts, dts, duration, self._head is not None)
            is_key = not found.is_video or is_random_access(data)
            if self._is_full():
                self._write(None, 0)
                self._failure = OSError(errno.EFBIG, "the movie has as many packets as its readers take", self._path)
                raise self._failure
            first = found.waiting[0].dts if found.waiting else dts
            if (dts - first) / found.scale >= self._fragment_duration or self._waiting_size + len(data) > _MAX_WAITING:
                self._write(found, dts)
            found.waiting.append(Waiting(bytes(data), pts, dts, duration, is_key))
            self._samples += 1
            self._waiting += 1
            self._waiting_size += len(data)

    def _is_full(self) -> bool:
        """Whether a file may have as much as its readers take, once what waits and one packet more are written, perhaps as two fragments."""
        tracks = len(self._tracks)
        # A `moof` and its `mfhd` have 24 bytes, a `traf` 68, and a row of its `trun` 16.
        size = 2 * (24 + 68 * tracks) + 16 * (self._waiting + 1)
        return (self._samples >= _MAX_SAMPLES or self._sequence + 2 > _MAX_FRAGMENTS or self._runs + 2 * tracks > _MAX_RUNS
                or self._boxes + size > _MAX_BOXES)

    def flush(self) -> None:
        """Writes the packets so far as a fragment, where none may come for a while."""
        with self._lock:
            self._check()
            self._write(None, 0)

    def sync(self) -> None:
        """Waits until what was written is on the disk; for a thread of its own, since that may take longer than a frame.

        Nothing is left to wait for once the file is finished; one that was closed otherwise is not waited for.
        """
        with contextlib.ExitStack() as stack:
            with self._lock:
                if self._fd < 0:
                    return
                # Other threads may close the file meanwhile.
                descriptor = os.dup(self._fd)
                stack.callback(os.close, descriptor)
                folder = None if self._is_named or self._folder is None else os.dup(self._folder)
                if folder is not None:
                    stack.callback(os.close, folder)
            os.fdatasync(descriptor)
            if folder is not None:
                _flush_folder(folder)
                self._is_named = True

    def finish(self) -> None:
        """Writes what is left, makes the file a plain movie, on the disk when this returns, and closes it.

        Raises ParameterError where no packet was written: there is no file. OSError of a last fragment that had no space: the file
        is finished without it.
        """
        with self._lock:
            if self._is_finished:
                raise refused("the movie is finished")
            last: Optional[OSError] = None
            try:
                if self._failure is None:
                    self._write(None, 0)
            except OSError as error:
                last = error
            self._is_finished = True
            try:
                if self._head is None:
                    raise last or self._failure or refused("a movie needs a packet")
                start, end = self._head[0], self._position
                self._append(self._finished_box(), 0)
                os.fsync(self._fd)
                # What began with the first movie box becomes media data.
                self._put(boxes.words(1) + b"mdat" + (end - start).to_bytes(8, "big"), start)
                os.ftruncate(self._fd, self._position)
                os.fsync(self._fd)
                if self._folder is not None and not self._is_named:
                    _flush_folder(self._folder)
            finally:
                self.close()
            if last:
                raise last

    def close(self) -> None:
        """Closes the file. One that is not finished stays as a killed program leaves it."""
        with self._lock:
            if self._fd < 0:
                return
            try:
                if self._position == 0:
                    self._remove()
                elif not self._is_finished:
                    os.ftruncate(self._fd, self._position)
            finally:
                # A thread that waits for the disk has the file open still.
                with contextlib.suppress(OSError):
                    fcntl.flock(self._fd, fcntl.LOCK_UN)
                self._close()

    def _remove(self) -> None:
        """Removes the file while its name is still this file's."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self._fd), os.lstat(self._path)):
                os.unlink(self._path)

    def _close(self) -> None:
        os.close(self._fd)
        if self._folder is not None:
            os.close(self._folder)
        self._fd, self._folder, self._is_finished = -1, None, True

    def __enter__(self) -> "MovieRecorder":
        return self

    def __exit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if kind is None and not self._is_finished:
            self.finish()
        else:
            self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self._close()

    def _check(self) -> None:
        if self._is_finished:
            raise refused("the movie is finished")
        if self._failure is not None:
            raise self._failure

    def _track(self, number: int) -> Track:
        self._check()
        if not 0 <= number < len(self._tracks):
            raise refused(f"the movie has no track {number}")
        return self._tracks[number]

    def _put(self, data: bytes, offset: int) -> None:
        view = memoryview(data)
        while view:
            count = os.pwrite(self._fd, view, offset)
            view, offset = view[count:], offset + count

    def _append(self, data: bytes, reserve: int) -> None:
        """Appends bytes where the disk has space for them and `reserve` more, as the movie box needs; a failure leaves the file as it was."""
        try:
            space = os.fstatvfs(self._fd)
            if space.f_blocks and space.f_bavail * space.f_frsize < len(data) + reserve:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
            self._put(data, self._position)
        except OSError as error:
            self._failure = error
            os.ftruncate(self._fd, self._position)
            raise
        self._position += len(data)

    def _open_box(self) -> bytes:
        scale = self._tracks[0].scale
        tracks = [track.open_box(number + 1, scale) for number, track in enumerate(self._tracks)]
        defaults = [boxes.box("trex", boxes.words(0, number + 1, 1, 0, 0, 0)) for number in range(len(tracks))]
        return boxes.box("moov", boxes.movie_header(scale, 0, len(tracks) + 1), *tracks, boxes.box("mvex", *defaults))

    def _finished_box(self) -> bytes:
        written = [track for track in self._tracks if track.sizes]
        scale = written[0].scale
        tracks = [track.finished_box(number + 1, scale) for number, track in enumerate(written)]
        longest = max(movie_ticks(track.shown[1], track.scale, scale) for track in written)
        return boxes.box("moov", boxes.movie_header(scale, longest, len(tracks) + 1), *tracks)

    def _write(self, next_track: Optional[Track], next_time: int) -> None:
        """Writes what waits as a fragment (8.8)."""
        waiting = [track for track in self._tracks if track.waiting]
        if not waiting:
            return
        data, head = b"", self._head
        if head is None:
            for track in waiting:
                track.begin = (track.waiting[0].dts, min(packet.pts for packet in track.waiting))
            data = boxes.file_type(self._is_quicktime)
            start = len(data)
            data += self._open_box() + boxes.box("free", bytes(_HEAD_SPACE - 8))
            head = (start, len(data))
        offsets = [0] * len(waiting)

        def fragment() -> bytes:
            parts = [
                track.fragment(self._tracks.index(track) + 1, next_time if track is next_track else None, offset)
                for track, offset in zip(waiting, offsets)]
            return boxes.box("moof", boxes.box("mfhd", boxes.words(0, self._sequence + 1)), *parts)

        # The box has the same size whatever the offsets are.
        size = len(fragment())
        offset = size + 8
        for number, track in enumerate(waiting):
            offsets[number] = offset
            offset += sum(len(packet.data) for packet in track.waiting)
        begin = self._position + len(data)
        media = boxes.box("mdat", *(packet.data for track in waiting for packet in track.waiting))
        self._append(data + fragment() + media, 64 * self._samples + 8192 * len(self._tracks) + (64 << 10))
        self._head, self._sequence = head, self._sequence + 1
        self._boxes, self._runs = self._boxes + size, self._runs + len(waiting)
        self._waiting = self._waiting_size = 0
        for track, offset in zip(waiting, offsets):
            track.note(begin + offset)
