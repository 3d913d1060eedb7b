# SPDX-License-Identifier: MIT
"""The numbers and names of this package against the tables of docs/protocol.md, and both against the daemon."""
import re
import struct
import unittest
from pathlib import Path

import hwdaemon
from hwdaemon import daemon as daemon_module
from hwdaemon import errors, formats, metadata
from hwdaemon._core import channel, compression, decompression, payloads, pools, private, rules, varlink
from hwdaemon._core.memory import Memory

from .support import daemon
from .test_hostile import picture
from .test_protocol import DOCUMENT

#: Names of `payloads` that are no opcodes.
OTHER_NUMBERS = {"MAX_PAYLOAD", "MAX_SIDE_DATA", "OWN_MEMORY", "NO_TIME"}


def section(title):
    """The text below a heading, up to the next one."""
    return re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", DOCUMENT, re.M | re.S).group(1)


def constant(name):
    """encodeFrameWithMetadata as ENCODE_FRAME_WITH_METADATA."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def numbers(text):
    """The numbers of a table's cell, also as in 2⁵⁶ and 2³¹ − 1."""
    found = []
    for base, exponent, less, plain in re.findall(r"\b(2)([⁰¹²³⁴-⁹]+)( − 1)?|(?<![.\w])(\d+)\b", text):
        found.append(int(plain) if plain else int(base) ** int("".join(str("⁰¹²³⁴⁵⁶⁷⁸⁹".index(digit)) for digit in exponent)) - bool(less))
    return found


def limit(what):
    """The numbers of a row of the table of limits."""
    cell, = re.findall(rf"^\| {re.escape(what)} \| (.*?) \| .* \|$", section("Limits"), re.M)
    return numbers(cell)


def flags(message):
    """The flags of a message: texts by number."""
    cell, = re.findall(r"^\| \d+ \| u32 \| flags \| (.*) \|$", section(message), re.M)
    return {int(number): text for number, text in re.findall(r"(\d+) = ([^,;]+)", cell)}


class TableTests(unittest.TestCase):
    def test_opcodes(self):
        listed = {constant(name): int(number) for name, number in re.findall(r"^#### (\w+) \((\d+)\)$", DOCUMENT, re.M)}
        found = {name: value for name, value in vars(payloads).items() if name.isupper() and isinstance(value, int)}
        self.assertEqual({name: value for name, value in found.items() if name not in OTHER_NUMBERS}, listed)
        # The tables of each kind of session have the same numbers.
        rows = {constant(name): int(number) for number, name in re.findall(r"^\| (\d+) \| (\w+) \| ", DOCUMENT, re.M)
                if constant(name) in listed}
        self.assertEqual(rows, listed)

    def test_descriptors(self):
        counts = {}
        for name, number in re.findall(r"^#### (\w+) \((\d+)\)$", DOCUMENT, re.M):
            text = section(f"{name} ({number})")
            if int(number) >= 64 and "\nOne descriptor" in text:
                counts[int(number)] = (0, 1) if "\nOne descriptor if " in text else (1,)
        self.assertEqual(dict(payloads.DESCRIPTOR_COUNTS), counts)

    def test_limits(self):
        self.assertEqual(limit("a Varlink call")[0], varlink.MAX_CALL)
        self.assertEqual(limit("a Varlink reply"), [varlink.MAX_REPLY])
        self.assertEqual(limit("arenas")[1], decompression.MAX_ARENAS)
        self.assertEqual(limit("a message's payload"), [payloads.MAX_PAYLOAD])
        self.assertEqual(limit("a message's descriptors"), [channel.MAX_DESCRIPTORS])
        self.assertEqual(limit("frames")[:2], [1, formats.MAX_DIMENSION])
        self.assertEqual(limit("pools of a session")[0], pools.MAX_POOLS)
        self.assertEqual(limit("a packet for a decoder"), [decompression.MAX_PACKET])
        self.assertEqual(limit("a stride"), [formats.MAX_STRIDE])
        self.assertEqual(limit("timestamps, durations"), [rules.TIME_BOUND])
        for what in ("side data of a frame to encode", "side data of a decoded picture"):
            self.assertEqual(limit(what), [metadata.MAX_SIDE_DATA, metadata.MAX_SIDE_DATA_BYTES])

    def test_numbers_of_fields(self):
        self.assertIn("16-byte header", section("Session: binary messages"))
        self.assertEqual(channel.HEADER.size, 16)
        cell, = re.findall(r"^\| 40 \| u32 \| arena \| (.*) \|$", section("packet (68)"), re.M)
        self.assertEqual(numbers(cell), [payloads.OWN_MEMORY])
        cell, = re.findall(r"^\| 8 \| i64 \| pts \| (.*) \|$", section("decodeFrame (10)"), re.M)
        self.assertEqual([-numbers(cell)[-1], numbers(cell)[0]], [payloads.NO_TIME, rules.TIME_BOUND])
        cell, = re.findall(r"^\| 32 \| i32 \| BaseFrameQP \| (.*) \|$", section("encodeFrame (6)"), re.M)
        self.assertEqual(numbers(cell)[:2], [0, rules.MAX_QP])
        cell, = re.findall(r"^\| 0 \| i64 \| untilPTS \| (.*) \|$", section("completeFrames (7)"), re.M)
        self.assertEqual(numbers(cell), [compression.MAX_PTS])

    def test_flags_of_frames_and_packets(self):
        self.assertEqual(flags("encodeFrame (6)"), {1: "ForceKeyFrame", 4: "SourceAlphaMode of this frame: premultiplied"})
        self.assertRegex(section("encodeFrame (6)"), "2, 4 = SourceAlphaMode of this frame: premultiplied, straight;")
        self.assertEqual(rules.FORCE_KEY_FRAME, 1)
        self.assertEqual(dict(rules.ALPHA_FLAGS), {None: 0, "premultiplied": 2, "straight": 4})
        self.assertEqual(flags("decodeFrame (10)"), {1: "asynchronous", 2: "do not output"})
        self.assertEqual((decompression._ASYNCHRONOUS, decompression._DO_NOT_OUTPUT), (1, 2))
        self.assertEqual(flags("packet (68)"), {1: "sync", 2: "disposable (no other picture refers to it)"})

    def test_flags_of_pictures(self):
        attributes = {
            "sync": "is_sync", "damaged": "is_damaged", "hardware": "is_hardware", "side data left out": "lacks_side_data",
            "alpha of the stream": "has_alpha", "premultiplied": "is_premultiplied", "alpha missing": "is_alpha_missing",
            "mapped by its RPU": "is_rpu_applied"}
        listed = flags("frameDecoded (70)")
        self.assertEqual(set(listed.values()), set(attributes))
        link, memory = decompression.DecompressionLink(), Memory.create(8192)
        for number, text in listed.items():
            data = bytearray(picture())
            data[36:40] = struct.pack("<I", number)
            shown = link._picture(payloads.unpack_picture(bytes(data)), memory)
            shown._give_back = None
            self.assertEqual({name for name in attributes.values() if getattr(shown, name)}, {attributes[text]})

    def test_flags_of_reports(self):
        attributes = {"no picture comes": "has_no_picture", "of its alpha alone": "is_about_alpha",
                      "because of MaxTemporalLevel": "is_above_level",
                      "its RPU is not applied": "is_rpu_not_applied"}
        listed = flags("packetReport (71)")
        self.assertEqual(set(listed.values()), set(attributes))
        for number, text in listed.items():
            link = decompression.DecompressionLink()
            link._packets_sent = 1
            link._take_report(1, 0, number, "")
            self.assertEqual([name for name in attributes.values() if getattr(link.reports[0], name)], [attributes[text]])

    def test_side_data(self):
        text = " ".join(re.search(r"^Kinds of side data.*?^Clients ignore", DOCUMENT, re.M | re.S).group(0).split())
        listed = re.findall(r"[:,] (\d) ([\w+' ’]+) \((?:(\d+)\b)?", text)
        names = {"mastering display": "MASTERING_DISPLAY", "content light": "CONTENT_LIGHT", "ambient viewing": "AMBIENT_VIEWING",
                 "HDR10+": "HDR10_PLUS", "Dolby Vision's RPU": "DOLBY_VISION_RPU", "closed captions": "CLOSED_CAPTIONS"}
        self.assertEqual({name: int(kind) for kind, name, _ in listed},
                         {name: getattr(metadata, constant) for name, constant in names.items()})
        self.assertEqual({int(kind): int(size) if size else None for kind, _, size in listed}, dict(metadata.SIDE_DATA_SIZES))
        cell, = re.findall(r"^\| then \| u32 \| side_data\[j\]\.kind \| (.*?),", section("encodeFrameWithMetadata (15)"), re.M)
        self.assertEqual(numbers(cell), [min(metadata.SIDE_DATA_SIZES), max(metadata.SIDE_DATA_SIZES)])
        described = re.findall(r"(?:Kinds:|\),) (\d) ", " ".join(metadata.SideData.__doc__.split()))
        self.assertEqual([int(kind) for kind in described], sorted(metadata.SIDE_DATA_SIZES))

    def test_statuses_that_may_change(self):
        sentence = re.search(r"with ([^.]*?) where the same call may\s+succeed later", DOCUMENT).group(1)
        later = {-int(number) for number in re.findall(r"−(\d+)", sentence)}
        self.assertEqual({code for code in later if code not in (errors.DECODER_MALFUNCTION, errors.ENCODER_MALFUNCTION,
                                                                 errors.INVALID_SESSION)}, set(errors.RETRY_LATER))

    def test_the_private_daemon(self):
        text = section("A private daemon")
        for path in private._INSTALLED:
            self.assertIn(f"`{path}`", text)
        self.assertIn("`../libexec/hwdaemon/hwdaemon`", text)
        self.assertIn(f"`{daemon_module.DEFAULT_ADDRESS}`", DOCUMENT)


class DaemonTests(unittest.TestCase):
    def test_features_and_limits(self):
        listed = {name for cell in re.findall(r"^\| (`.*?) \| ", section("Features"), re.M) for name in re.findall(r"`([\w.-]+)`", cell)}
        answer = daemon().features()
        self.assertEqual(set(answer.features), listed)
        limits = answer.limits
        self.assertEqual(
            (limits.max_call_bytes, limits.max_payload_bytes, limits.max_file_descriptors, limits.max_packet_bytes,
             limits.timestamp_bound, limits.max_dimension),
            (varlink.MAX_CALL, payloads.MAX_PAYLOAD, channel.MAX_DESCRIPTORS, decompression.MAX_PACKET, rules.TIME_BOUND,
             formats.MAX_DIMENSION))
        # Those that this package's documentation names.
        sources = "".join(path.read_text() for path in Path(hwdaemon.__file__).parent.rglob("*.py"))
        named = set(re.findall(r"feature\s+`([\w-]+)`", sources))
        self.assertGreaterEqual(len(named), 2)
        self.assertLessEqual(named, listed)


if __name__ == "__main__":
    unittest.main()
