# SPDX-License-Identifier: GPL-2.0-or-later
"""Clips for a decoder: generated pictures, coded by libx265, with the digests of what FFmpeg's decoder in software makes of them."""
import hashlib
import json
import subprocess

# Name, size, frames, bits, x265's parameters.
CLIPS = (
    ("main-pyramid", "640x360", 90, 8, "bframes=4:b-pyramid=1:keyint=30"),
    ("main-open-gop", "1280x720", 90, 8, "bframes=3:open-gop=1:keyint=24:min-keyint=24"),
    ("main-p-only", "640x360", 60, 8, "bframes=0:keyint=60:slices=4"),
    ("main10-pyramid", "640x360", 90, 10, "bframes=4:b-pyramid=1:keyint=30"),
    ("main10-open-gop", "1280x720", 90, 10, "bframes=3:open-gop=1:keyint=24:min-keyint=24"),
    # Neither side is a multiple of a block: the window is cut out of a larger picture.
    ("main10-cropped", "850x478", 60, 10, "bframes=2:keyint=20:ref=4:weightb=1"),
)
LONG = ("long", "1920x1080", 300, 10, "bframes=3:keyint=60")


def make_clips(folder):
    """Writes the clips and clips.json."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {}
    for name, size, frames, bits, parameters in (*CLIPS, LONG):
        path = folder / f"{name}.mp4"
        pixels = "yuv420p" if bits == 8 else "yuv420p10le"
        source = f"testsrc2=s={size}:r=30,noise=alls=12:allf=t:all_seed=7,format={pixels}"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source, "-frames:v", str(frames), "-c:v", "libx265",
             "-preset", "superfast", "-crf", "34", "-x265-params", f"log-level=none:{parameters}", "-tag:v", "hvc1",
             "-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709", str(path)], check=True)
        decoder = subprocess.Popen(
            ["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-f", "rawvideo", "-pix_fmt", pixels, "-fps_mode", "passthrough",
             "-"], stdout=subprocess.PIPE)
        digest = hashlib.md5()
        for part in iter(lambda: decoder.stdout.read(1 << 20), b""):
            digest.update(part)
        if decoder.wait() != 0:
            raise RuntimeError(f"ffmpeg does not decode {path}")
        facts[name] = {"md5": digest.hexdigest(), "frames": frames, "bits": bits, "size": size}
    (folder / "clips.json").write_text(json.dumps(facts, indent=1) + "\n")
