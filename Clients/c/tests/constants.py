#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the constants of hwdaemon.h and of the library's sources with the tables of docs/protocol.md, both ways, and the most
restarts of a session with the daemon's.

    constants.py FOLDER_OF_LIBHWDAEMON_A
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CLIENT = Path(__file__).resolve().parent.parent
DOCUMENT = (CLIENT.parent.parent / "docs/protocol.md").read_text()
HEADER = (CLIENT / "include/hwdaemon.h").read_text()
INTERNAL = (CLIENT / "src/base/internal.h").read_text()
# Where the daemon and the library have the most restarts of a session.
RESTARTS = {CLIENT.parent.parent / "Sources/Base/Model/SessionKind.swift": r"maxRestarts = (\d+)", CLIENT / "src/session/session.h": r"MAX_RESTARTS = (\d+)"}
# What the protocol does not have.
OWN = re.compile(r"HWD_(VERSION|DEFAULT_TIMEOUT|OPEN_PRIVATE|COMPRESSION|DECOMPRESSION|TRANSFER|EVENT_\w+|HAS_\w+|MAX_PLANES|SYNCHRONOUS)")
# Flags of a message by the document's words: the header's constant, and what the library shifts the bit by.
FLAGS = {
    "encodeFrame": {"ForceKeyFrame": ("FORCE_KEY_FRAME", 0), "premultiplied": ("ALPHA_PREMULTIPLIED", 0),
                    "straight": ("ALPHA_STRAIGHT", 0)},
    # The header has the opposite, HWD_SYNCHRONOUS.
    "decodeFrame": {"asynchronous": (None, 0), "do not output": ("DO_NOT_OUTPUT", 0)},
    "packet": {"sync": ("SYNC", 0), "disposable": ("DISPOSABLE", 0)},
    "frameDecoded": {"sync": ("SYNC", 0), "damaged": ("DAMAGED", 1), "hardware": ("HARDWARE", 1),
                     "side data left out": ("SIDE_DATA_LEFT_OUT", 1), "alpha of the stream": ("ALPHA", 1),
                     "premultiplied": ("PREMULTIPLIED", 1), "alpha missing": ("ALPHA_MISSING", 1),
                     "mapped by its RPU": ("RPU_APPLIED", 5)},
    "packetReport": {"no picture comes": ("DROPPED", 8), "of its alpha alone": ("ALPHA_ONLY", 8),
                     "because of MaxTemporalLevel": ("ABOVE_LEVEL", 8), "its RPU is not applied": ("RPU_NOT_APPLIED", 10)},
}
SIDE_DATA = {"mastering display": "MASTERING_DISPLAY", "content light": "CONTENT_LIGHT", "ambient viewing": "AMBIENT_VIEWING",
             "HDR10+": "HDR10_PLUS", "Dolby Vision's RPU": "DOLBY_VISION_RPU", "closed captions": "CLOSED_CAPTIONS"}
faults = []


def compare(what, found, documented):
    if found != documented:
        faults.append(f"{what} is {found}, in docs/protocol.md {documented}")


def constant_name(name):
    """encodeFrameWithMetadata, VideoDecoderBadData → ENCODE_FRAME_WITH_METADATA, VIDEO_DECODER_BAD_DATA"""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def number(text):
    return int(text.replace("−", "-"))


def enumerators(text):
    """The names of a header's enumerations and of its macros without parameters that have a value."""
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    names = [name for body in re.findall(r"enum \{(.*?)\}", plain, re.DOTALL) for name in re.findall(r"\b([A-Z]\w+)\b(?=\s*[=,\n}]|$)", body)]
    return names + re.findall(r"^#define ([A-Z]\w+) [^_\n]", plain, re.MULTILINE)


def evaluate(folder, names, statuses, formats):
    """What the compiler and the library make of the names: values, status names, sizes of side data, rows of 7x5 pictures."""
    lines = [f'printf("value {name} %lld\\n", (long long){name});' for name in names]
    lines += [f'printf("status {status} %s\\n", hwd_status_name({status}));' for status in statuses]
    lines += [f'printf("size {kind} %u\\n", hwdi_side_data_size({kind}));' for kind in range(1, len(SIDE_DATA) + 1)]
    for name in formats:
        lines.append(f"count = hwd_layout(HWD_{name}, 7, 5, 0, planes, NULL);")
        lines.append(f'for (int i = 0; i < count; i++) printf("plane {name}.%d %ux%u\\n", i, planes[i].row_bytes, planes[i].rows);')
    source = ('#include "base/internal.h"\n#include <stdio.h>\nint main(void) {\nhwd_plane planes[HWD_MAX_PLANES];\nint count;\n'
              + "\n".join(lines) + "\nreturn 0;\n}\n")
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "constants.c").write_text(source)
        subprocess.run(["cc", "-std=c11", f"-I{CLIENT}/include", f"-I{CLIENT}/src", f"{work}/constants.c", f"{folder}/libhwdaemon.a",
                        "-o", f"{work}/constants"], check=True)
        output = subprocess.run([f"{work}/constants"], check=True, capture_output=True, text=True).stdout
    result = {"value": {}, "status": {}, "size": {}, "plane": {}}
    for line in output.splitlines():
        kind, name, value = line.split(" ", 2)
        result[kind][name] = value
    return result


def documented_flags(message):
    """Bit by the document's words, from the row of the message's field `flags`."""
    section = re.search(rf"^#### {message} \(.*?(?=^#### |^### |\Z)", DOCUMENT, re.DOTALL | re.MULTILINE).group()
    row = re.search(r"\| u32 \| flags \| (.*?) \|$", section, re.MULTILINE).group(1)
    pairs = re.findall(r"(\d+) = ([^,;(]+)", re.sub(r"(\d+), (\d+) = [^:]*: (\w+), (\w+)", r"\1 = \3, \2 = \4", row))
    return {words.strip(): int(bit) for bit, words in pairs}


def main():
    names = list(dict.fromkeys(enumerators(HEADER) + enumerators(INTERNAL)))
    statuses = {name: number(value) for value, name in re.findall(r"^\| (−\d+) \| `(\w+)` \|", DOCUMENT, re.MULTILINE)}
    opcodes = {name: int(value) for name, value in re.findall(r"^#### (\w+) \((\d+)\)$", DOCUMENT, re.MULTILINE)}
    planes = re.findall(r"^\| (\w{4}) \| (\d) \|.*\| (\d+) × (\d+) \|$", DOCUMENT, re.MULTILINE)
    found = evaluate(sys.argv[1], names, statuses.values(), dict.fromkeys(row[0] for row in planes))
    values, used = {name: int(value) for name, value in found["value"].items()}, set()

    def value(name):
        used.add(name)
        return values.get(name)

    for name, status in statuses.items():
        compare(f"HWD_{constant_name(name)}", value(f"HWD_{constant_name(name)}"), status)
        compare(f"hwd_status_name({status})", found["status"][str(status)], name)
    for name, opcode in opcodes.items():
        compare(f"the opcode {constant_name(name)}", value(constant_name(name)), opcode)
    for message, known in FLAGS.items():
        documented = documented_flags(message)
        compare(f"the list of {message}'s flags", sorted(known), sorted(documented))
        for words, (name, shift) in known.items():
            if name and words in documented:
                compare(f"HWD_{name}", value(f"HWD_{name}"), documented[words] << shift)
    kinds = re.search(r"^Kinds of side data.*?\n\n", DOCUMENT, re.DOTALL | re.MULTILINE).group().replace("\n", " ")
    documented = {name: (int(kind), size) for kind, name, size in re.findall(r"[,:] (\d) ([A-Za-z][^(,]*?) \((\d*)", kinds)}
    compare("the list of kinds of side data", sorted(SIDE_DATA), sorted(documented))
    for name, (kind, size) in documented.items():
        compare(f"HWD_{SIDE_DATA.get(name)}", value(f"HWD_{SIDE_DATA.get(name)}"), kind)
        compare(f"the size of {name}", found["size"].get(str(kind)), size or "0")
    for name, plane, width, rows in planes:
        compare(f"HWD_{name}", value(f"HWD_{name}"), int.from_bytes(name.encode(), "little"))
        compare(f"plane {plane} of {name}", found["plane"].get(f"{name}.{plane}"), f"{width}x{rows}")
    compare("the number of planes", len(found["plane"]), len(planes))
    limits = json.loads(re.search(r"^```answer org.hwdaemon.GetFeatures\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE).group(1))
    limits = limits["parameters"]["limits"]
    names_of_limits = {"max_call_bytes": "MAX_CALL", "max_payload_bytes": "MAX_PAYLOAD", "max_file_descriptors": "MAX_MESSAGE_FDS",
                       "max_packet_bytes": "MAX_PACKET", "timestamp_bound": "TIME_BOUND", "max_dimension": "MAX_DIMENSION"}
    compare("the list of limits", sorted(names_of_limits), sorted(limits))
    for name, constant in names_of_limits.items():
        compare(constant, value(constant), limits.get(name))
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \| [^|]+ \|$", DOCUMENT, re.MULTILINE))
    compare("side data", f"{value('HWD_MAX_SIDE_DATA')} entries, {value('MAX_SIDE_DATA_BYTES')} bytes", rows["side data of a frame to encode"])
    compare("a reply's limit", f"{value('MAX_REPLY')} bytes without its NUL", rows["a Varlink reply"])
    compare("arenas", f"compression: 1; decompression: {value('MAX_ARENAS')} at a time", rows["arenas"])
    restarts = [re.search(pattern, file.read_text()).group(1) for file, pattern in RESTARTS.items()]
    if len(set(restarts)) > 1:
        faults.append(f"the most restarts are {restarts[0]} in the daemon and {restarts[1]} in the library")
    compare("HWD_NO_PTS", value("HWD_NO_PTS"), -2**63)
    compare("HWD_ALL_FRAMES", value("HWD_ALL_FRAMES"), 2**63 - 1)
    compare("HWD_NEXT_FRAME", value("HWD_NEXT_FRAME"), -2**63)
    faults.extend(f"{name} is in no table of docs/protocol.md" for name in values if name.startswith("HWD_") and name not in used and not OWN.fullmatch(name))
    if faults:
        sys.exit("\n".join(f"constants: {fault}" for fault in faults))
    print(f"constants: {len(used)} constants are those of docs/protocol.md")


main()
