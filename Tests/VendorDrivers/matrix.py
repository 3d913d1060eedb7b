# SPDX-License-Identifier: GPL-2.0-or-later
"""The chips, the sessions that each encodes, and what the firmware must receive."""

# Simulated chips by VA-API driver; drm-shim's amdgpu.c and i915.c know them by these names.
CHIPS = {
    "radeonsi": [
        "stoney", "polaris10", "vega10", "raven", "renoir", "navi10", "navi21", "vangogh", "raphael_mendocino", "navi31",
        "gfx1150",
    ],
    "iHD": ["skl", "kbl", "icl", "ehl", "tgl", "rkl", "adl", "dg1", "dg2"],
}
PCI_IDS = {
    "icl": "8086:8a52", "ehl": "8086:4571", "tgl": "8086:9a49", "rkl": "8086:4c8a", "adl": "8086:4680",
    "dg1": "8086:4905", "dg2": "8086:5690", "polaris10": "1002:67df", "vega10": "1002:687f",
}
# The cause that a probe must report if the firmware of the video engines is missing.
FIRMWARE = {"radeonsi": "vcn_firmware", "iHD": "huc_firmware"}
# Chips that a driver of that age does not know.
UNKNOWN = {("12", "gfx1150")}
# Encoders that take neither bounds of the QP nor a buffer: Mesa 22's driver sets its own for UVD before each picture, QP 0
# to 51 and 20 Mbit (getEncParamPresetH265 in picture_hevc_enc.c).
FIXED_RATE_CONTROL = {("12", "polaris10"), ("12", "vega10")}

# Debian 12's iHD crashes on these chips when it encodes on a simulated kernel, so only their probes are checked.
CRASHES = {("12", "dg1"), ("12", "dg2")}
# What a driver cannot do and the encoder refuses: a word of the reason.
REFUSALS = {("radeonsi", "levels"): "temporal levels", ("radeonsi", "alpha"): "slice headers of its own"}

RATE = 3_210_000
FAST = 50_000_000
BOUNDS = {"MinAllowedFrameQP": 15, "MaxAllowedFrameQP": 33}


class Job:
    """A clip and a session's properties."""

    def __init__(self, name, properties, fourcc="NV12", width=320, height=192, frames=6, layers=False):
        self.name, self.fourcc = name, fourcc
        self.pictures = frames * (2 if layers else 1)
        self.document = {
            "clip": {"fourcc": fourcc, "width": width, "height": height, "frames": frames},
            "properties": properties, "forced": [], "frameQPs": {}, "changes": {}, "flushes": [],
            "offersDMABufs": False, "importsFrames": False, "hasAlpha": layers,
        }


JOBS = [
    Job("rate", {"AverageBitRate": RATE, **BOUNDS}),
    Job("fast", {"AverageBitRate": FAST}),
    Job("constant", {"ConstantBitRate": RATE, **BOUNDS}),
    Job("limited", {"Quality": 0.6, "DataRateLimits": [RATE // 8, 1]}),
    Job("qp", {"QP": 27}),
    Job("10 bit", {"AverageBitRate": RATE, **BOUNDS}, fourcc="P010"),
    Job("levels", {"AverageBitRate": RATE, "ExpectedFrameRate": 24, "BaseLayerFrameRate": 3}, frames=17),
    Job("alpha", {"AverageBitRate": RATE}, layers=True),
    Job("real time", {"AverageBitRate": RATE, "RealTime": True}),
    Job("intra", {"QP": 27, "MaxKeyFrameInterval": 1}),
    Job("long", {"AverageBitRate": RATE, "MaxKeyFrameInterval": 40000}),
    Job("small", {"QP": 27}, width=96, height=64),
]


class Handed:
    """What a session's firmware received last."""

    def __init__(self, journal):
        self.target = self.peak = self.buffer = self.level = self.bounds = None
        self.statuses, self.coded = [], 0
        for line in journal:
            if start := line.get("brc_init"):
                self.target, self.peak, self.buffer = start["target"], start["peak"], start["buffer"]
                self.bounds = (start["min_qp"], start["max_qp"])
                # In 64ths of the buffer, as AMD's firmware counts.
                self.level = start["fullness"] * 64 // start["buffer"] if start["buffer"] else None
            if session := line.get("rate_session"):
                self.level = session["vbv_level"]
            if layer := line.get("rate_layer"):
                self.target, self.peak, self.buffer = layer["target"], layer["peak"], layer["vbv"]
            if picture := line.get("rate_picture_by_type") or line.get("rate_picture"):
                # A picture's own type decides which bounds count; Mesa fills those of key frames in every picture.
                self.bounds = (picture["min_qp"], picture["max_qp"])
            if picture := line.get("picture"):
                self.statuses.append(picture["status"])
            self.coded += "coded" in line

    def faults(self, job, notes, debian, chip):
        """Sentences on what differs from the request."""
        faults = []
        if job.name in ("rate", "constant", "10 bit", "levels", "real time", "long") and self.target != RATE:
            faults.append(f"target {self.target} instead of {RATE}")
        if job.name == "fast" and self.target != FAST:
            faults.append(f"target {self.target} instead of {FAST}")
        if self.target and self.peak and self.peak > 2 * self.target:
            faults.append(f"peak {self.peak}")
        if job.name == "constant" and self.peak and self.peak != RATE:
            faults.append(f"peak {self.peak} instead of {RATE}")
        if job.name == "limited" and self.peak and self.peak != RATE // 8 * 8:
            faults.append(f"peak {self.peak} instead of {RATE // 8 * 8}")
        if job.name in ("rate", "constant", "10 bit") and (debian, chip) not in FIXED_RATE_CONTROL:
            if self.bounds != (15, 33):
                faults.append(f"QP {self.bounds} instead of 15 to 33")
        if job.name in ("rate", "fast") and self.target and (debian, chip) not in FIXED_RATE_CONTROL:
            if self.buffer is None or self.buffer > 2 * self.target:
                faults.append(f"buffer {self.buffer} for {self.target}")
            if not self.level or not 16 <= self.level <= 64:
                faults.append(f"buffer level {self.level}/64")
        if (debian, chip) in FIXED_RATE_CONTROL and job.name in ("rate", "constant"):
            if not any("ignores bounds of the QP" in note for note in notes):
                faults.append("Notices do not name the ignored bounds")
            if not any("ignores the decoder's buffer" in note for note in notes):
                faults.append("Notices do not name the ignored buffer")
        if any(self.statuses):
            refused = [status for status in self.statuses if status]
            faults.append(f"{len(refused)} of {len(self.statuses)} pictures refused with {refused[0]}")
        return faults
