# SPDX-License-Identifier: MIT
"""Runs the table of sessions that every client passes: Tests/Clients/cases.json, described by the README beside it."""
import functools
import json
import os
import signal
import unittest

import hwdaemon
from hwdaemon import Color, CompressionSession, DecompressionSession, SideData, TransferSession
from hwdaemon.bitstream import nal_units
from hwdaemon.formats import PIXEL_FORMATS

from .support import ROOT, daemon

TABLE = ROOT / "Tests/Clients/cases.json"
DURATION = 3000


@functools.lru_cache(maxsize=None)
def samples(form, width, height, number):
    """The samples of a frame without padding, each as 8 bits, by plane."""
    planes = []
    for index, plane in enumerate(PIXEL_FORMATS[form]):
        columns, rows = plane.columns(width) * plane.components, plane.rows(height)
        value = (lambda i, r: 32 + (i + 2 * r + 4 * number) % 160) if index == 0 else \
            (lambda i, r: 96 + (i + r) % 64) if index < 3 else (lambda i, r: 2 * i % 256)
        planes.append([value(i, r) for r in range(rows) for i in range(columns)])
    return planes


def packed(form, planes):
    """8-bit samples as a format's bytes."""
    if form not in ("P010", "I010"):
        return [bytes(plane) for plane in planes]
    factor = 256 if form == "P010" else 4
    return [b"".join((value * factor).to_bytes(2, "little") for value in plane) for plane in planes]


def mean_error(form, data, width, height, expected, index, size):
    """The mean absolute difference of a plane to what was sent, in units of 8 bits; a picture may be larger by its padding."""
    plane = PIXEL_FORMATS[form][index]
    offset = sum(entry.row_bytes(width) * entry.rows(height) for entry in PIXEL_FORMATS[form][:index])
    divisor = {"P010": 256, "I010": 4}.get(form, 1)
    total, row, step = 0.0, plane.row_bytes(width), plane.sample_size
    columns, rows = plane.columns(size[0]), plane.rows(size[1])
    for r in range(rows):
        line = data[offset + r * row : offset + (r + 1) * row]
        for i in range(columns):
            total += abs(int.from_bytes(line[i * step : i * step + step], "little") / divisor - expected[r * columns + i])
    return total / (columns * rows)


class Run:
    """A case."""

    def __init__(self, test):
        self.test, self.session, self.sessions = test, None, []
        self.coded = self.decoded = None
        self.format, self.packets, self.frames = b"", [], []
        self.pictures, self.reports, self.transfers = [], [], []

    def step(self, step):
        action = getattr(self, step["do"])
        members = {name: value for name, value in step.items() if name not in ("do", "status")}
        if "status" not in step or step["do"] == "wait_for_end":
            action(**{**members, **({"status": step["status"]} if step["do"] == "wait_for_end" else {})})
            return
        with self.test.assertRaises((hwdaemon.StatusError, hwdaemon.CallError)) as failed:
            action(**members)
            # A fault that only the worker sees ends the session.
            for _ in range(100):
                list(self.session.packets(timeout=1))
        # Varlink's InvalidParameter has no number.
        code = failed.exception.code if isinstance(failed.exception, hwdaemon.StatusError) else -12902
        self.test.assertEqual(code, step["status"], str(failed.exception))

    def create(self, method, parameters, tables=()):
        values = dict(parameters)
        base = values.pop("time_base", {"numerator": 1, "denominator": 90000})
        options = {"daemon": daemon(), "time_base": (base["numerator"], base["denominator"])}
        if method == "CreateCompressionSession":
            self.session = CompressionSession(
                values["width"], values["height"], values["pixel_format"], codec=values["codec"],
                specification=values.get("encoder_specification"), **options, **values.get("properties", {}))
            self.coded, self.packets, self.frames = self.session, [], []
            self.form, self.size = values["pixel_format"], (values["width"], values["height"])
        elif method == "CreateDecompressionSession":
            self.session = DecompressionSession(
                self.record(values["format_description"]), pixel_format=values.get("pixel_format"),
                specification=values.get("decoder_specification"), **options, **values.get("properties", {}))
            self.pictures, self.reports = [], []
        else:
            self.session = TransferSession(
                values["width"], values["height"], values["source"], values["target"], device=values.get("device"),
                daemon=daemon(), added_tables=[text.encode() for text in tables], **values.get("options", {}))
            self.transfers = []
        self.sessions.append(self.session)

    def record(self, text):
        return self.format if text == "@format" else bytes.fromhex(text)

    def set(self, properties):
        self.session.set(properties)

    def copy(self, names, values):
        for name in names:
            self.session[name]
        found = {name: self.session[name] for name in values}
        self.test.assertEqual(found, values)

    def prepare(self):
        self.format = self.session.prepare()

    def encode(self, first, count, key_frames=(), side_data=(), color=None):
        described = Color(color["primaries"], color["transfer"], color["matrix"], bool(color["full_range"]),
                          None if color["chroma_location"] == 255 else color["chroma_location"]) if color else None
        for number in range(first, first + count):
            entries = [SideData(entry["kind"], bytes.fromhex(entry["bytes"])) for entry in side_data if entry["frame"] == number]
            self.session.encode(
                packed(self.form, samples(self.form, *self.size, number)), number * DURATION, DURATION,
                force_key_frame=number in key_frames, color=described, side_data=entries or None)
            self.frames.append(number)

    def complete(self):
        if isinstance(self.session, CompressionSession):
            self.packets += self.session.finish()
            self.format = self.session.format_description
        elif isinstance(self.session, DecompressionSession):
            for picture in self.session.finish():
                self.pictures.append((picture, picture.tobytes()))
                picture.release()
            self.reports += self.session.reports()
        else:
            for index, number in enumerate(self.transfers):
                if isinstance(number, int):
                    try:
                        self.transfers[index] = (0, self.session.result(number).tobytes())
                    except hwdaemon.StatusError as error:
                        self.transfers[index] = (error.code, b"")

    def check_packets(self):
        self.test.assertEqual(sorted(packet.pts for packet in self.packets), [number * DURATION for number in self.frames])
        dts = [packet.dts for packet in self.packets]
        self.test.assertEqual(dts, sorted(set(dts)))
        self.test.assertTrue(all(packet.dts <= packet.pts and packet.duration == DURATION for packet in self.packets))

    def layers(self, packet):
        """nuh_layer_id of the slices of a packet (H.265 7.3.1.2)."""
        return {(unit[0] & 1) << 5 | unit[1] >> 3 for unit in nal_units(packet.data) if unit[0] >> 1 & 63 < 32}

    def packets_step(self, count, key_frames=None, temporal_ids=None, base_level_count=None, layers=None, has_errors=None, contain=()):
        self.check_packets()
        self.test.assertEqual(len(self.packets), count)
        if key_frames is not None:
            self.test.assertEqual(sorted(packet.pts // DURATION for packet in self.packets if packet.is_sync), key_frames)
        if temporal_ids is not None:
            self.test.assertEqual(sorted({packet.temporal_id for packet in self.packets}), temporal_ids)
        if base_level_count is not None:
            self.test.assertEqual(sum(packet.temporal_id == 0 for packet in self.packets), base_level_count)
        if layers is not None:
            self.test.assertTrue(all(self.layers(packet) == set(layers) for packet in self.packets))
        if has_errors is not None:
            self.test.assertTrue(all((packet.mean_squared_error is not None) == has_errors for packet in self.packets))
        for entry in contain:
            found = next(packet for packet in self.packets if packet.pts == entry["frame"] * DURATION)
            self.test.assertIn(bytes.fromhex(entry["bytes"]), found.data)

    def decode(self, skip=(), truncate=(), synchronous=False):
        kept = {entry["packet"]: entry["bytes"] for entry in truncate}
        for number, packet in enumerate(self.packets):
            if number not in skip:
                data = packet.data[: kept.get(number, len(packet.data))]
                self.session.send(data, packet.pts, packet.duration, synchronous=synchronous)
                for picture in self.session.pictures():
                    self.pictures.append((picture, picture.tobytes()))
                    picture.release()

    def can_accept_format(self, format):
        self.session.check_format(self.record(format))

    def pictures_step(self, **expected):
        self.check_counts(expected)
        self.check_samples(expected)
        first = self.pictures[0][0] if self.pictures else None
        for name in ("width", "height", "pixel_format"):
            if name in expected:
                self.test.assertEqual(getattr(first, name), expected[name])
        for name in ("primaries", "transfer", "matrix"):
            if name in expected:
                self.test.assertEqual(getattr(first.color, name), expected[name], name)
        for name, attribute in (("has_alpha", "has_alpha"), ("premultiplied", "is_premultiplied")):
            if name in expected:
                self.test.assertTrue(all(getattr(picture, attribute) == expected[name] for picture, _ in self.pictures), name)
        for entry in expected.get("side_data", ()):
            side_data = self.pictures[entry["picture"]][0].side_data
            self.test.assertIn(SideData(entry["kind"], bytes.fromhex(entry["bytes"])), side_data)
        for name in ("damaged", "undamaged"):
            for number in expected.get(name, ()):
                picture = next(picture for picture, _ in self.pictures if picture.pts == number * DURATION)
                self.test.assertEqual(picture.is_damaged, name == "damaged", f"frame {number}")

    def check_counts(self, expected):
        times = [picture.pts for picture, _ in self.pictures]
        self.test.assertEqual(times, sorted(set(times)))
        self.test.assertGreaterEqual(len(times), expected.get("min_count", 0))
        self.test.assertEqual(len(times), expected.get("count", len(times)))
        self.test.assertEqual(len(self.reports), expected.get("reports", len(self.reports)), self.reports)
        if "report_status" in expected:
            self.test.assertEqual({report.status for report in self.reports}, {expected["report_status"]})
        if "above_level" in expected:
            self.test.assertTrue(all(report.is_above_level == expected["above_level"] for report in self.reports))
        if "damage_reported" in expected:
            self.test.assertEqual(any(report.status == -12909 for report in self.reports), expected["damage_reported"])

    def check_samples(self, expected):
        for name, index in (("max_luma_error", 0), ("max_alpha_error", 3)):
            for picture, data in self.pictures if name in expected else ():
                sent = samples(self.form, *self.size, picture.pts // DURATION)[index]
                error = mean_error(picture.pixel_format, data, picture.width, picture.height, sent, index, self.size)
                self.test.assertLessEqual(error, expected[name], f"{name} of frame {picture.pts // DURATION}")

    def change_effects(self, effects, pts=None):
        self.session.change_effects(effects, pts)

    def transfer(self, count, fill, color=None, pts=None):
        described = Color(color["primaries"], color["transfer"], color["matrix"]) if color else None
        for _ in range(count):
            layout = self.session._link.source_layout
            planes = [bytes([value]) * size for value, size in zip(fill, layout.packed_sizes)]
            self.transfers.append(self.session.submit(planes, described, pts=pts))

    def transferred(self, statuses, pixel, tolerance):
        self.test.assertEqual([status for status, _ in self.transfers], statuses)
        for found, wanted in zip(self.transfers[-1][1], pixel):
            self.test.assertLessEqual(abs(found - wanted), tolerance)
        self.transfers = []

    def kill_worker(self):
        found = next(entry for entry in daemon().sessions() if entry.session == self.session.session_id)
        os.kill(found.pid, signal.SIGKILL)

    def wait_for_end(self, status):
        with self.test.assertRaises(hwdaemon.SessionEnded) as ended:
            for _ in range(100):
                list(self.session.packets(timeout=1))
        self.test.assertEqual(ended.exception.code, status)


class CaseTests(unittest.TestCase):
    @unittest.skipUnless(TABLE.exists(), "needs the repository's Tests/Clients/cases.json")
    def test_every_case(self):
        table = json.loads(TABLE.read_text())
        self.assertEqual(table["schema"], 1)
        self.assertGreaterEqual(len(table["cases"]), 14)
        for case in table["cases"]:
            with self.subTest(case["name"]):
                run = Run(self)
                try:
                    for step in case["steps"]:
                        run.step({**step, "do": {"packets": "packets_step", "pictures": "pictures_step"}.get(step["do"], step["do"])})
                finally:
                    for session in run.sessions:
                        session.close()


if __name__ == "__main__":
    unittest.main()
