# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a stream has every frame, once, at its time, and decodes without a message."""
import re

from .clips import FORMATS, Failure, run

#: Of the luma of each frame, in dB.
MIN_QUALITY = 30
#: What tests/failover/failover.c does with frames: it forces a key frame, and sends captions with one frame of so many.
KEY_FRAME, CAPTION_STEP = 34, 6


def expect(condition, text):
    if not condition:
        raise Failure(text)


def check_times(path, count):
    """Lines "number pts dts key" of the packets."""
    packets = [[int(word) for word in line.split()] for line in path.read_text().splitlines()]
    expect(sorted(packet[0] for packet in packets) == list(range(1, count + 1)), f"{len(packets)} packets of {count} frames")
    expect(all(pts == 3 * number - 2 and dts <= pts for number, pts, dts, _ in packets), f"times are wrong: {packets}")
    expect(all(one[2] < other[2] for one, other in zip(packets, packets[1:])), f"decoding times do not rise: {packets}")
    if count >= KEY_FRAME:
        expect([KEY_FRAME, 1] in [[number, key] for number, _, _, key in packets], "the forced key frame is lost")


def check_ffmpeg(stream, clip, output):
    """ffmpeg decodes every frame without a message, each like its source."""
    extent = f"{clip.size[0]}x{clip.size[1]}"
    quality = output.with_suffix(".psnr")
    graph = (f"[0:v]settb=1/30,setpts=N,split[out][a];[1:v]format=yuv420p,settb=1/30,setpts=N[b];"
             f"[a][b]psnr=stats_file={quality}[compared]")
    _, messages = run(["ffmpeg", "-nostdin", "-y", "-v", "error", "-i", stream, "-f", "rawvideo", "-pix_fmt", FORMATS[clip.pixel_format],
                       "-s", extent, "-r", "30", "-i", clip.path, "-filter_complex", graph, "-map", "[out]", "-f", "rawvideo", "-pix_fmt",
                       "yuv420p", "-fps_mode", "passthrough", output, "-map", "[compared]", "-f", "null", "-"])
    expect(not messages, f"ffmpeg says {messages}")
    expect(output.stat().st_size == clip.frames * clip.size[0] * clip.size[1] * 3 // 2, "ffmpeg: frames are lost")
    values = [99 if value == "inf" else float(value) for value in re.findall(r"psnr_y:(\S+)", quality.read_text())]
    expect(len(values) == clip.frames, f"{len(values)} frames were compared")
    expect(min(values) >= MIN_QUALITY, f"a frame has a PSNR of {min(values)} dB")


def check_libde265(stream, decoded, compares):
    """libde265 decodes the same, without a message; `compares` is false where it is known to decode otherwise."""
    output = decoded.with_suffix(".libde265")
    said = "".join(run(["libde265-dec265", "-q", "-o", output, stream]))
    # Its own count of frames, at the end and after each hundred.
    messages = [line for line in said.splitlines() if not re.fullmatch(r"nFrames decoded: .*|frame \d+", line.strip())]
    expect(not messages, f"libde265 says {messages}")
    if compares:
        expect(output.read_bytes() == decoded.read_bytes(), "libde265 and ffmpeg differ")
    else:
        expect(output.stat().st_size == decoded.stat().st_size, "libde265: frames are lost")


def check_stream(folder, clip, has_open_groups):
    stream, output = folder / "out.hevc", folder / "out.yuv"
    check_times(folder / "times", clip.frames)
    check_ffmpeg(stream, clip, output)
    # libde265 1.0.11 loses the references of leading pictures after a repeated SPS.
    check_libde265(stream, output, not has_open_groups)
    captions = stream.read_bytes().count(b"GA94")
    expect(captions == -(-clip.frames // CAPTION_STEP), f"{captions} captions")
