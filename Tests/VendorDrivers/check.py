# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes and encodes with the VA-API drivers of one Debian on simulated kernels. scripts/check-vendor-drivers starts it.

    check.py DEBIAN LIBRARIES PROGRAMS RESULTS.json [CHIP...]
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from matrix import CHIPS, CRASHES, FIRMWARE, JOBS, PCI_IDS, REFUSALS, UNKNOWN, Handed

NODE = "/dev/dri/renderD128"
# Seconds after which a job, and a probe of nine paths and their driver's start, have hung.
JOB_SECONDS, PROBE_SECONDS = 300, 600
REPETITIONS = 20
PROFILES = {
    "hevc-main": "VAProfileHEVCMain", "hevc-main10": "VAProfileHEVCMain10", "h264-high": "VAProfileH264High",
    "vp9-profile0": "VAProfileVP9Profile0", "vp9-profile2": "VAProfileVP9Profile2", "av1-main": "VAProfileAV1Profile0",
    "av1-main-10-bit": "VAProfileAV1Profile0",
}


class Chip:
    """A simulated chip with its driver."""

    def __init__(self, driver, name, debian, libraries, programs):
        self.driver, self.name, self.debian = driver, name, debian
        self.libraries, self.programs = Path(libraries), Path(programs)

    def environment(self, folder, *preloads, **more):
        kernel = self.libraries / ("i915.so" if self.driver == "iHD" else "amdgpu.so")
        return dict(
            os.environ, LD_PRELOAD=":".join(map(str, [*preloads, kernel])), LIBVA_DRIVER_NAME=self.driver,
            # The journal is written by the drivers' processes.
            HWDAEMON_SANDBOX_PATHS=str(folder),
            LIBVA_MESSAGING_LEVEL="0", SWIFT_BACKTRACE="enable=no", AMDGPU_GPU_ID=self.name,
            INTEL_STUB_GPU_PLATFORM=self.name, HOME=folder, XDG_CACHE_HOME=folder, XDG_RUNTIME_DIR=folder, **more)

    def vainfo(self):
        """The pairs of profile and entry point that the driver lists."""
        with tempfile.TemporaryDirectory() as folder:
            said = run(["vainfo", "--display", "drm", "--device", NODE], self.environment(folder), JOB_SECONDS)
        return set(re.findall(r"(VAProfile\w+)\s*:\s+(VAEntrypoint\w+)", said.output)), said

    def probe(self, **more):
        """The answer of a private daemon that verifies, the seconds it took, and the processes it left."""
        with tempfile.TemporaryDirectory() as folder:
            before, start = processes(), time.monotonic()
            said = run(
                [self.programs / "hwctl", "probe", "--json", "--verify", "--device", NODE],
                self.environment(folder, **more), PROBE_SECONDS)
            seconds = time.monotonic() - start
            # A private daemon ends after its client.
            for _ in range(600):
                if not (left := processes() - before):
                    break
                time.sleep(0.1)
        answer = json.loads(said.output[said.output.index("{"):]) if "{" in said.output else None
        return answer, seconds, left, said

    def encode(self, job):
        """Encodes a job: what the firmware received, and the result."""
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "job").write_text(json.dumps(job.document))
            preloads = [self.libraries / "pictures.so"] if self.driver == "iHD" else []
            said = run(
                [self.programs / "hwd-vaapi-tool", NODE, place / "job", place / "result"],
                self.environment(
                    folder, *preloads, VENDOR_JOURNAL=str(place / "journal"), VAAPI_TOOL_SANDBOX="enforce",
                    VAAPI_TOOL_PCI_ID=PCI_IDS.get(self.name, "")), JOB_SECONDS)
            journal = (place / "journal").read_text().splitlines() if (place / "journal").exists() else []
            result = json.loads((place / "result").read_text()) if (place / "result").exists() else {}
        if not result:
            result = {"failure": f"the tool ended with {said.status}: {said.error.strip()[-200:]}", "pictures": []}
        return Handed(map(json.loads, journal)), result


class Said:
    """How a program ended."""

    def __init__(self, status, output, error):
        self.status, self.output, self.error = status, output, error


def run(command, environment, seconds):
    try:
        ended = subprocess.run(
            [str(word) for word in command], env=environment, capture_output=True, text=True, timeout=seconds,
            errors="replace")
        return Said(ended.returncode, ended.stdout, ended.stderr)
    except subprocess.TimeoutExpired:
        return Said("a timeout", "", f"no answer within {seconds} s")


def processes():
    """The ids of the daemon's processes in this namespace."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text().startswith("hwd"):
                    found.add(entry.name)
            except OSError:
                pass
    return found


def claim_faults(answer, listed):
    """Differences between the claims of the probe and those of vainfo."""
    faults = []
    lines = {path["id"].rsplit("-", 1)[0] for path in answer["paths"] if path.get("device") == NODE}
    for name, profile in PROFILES.items():
        # Surfaces of 10 bits are an attribute of AV1's profile, which vainfo does not list: Mesa 22 does not report it.
        if (profile, "VAEntrypointVLD") in listed and name not in lines and name != "av1-main-10-bit":
            faults.append(f"{profile} is in vainfo's list and has no line")
    for path in answer["paths"]:
        profile = PROFILES.get(path["id"].rsplit("-", 1)[0])
        if path.get("device") != NODE or not profile:
            continue
        wanted = {"encode": {"VAEntrypointEncSlice", "VAEntrypointEncSliceLP"}, "decode": {"VAEntrypointVLD"}}
        expected = any((profile, entrypoint) in listed for entrypoint in wanted[path["operation"]])
        if path["claimed"] != expected:
            faults.append(f"{path['id']} is {'' if path['claimed'] else 'not '}claimed and vainfo differs")
    return faults


def check_probe(chip, row):
    listed, said = chip.vainfo()
    row["vainfo"] = sorted(f"{profile} {entrypoint}" for profile, entrypoint in listed if profile in PROFILES.values())
    answer, seconds, left, said = chip.probe()
    row["seconds"] = round(seconds, 1)
    if left:
        row["faults"].append(f"processes left: {sorted(left)}")
    if not answer:
        row["faults"].append(f"the probe ended with {said.status}: {said.error.strip()[-200:]}")
        return
    row["faults"] += [warning for warning in answer.get("warnings", []) if "sandbox" in warning]
    node = answer["nodes"][0]
    row["state"], row["reason"], row["driver"] = node["state"], node.get("reason"), node.get("driver")
    row["reasons"] = {path["id"]: path.get("reason") for path in answer["paths"] if path.get("device") == NODE}
    row["verified"] = [path["id"] for path in answer["paths"] if path.get("device") == NODE and path["verified"]]
    if row["driver"]:
        row["faults"] += claim_faults(answer, listed)
    elif not row["reason"]:
        row["faults"].append("no reason is given")


def check_jobs(chip, row):
    if not any("HEVC" in pair and "Enc" in pair for pair in row["vainfo"]):
        return
    if (chip.debian, chip.name) in CRASHES:
        row["skipped"] = "the driver crashes when it encodes on a simulated kernel"
        return
    row["jobs"] = {}
    for job in JOBS:
        if job.fourcc == "P010" and not any("Main10 VAEntrypointEnc" in pair for pair in row["vainfo"]):
            continue
        handed, result = chip.encode(job)
        count = len(result["pictures"])
        faults = []
        refusal = REFUSALS.get((chip.driver, job.name))
        if result.get("failure") and refusal and refusal in result["failure"]:
            row["jobs"][job.name] = {"refused": result["failure"], "faults": []}
            continue
        if result.get("forbidden"):
            faults.append(f"the driver {result['forbidden']}")
        if result.get("failure"):
            faults.append(result["failure"])
        elif count != job.pictures:
            faults.append(f"{count} pictures of {job.pictures}")
        # What a refused session did not hand over is no further fault.
        if count or handed.target:
            faults += handed.faults(job, result.get("notes", []), chip.debian, chip.name)
        row["jobs"][job.name] = {
            "target": handed.target, "peak": handed.peak, "buffer": handed.buffer, "level": handed.level,
            "bounds": handed.bounds, "pictures": count, "notes": result.get("notes", []), "faults": faults}
        row["faults"] += [f"{job.name}: {fault}" for fault in faults]


def check_firmware(chip, row):
    """Without the video engines' firmware the reason must name it."""
    answer, _, _, said = chip.probe(VENDOR_NO_FIRMWARE="1")
    node = answer["nodes"][0] if answer else {}
    row["without_firmware"] = node.get("reason")
    if node.get("cause") != FIRMWARE[chip.driver]:
        row["faults"].append(f"without firmware: {node.get('cause')}, {node.get('reason')}")


def check_repetitions(chip, row):
    """Verifies many times: all must end alike, although some drivers read uninitialized memory."""
    seen = {}
    for _ in range(REPETITIONS):
        answer, _, _, said = chip.probe()
        paths = answer["paths"] if answer else []
        reasons = json.dumps({path["id"]: path.get("reason") for path in paths if path.get("device") == NODE})
        seen[reasons] = seen.get(reasons, 0) + 1
    row["repetitions"] = sorted(seen.values(), reverse=True)
    if len(seen) != 1:
        row["faults"].append(f"{REPETITIONS} verifications ended in {len(seen)} ways")


def main():
    debian, libraries, programs, results, *names = sys.argv[1:]
    rows = []
    for driver, chips in CHIPS.items():
        for name in chips:
            if (debian, name) in UNKNOWN or names and name not in names:
                continue
            chip = Chip(driver, name, debian, libraries, programs)
            row = {"debian": debian, "driver_name": driver, "chip": name, "faults": []}
            check_probe(chip, row)
            check_jobs(chip, row)
            if name in ("navi21", "icl"):
                check_firmware(chip, row)
            if name == "navi21":
                check_repetitions(chip, row)
            rows.append(row)
            remarks = row["faults"] + ([f"sessions skipped: {row['skipped']}"] if "skipped" in row else [])
            faults = "".join(f"\n    {remark}" for remark in remarks)
            print(f"Debian {debian} {driver} {name}: {row.get('seconds')} s, {row.get('reason')}{faults}", flush=True)
            Path(results).write_text(json.dumps(rows, indent=1))
    return any(row["faults"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
