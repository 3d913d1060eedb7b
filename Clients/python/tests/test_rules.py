# SPDX-License-Identifier: MIT
"""What the package refuses before it sends it, against what the worker says of the same message."""
import unittest
from fractions import Fraction
from unittest import mock

import hwdaemon
from hwdaemon import Color, CompressionSession, DecompressionSession, SideData, TransferSession
from hwdaemon._core import rules
from hwdaemon._core.compression import CompressionLink
from hwdaemon.metadata import COLOR_PRIMARIES, TRANSFER_FUNCTIONS, YCBCR_MATRICES

from .support import daemon

FRAME = bytes(64 * 48 * 3 // 2)
LIGHT = SideData.content_light(1000, 400)
#: Arguments of `encode`, and the reason where it is not the worker's own.
FAULTS = [
    ({"pts": 7}, None),
    ({"pts": 6}, None),
    ({"pts": 1 << 56}, None),
    ({"duration": -1}, None),
    ({"duration": 1 << 56}, None),
    ({"qp": 52}, "frame 2 has BaseFrameQP 52, not 0 to 51"),
    ({"qp": -2}, "frame 2 has BaseFrameQP -2, not 0 to 51"),
    ({"alpha_mode": "straight"}, None),
    ({"alpha_mode": "premultiplied"}, None),
    ({"color": Color(1, 16, 9)}, None),
    ({"color": Color(9, 16, 9, full_range=True)}, None),
    ({"side_data": [LIGHT, LIGHT]}, None),
    ({"side_data": [SideData(2, b"123")]}, None),
    ({"side_data": [SideData(1, bytes(25))]}, None),
    ({"side_data": [SideData(3, bytes(4))]}, None),
    ({"side_data": [SideData(7, b"")]}, None),
    ({"side_data": [SideData(0, b"")]}, None),
    ({"side_data": [SideData(4, bytes(30000)), SideData(5, bytes(20000))]}, None),
    ({"side_data": [SideData(4, b"")] * 17}, "frame 2 has 17 side data; 16 is the limit"),
]
#: Those that cannot be put in a message.
UNSENDABLE = [
    ({"alpha_mode": "other"}, "the alpha mode 'other', not 'premultiplied' or 'straight'"),
    ({"color": Color(256, 16, 9)}, "code points are 0 to 255"),
    ({"color": Color(9, -1, 9)}, "code points are 0 to 255"),
    ({"color": Color(9, 16, 9, chroma_location=6)}, "the chroma location 6, not 0 to 5"),
]


def session(**properties):
    return CompressionSession(
        64, 48, "nv12", daemon=daemon(), X265Preset="ultrafast", ColorPrimaries="ITU_R_2020", TransferFunction=16,
        YCbCrMatrix="ITU_R_2020", **properties)


class EncodeTests(unittest.TestCase):
    def worker_s_reason(self, arguments):
        """How the session ends where nothing is checked here."""
        def admits(link, pts, duration, options):
            return
            yield

        with session() as unchecked, mock.patch.object(CompressionLink, "_admit", admits), \
                mock.patch.object(rules, "check_order", lambda *_: None):
            unchecked.encode(FRAME, pts=7)
            with self.assertRaises(hwdaemon.SessionEnded, msg=arguments) as ended:
                unchecked.encode(FRAME, **{"pts": 8, **arguments})
                unchecked.finish()
        self.assertEqual(ended.exception.code, -12902, arguments)
        return ended.exception.reason

    def test_faults_have_the_worker_s_status_and_reason_and_the_session_continues(self):
        with session() as checked:
            checked.encode(FRAME, pts=7)
            for arguments, reason in FAULTS + UNSENDABLE:
                with self.assertRaises(hwdaemon.ParameterError, msg=arguments) as refused:
                    checked.encode(FRAME, **{"pts": 8, **arguments})
                self.assertNotIsInstance(refused.exception, hwdaemon.SessionEnded)
                self.assertEqual((refused.exception.code, refused.exception.name), (-12902, "Parameter"))
                if (arguments, reason) in UNSENDABLE:
                    self.assertIn(reason, refused.exception.reason)
                    continue
                worker_s = self.worker_s_reason(arguments)
                self.assertEqual(refused.exception.reason, reason or worker_s, f"{arguments}; the worker says {worker_s}")
            checked.encode(FRAME, pts=8, color=Color(9, 16, 9), side_data=[LIGHT], qp=0)
            checked.encode(FRAME, pts=9, color=Color(9, 16, 9, chroma_location=2), side_data=[], qp=51)
            self.assertEqual(len(checked.finish()), 3)

    def test_the_stream_s_color_is_that_of_the_properties_when_it_opens(self):
        with session() as checked:
            checked["ColorPrimaries"] = None
            checked.set(TransferFunction="ITU_R_2100_HLG", FullRangeVideo=True)
            with self.assertRaisesRegex(hwdaemon.ParameterError, "9/18/9 video range, and the stream has 2/18/9 full range"):
                checked.encode(FRAME, pts=0, color=Color(9, 18, 9))
            checked.set(FullRangeVideo=False)
            checked.encode(FRAME, pts=0, color=Color(1, 18, 9))
            checked.prepare()
            checked.encode(FRAME, pts=1, color=Color(9, 18, 9))
            with self.assertRaises(hwdaemon.ParameterError):
                checked.encode(FRAME, pts=2, color=Color(9, 16, 9))
            self.assertEqual(len(checked.finish()), 2)

    def test_rgb_frames_have_any_color_and_alpha_modes_need_alpha(self):
        image = bytes(64 * 48 * 4)
        with CompressionSession(64, 48, "rgba", codec="hevc-with-alpha", daemon=daemon()) as checked:
            checked.encode(image, pts=0, color=Color(9, 16, 0, full_range=True), alpha_mode="straight")
            self.assertEqual(len(checked.finish()), 1)

    def test_the_final_pass_has_the_times_of_the_first_one(self):
        with session(AverageBitRate=300_000, MultiPassStorage="FirstPass") as checked:
            for _ in range(2):
                for pts in range(3):
                    checked.encode(FRAME, pts=pts)
                with self.assertRaises(hwdaemon.ParameterError):
                    checked.encode(FRAME, pts=2)
                self.assertEqual(len(checked.finish()), 3)
                checked.set(MultiPassStorage="FinalPass")
            with self.assertRaises(hwdaemon.ParameterError):
                checked.encode(FRAME, pts=0)

    def test_what_is_no_number_is_a_type_error(self):
        with session() as checked:
            for arguments in ({"pts": 0.5}, {"pts": "1"}, {"pts": 1, "duration": 0.1}):
                with self.assertRaises(TypeError):
                    checked.encode(FRAME, **arguments)
            checked.encode(FRAME, pts=0)
            self.assertEqual(len(checked.finish()), 1)
        for base in (30, 1 / 30, (1,), "30"):
            with self.assertRaisesRegex(TypeError, "the time base"):
                CompressionSession(64, 48, "nv12", time_base=base, daemon=daemon())

    def test_a_time_base_is_positive(self):
        for base in ((1, 0), (0, 30), (-1, 30), (1, 1 << 31), Fraction(-1, 30)):
            for create in (lambda: CompressionSession(64, 48, "nv12", time_base=base, daemon=daemon()),
                           lambda: DecompressionSession(b"", time_base=base, daemon=daemon())):
                with self.assertRaisesRegex(hwdaemon.ParameterError, "the time base .* is not a fraction of two numbers from 1 to"):
                    create()

    def test_names_of_colors_are_those_code_points(self):
        names = [list(table.items()) for table in (COLOR_PRIMARIES, TRANSFER_FUNCTIONS, YCBCR_MATRICES)]
        for number in range(max(map(len, names))):
            (primaries, transfer, matrix) = (table[number % len(table)] for table in names)
            with CompressionSession(64, 48, "nv12", daemon=daemon(), X265Preset="ultrafast", ColorPrimaries=primaries[0],
                                    TransferFunction=transfer[0], YCbCrMatrix=matrix[0]) as coding:
                coding.encode(FRAME, pts=0)
                packet, = coding.finish()
            with DecompressionSession(packet.format_description, daemon=daemon()) as decoding:
                decoding.send(packet.data, 0)
                color = next(decoding.finish()).color
            self.assertEqual((color.primaries, color.transfer, color.matrix), (primaries[1], transfer[1], matrix[1]))

    def test_the_daemon_knows_no_other_names_of_colors(self):
        properties = daemon().supported_properties()
        for name, table in (("ColorPrimaries", COLOR_PRIMARIES), ("TransferFunction", TRANSFER_FUNCTIONS),
                            ("YCbCrMatrix", YCBCR_MATRICES)):
            self.assertEqual(sorted(properties[name].values), sorted(table))


class OtherTests(unittest.TestCase):
    def test_packets(self):
        with session() as coding:
            coding.encode(FRAME, pts=0)
            packet, = coding.finish()
        with DecompressionSession(packet.format_description, daemon=daemon()) as decoding:
            for arguments in ({"pts": 1 << 56}, {"pts": -(1 << 56)}, {"duration": -1}, {"duration": 1 << 56}):
                with self.assertRaisesRegex(hwdaemon.ParameterError, "packet 1 has an impossible pts or duration"):
                    decoding.send(packet.data, **arguments)
            with self.assertRaisesRegex(hwdaemon.ParameterError, "65537 bytes"):
                decoding.check_format(bytes(65537))
            decoding.send(packet.data)
            self.assertEqual(sum(1 for _ in decoding.finish()), 1)

    def test_colors_to_convert(self):
        with TransferSession(64, 48, "nv12", "ab24", device="cpu", daemon=daemon()) as converter:
            with self.assertRaises(hwdaemon.ParameterError):
                converter.convert(FRAME, color=Color(300))
            with self.assertRaises(hwdaemon.ParameterError):
                converter.result(5)
            self.assertEqual(converter.convert(FRAME, color=Color(1, 1, 1)).pixel_format, "AB24")

    def test_samples_of_another_size(self):
        with session() as coding:
            for samples in (FRAME[1:], [FRAME], [FRAME, FRAME]):
                with self.assertRaises(hwdaemon.ParameterError):
                    coding.encode(samples, pts=0)
        for create in (lambda: CompressionSession(0, 48, "nv12", daemon=daemon()),
                       lambda: CompressionSession(64, 48, "yuyv", daemon=daemon())):
            with self.assertRaises(hwdaemon.ParameterError):
                create()


if __name__ == "__main__":
    unittest.main()
