# SPDX-License-Identifier: MIT
"""The samples of docs/clients.md and the examples, each run as it stands."""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import hwdaemon
from hwdaemon.formats import PIXEL_FORMATS, fourcc

from .support import ROOT, daemon, ffmpeg

DOCUMENT = ROOT / "docs/clients.md"
EXAMPLES = ROOT / "Clients/python/examples"
HAS_AV = bool(importlib.util.find_spec("av") and importlib.util.find_spec("numpy"))


def run(*arguments, folder):
    environment = {**os.environ, "HWDAEMON_SOCKET": daemon().address,
                   "PYTHONPATH": str(Path(hwdaemon.__file__).resolve().parents[1])}
    result = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def frame_count(path):
    """Frames that FFmpeg decodes of a file."""
    return len(ffmpeg("-i", str(path), "-pix_fmt", "gray", "-vf", "scale=16:16", "-f", "rawvideo", "-")) // 256


class SampleTests(unittest.TestCase):
    samples = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)

    def needs_pyav(self, sample):
        return "import av" in sample or "VideoOutput" in sample

    def test_samples_that_need_the_package_alone(self):
        alone = [sample for sample in self.samples if not self.needs_pyav(sample)]
        self.assertGreaterEqual(len(alone), 4)
        with tempfile.TemporaryDirectory() as folder:
            printed = "".join(run("-c", sample, folder=folder) for sample in alone)
            self.assertEqual(frame_count(f"{folder}/gradient.hevc"), 60)
            self.assertEqual(frame_count(f"{folder}/movie.mov"), 45)
        self.assertIn("org.hwdaemon.encoder.x265", printed)
        self.assertIn("CouldNotFindVideoEncoder -12908", printed)
        self.assertIn("10 packets", printed)
        self.assertEqual(re.findall(r"^picture (\d+)", printed, re.MULTILINE), [str(number) for number in range(10)])

    @unittest.skipUnless(HAS_AV, "needs numpy and PyAV (package av)")
    def test_samples_that_need_pyav(self):
        with tempfile.TemporaryDirectory() as folder:
            printed = "".join(run("-c", sample, folder=folder) for sample in self.samples if self.needs_pyav(sample))
            self.assertEqual(frame_count(f"{folder}/gradient.mp4"), 60)
        self.assertIn("60 pictures", printed)
        self.assertIn("30 frames, then after end", printed)

    def test_the_readme_s_sample_is_valid(self):
        text = (ROOT / "Clients/python/README.md").read_text(encoding="utf-8")
        for sample in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            with tempfile.TemporaryDirectory() as folder:
                run("-c", f"frames = [bytes(1920 * 1080 * 3 // 2)] * 3\n{sample}assert len(packets) == 3", folder=folder)

    def test_the_table_of_pixel_formats(self):
        types = {"|u1": "uint8", "<u2": "uint16", "<u4": "uint32", "<f2": "float16"}
        shapes = {name: "; ".join(
            f"({'h/2, w/2' if plane.halved else 'h, w'}{f', {plane.components}' if plane.components > 1 else ''}) {types[plane.sample]}"
            for plane in planes) for name, planes in PIXEL_FORMATS.items()}
        rows = re.findall(r"^\| `(\w+)`(?: \(`(\w+)`\))? \| (\(h.*?) \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual([name.upper() for name, _, _ in rows], list(PIXEL_FORMATS))
        for name, other, text in rows:
            self.assertEqual(fourcc(other or name), name.upper())
            self.assertEqual(text[: len(shapes[name.upper()])], shapes[name.upper()])
            self.assertNotIn("(h", text[len(shapes[name.upper()]):])


class ExampleTests(unittest.TestCase):
    def test_encode(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("60 packets", run(str(EXAMPLES / "encode.py"), "out.hevc", folder=folder))
            self.assertEqual(frame_count(f"{folder}/out.hevc"), 60)

    @unittest.skipUnless(HAS_AV, "needs numpy and PyAV (package av)")
    def test_grade_hdr(self):
        import numpy
        with tempfile.TemporaryDirectory() as folder:
            source, target = f"{folder}/in.mov", f"{folder}/out.mp4"
            light = self.write_hdr(source)
            run(str(EXAMPLES / "grade_hdr.py"), source, target, "1", folder=folder)
            graded = ffmpeg("-i", target, "-pix_fmt", "p010le", "-f", "rawvideo", "-")
            shown = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=codec_tag_string,color_transfer,color_primaries",
                                    "-of", "default=nw=1", target], capture_output=True, text=True, check=True).stdout
        self.assertIn("color_transfer=smpte2084", shown)
        self.assertIn("color_primaries=bt2020", shown)
        self.assertIn("codec_tag_string=hvc1", shown)
        pictures = numpy.frombuffer(graded, "<u2").reshape(10, -1)[:, : 320 * 180] >> 6
        # One stop is twice the light (SMPTE ST 2084).
        self.assertLess(abs(self.light(pictures.mean() / 1023) / light - 2), 0.1)

    def write_hdr(self, path):
        """A gray clip in HDR10; returns its light in cd/m²."""
        import av
        import hwdaemon.av
        value = 500
        planes = [(value << 6).to_bytes(2, "little") * (320 * 180), (512 << 6).to_bytes(2, "little") * (320 * 90)]
        with av.open(path, "w") as file, hwdaemon.CompressionSession(
                320, 180, "p010", time_base=(1, 30), daemon=daemon(), ColorPrimaries=9, TransferFunction=16, YCbCrMatrix=9) as session:
            output = hwdaemon.av.add_stream(file, session)
            for number in range(10):
                session.encode(planes, pts=number, duration=1)
            for packet in session.finish():
                file.mux(hwdaemon.av.packet(packet, output, session))
        return self.light(value / 1023)

    def light(self, code):
        """cd/m² of gray at video range, by the PQ EOTF."""
        signal = (code * 1023 - 64) / 876
        power = signal ** (32 / 2523)
        return 10000 * (max(power - 3424 / 4096, 0) / (2413 / 128 - 2392 / 128 * power)) ** (16384 / 2610)


if __name__ == "__main__":
    unittest.main()
