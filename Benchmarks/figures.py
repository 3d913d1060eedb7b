# SPDX-License-Identifier: GPL-2.0-or-later
"""Named figures of a run, and their comparison with the table of docs/performance.md."""
import os
import re
import statistics
from typing import NamedTuple

from common import ROOT, table

DOCUMENT = os.path.join(ROOT, "docs/performance.md")
HEADING = "## Figures of the last run"
HEAD = ["figure", "median", "least–largest", "unit", "better"]
# A figure with a single value is worse only beyond this share, by which a machine's speed varies.
VARIATION = 0.1


class Figure(NamedTuple):
    """A figure's rounds, from the least to the largest; without a unit it is a ratio, which other machines share."""
    median: float
    least: float
    largest: float
    unit: str
    better: str  # "less" or "more"

    @staticmethod
    def of(rounds, unit, better):
        values = list(rounds)
        if len(values) == 1:
            margin = abs(values[0]) * VARIATION
            return Figure(values[0], values[0] - margin, values[0] + margin, unit, better)
        return Figure(statistics.median(values), min(values), max(values), unit, better)

    def is_worse_than(self, other):
        """Whether each one's median is outside the other's rounds, on the worse side.

        >>> before = Figure.of([1.00, 1.02, 1.04], "", "less")
        >>> [Figure.of(rounds, "", "less").is_worse_than(before) for rounds in ([1.03, 1.05, 1.06], [1.01, 1.05, 1.06], [0.9, 0.9, 0.9])]
        [True, False, False]
        >>> Figure.of([9.0], "fps", "more").is_worse_than(Figure.of([9.5], "fps", "more"))
        False
        >>> Figure.of([8.0], "fps", "more").is_worse_than(Figure.of([9.5], "fps", "more"))
        True
        """
        if self.better == "less":
            return self.median > other.largest and other.median < self.least
        return self.median < other.least and other.median > self.largest


def machine():
    """The processor and the number of cores, for figures that have a unit."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    except OSError:
        model = None
    return f"{model[1].strip() if model else 'unknown processor'}, {os.cpu_count()} cores"


class Figures:
    """What the parts of a run record."""

    def __init__(self):
        self.found = {}

    def record(self, name, rounds, unit="", better="less"):
        """Keeps a figure's rounds; a single one is taken to vary by 10 %."""
        self.found[name] = Figure.of(rounds, unit, better)

    def text(self):
        """The table for docs/performance.md, with the machine that it was taken on."""
        rows = [(name, f"{one.median:.3g}", f"{one.least:.3g}–{one.largest:.3g}", one.unit or "–", one.better)
                for name, one in sorted(self.found.items())]
        return f"Machine: {machine()}\n\n" + table(HEAD, rows)

    def compared(self):
        """Lines that name what became worse than the rounds' differences explain; what cannot be compared is counted."""
        place, last = last_run()
        if not last:
            return [f"No figures to compare with: {os.path.relpath(DOCUMENT, ROOT)} has no table of them."]
        lines, elsewhere, new = [], 0, 0
        for name, one in sorted(self.found.items()):
            other = last.get(name)
            if other is None or (other.unit, other.better) != (one.unit, one.better):
                new += 1
            elif one.unit and place != machine():
                elsewhere += 1
            elif one.is_worse_than(other):
                unit = f" {one.unit}" if one.unit else ""
                lines.append(f"worse: {name}: {one.median:.3g}{unit} ({one.least:.3g}–{one.largest:.3g}), "
                             f"was {other.median:.3g}{unit} ({other.least:.3g}–{other.largest:.3g})")
        count = len(self.found) - elsewhere - new
        lines.append(f"{count} figures compared with docs/performance.md, {len(lines)} worse; {new} are not in its table; "
                     f"{elsewhere} have units and were taken on another machine.")
        return lines


def last_run(path=DOCUMENT):
    r"""The machine and the figures of the document's table; nothing where it has none.

    >>> import tempfile
    >>> figures = Figures()
    >>> figures.record("time over theirs", [0.9, 1.1, 1.0])
    >>> figures.record("start", [5.0], "ms")
    >>> with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
    ...     _ = file.write(f"{HEADING}\n\n{figures.text()}\n\n## Another\n")
    ...     file.flush()
    ...     place, found = last_run(file.name)
    >>> place == machine(), found == figures.found
    (True, True)
    """
    with open(path, encoding="utf-8") as file:
        section = file.read().partition(f"{HEADING}\n")[2].split("\n## ")[0]
    place = re.search(r"^Machine: (.*)$", section, re.MULTILINE)
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        values = re.fullmatch(r"(-?[\d.e+-]+)–(-?[\d.e+-]+)", cells[2]) if len(cells) == len(HEAD) else None
        if values:
            unit = "" if cells[3] == "–" else cells[3]
            found[cells[0]] = Figure(float(cells[1]), float(values[1]), float(values[2]), unit, cells[4])
    return place[1] if place else "", found


FIGURES = Figures()
