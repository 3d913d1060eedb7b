# SPDX-License-Identifier: MIT
"""What a session admits: faults that would end it are refused before they are sent, with the worker's status and reason."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from ..errors import refused
from ..metadata import (
    COLOR_PRIMARIES, MAX_SIDE_DATA, MAX_SIDE_DATA_BYTES, SIDE_DATA_SIZES, TRANSFER_FUNCTIONS, UNSPECIFIED, YCBCR_MATRICES, Color,
    SideData)

#: Times are smaller in magnitude.
TIME_BOUND = 1 << 56
MAX_QP = 51
FORCE_KEY_FRAME = 1
ALPHA_FLAGS: Mapping[Optional[str], int] = {None: 0, "premultiplied": 2, "straight": 4}
#: The properties of the stream's color.
COLOR_PROPERTIES = ["ColorPrimaries", "TransferFunction", "YCbCrMatrix", "FullRangeVideo"]


def check_times(what: str, pts: Optional[int], duration: int) -> None:
    """The pts of a packet may be absent. `what` is "frame 1" or "packet 1"."""
    if pts is not None and not -TIME_BOUND < pts < TIME_BOUND or not 0 <= duration < TIME_BOUND:
        raise refused(f"{what} has an impossible pts or duration")


def check_order(frame: int, pts: int, last: Optional[int]) -> None:
    if last is not None and pts <= last:
        raise refused(f"frame {frame} has pts {pts}, not after the {last} before it")


def check_qp(frame: int, qp: Optional[int]) -> None:
    if qp is not None and not 0 <= qp <= MAX_QP:
        raise refused(f"frame {frame} has BaseFrameQP {qp}, not 0 to {MAX_QP}")


def check_alpha_mode(frame: int, mode: Optional[str], has_alpha: bool) -> None:
    if mode not in ALPHA_FLAGS:
        raise refused(f"frame {frame} has the alpha mode {mode!r}, not 'premultiplied' or 'straight'")
    if mode is not None and not has_alpha:
        raise refused(f"frame {frame} has a SourceAlphaMode, but the session codes no alpha")


def check_color(frame: int, color: Optional[Color]) -> None:
    """Code points are bytes; the chroma location of H.265 E.3.1 is 0 to 5."""
    if color is None:
        return
    if not all(0 <= point <= 255 for point in (color.primaries, color.transfer, color.matrix)):
        raise refused(f"frame {frame} has the color {color}; code points are 0 to 255")
    if color.chroma_location is not None and not 0 <= color.chroma_location <= 5:
        raise refused(f"frame {frame} has the chroma location {color.chroma_location}, not 0 to 5")


def check_stream_color(frame: int, color: Color, stream: Color) -> None:
    """A frame of Y'CbCr in another color than the stream's would be shown wrong."""
    pairs = ((color.primaries, stream.primaries), (color.transfer, stream.transfer), (color.matrix, stream.matrix))
    if any(wanted not in (UNSPECIFIED, point) for point, wanted in pairs) or bool(color.full_range) != stream.full_range:
        raise refused(f"frame {frame} has the color {color}, and the stream has {stream}")


def stream_color(properties: Mapping[str, Any]) -> Color:
    """The color that COLOR_PROPERTIES describe."""
    def point(name: str, names: Mapping[str, int]) -> int:
        value = properties.get(name)
        return value if isinstance(value, int) else names.get(value, UNSPECIFIED) if isinstance(value, str) else UNSPECIFIED

    return Color(point("ColorPrimaries", COLOR_PRIMARIES), point("TransferFunction", TRANSFER_FUNCTIONS),
                 point("YCbCrMatrix", YCBCR_MATRICES), properties.get("FullRangeVideo") is True)


def check_side_data(frame: int, side_data: Sequence[SideData]) -> None:
    if len(side_data) > MAX_SIDE_DATA:
        raise refused(f"frame {frame} has {len(side_data)} side data; {MAX_SIDE_DATA} is the limit")
    total = 0
    for entry in side_data:
        if entry.kind not in SIDE_DATA_SIZES:
            raise refused(f"side data are of unknown kind {entry.kind}")
        size = len(entry.data)
        total += size
        if SIDE_DATA_SIZES[entry.kind] not in (None, size) or total > MAX_SIDE_DATA_BYTES:
            raise refused(f"side data of kind {entry.kind} have {size} bytes")
    if len({entry.kind for entry in side_data}) != len(side_data):
        raise refused(f"frame {frame} has several side data of one kind")
