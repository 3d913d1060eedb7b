# SPDX-License-Identifier: MIT
"""Coded pictures and reports of damaged ones."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from .bitstream import annex_b


@dataclass(frozen=True)
class Packet:
    """A coded picture. Times are in units of the session's time base."""

    #: NAL units with 4-byte lengths, without parameter sets.
    data: bytes
    pts: int
    dts: int
    duration: int
    #: A key frame.
    is_sync: bool
    #: No other picture refers to it.
    is_disposable: bool
    #: TemporalId, 0 to 6.
    temporal_id: int
    nal_unit_type: int
    #: The number of its frame, as `encode` returned it.
    frame: int
    #: The hvcC record (ISO/IEC 14496-15, 8.3.3.1) that decoders need for it.
    format_description: bytes
    #: Of Y', Cb and Cr, if CalculateMeanSquaredError is set and the encoder measures it.
    mean_squared_error: Optional[Tuple[float, float, float]] = None

    @property
    def annex_b(self) -> bytes:
        """The data with start codes instead of lengths."""
        return annex_b(self.data)


@dataclass(frozen=True)
class PacketReport:
    """What a decoder reports of a packet: damage (status -12909), why it has no picture (0), why its RPU is not applied (-12905)."""

    #: The number of the packet, as `decode` returned it.
    frame: int
    status: int
    #: No picture comes of it.
    has_no_picture: bool
    #: Of its alpha alone.
    is_about_alpha: bool
    #: It is above MaxTemporalLevel.
    is_above_level: bool
    reason: str
    #: Its picture is converted without the mapping of its Dolby Vision RPU.
    is_rpu_not_applied: bool = False
