# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks of HDR: measuring light, converting to SDR, carrying dynamic metadata, verifying a transcode."""
import os
import statistics

from common import BIN, ROOT, ROUNDS, interleaved, median_ratio, ratios, run, short, source, table
from figures import FIGURES


def light(folder):
    """CPU time for measuring the light of a 1080p picture (level 1 of Dolby Vision) on one thread."""
    tool = os.path.join(folder, "measure-light")
    loops = os.path.join(ROOT, "Sources/Shaders/CPixels")
    run(["clang", "-O2", "-pthread", "-I", os.path.join(loops, "include"), "-o", tool,
         os.path.join(ROOT, "Benchmarks/measure-light.c"),
         *(os.path.join(loops, name + ".c") for name in ("measure", "sharing", "baseline", "avx2", "avx512")), "-lm"])
    rows = []
    for line in run([tool]).stdout.decode().splitlines():
        name, milliseconds, copy = line.split()
        FIGURES.record(f"light of a 1080p picture, {name}", [float(milliseconds) / float(copy)])
        rows.append((f"{name} HLG", f"{milliseconds} ms", "≤ 3 ms"))
    return "Light of a 1080p picture, one thread:\n\n" + table(["format", "measured", "goal"], rows)


def hlg_clip(folder, frames):
    """A 1080p HLG clip in 10 bits of that many frames."""
    clip = os.path.join(folder, f"hlg_1080p_{frames}.mov")
    hlg = source("hdr_hlg_1080p_real.mp4", os.path.join(ROOT, "Tests/Media/hlg.mov"))
    run(["ffmpeg", "-v", "error", "-stream_loop", "-1", "-i", hlg, "-frames:v", str(frames), "-vf", "scale=1920:1080",
         "-an", "-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p10le", "-x265-params",
         "crf=20:log-level=error", "-color_primaries", "bt2020", "-color_trc", "arib-std-b67", "-colorspace", "bt2020nc",
         "-tag:v", "hvc1", "-y", clip])
    return clip


def sdr(folder):
    """The cost of HDR to SDR: a 1080p HLG clip encoded with --hdr sdr, against the same encode without it."""
    rows = []
    frames = short(60)
    clip, output = hlg_clip(folder, frames), os.path.join(folder, "sdr.mov")
    for preset in ("ultrafast", "medium"):
        plain = [f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", preset, clip, output]
        for name, options in (("8 bit", []), ("10 bit", ["--profile", "main10"])):
            wall, cpu = interleaved((plain + ["--hdr", "sdr"] + options, plain))
            FIGURES.record(f"time to encode 1080p HLG with --hdr sdr, {preset}, to {name}", ratios(wall))
            rows.append((f"{preset}, to {name}", f"{frames / statistics.median(wall[0]):.1f}",
                         f"{frames / statistics.median(wall[1]):.1f}", f"{median_ratio(wall):.2f}",
                         f"{median_ratio(cpu):.2f}", "≤ 1.3" if preset == "medium" else "–"))
    return "1080p HLG to SDR (--hdr sdr), default quality, against the same encode of the HLG pictures (10 bit):\n\n" + table(
        ["preset", "fps with --hdr sdr", "fps without", "time", "CPU time", "goal (time)"], rows)


def metadata(folder):
    """The cost of one Dolby Vision RPU for each picture of a 1080p clip: kept, and made anew, against dropped."""
    rows = []
    frames = short(240)
    clip, output = os.path.join(folder, "dolby_vision.mov"), os.path.join(folder, "metadata.mov")
    encode = [f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", "ultrafast"]
    run(encode + ["--hdr", "regenerate", hlg_clip(folder, frames), clip])
    for mode, goal in (("preserve", "≤ 1.02"), ("regenerate", "–")):
        wall, cpu = interleaved([encode + ["--hdr", side, clip, output] for side in (mode, "drop")])
        FIGURES.record(f"time to encode 1080p with RPUs, --hdr {mode}", ratios(wall))
        rows.append((f"--hdr {mode}", f"{frames / statistics.median(wall[0]):.1f}",
                     f"{frames / statistics.median(wall[1]):.1f}", f"{median_ratio(wall):.3f}",
                     f"{median_ratio(cpu):.3f}", goal))
    return "1080p with one RPU a picture, ultrafast, against the same encode with --hdr drop:\n\n" + table(
        ["mode", "fps", "fps with --hdr drop", "time", "CPU time", "goal (time)"], rows)


def mapping(folder):
    """The cost of mapping 1080p pictures by their RPUs: decoded to bytes of RGB with and without --apply-rpu, on the CPU."""
    frames = short(24)
    clip, output = os.path.join(folder, "mapped.mov"), os.path.join(folder, "mapped.raw")
    run([f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", "ultrafast", "--hdr", "regenerate",
         hlg_clip(folder, frames), clip])
    decode = [f"{BIN}/hwctl", "decode", "--hardware", "off", "--device", "cpu", "--format", "rgba8"]
    wall, cpu = interleaved([decode + options + [clip, output] for options in (["--apply-rpu"], [])])
    FIGURES.record("CPU to decode 1080p HLG to RGBA with --apply-rpu", ratios(cpu))
    return "1080p HLG with RPUs decoded to RGB, with --apply-rpu against without:\n\n" + table(
        ["fps with", "fps without", "time", "CPU time"],
        [(f"{frames / statistics.median(wall[0]):.1f}", f"{frames / statistics.median(wall[1]):.1f}",
          f"{median_ratio(wall):.2f}", f"{median_ratio(cpu):.2f}")])


def receipt(folder):
    """The time of `hwctl verify` over a transcode of 10 s of 1080p, against ffmpeg's psnr filter over the same files."""
    frames = short(300)
    clip, output = hlg_clip(folder, frames), os.path.join(folder, "receipt.mov")
    run([f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", "ultrafast", clip, output])
    wall, cpu = interleaved((
        [f"{BIN}/hwctl", "verify", clip, output],
        ["ffmpeg", "-v", "error", "-i", output, "-i", clip, "-filter_complex", "psnr", "-an", "-f", "null", "-"]))
    FIGURES.record("time to verify a transcode of 1080p", ratios(wall))
    seconds = statistics.median(wall[0])
    return f"`hwctl verify` over a transcode of {frames} frames of 1080p, 10 bits, against ffmpeg's psnr filter:\n\n" + table(
        ["seconds", "frames per second", "time", "CPU time"],
        [(f"{seconds:.1f}", f"{frames / seconds:.0f}", f"{median_ratio(wall):.2f}", f"{median_ratio(cpu):.2f}")])
