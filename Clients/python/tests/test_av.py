# SPDX-License-Identifier: MIT
"""Files that PyAV writes of a session's packets."""
import importlib.util
import io
import tempfile
import unittest

import hwdaemon
import hwdaemon.av

from .support import clip, daemon, ffmpeg


@unittest.skipUnless(importlib.util.find_spec("av"), "needs PyAV (package av)")
class StreamTests(unittest.TestCase):
    def write(self, path, frames, pixel_format="nv12", **options):
        import av
        with av.open(path, "w") as file, hwdaemon.CompressionSession(
                320, 180, pixel_format, time_base=(1, 30), daemon=daemon(), **options) as session:
            stream = hwdaemon.av.add_stream(file, session)
            for number, frame in enumerate(frames):
                session.encode(frame, pts=number, duration=1)
                for packet in session.packets():
                    file.mux(hwdaemon.av.packet(packet, stream, session))
            for packet in session.finish():
                file.mux(hwdaemon.av.packet(packet, stream, session))

    def test_byte_streams_decode_without_times_in_display_order(self):
        import av
        frames = [bytes([40 + 6 * number]) * (64 * 48 * 3 // 2) for number in range(20)]
        with tempfile.NamedTemporaryFile(suffix=".hevc") as file:
            with hwdaemon.CompressionSession(64, 48, "nv12", time_base=(1, 30), daemon=daemon()) as session:
                file.write(hwdaemon.annex_b_parameter_sets(session.prepare()))
                for number, frame in enumerate(frames):
                    session.encode(frame, pts=number, duration=1)
                packets = session.finish()
            file.write(b"".join(packet.annex_b for packet in packets))
            file.flush()
            with av.open(file.name) as opened:
                video = opened.streams.video[0]
                record = hwdaemon.av.format_description(video)
                with hwdaemon.DecompressionSession(record, time_base=video.time_base, pixel_format="nv12", daemon=daemon()) as decoding:
                    pictures = []
                    for packet in opened.demux(video):
                        if packet.size:
                            pictures += [(picture.pts, picture.tobytes()[0]) for picture in decoding.decode(bytes(packet), packet.pts)]
                    pictures += [(picture.pts, picture.tobytes()[0]) for picture in decoding.finish()]
        self.assertNotEqual([packet.pts for packet in packets], list(range(20)))
        self.assertEqual([pts for pts, _ in pictures], [None] * 20)
        for number, (_, luma) in enumerate(pictures):
            self.assertLessEqual(abs(luma - frames[number][0]), 8)

    def check(self, suffix, tag, pixel_format="nv12", **options):
        import av
        frames = clip(320, 180, 24, {"nv12": "nv12", "p010": "p010le"}[pixel_format])
        with tempfile.NamedTemporaryFile(suffix=suffix) as file:
            self.write(file.name, frames, pixel_format, **options)
            with av.open(file.name) as opened:
                stream = opened.streams.video[0]
                self.assertEqual((stream.codec_context.name, stream.width, stream.height), ("hevc", 320, 180))
                if tag:
                    self.assertEqual(stream.codec_context.codec_tag, tag)
                pictures = list(opened.decode(stream))
            self.assertEqual(len(pictures), 24)
            times = [float(picture.pts * picture.time_base) for picture in pictures]
            for number, time in enumerate(times):
                self.assertAlmostEqual(time - times[0], number / 30, delta=0.001)
            decoded = ffmpeg("-i", file.name, "-pix_fmt", {"nv12": "nv12", "p010": "p010le"}[pixel_format], "-f", "rawvideo", "-")
            self.assertEqual(len(decoded), sum(map(len, frames)))
            file.seek(0)
            return file.read()

    def test_mp4_has_hvc1_and_every_frame(self):
        data = self.check(".mp4", "hvc1")
        self.assertIn(b"hvc1", data)
        self.assertNotIn(b"hev1", data)

    def test_ten_bits_in_mov(self):
        self.check(".mov", "hvc1", "p010")

    def test_matroska(self):
        self.check(".mkv", "")

    def change_rate(self, **options):
        """Raises the rate in mid-stream by far; the packets of both halves."""
        frames = clip(320, 180, 12)
        with hwdaemon.CompressionSession(320, 180, "nv12", daemon=daemon(), AverageBitRate=100_000, **options) as session, \
                tempfile.NamedTemporaryFile(suffix=".mp4") as output:
            import av
            with av.open(output.name, "w") as file:
                stream = hwdaemon.av.add_stream(file, session)
                for number, frame in enumerate(frames):
                    if number == 6:
                        session["AverageBitRate"] = 20_000_000
                    session.encode(frame, pts=number * 3000, duration=3000)
                for packet in session.finish():
                    file.mux(hwdaemon.av.packet(packet, stream, session))
            with av.open(output.name) as file:
                return len(list(file.decode(video=0)))

    def test_parameter_sets_that_the_file_lacks_are_an_error(self):
        with self.assertRaisesRegex(ValueError, "ProfileLevel"):
            self.change_rate()
        self.assertEqual(self.change_rate(ProfileLevel="HEVC_Main_5_1"), 12)

    def test_alpha_keeps_every_frame(self):
        frames = clip(320, 180, 6, "yuva420p")
        with tempfile.NamedTemporaryFile(suffix=".mov") as file:
            self.write(file.name, frames, "yuva")
            decoded = ffmpeg("-i", file.name, "-pix_fmt", "nv12", "-f", "rawvideo", "-")
        self.assertEqual(len(decoded), 6 * 320 * 180 * 3 // 2)


if __name__ == "__main__":
    unittest.main()
