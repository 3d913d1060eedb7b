# SPDX-License-Identifier: MIT
"""Decodes HDR video to extended-linear half floats, grades it in numpy, and encodes it as HDR10.

    python3 grade_hdr.py in.mov out.mp4 [STOPS]

Needs numpy and PyAV. 1.0 is reference white (203 cd/m²); highlights are above it, and nothing clips them.
"""
import sys
from typing import Any, Iterable

import av
import numpy

import hwdaemon
import hwdaemon.av

# BT.2020's luma weights, for saturation.
WEIGHTS = numpy.array([0.2627, 0.6780, 0.0593], numpy.float32)


def grade(image: Any, stops: float) -> Any:
    """Exposure, and a little less saturation; RGB in linear light, alpha as it is."""
    color = image[..., :3].astype(numpy.float32) * 2**stops
    gray = color @ WEIGHTS
    graded = numpy.empty_like(image)
    graded[..., :3] = gray[..., None] + 0.9 * (color - gray[..., None])
    graded[..., 3] = image[..., 3]
    return graded


def main(source: str, target: str, stops: float = 0.5) -> None:
    with av.open(source) as opened, av.open(target, "w") as file:
        video: Any = opened.streams.video[0]
        with hwdaemon.DecompressionSession(
                hwdaemon.av.format_description(video), pixel_format="ab4h", time_base=video.time_base,
                DestinationColorPrimaries="ITU_R_2020") as decoder, hwdaemon.CompressionSession(
                decoder.width, decoder.height, "ab4h", time_base=video.time_base, ProfileLevel="HEVC_Main10_AutoLevel",
                SourceColorPrimaries="ITU_R_2020", ColorPrimaries="ITU_R_2020", TransferFunction="SMPTE_ST_2084_PQ",
                YCbCrMatrix="ITU_R_2020", Quality=0.8) as encoder:
            stream = hwdaemon.av.add_stream(file, encoder)

            def encode(picture: hwdaemon.Picture) -> None:
                if picture.pts is None:
                    sys.exit(f"{source} has no times of its pictures; a byte stream needs a container")
                encoder.encode(grade(picture.planes[0], stops), picture.pts, picture.duration)
                write(encoder.packets())

            def write(packets: Iterable[hwdaemon.Packet]) -> None:
                for packet in packets:
                    file.mux(hwdaemon.av.packet(packet, stream, encoder))

            for packet in opened.demux(video):
                # PyAV ends with an empty packet.
                if packet.size:
                    for picture in decoder.decode(bytes(packet), packet.pts, packet.duration or 0):
                        encode(picture)
            for picture in decoder.finish():
                encode(picture)
            write(encoder.finish())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:]))
