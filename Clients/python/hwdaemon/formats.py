# SPDX-License-Identifier: MIT
"""Pixel formats and the layout of frames in memory (docs/protocol.md, Pixel formats)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Mapping, Sequence, Tuple

from .errors import refused

MAX_DIMENSION = 16384
MAX_STRIDE = (1 << 31) - 1
#: Planes and strides are multiples of this many bytes, so that rows begin at cache lines and GPUs can use them in place.
ALIGNMENT = 64
PAGE = 4096


@dataclass(frozen=True)
class PlaneFormat:
    """One plane: numpy's type of a sample, samples of a column, and how often the picture's size is halved."""

    sample: str
    components: int
    halved: bool

    @property
    def sample_size(self) -> int:
        return int(self.sample[-1])

    def columns(self, width: int) -> int:
        return (width + 1) // 2 if self.halved else width

    def rows(self, height: int) -> int:
        return (height + 1) // 2 if self.halved else height

    def row_bytes(self, width: int) -> int:
        return self.columns(width) * self.components * self.sample_size


_BYTES, _WORDS = "|u1", "<u2"
_PLANAR_8 = (PlaneFormat(_BYTES, 1, False), PlaneFormat(_BYTES, 1, True), PlaneFormat(_BYTES, 1, True))
_WORD_10 = (PlaneFormat("<u4", 1, False),)
_RGB_8 = (PlaneFormat(_BYTES, 4, False),)

#: The planes of each pixel format, by its DRM fourcc.
PIXEL_FORMATS: Mapping[str, Tuple[PlaneFormat, ...]] = {
    "NV12": (PlaneFormat(_BYTES, 1, False), PlaneFormat(_BYTES, 2, True)),
    "P010": (PlaneFormat(_WORDS, 1, False), PlaneFormat(_WORDS, 2, True)),
    "YU12": _PLANAR_8,
    "I010": (PlaneFormat(_WORDS, 1, False), PlaneFormat(_WORDS, 1, True), PlaneFormat(_WORDS, 1, True)),
    "YUVA": (*_PLANAR_8, PlaneFormat(_BYTES, 1, False)),
    "AR24": _RGB_8,
    "AB24": _RGB_8,
    "AR30": _WORD_10,
    "AB30": _WORD_10,
    "XR30": _WORD_10,
    "XB30": _WORD_10,
    "AB4H": (PlaneFormat("<f2", 4, False),),
}

#: FFmpeg's names for the same formats, and common ones.
ALIASES: Mapping[str, str] = {
    "p010le": "P010", "yuv420p": "YU12", "i420": "YU12", "yuv420p10le": "I010", "yuv420p10": "I010", "yuva420p": "YUVA",
    "bgra": "AR24", "rgba": "AB24", "x2rgb10le": "XR30", "x2bgr10le": "XB30", "rgbaf16le": "AB4H", "rgba16f": "AB4H",
}


def fourcc(name: str) -> str:
    """The DRM fourcc of a pixel format's name: "nv12" is NV12, and FFmpeg's "yuv420p" is YU12.

    Raises ParameterError for an unknown name.
    """
    found = ALIASES.get(name.lower(), name.upper())
    if found not in PIXEL_FORMATS:
        raise refused(f"the pixel format {name!r} is unknown; known are {', '.join((*PIXEL_FORMATS, *ALIASES))}")
    return found


def _align(size: int, to: int = ALIGNMENT) -> int:
    return (size + to - 1) // to * to


@dataclass(frozen=True)
class Plane:
    """The place of a plane: bytes from the start of the memory, and bytes from one row to the next."""

    offset: int
    stride: int


@dataclass(frozen=True)
class Layout:
    """A frame's planes relative to its start; `size` bytes contain them."""

    pixel_format: str
    width: int
    height: int
    planes: Tuple[Plane, ...]
    size: int

    @property
    def formats(self) -> Tuple[PlaneFormat, ...]:
        return PIXEL_FORMATS[self.pixel_format]

    @property
    def is_ycbcr(self) -> bool:
        """Whether the samples are Y'CbCr, not RGB."""
        return len(self.planes) > 1

    def at(self, start: int) -> Tuple[Plane, ...]:
        """The planes of a frame that begins `start` bytes into its memory."""
        return tuple(Plane(start + plane.offset, plane.stride) for plane in self.planes)

    @property
    def packed_sizes(self) -> Tuple[int, ...]:
        """The bytes of each plane without padding."""
        return tuple(plane.row_bytes(self.width) * plane.rows(self.height) for plane in self.formats)


def layout(pixel_format: str, width: int, height: int) -> Layout:
    """A layout whose planes and strides are aligned; its size is a multiple of a page.

    Raises ParameterError for a size outside 1 to 16384.
    """
    if not (1 <= width <= MAX_DIMENSION and 1 <= height <= MAX_DIMENSION):
        raise refused(f"a frame of {width}x{height} is not between 1x1 and {MAX_DIMENSION}x{MAX_DIMENSION}")
    offset, planes = 0, []
    for plane in PIXEL_FORMATS[pixel_format]:
        stride = _align(plane.row_bytes(width))
        planes.append(Plane(offset, stride))
        offset = _align(offset + stride * plane.rows(height))
    return Layout(pixel_format, width, height, tuple(planes), _align(offset, PAGE))


def fault(pixel_format: str, width: int, height: int, planes: Sequence[Plane], size: int) -> str:
    """Why planes are not a frame of this format in `size` bytes of memory; empty if they are."""
    formats = PIXEL_FORMATS[pixel_format]
    if len(planes) != len(formats):
        return f"{pixel_format} has {len(formats)} planes, not {len(planes)}"
    for number, (plane, form) in enumerate(zip(planes, formats)):
        row = form.row_bytes(width)
        if plane.offset < 0 or plane.offset % form.sample_size or plane.stride % form.sample_size:
            return f"plane {number} is not aligned to its samples"
        if not row <= plane.stride <= MAX_STRIDE:
            return f"the stride of plane {number} is {plane.stride}, not {row} to {MAX_STRIDE}"
        if plane.offset + plane.stride * (form.rows(height) - 1) + row > size:
            return f"plane {number} ends outside its memory of {size} bytes"
    return ""
