# SPDX-License-Identifier: MIT
"""HWDaemon's HEVC compression, decompression and pixel-transfer sessions, in pure Python.

`frames` and `write` read and write whole files as arrays, `VideoOutput` gives the frames of a file by display time, `MovieRecorder` writes files that survive a crash. `hwdaemon.aio` has the same sessions for asyncio, `hwdaemon.av` helps PyAV to write their packets.
"""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ._core.playability import Playability, PlayMode, playability
from ._output.playback import OutputCounts
from .bitstream import annex_b, annex_b_parameter_sets, parameter_sets
from .compression import CompressionSession
from .control import Probe
from .daemon import Daemon, default_daemon
from .decompression import DecompressionSession
from .errors import (
    STATUS_NAMES, CallError, ConnectionClosed, Error, NotPermitted, NotRunning, ParameterError, SessionEnded, StatusError,
    Timeout)
from .files import frames, write
from .images import DMABufFrame, Frame, Image, Picture
from .metadata import BT709, HLG, PQ, Color, Rectangle, SideData
from .movies import MovieRecorder
from .output import VideoFrame, VideoOutput
from .packets import Packet, PacketReport
from .transfer import TransferSession

__version__ = "0.2.0"

__all__ = [
    "BT709", "HLG", "PQ", "STATUS_NAMES", "CallError", "Color", "CompressionSession", "ConnectionClosed", "DMABufFrame",
    "Daemon", "DecompressionSession", "Error", "Frame", "Image", "MovieRecorder", "NotPermitted", "NotRunning", "OutputCounts", "Packet",
    "PacketReport", "ParameterError", "Picture", "PlayMode", "Playability", "Probe", "Rectangle", "SessionEnded",
    "SideData", "StatusError", "Timeout", "TransferSession", "VideoFrame", "VideoOutput", "annex_b",
    "annex_b_parameter_sets", "call", "default_daemon", "frames", "parameter_sets", "playability", "probe", "write",
]


def probe(device: Optional[str] = None, verify: Optional[bool] = None, timeout: float = 120.0) -> Probe:
    """Probes the machine: its encoders, paths and render nodes, each with the reason where it cannot be used."""
    return default_daemon().probe(device, verify, timeout)


def call(method: str, parameters: Optional[Mapping[str, Any]] = None, timeout: float = 30.0) -> Dict[str, Any]:
    """The reply to any method of the daemon: `call("ListEncoders")`."""
    return default_daemon().call(method, parameters, timeout)
