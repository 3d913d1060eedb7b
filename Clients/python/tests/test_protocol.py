# SPDX-License-Identifier: MIT
"""The examples of docs/protocol.md and org.hwdaemon.varlink against this package."""
import dataclasses
import json
import re
import unittest
from typing import Any, Dict, List, Tuple, Union, get_args, get_origin, get_type_hints

from hwdaemon import Color, SideData, control, errors
from hwdaemon._core import payloads, varlink
from hwdaemon.formats import PIXEL_FORMATS, Plane

from .support import ROOT

DOCUMENT = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
RECORD_TEXT = "the record in the call of CreateDecompressionSession"


def blocks(kind: str) -> List[Tuple[str, str]]:
    """The words behind the fence, and the text, of each block of a kind."""
    return re.findall(rf"^```{kind}(.*?)\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)


def messages() -> List[Tuple[str, bytes, Dict[str, str]]]:
    """Name, bytes, and the stated values of each example."""
    found = []
    for name, text in blocks("message"):
        data, values = b"", {}
        for line in text.splitlines():
            digits, _, field = line.partition("  ")
            data += bytes.fromhex(digits)
            if "=" in field:
                key, value = field.strip().split(" = ", 1)
                values[key] = value
        found.append((name.strip(), data, values))
    return found


class Example:
    """The stated values of an example."""

    def __init__(self, values: Dict[str, str]) -> None:
        self.values = values

    def __getitem__(self, name: str) -> int:
        return int(self.values[name])

    def planes(self, name: str = "plane") -> List[Plane]:
        numbers = sorted({key.split(".")[0] for key in self.values if key.startswith(f"{name}[")})
        return [Plane(self[f"{number}.offset"], self[f"{number}.stride"]) for number in numbers]

    def color(self) -> Color:
        return Color(self["primaries"], self["transfer"], self["matrix"], bool(self["full_range"]), self["chroma_location"])

    def side_data(self) -> List[SideData]:
        return [SideData(self["side_data[0].kind"], bytes.fromhex(self.values["side_data[0].bytes"]))]

    def frame(self) -> payloads.FrameToEncode:
        return payloads.FrameToEncode(self["frame"], self["pts"], self["duration"], self["pool"], self["flags"],
                                      self["BaseFrameQP"], self.planes())


def pack(name: str, example: Example) -> bytes:
    """What this package sends for a message of the client; messages without a structure are their text."""
    if name in ("addPool", "addTable"):
        return payloads.pack_memory(example["pool" if name == "addPool" else "table"], example["size"])
    if name == "addPicture":
        fixed = (example[field] for field in ("pool", "fourcc", "width", "height", "uses", "modifier"))
        return payloads.pack_picture(payloads.PictureToAdd(*fixed, [
            tuple(example[f"plane[{index}].{field}"] for field in ("object", "stride", "offset"))
            for index in range(example["planes"])]))
    if name == "addFence":
        return payloads.pack_fence(example["pool"])
    if name == "changeEffects":
        return payloads.pack_effects(example["pts"], example.values["effects"].encode())
    if name == "encodeFrame":
        return payloads.pack_encode(example.frame())
    if name == "encodeFrameWithMetadata":
        return payloads.pack_encode_with_metadata(example.frame(), example.color(), example.side_data())
    if name == "decodeFrame":
        return payloads.pack_decode(payloads.PacketToDecode(*(
            example[field] for field in ("frame", "pts", "duration", "pool", "flags", "offset", "size"))))
    if name in ("transferFrame", "transferTimedFrame"):
        return payloads.pack_transfer(payloads.FrameToTransfer(
            example["frame"], example["source_pool"], example["target_pool"], example.color(), example.planes("source"),
            example.planes("target"), example["pts"] if name == "transferTimedFrame" else None))
    if name in ("releasePacket", "releaseFrame"):
        return payloads.pack_u64(example["packet" if name == "releasePacket" else "picture"])
    if name == "removePool":
        return example["pool"].to_bytes(4, "little")
    if name == "completeFrames":
        return example["untilPTS"].to_bytes(8, "little", signed=True)
    raise KeyError(name)


def unpack(name: str, payload: bytes) -> Dict[str, Any]:
    """What this package reads of a worker's message, by the document's names."""
    if name == "reply":
        return dict(zip(("sequence", "status"), payloads.unpack_reply(payload)))
    if name == "addArena":
        return dict(zip(("arena", "size"), payloads.unpack_memory(payload)))
    if name in ("frameReleased", "removeArena"):
        read = payloads.unpack_u64 if name == "frameReleased" else payloads.unpack_u32
        return {"frame" if name == "frameReleased" else "arena": read(payload)}
    if name == "packet":
        packet = payloads.unpack_packet(payload)
        return {**packet._asdict(), "TemporalId": packet.temporal_id}
    if name == "end":
        return dict(zip(("status", "reason"), payloads.unpack_end(payload)))
    if name == "frameDecoded":
        picture = payloads.unpack_picture(payload)
        clean = {f"clean_{key}": value for key, value in dataclasses.asdict(picture.clean_aperture).items()}
        color = {**dataclasses.asdict(picture.color), "full_range": int(picture.color.full_range)}
        planes = {f"plane[{number}].{key}": value for number, plane in enumerate(picture.planes)
                  for key, value in dataclasses.asdict(plane).items()}
        side_data = {"side_data[0].kind": picture.side_data[0].kind, "side_data[0].bytes": picture.side_data[0].data.hex()}
        aspect = dict(zip(("aspect_numerator", "aspect_denominator"), picture.aspect_ratio or ()))
        return {**picture._asdict(), **clean, **color, **planes, **aspect, **side_data, "planes": len(picture.planes),
                "side_data": len(picture.side_data)}
    if name in ("packetReport", "frameTransferred"):
        return dict(zip(("frame", "status", "flags", "reason"), payloads.unpack_status(payload)))
    if name == "qualityMetrics":
        packet, errors_ = payloads.unpack_metrics(payload)
        return {"packet": packet, **dict(zip(("luma", "chroma_blue", "chroma_red"), errors_))}
    raise KeyError(name)


class MessageTests(unittest.TestCase):
    def test_examples_of_the_client_are_what_is_packed(self) -> None:
        texts = {"setProperties", "copyProperties", "canAcceptFormat", "changeFormat"}
        empty = {"prepare", "invalidate", "finishDelayedFrames", "finishFrames"}
        checked = 0
        for name, data, values in messages():
            if int.from_bytes(data[4:8], "little") >= 64 or name in texts:
                continue
            expected = b"" if name in empty else pack(name, Example(values))
            self.assertEqual(expected, data[16:], name)
            checked += 1
        self.assertGreaterEqual(checked, 13)

    def test_examples_of_the_worker_are_what_is_unpacked(self) -> None:
        checked = 0
        for name, data, values in messages():
            if int.from_bytes(data[4:8], "little") < 64 or name == "formatDescription":
                continue
            read = {key: str(value) for key, value in unpack(name, data[16:]).items()}
            stated = {key: value for key, value in values.items() if key in read}
            self.assertGreaterEqual(len(stated), 1, name)
            self.assertEqual({key: read[key] for key in stated}, stated, name)
            # Of the fields, only sizes, counts and reserved ones are not returned.
            unread = {key for key in values if key not in read and not key.startswith("header.") and key != "body"
                      and not key.endswith("reserved") and not key.endswith(".size")}
            self.assertLessEqual(unread, {"frame"} if name == "qualityMetrics" else set(), name)
            checked += 1
        self.assertGreaterEqual(checked, 12)

    def test_a_worker_s_message_of_another_size_is_refused(self) -> None:
        open_ended = {"reply", "end", "packetReport", "frameTransferred"}
        for name, data, _ in messages():
            if int.from_bytes(data[4:8], "little") < 64 or name == "formatDescription":
                continue
            sizes = range(4 if name == "end" else 8) if name in open_ended else (*range(len(data) - 16), len(data) - 15)
            for size in sizes:
                with self.assertRaises(payloads.Violation, msg=f"{name} with {size} bytes"):
                    unpack(name, (data[16:] + b"\0")[:size])

    def test_statuses_and_planes_are_the_document_s(self) -> None:
        listed = {int(code.replace("−", "-")): name for code, name in re.findall(r"^\| (−129\d\d) \| `(\w+)` \|", DOCUMENT, re.M)}
        self.assertEqual(listed, dict(errors.STATUS_NAMES))
        rows = re.findall(r"^\| (\w{4}) \| (\d) \|.*\| (\d+) × (\d+) \|$", DOCUMENT, re.M)
        expected = [(form, str(number), str(plane.row_bytes(7)), str(plane.rows(5)))
                    for form, planes in PIXEL_FORMATS.items() for number, plane in enumerate(planes)]
        self.assertEqual(sorted(rows), sorted(expected))


class ControlTests(unittest.TestCase):
    """The types of `control` against the interface's definition."""

    NAMES = {"Session": "RunningSession"}
    REPLIES = {
        "Probe": control.Probe, "GetFeatures": control.Features, "GetSessionResult": control.SessionResult,
        "CreateCompressionSession": control.CompressionCreated, "CreateDecompressionSession": control.DecompressionCreated,
        "CreateTransferSession": control.TransferCreated,
    }

    def check(self, expected: Any, fields: str) -> None:
        hints = get_type_hints(expected)
        described = {}
        for name, text in re.findall(r"(\w+): ([^,\s()]+)", fields):
            described[name] = text
        self.assertEqual(set(described), set(hints), expected.__name__)
        for name, text in described.items():
            self.assertEqual(self.text(hints[name]), text, f"{expected.__name__}.{name}")

    def text(self, hint: Any) -> str:
        """A type in Varlink's language."""
        if hint is Any:
            return "?object"
        if get_origin(hint) is Union:
            return "?" + self.text(get_args(hint)[0])
        if get_origin(hint) is list:
            return "[]" + self.text(get_args(hint)[0])
        names = {int: "int", str: "string", bool: "bool", float: "float", control.RunningSession: "Session",
                 control.Features: "Features"}
        return names.get(hint, hint.__name__)

    def test_types_have_the_members_of_the_interface(self) -> None:
        definition = (ROOT / "Sources/Base/Wire/org.hwdaemon.varlink").read_text()
        types = re.findall(r"^type (\w+) \((.*?)\)$", definition, re.M | re.S)
        inputs = {"CompressionSource", "Rational", "TransferImage", "TransferOptions"}
        for name, fields in types:
            if name not in inputs:
                self.check(getattr(control, self.NAMES.get(name, name)), fields)
        for name, reply in self.REPLIES.items():
            found = re.search(rf"^method {name}\([^)]*\) -> \((.*?)\)$", definition, re.M | re.S)
            self.assertIsNotNone(found, name)
            self.check(reply, found.group(1) if found else "")
        self.assertEqual(len(types) - len(inputs), 18)

    def test_examples_of_replies_are_read(self) -> None:
        answers = {name.split(".")[-1]: json.loads(text)["parameters"] for name, text in blocks("answer")}
        for name, reply in self.REPLIES.items():
            control.typed(reply, answers[name])
        properties = control.member(Dict[str, control.Property], answers["GetSupportedProperties"], "properties")
        self.assertEqual(properties["Quality"].maximum, 1.0)
        with self.assertRaises(errors.ConnectionClosed):
            control.typed(control.SessionResult, {**answers["GetSessionResult"], "code": True})
        with self.assertRaises(errors.ConnectionClosed):
            control.typed(control.SessionResult, {"finished": True})

    def test_examples_of_errors_are_raised(self) -> None:
        replies = [text.encode() for _, text in blocks("error")]
        with self.assertRaises(errors.StatusError) as raised:
            varlink._parameters("M", replies[0])
        self.assertEqual((raised.exception.code, raised.exception.name), (-12915, "VideoEncoderNotAvailableNow"))
        self.assertTrue(raised.exception.may_succeed_later)
        with self.assertRaises(errors.CallError) as refused:
            varlink._parameters("M", replies[1])
        self.assertEqual(refused.exception.parameter, "time_base.denominator")
        for reply in (b"[]", b"{", b"[" * 100000, b'{"parameters": 3}', b"\xff"):
            with self.assertRaises(errors.ConnectionClosed):
                varlink._parameters("M", reply)


if __name__ == "__main__":
    unittest.main()
