# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks effects on the GPU against those on the CPU, which the tests compare with the formulas in double precision."""
import math
import random
import struct

from gpu_checks.reference import Case

LISTS = (
    ["exposure:ev=1.5"], ["saturation:s=1.6"], ["sepia:amount=0.7"], ["vignette:intensity=0.8,radius=0.9"],
    ["cdl:slope=1.2/0.9/1,offset=0.02/0/-0.01,power=1.3/1/0.8,sat=1.2"], ["cdl:power=0.7,clamp=true,space=srgb"],
    ["cdl:slope=0.9,sat=1.3,space=pq"], ["curve:points=0/0.02/0.3/0.2/1/1.1/4/3"], ["despill:color=00ff00"],
    ["key:color=10c040,similarity=0.2,blend=0.2", "background:color=204060"], ["lut:file={cube},space=pq"],
    ["lut:file={line},space=srgb,headroom=scale"],
    ["exposure:ev=-1", "saturation:s=0.5", "cdl:power=1.1", "vignette", "lut:file={cube},space=acescct", "sepia:amount=0.2"],
)


def write_tables(folder):
    """A table of 9³ entries and one of 16, both with colors of their own."""
    own = random.Random(7)
    cube, line = folder / "cube.cube", folder / "line.cube"
    rows = [f"{r / 8 * 0.9 + own.random() * 0.1:.6f} {g / 8 * 0.9 + own.random() * 0.1:.6f} {b / 8 * 0.9 + own.random() * 0.1:.6f}"
            for b in range(9) for g in range(9) for r in range(9)]
    cube.write_text("LUT_3D_SIZE 9\n" + "\n".join(rows) + "\n")
    line.write_text("LUT_1D_SIZE 16\n" + "\n".join(f"{k / 15:.6f} {(k / 15) ** 1.2:.6f} {(k / 15) ** 0.8:.6f}" for k in range(16)) + "\n")
    return {"cube": cube, "line": line}


def unit(value):
    """A unit in the last place of a half float; infinity for infinities and NaN."""
    if not math.isfinite(value):
        return math.inf
    return 2.0 ** (max(int.bit_length(int(abs(value) * 2 ** 24)) - 25, -14) - 10)


def largest_distance(cpu, gpu):
    """The largest difference of two lists of RGBA samples of the same length, in units; NaN or infinity if not all are finite."""
    distance = 0.0
    for first in range(0, len(cpu), 4):
        largest = max((abs(value) for value in cpu[first:first + 3]), key=lambda value: (math.isnan(value), value))
        for a, b in zip(cpu[first:first + 4], gpu[first:first + 4]):
            found = abs(a - b) / max(unit(a), unit(largest) / 8)
            # False where either is NaN.
            if not found <= distance:
                distance = found
                if math.isnan(distance):
                    return distance
    return distance


def check_effects(check):
    """Converts a random picture with each list by both, and reports the largest difference, which may be two units."""
    tables, worst, wrong = write_tables(check.work), 0.0, []
    for seed, words in enumerate(LISTS):
        case = Case(seed)
        source = check.work / "source"
        source.write_bytes(case.source)
        options = case.options()
        for word in words:
            options += ["--effect", word.format(**tables)]
        results = {}
        for device in ("vulkan", "cpu"):
            target = check.work / device
            target.unlink(missing_ok=True)
            status, _, errors = check.run("hwctl", "convert", "-q", "--device", device, source, target, *options)
            if status != 0:
                wrong.append(f"{words} on {device}: {errors.strip()}")
                break
            results[device] = [value for (value,) in struct.iter_unpack("<e", target.read_bytes())]
        if len(results) < 2:
            continue
        if len(results["cpu"]) != len(results["vulkan"]):
            wrong.append(f"{words}: {len(results['vulkan'])} samples, not {len(results['cpu'])}; {case}")
            continue
        distance = largest_distance(results["cpu"], results["vulkan"])
        if not distance <= worst:
            worst = distance
        if not distance <= 2:
            wrong.append(f"{words}: {distance:.2f} units; {case}")
    check.report["effects"] = {"count": len(LISTS), "worst": worst, "wrong": wrong}
    check.result("effects", not wrong, f"{len(LISTS) - len(wrong)} of {len(LISTS)} lists within {worst:.2f} units of the CPU's"
                 + "".join(f"\n      {line}" for line in wrong[:5]))
