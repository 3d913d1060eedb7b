# SPDX-License-Identifier: MIT
"""Whole files as arrays."""
import importlib.util
import os
import tempfile
import unittest

import hwdaemon

from .support import daemon, ffmpeg


@unittest.skipUnless(importlib.util.find_spec("av") and importlib.util.find_spec("numpy"), "needs PyAV and numpy")
class FileTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def pictures(self, count=12, components=3):
        import numpy
        pictures = numpy.full((count, 90, 160, components), 255, numpy.uint8)
        for number in range(count):
            pictures[number, :, :, :3] = (200, 40 + 8 * number, 60)
            pictures[number, :45, :, :3] = (30, 90, 220)
        return pictures

    def test_what_is_written_comes_back(self):
        import numpy
        pictures = self.pictures()
        for name in ("a.mov", "a.mp4", "a.mkv"):
            path = self.path(name)
            self.assertEqual(hwdaemon.write(path, pictures, 25, Quality=0.9, daemon=daemon()), 12)
            found = list(hwdaemon.frames(path, daemon=daemon()))
            self.assertEqual(len(found), 12)
            for picture, expected in zip(found, pictures):
                self.assertEqual((picture.shape, str(picture.dtype)), ((90, 160, 3), "uint8"))
                self.assertTrue(picture.flags.writeable)
                # Flat parts, away from the edge between them.
                for part in (numpy.s_[:40], numpy.s_[50:]):
                    self.assertLess(abs(picture[part].astype(int) - expected[part].astype(int)).max(), 8, name)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.mkv", "a.mov", "a.mp4"])
        # FFmpeg sees the same colors.
        seen = ffmpeg("-i", self.path("a.mov"), "-frames:v", "1", "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
        first = numpy.frombuffer(seen, numpy.uint8).reshape(90, 160, 3)
        self.assertLess(abs(first[60:].astype(int) - pictures[0, 60:].astype(int)).max(), 12)

    def test_byte_streams_and_alpha(self):
        path = self.path("a.hevc")
        hwdaemon.write(path, self.pictures(5), daemon=daemon())
        self.assertEqual(len(list(hwdaemon.frames(path, daemon=daemon()))), 5)
        with_alpha = self.path("alpha.mov")
        self.assertEqual(hwdaemon.write(with_alpha, self.pictures(3, 4), daemon=daemon()), 3)
        self.assertEqual(len(list(hwdaemon.frames(with_alpha, daemon=daemon()))), 3)

    def test_other_codecs_are_decoded_here(self):
        path = self.path("a.mp4")
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=64x48:rate=10", "-frames:v", "4", "-c:v", "mpeg4", path)
        self.assertEqual([picture.shape for picture in hwdaemon.frames(path, daemon=daemon())], [(48, 64, 3)] * 4)

    def test_wrong_frames_leave_no_file(self):
        import numpy
        good = numpy.zeros((48, 64, 3), numpy.uint8)
        for frames, words in [
                ([], "no frames"), ([good.astype(numpy.float32)], "uint8"), ([good[:, :, 0]], "height, width"),
                ([good, good[:24]], "shape of the first")]:
            with self.assertRaisesRegex(hwdaemon.ParameterError, words):
                hwdaemon.write(self.path("a.mov"), frames, daemon=daemon())
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_failure_leaves_no_descriptor_and_keeps_its_error(self):
        import numpy
        good = numpy.zeros((48, 64, 3), numpy.uint8)

        def failing():
            yield good
            for part in os.listdir(self.folder):
                os.unlink(self.path(part))
            raise RuntimeError("the frames end")

        for name in ("a.hevc", "a.mov"):
            with self.assertRaisesRegex(RuntimeError, "the frames end"):
                hwdaemon.write(self.path(name), failing(), daemon=daemon())
            self.assertEqual(os.listdir(self.folder), [])
            names = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")
                     if os.path.islink(f"/proc/self/fd/{number}")]
            self.assertFalse([found for found in names if found.startswith(self.folder)])

    def test_files_have_the_mode_of_the_mask(self):
        path = self.path("a.hevc")
        hwdaemon.write(path, self.pictures(2), daemon=daemon())
        mask = os.umask(0o22)
        os.umask(mask)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o666 & ~mask)

    def test_pictures_say_that_they_are_read_only(self):
        with hwdaemon.CompressionSession(64, 48, "nv12", time_base=(1, 30), daemon=daemon()) as encoder:
            record = encoder.prepare()
            frame = encoder.frame()
            self.assertTrue(frame.is_writable and frame.planes[0].flags.writeable)
            del frame
            encoder.encode(bytes(64 * 48 * 3 // 2), pts=0)
            packets = encoder.finish()
        with hwdaemon.DecompressionSession(record, time_base=(1, 30), pixel_format="nv12", daemon=daemon()) as decoder:
            pictures = list(decoder.decode(packets[0].data, 0)) + list(decoder.finish())
            self.assertFalse(pictures[0].is_writable or pictures[0].planes[0].flags.writeable)
            with self.assertRaisesRegex(ValueError, "read-only"):
                pictures[0].planes[0][0, 0] = 1
            del pictures


@unittest.skipIf(importlib.util.find_spec("av"), "for machines without PyAV")
class MissingTests(unittest.TestCase):
    def test_what_is_missing_is_named(self):
        with self.assertRaisesRegex(ModuleNotFoundError, "needs PyAV and numpy"):
            next(hwdaemon.frames("a.mov"))


if __name__ == "__main__":
    unittest.main()
