# SPDX-License-Identifier: GPL-2.0-or-later
"""What is encoded and decoded."""
import subprocess
from dataclasses import dataclass
from pathlib import Path

SIZE, FRAMES = (192, 128), 60
#: x265's options of the streams to decode.
STREAMS = {
    "open": "keyint=12:min-keyint=12:open-gop=1:bframes=3:b-pyramid=1",
    "closed": "keyint=12:min-keyint=12:open-gop=0:bframes=3",
    "long": "keyint=250:bframes=3:scenecut=0",
}
#: Pixel formats of the library, and ffmpeg's names of them.
FORMATS = {"NV12": "nv12", "YUVA": "yuva420p"}


class Failure(Exception):
    """What a run found."""


def run(command, seconds=120, **options):
    """A program's output and messages; an error where it fails."""
    done = subprocess.run([f"{word}" for word in command], capture_output=True, text=True, errors="replace", timeout=seconds,
                          stdin=subprocess.DEVNULL, check=False, **options)
    if done.returncode:
        raise Failure(f"{command[0]}: status {done.returncode}: {(done.stderr or done.stdout).strip()[-1000:]}")
    return done.stdout, done.stderr


@dataclass
class Clip:
    """Raw frames."""

    path: Path
    pixel_format: str = "NV12"
    size: tuple = SIZE
    frames: int = FRAMES

    def make(self):
        extent = f"{self.size[0]}x{self.size[1]}"
        run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={extent}:rate=30", "-frames:v", self.frames, "-pix_fmt",
             FORMATS[self.pixel_format], "-f", "rawvideo", self.path])
        return self


def make_streams(folder):
    """The clips to decode, with the places of their packets and ffmpeg's pictures of them."""
    for name, options in STREAMS.items():
        movie, pictures, index = (folder / f"{name}.{ending}" for ending in ("mp4", "yuv", "index"))
        run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={SIZE[0]}x{SIZE[1]}:rate=30", "-frames:v", FRAMES, "-pix_fmt",
             "yuv420p", "-c:v", "libx265", "-x265-params", f"log-level=none:{options}", movie])
        index.write_text(run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts,pos,size", "-of",
                              "csv=p=0", movie])[0])
        run(["ffmpeg", "-v", "error", "-i", movie, "-f", "rawvideo", "-fps_mode", "passthrough", "-pix_fmt", "yuv420p", pictures])
        if len(index.read_text().splitlines()) != FRAMES or pictures.stat().st_size != FRAMES * SIZE[0] * SIZE[1] * 3 // 2:
            raise Failure(f"the clip {name} is not complete")
