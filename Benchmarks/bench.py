#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Side-by-side benchmarks: hwctl and the daemon against the x265 and ffmpeg command lines, in one run.

Prints Markdown tables (also to Benchmarks/results/latest.md), then the lines of the table of docs/performance.md with this run's figures,
and which of them are worse than there by more than the rounds differ. Ends with status 1 where the run's figures are not the table's lines:
a figure that the table lacks, or a line that was neither measured nor left out for a reason that is printed. Environment:
  QUICK=1        the same lines in about five minutes: shorter clips, fewer rounds
  WRITE=1        writes the figures into the table; parts alone only on the machine that the table names
  BENCH_ROUNDS   interleaved runs of each side (default 5; 2 with QUICK)
  BENCH_SECONDS  the length of a round's runs of one side (default 10; 1 with QUICK)
  BENCH_ONLY     only these parts, separated by commas, as the table names them
"""
import hashlib
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import clients
import failover
import fairness
import hdr
import scaling
import stills
import starting
from common import (BIN, QUICK, ROOT, ROUNDS, RUN, SECONDS, SMALL, Daemon, interleaved, make_y4m, median_ratio, ratios, resident, run,
                    short, source, table, timed)
from figures import FIGURES, documented_machine, machine

ONLY = [name for name in os.environ.get("BENCH_ONLY", "").split(",") if name]
WRITE = os.environ.get("WRITE", "") not in ("", "0")
CRF = "28"
# More than x265's medium looks ahead, so that most pictures are coded as in a long clip; a quick run has fewer.
LEAST_FRAMES = 40
# Frames of a run of ffmpeg's filters.
FILTERED = 5 if QUICK else 20


def vcl_digest(path):
    """A digest of the VCL NAL units (nal_unit_type < 32) of an Annex B file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        data = file.read()
    for unit in re.split(b"\x00\x00\x00\x01|\x00\x00\x01", data):
        unit = unit.rstrip(b"\x00")
        if unit and (unit[0] >> 1) & 63 < 32:
            digest.update(hashlib.sha256(unit).digest())
    return digest.hexdigest()


def frames_for(ours, probe_frames):
    """The number of frames for a run of RUN seconds, at least `short(LEAST_FRAMES)`."""
    seconds = timed(ours)[0]
    return max(short(LEAST_FRAMES), int(probe_frames * RUN / seconds * 1.1))


def compare(rows, label, sides, firsts, frames, check=None):
    """One row of two commands; each pair of runs has its own ratio, and the row has their median."""
    wall, cpu = interleaved(sides, firsts, SECONDS)
    same = check() if check else "–"
    peak_left, peak_right = timed(sides[0], watch=True)[2], timed(sides[1])[2]
    left, right = ((frames - 1) / statistics.median(seconds) for seconds in wall)
    FIGURES.record(f"time to {label}", ratios(wall))
    row = (label, frames, f"{left:.1f}", f"{right:.1f}", f"{median_ratio(wall):.3f}", f"{median_ratio(cpu):.3f}",
           f"{peak_left / 1024:.0f}", f"{peak_right / 1024:.0f}", f"{(peak_left - peak_right) / 1024:+.0f}", same)
    rows.append(row)
    print("  " + " | ".join(map(str, row)), file=sys.stderr, flush=True)


def looped(folder, clip, times):
    """A clip that repeats so often, not coded again, and its number of pictures."""
    path = os.path.join(folder, f"loop{times}.mp4")
    run(["ffmpeg", "-v", "error", "-stream_loop", str(times - 1), "-i", clip, "-c", "copy", "-y", path])
    count = run(["ffprobe", "-v", "error", "-count_packets", "-select_streams", "v", "-show_entries",
                 "stream=nb_read_packets", "-of", "csv=p=0", path]).stdout
    return path, int(count.split(b",")[0])


def first_picture(folder, clip):
    """The first picture of a clip, and no sound."""
    path = os.path.join(folder, "picture.mp4")
    run(["ffmpeg", "-v", "error", "-i", clip, "-frames:v", "1", "-an", "-c", "copy", "-y", path])
    return path


HEAD = ["case", "frames", "hwctl fps", "other fps", "time", "CPU time", "worker MiB", "other MiB", "difference", "VCL identical"]


def throughput(folder):
    rows = []
    clips = {"1280x720": source("sdr720_bbb_h264_aac.mp4", SMALL), "1920x1080": source("sdr1080p60_bbb_vp8.webm", SMALL)}
    for size, clip in clips.items():
        for depth in (8, 10):
            for preset in ("ultrafast", "medium"):
                coded = [os.path.join(folder, f"{side}.hevc") for side in ("ours", "theirs")]

                def commands(path, outputs):
                    ours = [f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", preset,
                            "--property", f"X265Params=crf={CRF}", path, outputs[0]]
                    theirs = ["x265", "--log-level", "error", "--no-progress", "--preset", preset, "--crf", CRF,
                              "--output-depth", str(depth), "--input", path, "-o", outputs[1]]
                    return ours, theirs

                trial = short(LEAST_FRAMES)
                count = frames_for(commands(make_y4m(folder, clip, size, depth, trial), coded)[0], trial)
                path, first = (make_y4m(folder, clip, size, depth, frames) for frames in (count, 1))
                firsts = commands(first, [os.path.join(folder, f"first{side}.hevc") for side in range(2)])
                compare(rows, f"encode {size} {depth} bit {preset}", commands(path, coded), firsts, count,
                        lambda: "yes" if vcl_digest(coded[0]) == vcl_digest(coded[1]) else "NO")
                os.unlink(path)
    return "Y4M against the x265 command line, CRF " + CRF + ":\n\n" + table(HEAD, rows)


def compressed(folder):
    rows = []
    clip = source("sdr720_bbb_h264_aac.mp4", SMALL)
    if QUICK:
        first = os.path.join(folder, "first.mp4")
        run(["ffmpeg", "-v", "error", "-t", "1", "-i", clip, "-c", "copy", "-y", first])
        clip = first
    for preset in ("ultrafast", "medium"):
        def commands(path):
            ours = [f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", preset,
                    "--property", f"X265Params=crf={CRF}", path, os.path.join(folder, "ours.mov")]
            theirs = ["ffmpeg", "-v", "error", "-i", path, "-c:v", "libx265", "-preset", preset, "-x265-params",
                      f"crf={CRF}:log-level=error", "-tag:v", "hvc1", "-c:a", "copy", "-movflags", "faststart", "-y",
                      os.path.join(folder, "theirs.mov")]
            return ours, theirs

        path, _ = looped(folder, clip, 1)
        path, count = looped(folder, clip, max(1, round(RUN / timed(commands(path)[0])[0])))
        compare(rows, f"encode H.264 720p {preset} to .mov", commands(path), commands(first_picture(folder, clip)), count)
    return "Compressed input against ffmpeg with libx265, CRF " + CRF + ":\n\n" + table(HEAD, rows)


def decoding(folder):
    """HEVC decoded through the daemon to discarded Y4M, against ffmpeg -f null: same clip, same threads."""
    rows = []
    clips = {"1280x720": source("sdr720_bbb_h264_aac.mp4", SMALL), "1920x1080": source("sdr1080p60_bbb_vp8.webm", SMALL)}
    for size, clip in clips.items():
        for depth in (8, 10):
            coded = os.path.join(folder, "coded.mp4")
            run(["ffmpeg", "-v", "error", "-i", clip, "-frames:v", str(short(240)), "-vf", f"scale={size.replace('x', ':')}", "-an", "-c:v", "libx265",
                 "-preset", "superfast", "-pix_fmt", "yuv420p" if depth == 8 else "yuv420p10le", "-x265-params",
                 "crf=26:log-level=error", "-y", coded])

            def commands(path):
                ours = [f"{BIN}/hwctl", "decode", "--hardware", "off", path, "-"]
                theirs = ["ffmpeg", "-v", "error", "-hwaccel", "none", "-i", path, "-f", "null", "-"]
                return ours, theirs

            path, count = looped(folder, coded, max(1, int(RUN / timed(commands(coded)[0])[0] * 1.1) + 1))
            compare(rows, f"decode {size} {depth} bit", commands(path), commands(first_picture(folder, coded)), count)
            os.unlink(path)
    return "HEVC decoded in software against ffmpeg -f null:\n\n" + table(HEAD, rows)


def sessions(folder):
    """A session's start beside a process's, the broker's memory, and what the worker does beside x265."""
    rows = []
    with Daemon(folder) as daemon:
        daemon.bench("latency", 20)
        results, starts = [], []
        for _ in range(ROUNDS):
            results.append(daemon.bench("latency", short(200) // 2))
            starts.append(1000 * statistics.median(timed(["true"])[0] for _ in range(20)))
        result = results[-1]
        FIGURES.record("Create's reply, from connect", [one["create_p50_ms"] / start for one, start in zip(results, starts)])
        FIGURES.record("an open encoder for 1080p medium, from connect",
                       [one["prepared_p50_ms"] / start for one, start in zip(results, starts)])
        rows.append(("connect → Create reply, p50 / p99",
                     f"{result['create_p50_ms']:.2f} / {result['create_p99_ms']:.2f} ms", "p50 ≤ 3 ms"))
        rows.append(("connect → Prepared (1080p medium 8 bit), p50 / p99",
                     f"{result['prepared_p50_ms']:.2f} / {result['prepared_p99_ms']:.2f} ms", "≤ 10 ms"))
    with Daemon(folder) as daemon:
        daemon.bench("churn", 20)
        rss, fds = daemon.resident(), daemon.descriptors()
        daemon.bench("churn", 1000)
        time.sleep(0.5)
        with subprocess.Popen([sys.executable, "-I", "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as python:
            time.sleep(0.2)
            FIGURES.record("the broker's memory after 20 sessions", [rss / resident(python.pid)])
        FIGURES.record("the broker's memory after 1,000 sessions", [daemon.resident() / rss])
        FIGURES.record("the broker's descriptors after 1,000 sessions", [daemon.descriptors() / fds])
        rows.append(("broker RSS after start and 20 sessions", f"{rss / 1024:.1f} MiB", "≤ 20 MiB"))
        rows.append(("broker RSS over 1,000 create/encode/close rounds", f"{(daemon.resident() - rss) / 1024:+.2f} MiB", "≤ +1 MiB"))
        rows.append(("broker descriptors over the same", f"{daemon.descriptors() - fds:+d}", "+0"))
    stub = os.path.join(folder, "x265-null.so")
    run(["gcc", "-O2", "-shared", "-fPIC", "-o", stub, os.path.join(ROOT, "Benchmarks/x265-null.c"), "-ldl"])
    with Daemon(folder, LD_PRELOAD=stub) as daemon:
        daemon.bench("overhead", 100)
        results = [daemon.bench("overhead", short(2000) // 2) for _ in range(ROUNDS)]
        for name, limit in (("YU12", 100), ("I010", 100), ("NV12", 200), ("P010", 200)):
            costs = [result[f"{name}_us_per_frame"] for result in results]
            copies = [result[f"{name}_copy_us"] for result in results]
            FIGURES.record(f"worker's CPU for a 1080p frame beyond x265, {name}", ratios((costs, copies)))
            rows.append((f"worker CPU a 1080p frame beyond x265, {name}; one copy",
                         f"{statistics.median(costs):.1f} µs; {statistics.median(copies):.1f} µs", f"≤ {limit} µs"))
    return "Sessions:\n\n" + table(["what", "measured", "goal"], rows)


def color_filters(folder, rows, with_vulkan):
    """Milliseconds a frame of ffmpeg's own conversions of 4K P010 PQ, and of the parts around them."""
    raw = os.path.join(folder, "pq.p010")
    run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=3840x2160", "-frames:v", "1", "-pix_fmt", "p010le",
         "-f", "rawvideo", "-y", raw])
    command = ["ffmpeg", "-v", "error", "-stream_loop", str(FILTERED - 1), "-f", "rawvideo", "-pix_fmt", "p010le", "-s", "3840x2160",
               "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-colorspace", "bt2020nc", "-i", raw]
    zscale = "zscale=f=bilinear:pin=bt2020:tin=smpte2084:min=bt2020nc:rin=tv:t=linear:p=smpte432:m=gbr:npl=203,format=gbrpf32le"
    # The first device that Vulkan lists, as for the daemon's shaders: lavapipe where there is no GPU.
    placebo = ("hwupload,libplacebo=colorspace=gbr:color_primaries=smpte432:color_trc=linear:tonemapping=clip:format=rgba64le,"
               "hwdownload,format=rgba64le")
    vulkan = ["-init_hw_device", "vulkan=vk:0", "-filter_hw_device", "vk"]
    filters = {"plain": [], "zscale": ["-vf", zscale]}
    if with_vulkan:
        filters["upload"] = vulkan + ["-vf", "hwupload,hwdownload,format=p010le"]
        filters["placebo"] = vulkan + ["-vf", placebo]
    times = {}
    for name, options in filters.items():
        found = []
        for _ in range(ROUNDS):
            start = time.monotonic()
            done = subprocess.run(command + options + ["-f", "null", "-"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode != 0:
                rows.append((f"ffmpeg, {name}", f"fails here: exit {done.returncode}", ""))
                break
            found.append((time.monotonic() - start) * 1000 / FILTERED)
        times[name] = min(found, default=math.nan)
    return times


def color(folder):
    """4K Y'CbCr to half floats of Display P3 and back: sessions on the CPU, memcpy of the same bytes, ffmpeg's zscale."""
    rows = []
    with Daemon(folder) as daemon:
        result = daemon.bench("transfer", short(80))
        pairs = daemon.bench("transfers", 5 if QUICK else 15)
        try:
            shaders = daemon.bench("transfer-vulkan", 4 if QUICK else 10)
        except SystemExit:
            shaders = None  # No Vulkan driver: the table says so.
    with Daemon(folder, HWDAEMON_INSTRUCTIONS="AVX2") as daemon:
        narrower = daemon.bench("transfer", short(80))
    # One row where the machine has no later instructions.
    if "AVX-512" not in result["device"]:
        FIGURES.skip("4K P010 to AB4H, AVX-512", f"this machine has {result['device']}")
    for one in {one["device"]: one for one in (narrower, result)}.values():
        ratio = one["ratio"]
        instructions = "AVX-512" if "AVX-512" in one["device"] else "AVX2"
        FIGURES.record(f"4K P010 to AB4H, {instructions}", [ratio])
        rows.append((f"session, {one['device']}", f"{one['convert_ms']:.1f} / {one['convert_best_ms']:.1f} ms", ""))
        rows.append((f"memcpy of the same {one['bytes_moved'] / 1e6:.1f} MB, {one['threads']} threads",
                     f"{one['memcpy_ms']:.1f} / {one['memcpy_best_ms']:.1f} ms",
                     f"median of the rounds' ratios {ratio:.2f}, goal ≤ 2 with AVX-512, 3.5 with AVX2"))
    for name in sorted({key.split()[0] for key in pairs}):
        took, ratio = pairs[f"{name} convert_best_ms"], pairs[f"{name} ratio"]
        FIGURES.record(f"4K {name.replace('-', ' to ')}", [ratio])
        rows.append((f"session, {name.replace('-', ' to ')}", f"– / {took:.1f} ms", f"{ratio:.2f} of memcpy"))
    times = color_filters(folder, rows, with_vulkan=shaders is not None)
    rows.append(("ffmpeg zscale to planar 32-bit floats, minus the same without the filter",
                 f"– / {times['zscale'] - times['plain']:.1f} ms", ""))
    if shaders is None or math.isnan(times["placebo"]):
        FIGURES.skip("4K P010 to AB4H by shaders", "no Vulkan driver, or an ffmpeg without libplacebo")
    if shaders is None:
        rows.append(("shaders and libplacebo", "no Vulkan driver is installed", ""))
        return "4K P010 PQ to RGBA16F of Display P3, a frame:\n\n" + table(["what", "median / best", "goal"], rows)
    other = times["placebo"] - times["upload"]
    if not math.isnan(other):
        FIGURES.record("4K P010 to AB4H by shaders", [shaders["convert_best_ms"] / other])
    rows.append((f"session, shaders on {shaders['device']}",
                 f"{shaders['convert_ms']:.1f} / {shaders['convert_best_ms']:.1f} ms", ""))
    rows.append(("ffmpeg libplacebo on the first Vulkan device, minus the same with only the transfers",
                 f"– / {other:.1f} ms", f"{other / shaders['convert_best_ms']:.1f} times our shaders' time, goal ≥ 3"))
    return "4K P010 PQ to RGBA16F of Display P3, a frame:\n\n" + table(["what", "median / best", "goal"], rows)


# Alpha by name: an expression of ffmpeg's geq filter, and by preset the largest ratio of times with and without alpha (None: no goal).
MASKS = {
    "a moving soft mask": ("255*clip((210-hypot(X-640-300*sin(N/20),Y-360))/60,0,1)", {"ultrafast": 1.35, "veryfast": None, "medium": 1.15}),
    "opaque": ("255", {"ultrafast": 1.05, "medium": 1.05}),
}


def alpha(folder):
    """The cost of the alpha layer: a clip with a moving soft mask, and one that is opaque throughout, against the same clip without."""
    frames = short(60)

    def make_clip(name, pixel, filters):
        """The clip, and its first picture alone."""
        paths = []
        for count in (frames, 1):
            paths.append(os.path.join(folder, f"{name.split()[-1]}{count}.nut"))
            run(["ffmpeg", "-v", "error", "-stream_loop", "-1", "-i", SMALL, "-frames:v", str(count), "-vf", filters, "-an",
                 "-c:v", "rawvideo", "-pix_fmt", pixel, "-y", paths[-1]])
        return paths

    rows, base, output = [], make_clip("base", "yuv420p", "null"), os.path.join(folder, "alpha.mov")
    for name, (mask, goals) in MASKS.items():
        clip = make_clip(name, "yuva420p", f"format=yuva420p,geq=lum='lum(X,Y)':cb='cb(X,Y)':cr='cr(X,Y)':a='{mask}'")
        for preset, goal in goals.items():
            # The goals are for a base of this quality, and for the default quality of alpha.
            command = [f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", preset, "--quality", "0.5"]
            sides, firsts = [(command + ["--alpha", "straight", with_alpha, output], command + [without, output])
                             for with_alpha, without in zip(clip, base)]
            wall, cpu = interleaved(sides, firsts, SECONDS / 2)
            FIGURES.record(f"time with alpha, {name}, {preset}", ratios(wall))
            left, right = ((frames - 1) / statistics.median(seconds) for seconds in wall)
            rows.append((name, preset, f"{left:.1f}", f"{right:.1f}",
                         f"{median_ratio(wall):.2f}", f"{median_ratio(cpu):.2f}", f"≤ {goal}" if goal else "–"))
    return "HEVC with alpha at 720p, base quality 0.5, against its base alone:\n\n" + table(
        ["alpha", "preset", "fps with alpha", "fps of the base", "time", "CPU time", "goal (time)"], rows)


def effects(folder):
    """4K P010 to half floats with lists of effects, against the same conversion without."""
    rows = []
    with Daemon(folder) as daemon:
        found = daemon.bench("effects", 3 if QUICK else 15)
    for name in [key.removesuffix(" ratio") for key in found if key.endswith(" ratio")]:
        ratio = found[f"{name} ratio"]
        FIGURES.record(f"4K P010 to AB4H with {name}", [ratio])
        goal = "≤ 1.3" if name.startswith("exposure") else "–"
        rows.append((name, f"{found[f'{name} ms']:.1f} ms", f"{ratio:.2f}", goal))
    return f"4K P010 PQ to RGBA16F with effects, {found['device']}, against the same without:\n\n" + table(
        ["effects", "a frame", "time", "goal (time)"], rows)


def sandbox(folder):
    """The cost of the sandbox: an encode and a decode, against the same with HWDAEMON_SANDBOX=off."""
    rows = []
    clip = make_y4m(folder, source("sdr720_bbb_h264_aac.mp4", SMALL), "1280x720", 8, short(480))
    coded = os.path.join(folder, "sandbox.mov")
    run([f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", "ultrafast", clip, coded])
    for name, command in (
        ("encode 720p ultrafast", ["encode", "--hardware", "off", "--preset", "ultrafast", clip, coded + ".mov"]),
        ("decode 720p", ["decode", "--hardware", "off", coded, "-"]),
    ):
        confined = [f"{BIN}/hwctl"] + command
        wall, cpu = interleaved((confined, ["env", "HWDAEMON_SANDBOX=off"] + confined))
        FIGURES.record(f"CPU to {name} in the sandbox", ratios(cpu))
        rows.append((name, f"{median_ratio(wall):.3f}", f"{median_ratio(cpu):.3f}", "≤ 1.02"))
    return "Sandbox, against the same without it:\n\n" + table(["work", "time", "CPU time", "goal (CPU time)"], rows)


PARTS = {
    "start": starting.start, "sessions": sessions, "clients": clients.clients, "color": color, "effects": effects, "light": hdr.light,
    "alpha": alpha, "sdr": hdr.sdr, "scaling": scaling.scaling, "metadata": hdr.metadata, "mapping": hdr.mapping, "receipt": hdr.receipt,
    "sandbox": sandbox, "failover": failover.failover, "fairness": fairness.fairness, "stills": stills.stills, "compressed": compressed,
    "decoding": decoding, "throughput": throughput,
}


def main():
    parts = ONLY or list(PARTS)
    if unknown := [name for name in parts if name not in PARTS]:
        sys.exit(f"BENCH_ONLY: there is no part {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    if WRITE and QUICK:
        sys.exit("WRITE=1 needs a run that is not quick")
    if WRITE and ONLY and machine() != documented_machine():
        sys.exit(f"WRITE=1 needs a run of all parts here, because the document's figures are of another machine: {documented_machine()}")
    out = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        for name in parts:
            start = time.monotonic()
            out.append(PARTS[name](folder))
            print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    text = "\n\n".join(out + [f"Machine: {machine()}", FIGURES.text(parts)]) + "\n"
    os.makedirs(os.path.join(ROOT, "Benchmarks/results"), exist_ok=True)
    with open(os.path.join(ROOT, "Benchmarks/results/latest.md"), "w") as file:
        file.write(text)
    print(text)
    print("\n".join(FIGURES.compared(parts, is_quick=QUICK)))
    if differences := FIGURES.differences(parts):
        sys.exit("\n".join(differences))
    if WRITE:
        FIGURES.write(machine())


main()
