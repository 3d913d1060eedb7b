# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts Y'CbCr pictures to linear half floats by the formulas of the standards, in double precision: ITU-R BT.709, BT.2020,
BT.2100, SMPTE ST 2084, IEC 61966-2-1. It shares no code with the converters that it judges."""
import math
import random
import struct

FORMATS = {"p010": (10, 6, True), "i010": (10, 0, False), "nv12": (8, 0, True), "i420": (8, 0, False)}
TRANSFERS = ("pq", "hlg", "srgb", "bt1886")
SITINGS = {"left": (0, 0.5), "center": (0.5, 0.5), "topleft": (0, 0), "top": (0.5, 0), "bottomleft": (0, 1), "bottom": (0.5, 1)}
MATRICES = {"601": (0.299, 0.114), "709": (0.2126, 0.0722), "2020": (0.2627, 0.0593)}
WHITE = (0.3127, 0.3290)
PRIMARIES = {
    "709": ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06)),
    "p3": ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060)),
    "2020": ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046)),
    "601-525": ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070)),
    "601-625": ((0.64, 0.33), (0.29, 0.60), (0.15, 0.06)),
}
REFERENCE_WHITE, HLG_PEAK, GAMMA = 203.0, 1000.0, 1.2


def multiply(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def apply(matrix, vector):
    return [sum(row[k] * vector[k] for k in range(3)) for row in matrix]


def inverse(m):
    (a, b, c), (d, e, f), (g, h, i) = m
    det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    rows = ((e * i - f * h, c * h - b * i, b * f - c * e), (f * g - d * i, a * i - c * g, c * d - a * f),
            (d * h - e * g, b * g - a * h, a * e - b * d))
    return [[value / det for value in row] for row in rows]


def to_xyz(primaries):
    def xyz(point):
        return [point[0] / point[1], 1, (1 - point[0] - point[1]) / point[1]]
    columns = [xyz(point) for point in primaries]
    matrix = [[columns[j][i] for j in range(3)] for i in range(3)]
    scale = apply(inverse(matrix), xyz(WHITE))
    return [[matrix[i][j] * scale[j] for j in range(3)] for i in range(3)]


def linear(transfer, value):
    """Light of 0…1: reference white at 1, for HLG of the scene."""
    if transfer == "pq":
        p = value ** (1 / 78.84375)
        light = (max(p - 0.8359375, 0) / (18.8515625 - 18.6875 * p)) ** (16384 / 2610)
        return light * 10000 / REFERENCE_WHITE
    if transfer == "hlg":
        a = 0.17883277
        b, c = 1 - 4 * a, 0.5 - a * math.log(4 * a)
        return value * value / 3 if value <= 0.5 else (math.exp((value - c) / a) + b) / 12
    if transfer == "srgb":
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
    return value ** 2.4


class Case:
    """A random conversion and its source."""

    def __init__(self, seed):
        own = random.Random(seed)
        self.format = own.choice(list(FORMATS))
        self.transfer, self.siting = TRANSFERS[seed % 4], own.choice(list(SITINGS))
        self.matrix, self.is_full = own.choice(list(MATRICES)), own.random() < 0.3
        self.primaries, self.target = own.choice(list(PRIMARIES)), own.choice(("709", "p3", "2020"))
        self.width, self.height = own.randint(1, 70), own.randint(1, 36)
        bits, shift, self.is_paired = FORMATS[self.format]
        self.bits = bits
        half = ((self.width + 1) // 2, (self.height + 1) // 2)
        self.planes = [[own.randrange(1 << bits) for _ in range(w * h)]
                       for w, h in ((self.width, self.height), half, half)]
        samples = list(self.planes[0])
        if self.is_paired:
            for pair in zip(self.planes[1], self.planes[2]):
                samples += pair
        else:
            samples += self.planes[1] + self.planes[2]
        self.source = bytes(samples) if bits == 8 else struct.pack(f"<{len(samples)}H", *(s << shift for s in samples))

    def options(self):
        return ["--size", f"{self.width}x{self.height}", "--from", self.format, "--to", "rgba16f", "--transfer", self.transfer,
                "--siting", self.siting, "--matrix", self.matrix, "--range", "full" if self.is_full else "video",
                "--from-primaries", self.primaries, "--to-primaries", self.target]

    def __str__(self):
        return " ".join(self.options())

    def pixel(self, x, y):
        """Y', Cb and Cr, with chroma interpolated between the samples that are nearest, and repeated at the edges."""
        dx, dy = SITINGS[self.siting]
        u, v = (x - dx) / 2, (y - dy) / 2
        i, j = math.floor(u), math.floor(v)
        a, b = u - i, v - j
        across, down = (self.width + 1) // 2, (self.height + 1) // 2

        def at(plane, i, j):
            return self.planes[plane][min(max(j, 0), down - 1) * across + min(max(i, 0), across - 1)]
        chroma = [(at(p, i, j) * (1 - a) + at(p, i + 1, j) * a) * (1 - b) + (at(p, i, j + 1) * (1 - a) + at(p, i + 1, j + 1) * a) * b
                  for p in (1, 2)]
        scale = 1 << (self.bits - 8)
        luma = self.planes[0][y * self.width + x]
        if self.is_full:
            top, middle = (1 << self.bits) - 1, 128 * scale
            return luma / top, (chroma[0] - middle) / top, (chroma[1] - middle) / top
        return ((luma - 16 * scale) / (219 * scale), *((c - 128 * scale) / (224 * scale) for c in chroma))

    def expected(self):
        """R, G and B of every pixel."""
        kr, kb = MATRICES[self.matrix]
        kg = 1 - kr - kb
        own = to_xyz(PRIMARIES[self.primaries])
        light = multiply(inverse(to_xyz(PRIMARIES[self.target])), own)
        for y in range(self.height):
            for x in range(self.width):
                luma, cb, cr = self.pixel(x, y)
                rgb = (luma + 2 * (1 - kr) * cr, luma - 2 * kb * (1 - kb) / kg * cb - 2 * kr * (1 - kr) / kg * cr,
                       luma + 2 * (1 - kb) * cb)
                color = [linear(self.transfer, min(max(value, 0), 1)) for value in rgb]
                if self.transfer == "hlg":
                    luminance = sum(weight * value for weight, value in zip(own[1], color))
                    gain = HLG_PEAK / REFERENCE_WHITE * luminance ** (GAMMA - 1) if luminance > 0 else 0
                    color = [value * gain for value in color]
                yield apply(light, color)

    def distance(self, result):
        """The greatest difference of a target from the reference, in units in the last place of a half float: of the component, or
        an eighth of that of the pixel's largest, because small components are differences of large ones."""
        def unit(value):
            return 2.0 ** (max(math.frexp(abs(value))[1] - 1, -14) - 10) if value else 2.0 ** -24
        values = struct.unpack(f"<{self.width * self.height * 4}e", result)
        worst = 0.0
        for index, exact in enumerate(self.expected()):
            largest = max(abs(value) for value in exact)
            for component in range(3):
                allowed = max(unit(exact[component]), unit(largest) / 8)
                error = abs(values[index * 4 + component] - exact[component]) / allowed
                worst = max(worst, error if error == error else math.inf)
            if values[index * 4 + 3] != 1:
                worst = math.inf
        return worst
