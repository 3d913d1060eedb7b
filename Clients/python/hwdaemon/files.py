# SPDX-License-Identifier: MIT
"""Whole files as numpy arrays, for programs that want pictures and nothing else. Needs numpy, and PyAV for all but .hevc output."""
from __future__ import annotations

import contextlib
import os
import tempfile
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Optional, Union

from .bitstream import annex_b_parameter_sets
from .compression import CompressionSession
from .daemon import Daemon
from .decompression import DecompressionSession
from .errors import refused
from .images import Picture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_BYTE_STREAMS = (".hevc", ".h265", ".265")


def frames(path: Union[str, "os.PathLike[str]"], *, daemon: Optional[Daemon] = None) -> Iterator[Array]:
    """The pictures of a video in display order, as arrays of uint8 of the shape (height, width, 3): R, G, B in sRGB's coding.

    HEVC is decoded by the daemon, where the file has its parameter sets in a record, as .mov, .mp4 and .mkv do; byte streams and
    other codecs are decoded by PyAV. Each array is the app's own, and writable. Rotation is not applied.

    Raises ModuleNotFoundError without PyAV and numpy; PyAV's errors for files; a session's errors.
    """
    av = _av(path)
    with av.open(os.fspath(path)) as file:
        stream = file.streams.video[0]
        if stream.codec_context.name != "hevc" or not stream.codec_context.extradata:
            for frame in file.decode(stream):
                yield frame.to_ndarray(format="rgb24")
            return
        record = bytes(stream.codec_context.extradata)
        with DecompressionSession(record, pixel_format="rgba", time_base=stream.time_base, daemon=daemon) as session:
            for packet in file.demux(stream):
                # The last one is empty.
                if packet.size:
                    for picture in session.decode(bytes(packet), packet.pts):
                        yield _rgb(picture)
            for picture in session.finish():
                yield _rgb(picture)


def write(
    path: Union[str, "os.PathLike[str]"], frames: Iterable[Any], rate: Union[int, float, Fraction] = 30, *,
    hardware: Optional[bool] = None, daemon: Optional[Daemon] = None, **properties: Any
) -> int:
    """Encodes arrays as HEVC in a file, which appears when it is complete; returns the number of pictures.

    - path: .mov, .mp4 or .mkv, or .hevc for a byte stream, which needs no PyAV.
    - frames: arrays of uint8 of one shape, (height, width, 3) for R, G, B, or (height, width, 4) with straight alpha, which is kept.
    - rate: frames per second.
    - hardware, properties: as of CompressionSession.

    Raises ParameterError for no frames, or for arrays of another shape or type; ModuleNotFoundError without PyAV; OSError; a
    session's errors.
    """
    path = os.fspath(path)
    arrays = iter(frames)
    array = next(arrays, None)
    if array is None:
        raise refused("there are no frames to write")
    shape = tuple(array.shape)
    _check(array, shape)
    has_alpha = shape[2] == 4
    time_base = 1 / Fraction(rate).limit_denominator(1001)
    is_stream = path.lower().endswith(_BYTE_STREAMS)
    av = None if is_stream else _av(path)
    with CompressionSession(
            shape[1], shape[0], "rgba", time_base=time_base, codec="hevc-with-alpha" if has_alpha else "hevc", hardware=hardware,
            daemon=daemon, **properties) as session:
        record = session.prepare()
        folder, name = os.path.split(path)
        handle, part = tempfile.mkstemp(prefix=f".{name}.", suffix=os.path.splitext(name)[1], dir=folder or ".")
        os.close(handle)
        output: Optional[Union[_Stream, _Container]] = None
        try:
            output = _Stream(part, record) if is_stream else _Container(av, part, session)
            count = 0
            while array is not None:
                _check(array, shape)
                frame = session.frame()
                plane = frame.planes[0]
                plane[..., : shape[2]] = array
                if not has_alpha:
                    plane[..., 3] = 255
                session.encode(frame, pts=count, duration=1, alpha_mode="straight" if has_alpha else None)
                del frame, plane
                count += 1
                for packet in session.packets():
                    output.write(packet)
                array = next(arrays, None)
            for packet in session.finish():
                output.write(packet)
            output.close()
            os.chmod(part, 0o666 & ~_umask())
            os.replace(part, path)
        except BaseException:
            # What failed is the error to report, not what follows from it.
            if output is not None:
                with contextlib.suppress(Exception):
                    output.close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
            raise
    return count


class _Stream:
    """A byte stream with start codes."""

    def __init__(self, path: str, record: bytes) -> None:
        sets = annex_b_parameter_sets(record)
        self._file = open(path, "wb")
        try:
            self._file.write(sets)
        except BaseException:
            self._file.close()
            raise

    def write(self, packet: Any) -> None:
        self._file.write(packet.annex_b)

    def close(self) -> None:
        self._file.close()


class _Container:
    """A file that PyAV writes."""

    def __init__(self, av: Any, path: str, session: CompressionSession) -> None:
        from .av import add_stream, packet

        self._file = av.open(path, "w")
        self._session, self._packet = session, packet
        try:
            self._stream = add_stream(self._file, session)
        except BaseException:
            with contextlib.suppress(Exception):
                self._file.close()
            raise

    def write(self, packet: Any) -> None:
        self._file.mux(self._packet(packet, self._stream, self._session))

    def close(self) -> None:
        self._file.close()


def _av(path: Union[str, "os.PathLike[str]"]) -> Any:
    try:
        import av
        import numpy  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{os.fspath(path)} needs PyAV and numpy (pip install av numpy, or python3-av and python3-numpy): {error}",
            name=error.name) from None
    return av


def _check(array: Any, shape: Any) -> None:
    if str(array.dtype) != "uint8" or len(array.shape) != 3 or array.shape[2] not in (3, 4):
        raise refused(f"frames are arrays of uint8 of the shape (height, width, 3 or 4), not {array.dtype} {tuple(array.shape)}")
    if tuple(array.shape) != shape:
        raise refused(f"all frames have the shape of the first, {shape}, not {tuple(array.shape)}")


def _rgb(picture: Picture) -> Array:
    """A picture's R, G and B without what its clean aperture hides; a copy, so that the picture's memory is given back."""
    part = picture.clean_aperture
    plane = picture.planes[0][part.y : part.y + part.height, part.x : part.x + part.width, :3]
    copy = plane.copy()
    picture.release()
    return copy


def _umask() -> int:
    """This process's mask, which umask(2) cannot read without a change that other threads see."""
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o077
