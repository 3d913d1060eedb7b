# SPDX-License-Identifier: MIT
"""RGB of 10 bits in words against formulas of BT.2100 and IEC 61966-2-1, computed here in doubles."""
import importlib.util
import unittest

import hwdaemon
from hwdaemon import CompressionSession, DecompressionSession, TransferSession
from hwdaemon.formats import Plane, fault, layout

from .support import daemon

WIDTH, HEIGHT = 64, 48
#: The lowest bits of R, G and B (drm_fourcc.h).
SHIFTS = {"ar30": (20, 10, 0), "xr30": (20, 10, 0), "ab30": (0, 10, 20), "xb30": (0, 10, 20)}
PRIMARIES = {"pq": "2020", "hlg": "2020", "srgb": "709"}


def light(signal, transfer):
    """E' of R, G, B to light, reference white of 203 cd/m² at 1."""
    import numpy
    if transfer == "srgb":
        return numpy.where(signal <= 0.04045, signal / 12.92, ((signal + 0.055) / 1.055) ** 2.4)
    if transfer == "pq":
        power = signal ** (32 / 2523)
        return (numpy.maximum(power - 0.8359375, 0) / (18.8515625 - 18.6875 * power)) ** (16384 / 2610) * 10000 / 203
    a = 0.17883277
    b, c = 1 - 4 * a, 0.5 - a * numpy.log(4 * a)
    scene = numpy.where(signal <= 0.5, signal**2 / 3, (numpy.exp((signal - c) / a) + b) / 12)
    luminance = scene @ numpy.array([0.2627, 0.6780, 0.0593])
    return 1000 / 203 * numpy.maximum(luminance, 1e-30)[..., None] ** 0.2 * scene


@unittest.skipUnless(importlib.util.find_spec("numpy"), "needs numpy")
class WordTests(unittest.TestCase):
    def words(self, name):
        """Random colors, among them every code in each; opaque. And the colors, R, G, B."""
        import numpy
        colors = numpy.random.default_rng(7).integers(0, 1024, (HEIGHT, WIDTH, 3), dtype=numpy.uint32)
        for channel in range(3):
            colors.reshape(-1, 3)[1024 * channel : 1024 * (channel + 1), channel] = numpy.arange(1024)
        words = numpy.full((HEIGHT, WIDTH), 3 << 30, numpy.uint32)
        for channel, shift in enumerate(SHIFTS[name]):
            words |= colors[..., channel] << numpy.uint32(shift)
        return words, colors

    def test_light_is_that_of_the_formulas_and_every_code_comes_back(self):
        import numpy
        for name in SHIFTS:
            for transfer, primaries in PRIMARIES.items():
                words, colors = self.words(name)
                side = {"pixel_format": name, "transfer": transfer, "primaries": primaries}
                halves = {"pixel_format": "ab4h", "primaries": primaries}
                with TransferSession(WIDTH, HEIGHT, side, halves, device="cpu", daemon=daemon()) as session:
                    found = session.convert(words).planes[0].copy()
                wanted = light(colors / 1023, transfer)
                allowed = numpy.maximum(numpy.spacing(wanted.astype(numpy.float16)).astype(float),
                                        numpy.spacing(wanted.max(axis=-1, keepdims=True).astype(numpy.float16)) / 8)
                error = abs(found[..., :3].astype(float) - wanted) / allowed
                self.assertLessEqual(error.max(), 1, f"{name} {transfer}")
                self.assertTrue((found[..., 3] == 1).all())
                with TransferSession(WIDTH, HEIGHT, halves, side, device="cpu", daemon=daemon()) as session:
                    back = session.convert(found).planes[0].copy()
                for shift in SHIFTS[name]:
                    self.assertTrue((back >> shift & 1023 == words >> shift & 1023).all(), f"{name} {transfer}")
                self.assertTrue((back >> 30 == 3).all())

    def test_effects(self):
        import numpy
        words, colors = self.words("xr30")
        side = {"pixel_format": "xr30", "transfer": "pq", "primaries": "2020"}
        with TransferSession(WIDTH, HEIGHT, side, {"pixel_format": "ab4h", "primaries": "2020"}, device="cpu",
                             effects=["exposure:ev=1"], daemon=daemon()) as session:
            found = session.convert(words).planes[0].astype(float)[..., :3]
        wanted = light(colors / 1023, "pq") * 2
        self.assertLess((abs(found - wanted) / wanted.max(axis=-1, keepdims=True)).max(), 1e-3)
        with TransferSession(WIDTH, HEIGHT, side, side, device="cpu", effects=["exposure:ev=0"], daemon=daemon()) as session:
            same = session.convert(words).planes[0]
            self.assertTrue((abs((same >> 10 & 1023).astype(int) - (words >> 10 & 1023).astype(int)) <= 1).all())

    def test_two_bits_of_alpha(self):
        import numpy
        image = numpy.zeros((HEIGHT, WIDTH, 4), numpy.uint8)
        image[..., 0], image[..., 3] = 255, numpy.arange(WIDTH) * 4
        source = {"pixel_format": "ab24", "alpha": "straight"}
        with TransferSession(WIDTH, HEIGHT, source, {"pixel_format": "ab30", "alpha": "straight"}, device="cpu",
                             daemon=daemon()) as session:
            words = session.convert(image).planes[0].copy()
        self.assertTrue((words >> 30 == numpy.floor(image[..., 3] / 85 + 0.5)).all())
        self.assertTrue((words & 1023 == 1023).all())
        # Without alpha what is transparent is composited over black.
        with TransferSession(WIDTH, HEIGHT, source, "xb30", device="cpu", daemon=daemon()) as session:
            opaque = session.convert(image).planes[0].copy()
        self.assertTrue((opaque >> 30 == 3).all())
        self.assertEqual((opaque[0, 0] & 1023, opaque[0, 63] & 1023), (0, round(252 / 255 * 1023)))


class WordRefusalTests(unittest.TestCase):
    def test_only_transfers_take_them(self):
        for name in SHIFTS:
            with self.assertRaisesRegex(hwdaemon.StatusError, f"pixel format {name.upper()} is not one of"):
                CompressionSession(WIDTH, HEIGHT, name, daemon=daemon())
        with CompressionSession(WIDTH, HEIGHT, "nv12", daemon=daemon()) as session:
            session.encode(bytes(WIDTH * HEIGHT * 3 // 2), pts=0)
            description = session.finish()[0].format_description
        with self.assertRaisesRegex(hwdaemon.StatusError, "pixel format XR30 is not one of"):
            DecompressionSession(description, pixel_format="xr30", daemon=daemon())

    def test_planes_are_of_whole_words(self):
        size = layout("AR30", 7, 5).size
        for plane, reason in ((Plane(0, 30), "aligned"), (Plane(2, 32), "aligned"), (Plane(0, 24), "stride"),
                              (Plane(size - 64, 64), "ends outside")):
            self.assertIn(reason, fault("AR30", 7, 5, [plane], size))
        self.assertEqual(fault("AR30", 7, 5, [Plane(4, 28)], 144), "")

    def test_members_that_do_not_apply(self):
        for side in ({"pixel_format": "xr30", "alpha": "straight"}, {"pixel_format": "ar30", "range": "video"}):
            with self.assertRaises((hwdaemon.StatusError, hwdaemon.CallError)):
                TransferSession(WIDTH, HEIGHT, side, "ab24", device="cpu", daemon=daemon())


if __name__ == "__main__":
    unittest.main()
