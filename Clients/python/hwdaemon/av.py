# SPDX-License-Identifier: MIT
"""For PyAV 14 or later (package `av`): writes the packets of a compression session to a file.

    with av.open("out.mp4", "w") as file, CompressionSession(…) as session:
        session.prepare()
        stream = hwdaemon.av.add_stream(file, session)
        …
        file.mux(hwdaemon.av.packet(packet, stream, session))
"""
from __future__ import annotations

import io
import weakref
from typing import Any, MutableMapping

from .bitstream import START_CODE, annex_b_parameter_sets
from .compression import CompressionSession
from .packets import Packet

# An IDR slice that no decoder gets: libavformat reads a byte stream's size from its parameter sets when a picture follows.
_SLICE = START_CODE + bytes([0x26, 0x01, 0xAF]) + bytes(8)

# The parameter sets that each session's stream has got.
_records: MutableMapping[CompressionSession, bytes] = weakref.WeakKeyDictionary()


def add_stream(container: Any, session: CompressionSession) -> Any:
    """Adds a video stream for the packets of a session, which is prepared if it is not.

    Files of the MP4 family get the sample entry hvc1, with the parameter sets in it alone. Returns PyAV's stream.
    """
    import av

    record = session.format_description or session.prepare()
    with av.open(io.BytesIO(annex_b_parameter_sets(record) + _SLICE), format="hevc") as template:
        stream = container.add_stream_from_template(template.streams.video[0], opaque=True)
    stream.time_base = session.time_base
    stream.codec_context.codec_tag = "hvc1"
    _records[session] = record
    return stream


def packet(coded: Packet, stream: Any, session: CompressionSession) -> Any:
    """A packet of a session for `container.mux`.

    Raises ValueError for a packet that needs other parameter sets than `add_stream` gave the file: a property was changed in
    the open session, and needs a higher level. A ProfileLevel that names a level ("HEVC_Main_5_1") prevents that.
    """
    import av

    if coded.format_description != _records.get(session, coded.format_description):
        raise ValueError("the packet needs other parameter sets than its file has; set ProfileLevel to one with a level")
    result = av.Packet(coded.annex_b)
    result.stream = stream
    result.time_base = session.time_base
    result.pts, result.dts, result.duration = coded.pts, coded.dts, coded.duration
    result.is_keyframe = coded.is_sync
    return result


def format_description(stream: Any) -> bytes:
    """What a DecompressionSession needs for the packets of a stream that PyAV reads: an hvcC record, or parameter sets.

    Raises ValueError for a stream that is not HEVC.
    """
    if stream.codec_context.name != "hevc" or not stream.codec_context.extradata:
        raise ValueError(f"the stream is {stream.codec_context.name}, not HEVC with parameter sets")
    return bytes(stream.codec_context.extradata)
