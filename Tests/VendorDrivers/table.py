# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the results of check.py as the table of docs/hardware.md: table.py RESULTS.json..."""
import json
import sys


def mbit(value):
    return "–" if value is None else f"{value / 1e6:.2f}"


def claims(row):
    """The entry points by profile: `8 10` for both bit depths."""
    def depths(word):
        found = [
            depth for profile, depth in (("Main ", "8"), ("Main10 ", "10"))
            if any(pair.startswith(f"VAProfileHEVC{profile}") and word in pair for pair in row.get("vainfo", []))]
        return " ".join(found) or "–"
    return f"{depths('Enc')} / {depths('VLD')}"


def other_codecs(row):
    """The other codecs that the driver decodes; the bit depths of VP9 are those of profiles 0 and 2."""
    listed = row.get("vainfo", [])
    vp9 = [depth for profile, depth in (("0", "8"), ("2", "10")) if f"VAProfileVP9Profile{profile} VAEntrypointVLD" in listed]
    found = ["H.264"] if "VAProfileH264High VAEntrypointVLD" in listed else []
    found += [f"VP9 {' '.join(vp9)}"] if vp9 else []
    found += ["AV1"] if "VAProfileAV1Profile0 VAEntrypointVLD" in listed else []
    return ", ".join(found) or "–"


def rates(row):
    job = row.get("jobs", {}).get("rate")
    if not job or "target" not in job:
        return ["–", "–"]
    bounds = job["bounds"]
    return [
        f"{mbit(job['target'])} / {mbit(job['peak'])} / {mbit(job['buffer'])}",
        "–" if not bounds else f"{bounds[0]}–{bounds[1]}"]


def level(row):
    job = row.get("jobs", {}).get("fast", {})
    return "–" if job.get("level") is None else f"{job['level']}/64"


def pictures(row):
    jobs = row.get("jobs")
    if jobs is None:
        return "–"
    good = sum(not job["faults"] for job in jobs.values())
    return f"{good} of {len(jobs)}"


def seconds(rows):
    taken = [row["seconds"] for row in rows if "seconds" in row]
    if not taken:
        return "–"
    return f"{min(taken)} s" if min(taken) == max(taken) else f"{min(taken)} to {max(taken)} s"


def main():
    groups = {}
    for name in sys.argv[1:]:
        with open(name) as file:
            for row in json.load(file):
                key = (row["debian"], row["driver_name"], claims(row), other_codecs(row), *rates(row), level(row), pictures(row))
                groups.setdefault(key, []).append(row)
    print(
        "| Debian | driver | chips | encodes / decodes | other decoders | target / peak / buffer | QP | fullness at 50 Mbit/s | sessions | probe |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (debian, driver, *cells), rows in groups.items():
        chips = ", ".join(row["chip"] for row in rows)
        print(f"| {debian} | {driver} | {chips} | " + " | ".join(cells) + f" | {seconds(rows)} |")


main()
