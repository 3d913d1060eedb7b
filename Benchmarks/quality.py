#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""quality.py BIN CLIP... [--ffmpeg PROGRAM] [--qualities 0.5,0.45,0.42,0.4] [-- hwctl options]

Prints the table of docs/performance.md, "The default quality": the size of each clip's H.264 video, the size of HEVC at several qualities as
a share of it, and VMAF (model vmaf_v0.6.1) and SSIM of the first and the last quality. A clip in another codec is made H.264 first, by x264
medium with CRF 23. Pictures are compared with those of the H.264 in the order of their times. BIN is the folder of hwctl. PROGRAM is an ffmpeg
with libvmaf and libx264, such as the one in the wheel imageio-ffmpeg; ffprobe is that of the system.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile


def run(command):
    clean = {name: value for name, value in os.environ.items() if name != "HWDAEMON_SOCKET"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, env=clean)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    return done


def video_bytes(path):
    """The bytes of the video track's packets."""
    sizes = run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=size", "-of", "csv=p=0", path]).stdout
    return sum(int(size) for size in re.findall(r"\d+", sizes))


def reference(arguments, clip, folder):
    """The clip as H.264."""
    codec = run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "stream=codec_name", "-of", "csv=p=0", clip]).stdout
    if codec.split(",")[0].strip() == "h264":
        return clip
    target = os.path.join(folder, "h264.mp4")
    run([arguments.ffmpeg, "-v", "error", "-nostdin", "-i", clip, "-map", "0:v:0", "-c:v", "libx264", "-preset", "medium", "-crf", "23",
         "-pix_fmt", "yuv420p", target])
    return target


def score(arguments, coded, source):
    """VMAF and SSIM of two files' pictures."""
    same = "settb=1/1000,setpts=N,format=yuv420p"
    graph = (f"[0:v:0]{same},split[a][b];[1:v:0]{same},split[c][d];"
             f"[a][c]libvmaf=model=version=vmaf_v0.6.1:n_threads={os.cpu_count()};[b][d]ssim")
    text = run([arguments.ffmpeg, "-v", "info", "-nostats", "-nostdin", "-i", coded, "-i", source, "-lavfi", graph, "-f", "null", "-"]).stderr
    found = [re.search(pattern, text) for pattern in (r"VMAF score: ([0-9.]+)", r"SSIM .*All:([0-9.]+)")]
    if None in found:
        sys.exit(f"{arguments.ffmpeg} reported no VMAF or SSIM: {text[-400:]}")
    return tuple(float(match[1]) for match in found)


def measure(arguments, clip, folder):
    """The bytes of H.264, the bytes at each quality, and the scores of the first and the last quality."""
    source = reference(arguments, clip, folder)
    sizes, scores = [], []
    for index, quality in enumerate(arguments.qualities):
        target = os.path.join(folder, "out.mov")
        run([os.path.join(arguments.bin, "hwctl"), "encode", "-y", "--audio", "none", "--quality", quality] + arguments.options
            + [source, target])
        sizes.append(video_bytes(target))
        if index in (0, len(arguments.qualities) - 1):
            scores.append(score(arguments, target, source))
    return video_bytes(source), sizes, scores


def main():
    options = []
    if "--" in sys.argv:
        place = sys.argv.index("--")
        options, sys.argv = sys.argv[place + 1:], sys.argv[:place]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("clips", nargs="+")
    parser.add_argument("--ffmpeg", default="ffmpeg")
    parser.add_argument("--qualities", type=lambda text: text.split(","), default="0.5,0.45,0.42,0.4")
    arguments = parser.parse_args()
    arguments.options = options or ["--hardware", "off"]
    first, last = arguments.qualities[0], arguments.qualities[-1]
    print(f"| clip | H.264, kB | Q {' | '.join(arguments.qualities)} | VMAF, SSIM at {first} | at {last} |")
    print("|---" * (len(arguments.qualities) + 4) + "|", flush=True)
    rows = []
    for clip in arguments.clips:
        with tempfile.TemporaryDirectory() as folder:
            before, after, scores = measure(arguments, clip, folder)
        rows.append((before, after, scores))
        cells = [f"{100 * size / before:.0f} %" for size in after] + [f"{vmaf:.1f}, {ssim:.4f}" for vmaf, ssim in scores]
        print(f"| {os.path.basename(clip)} | {before / 1000:,.0f} | {' | '.join(cells)} |", flush=True)
    total = sum(before for before, _, _ in rows)
    cells = [f"{100 * sum(after[index] for _, after, _ in rows) / total:.0f} %; "
             f"{statistics.median(100 * after[index] / before for before, after, _ in rows):.0f} %"
             for index in range(len(arguments.qualities))]
    cells += [", ".join(f"{statistics.mean(scores[place][kind] for _, _, scores in rows):.{digits}f}" for kind, digits in ((0, 1), (1, 4)))
              for place in (0, -1)]
    print(f"| all: bytes of the sum; median; mean VMAF, SSIM | {total / 1000:,.0f} | {' | '.join(cells)} |")


main()
