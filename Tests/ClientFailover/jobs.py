# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs: which fault, where, of which sessions, and what is expected."""
import json
from dataclasses import dataclass, field

from .clips import FRAMES

#: Faults of successive processes; after two the session continues in software.
KINDS = [["crash"], ["fail"], ["hang"], ["corrupt"], ["crash"] * 2, ["fail"] * 2, ["hang"] * 2, ["corrupt"] * 2]
STRUCTURES = {
    "chain": {"AllowFrameReordering": False, "Quality": 0.7},
    "pyramid": {"AllowFrameReordering": True, "Quality": 0.7},
}
#: Properties under which the encoder works otherwise, and the faults that are found with them: with RealTime wrong pictures are
#: only reported.
SETTINGS = {
    "levels": ({"BaseLayerFrameRate": 7.5, "ExpectedFrameRate": 30, "Quality": 0.7}, KINDS),
    "RealTime": ({"AllowFrameReordering": False, "RealTime": True, "Quality": 0.7}, [kind for kind in KINDS if "corrupt" not in kind]),
    "open groups": ({"AllowOpenGOP": True, "MaxKeyFrameInterval": 16, "Quality": 0.7}, KINDS),
}
#: Of alpha: its pictures are not compared, and while one layer's encoder hangs, the other's may take the next fault.
ALPHA = [kind for kind in KINDS if "corrupt" not in kind and kind != ["hang"] * 2]
#: Pictures of streams of other kinds. A process codes its first picture when it opens the encoder.
SOME = [2, 3, 4, 6, 9, 10, 17, 21, 33, 47, 60, 61]
EVERY = range(2, FRAMES + 2)
#: Without --every: pictures at the beginning, in the first group, at its end, and at the end of the stream.
SAMPLE = {"crash": [2, 3, 6, 21, 60, 61], "fail": [2, 6, 61], "hang": [40], "corrupt": [4, 21]}


@dataclass
class Encode:
    """A compression session."""

    name: str
    faults: list = field(default_factory=list)
    properties: dict = field(default_factory=dict)
    #: "own": one of its runner's; "software", "slow": shared.
    server: str = "own"
    restarts: int = 0
    ends_in_hardware: bool = True
    own_memory: bool = True
    kill: int = 0
    clip: str = "NV12"


@dataclass
class Decode:
    """Decompression sessions of a clip, for each of `kills` one (tests/failover/decoded.c)."""

    name: str
    clip: str
    memory: str
    kills: list
    faults: list = field(default_factory=list)
    server: str = "software"
    ends_in_hardware: int = 0


def failing(name, kind, position, properties, clip="NV12"):
    """A session whose first process fails at a picture, and the second one at its second picture."""
    if "corrupt" in kind:
        properties = {**properties, "VerifyOutput": "all"}
    faults = [f"{fault} {position if index == 0 else 2}" for index, fault in enumerate(kind)]
    return Encode(f"{', '.join(faults)}, {name}", faults, properties, restarts=len(kind), ends_in_hardware=len(kind) == 1,
                  own_memory=position % 2 == 0, clip=clip)


def compressions(every):
    for name, properties in STRUCTURES.items():
        yield Encode(f"no fault, {name}", properties=properties, own_memory=False)
        for kind in KINDS:
            for position in EVERY if every else SAMPLE[kind[0]]:
                yield failing(name, kind, position, properties)
    for name, (properties, kinds) in SETTINGS.items():
        for kind in kinds:
            for position in SOME if every else [20]:
                yield failing(name, kind, position, properties)
    for kind in ALPHA if every else [["crash"], ["crash"] * 2]:
        for position in SOME if every else [21]:
            yield failing("alpha", kind, position, STRUCTURES["chain"], "YUVA")
    for position in range(1, FRAMES + 1) if every else [1, 30, 59]:
        structure = "pyramid" if position % 2 else "chain"
        yield Encode(f"SIGKILL at {position}, {structure}", properties=STRUCTURES[structure], restarts=1, own_memory=position % 4 < 2,
                     kill=position)
        for preset in ("ultrafast", "medium"):
            yield Encode(f"SIGKILL at {position}, {preset}", properties={"X265Preset": preset, "Quality": 0.7}, server="software", restarts=1,
                         ends_in_hardware=False, own_memory=False, kill=position)
    yield Encode("three failures", ["crash 5", "crash 5"], STRUCTURES["pyramid"], restarts=3, ends_in_hardware=False, kill=50)
    # Software that holds more frames than hardware announced: 78 beside 64 copies.
    deep = {"BaseLayerFrameRate": 30, "ExpectedFrameRate": 240, "Quality": 0.7}
    for own in (False, True):
        yield Encode(f"more frames than copies, own memory {own}", ["crash 5", "crash 2"], deep, restarts=3, ends_in_hardware=False,
                     own_memory=own, kill=115, clip="long")
    # Software announces more frames of 15 MiB than may be kept; it gets few, which are.
    yield Encode("few of more frames than may be kept", ["crash 2", "crash 2"], STRUCTURES["pyramid"], restarts=2, ends_in_hardware=False,
                 own_memory=False, server="slow", clip="large")


def decompressions(every):
    kills = [f"{position}" for position in (range(1, FRAMES + 1) if every else [0, 1, 2, 12, 13, 18, 30, 60])]
    kills += [f"{first},{first + 1},{first + 12}" for first in range(1, FRAMES - 11)] if every else ["14,16,40"]
    for name, clip, memory, positions in [
            ("open groups", "open", "own", kills), ("closed groups", "closed", "app", kills),
            ("one group with start codes", "long", "bytes", ["3", "44,46,58"]), ("one group", "long", "own", kills if every else [])]:
        # Parts, so that several run at once.
        for first in range(0, len(positions), 12):
            yield Decode(f"{name} from {first}", clip, memory, positions[first:first + 12])
    for position in range(1, FRAMES + 1) if every else (2, 14, 60):
        memory = "own" if position % 2 == 0 else "app"
        crash = f"decode-crash {position}"
        yield Decode(crash, "open", memory, ["0/1"], [crash], "own", 1)
        yield Decode(f"{crash}, again", "closed", memory, ["0/2"], [crash, "decode-crash 2"], "own")
    yield Decode("hang", "open", "app", ["0/1"], ["decode-hang 30"], "own", 1)
    yield Decode("three failures", "open", "own", ["50/3"], ["decode-crash 5", "decode-crash 5"], "own")


def describe(job):
    return f"{job.name} {json.dumps(job.properties)}" if isinstance(job, Encode) else f"decoding, {job.name}"
