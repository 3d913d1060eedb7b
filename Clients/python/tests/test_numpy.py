# SPDX-License-Identifier: MIT
"""Frames and pictures as numpy arrays in shared memory."""
import gc
import importlib.util
import sys
import unittest
from unittest import mock

import hwdaemon
from hwdaemon import CompressionSession, DecompressionSession
from hwdaemon.formats import PIXEL_FORMATS, fault, layout

from .support import clip, daemon, decode, stream


class LayoutTests(unittest.TestCase):
    def test_layouts_are_aligned_and_do_not_overlap(self):
        for form in PIXEL_FORMATS:
            for width, height in ((1, 1), (7, 5), (1920, 1080), (16384, 1)):
                found = layout(form, width, height)
                self.assertEqual(fault(form, width, height, found.planes, found.size), "")
                self.assertEqual(fault(form, width, height, found.planes, 1) == "", False)
                end = 0
                for plane, described in zip(found.planes, found.formats):
                    self.assertGreaterEqual(plane.offset, end)
                    self.assertEqual(plane.stride % 64, 0)
                    end = plane.offset + plane.stride * (described.rows(height) - 1) + described.row_bytes(width)
        for size in ((0, 1), (16385, 1), (1, -1)):
            with self.assertRaises(ValueError):
                layout("NV12", *size)

    def test_names_of_formats(self):
        for name, expected in (("nv12", "NV12"), ("yuv420p", "YU12"), ("AB4H", "AB4H"), ("rgba", "AB24"), ("p010le", "P010")):
            self.assertEqual(hwdaemon.formats.fourcc(name), expected)


class WithoutNumpyTests(unittest.TestCase):
    def test_planes_name_what_works_without_numpy(self):
        with CompressionSession(66, 50, "nv12", daemon=daemon(), Quality=1.0) as session:
            frame = session.frame()
            # As if it were not installed.
            with mock.patch.dict(sys.modules, {"numpy": None}):
                with self.assertRaisesRegex(ModuleNotFoundError, r"hwdaemon\[numpy\].*tobytes\(\).*fill\(\)"):
                    frame.planes
                frame.fill([bytes([90]) * (66 * 50), memoryview(bytes([128]) * (66 * 25))])
                session.encode(frame, pts=0)
                packet, = session.finish()
                with DecompressionSession(packet.format_description, pixel_format="nv12", daemon=daemon()) as decoding:
                    decoding.send(packet.data, 0)
                    samples = next(decoding.finish()).tobytes()
        self.assertEqual(len(samples), 66 * 75)
        self.assertTrue(all(abs(sample - 90) <= 2 for sample in samples[: 66 * 50]))


@unittest.skipUnless(importlib.util.find_spec("numpy"), "needs numpy")
class ArrayTests(unittest.TestCase):
    def test_frames_are_filled_in_place(self):
        import numpy
        luma = numpy.tile(numpy.arange(66, dtype=numpy.uint8) * 3, (50, 1))
        with CompressionSession(66, 50, "nv12", daemon=daemon(), Quality=1.0) as session:
            frame = session.frame()
            self.assertEqual([plane.shape for plane in frame.planes], [(50, 66), (25, 33, 2)])
            frame.planes[0][...] = luma
            frame.planes[1][...] = 128
            session.encode(frame, pts=0)
            # Strided arrays, a column of a larger one among them.
            wide = numpy.zeros((50, 132), numpy.uint8)
            wide[:, ::2] = luma
            session.encode([wide[:, ::2], numpy.full((25, 66), 128, numpy.uint8)], pts=1)
            # All planes in one array, as PyAV and OpenCV have them.
            session.encode(numpy.vstack([luma, numpy.full((25, 66), 128, numpy.uint8)]), pts=2)
            packets = session.finish()
        decoded = numpy.frombuffer(decode(stream(packets)), numpy.uint8).reshape(3, 75, 66)
        for picture in decoded:
            self.assertLess(abs(picture[:50].astype(int) - luma).mean(), 2)
            self.assertLess(abs(picture[50:].astype(int) - 128).mean(), 2)

    def test_arrays_of_another_kind_are_refused(self):
        import numpy
        with CompressionSession(64, 48, "p010", daemon=daemon()) as session:
            chroma = numpy.zeros((24, 32, 2), numpy.uint16)
            for luma in (numpy.zeros((48, 64), numpy.uint8), numpy.zeros((48, 64), numpy.float32), numpy.zeros((47, 64), numpy.uint16)):
                with self.assertRaises(ValueError):
                    session.encode([luma, chroma], pts=0)
            frame = session.frame()
            session.encode(frame, pts=0)
            self.assertEqual(len(session.finish()), 1)
            self.assertFalse(frame.in_use)

    def test_half_floats(self):
        import numpy
        image = numpy.zeros((48, 64, 4), numpy.float16)
        image[..., 0], image[..., 3] = 0.5, 1
        with CompressionSession(64, 48, "rgba16f", daemon=daemon(), Quality=0.9) as session:
            session.encode(image, pts=0)
            packets = session.finish()
        with DecompressionSession(packets[0].format_description, pixel_format="ab4h", daemon=daemon(),
                                  DestinationColorPrimaries=12) as session:
            session.send(packets[0].data, 0)
            decoded = [picture.planes[0] for picture in session.finish()]
            # The array keeps the picture, although nothing else does.
            gc.collect()
            self.assertEqual((decoded[0].dtype, decoded[0].shape), (numpy.float16, (48, 64, 4)))
            self.assertFalse(decoded[0].flags.writeable)
            self.assertEqual(len(session._link._held), 1)
            self.assertLess(abs(decoded[0].astype(float) - image).max(), 0.05)
            decoded.clear()
            self.assertEqual(len(session._link._held), 0)

    def test_slots_return_when_frames_are_dropped(self):
        with CompressionSession(64, 48, "nv12", daemon=daemon()) as session:
            frames = [session.frame() for _ in range(session._link.created.max_frames_in_flight + 1)]
            with self.assertRaises(hwdaemon.Timeout):
                session.frame(timeout=0.1)
            plane = frames.pop().planes[0]
            with self.assertRaises(hwdaemon.Timeout):
                session.frame(timeout=0.1)
            del plane
            session.frame()


if __name__ == "__main__":
    unittest.main()
