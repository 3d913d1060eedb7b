# SPDX-License-Identifier: MIT
"""Color descriptions and side data of frames."""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Mapping, Optional, Sequence, Tuple

MAX_SIDE_DATA = 16
MAX_SIDE_DATA_BYTES = 49152

MASTERING_DISPLAY, CONTENT_LIGHT, AMBIENT_VIEWING, HDR10_PLUS, DOLBY_VISION_RPU, CLOSED_CAPTIONS = range(1, 7)
#: The bytes of each kind of side data; None for a kind that has no one size.
SIDE_DATA_SIZES: Mapping[int, Optional[int]] = {
    MASTERING_DISPLAY: 24, CONTENT_LIGHT: 4, AMBIENT_VIEWING: 8, HDR10_PLUS: None, DOLBY_VISION_RPU: None,
    CLOSED_CAPTIONS: None}

UNSPECIFIED = 2
#: The names of code points that color properties take (ColorPrimaries, TransferFunction, YCbCrMatrix).
COLOR_PRIMARIES: Mapping[str, int] = {
    "ITU_R_709_2": 1, "EBU_3213": 5, "SMPTE_C": 6, "ITU_R_2020": 9, "DCI_P3": 11, "P3_D65": 12}
TRANSFER_FUNCTIONS: Mapping[str, int] = {
    "ITU_R_709_2": 1, "SMPTE_240M_1995": 7, "Linear": 8, "sRGB": 13, "ITU_R_2020": 14, "SMPTE_ST_2084_PQ": 16,
    "SMPTE_ST_428_1": 17, "ITU_R_2100_HLG": 18}
YCBCR_MATRICES: Mapping[str, int] = {"ITU_R_709_2": 1, "ITU_R_601_4": 6, "SMPTE_240M_1995": 7, "ITU_R_2020": 9}


@dataclass(frozen=True)
class Color:
    """A color description: the code points of ITU-T H.273, tables 2 to 4; 2 is unspecified.

    `chroma_location` is chroma_sample_loc_type of H.265 E.3.1 (0 left, 1 center, 2 top left …); None if unspecified.
    """

    primaries: int = UNSPECIFIED
    transfer: int = UNSPECIFIED
    matrix: int = UNSPECIFIED
    full_range: bool = False
    chroma_location: Optional[int] = None

    def __str__(self) -> str:
        """Primaries, transfer function and matrix, as in 9/18/9, and the range."""
        return f"{self.primaries}/{self.transfer}/{self.matrix} {'full' if self.full_range else 'video'} range"


BT709 = Color(1, 1, 1, chroma_location=0)
#: BT.2020 with PQ (HDR10) and with HLG.
PQ = Color(9, 16, 9, chroma_location=2)
HLG = Color(9, 18, 9, chroma_location=2)


@dataclass(frozen=True)
class Rectangle:
    """A part of a picture, in luma samples from the top left."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class SideData:
    """Metadata of one frame, in the stream's bytes.

    Kinds: 1 mastering display (payload of SEI 137, H.265 D.2.28), 2 content light (SEI 144, D.2.35), 3 ambient viewing
    (SEI 148, D.2.39), 4 HDR10+ (payload of SEI 4 from its country code on), 5 Dolby Vision's RPU (the NAL unit), 6 closed
    captions (payload of SEI 4 with cc_data(); needs the feature `frame-captions`).
    """

    kind: int
    data: bytes

    @classmethod
    def content_light(cls, maximum: int, average: int) -> SideData:
        """MaxCLL and MaxFALL, both in cd/m² up to 65535."""
        return cls(CONTENT_LIGHT, struct.pack(">HH", maximum, average))

    @classmethod
    def mastering_display(
        cls, primaries: Sequence[Tuple[float, float]], white: Tuple[float, float], minimum: float, maximum: float
    ) -> SideData:
        """The mastering display: CIE 1931 x and y of red, green and blue and of white; its luminances in cd/m²."""
        red, green, blue = primaries
        # H.265 D.3.28: green, blue, red; steps of 0.00002 and of 0.0001 cd/m².
        points = [round(value * 50000) for point in (green, blue, red, white) for value in point]
        return cls(MASTERING_DISPLAY, struct.pack(">8HII", *points, round(maximum * 10000), round(minimum * 10000)))
