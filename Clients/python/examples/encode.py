# SPDX-License-Identifier: MIT
"""Encodes 60 frames of a moving gradient as an HEVC byte stream. Needs nothing but the package.

    python3 encode.py out.hevc
"""
import sys
from typing import List

import hwdaemon

WIDTH, HEIGHT, FRAMES = 640, 360, 60


def gradient(number: int) -> List[bytes]:
    """Luma and interleaved chroma of a frame in NV12, without padding."""
    row = bytes((column + 4 * number) % 220 + 16 for column in range(WIDTH))
    return [row * HEIGHT, bytes([128 + number, 128 - number]) * (WIDTH // 2 * HEIGHT // 2)]


def main(path: str) -> None:
    with open(path, "wb") as file, hwdaemon.CompressionSession(
            WIDTH, HEIGHT, "nv12", time_base=(1, 30), AverageBitRate=1_000_000) as session:
        print(f"{session.encoder_id}: {session.fallback_reason or 'hardware'}")
        # A byte stream begins with the parameter sets.
        file.write(hwdaemon.annex_b_parameter_sets(session.prepare()))
        count = 0
        for number in range(FRAMES):
            session.encode(gradient(number), pts=number, duration=1)
            for packet in session.packets():
                count += 1
                file.write(packet.annex_b)
        for packet in session.finish():
            count += 1
            file.write(packet.annex_b)
    print(f"{count} packets")


if __name__ == "__main__":
    main(sys.argv[1])
