#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of a run. Their list is the table of docs/performance.md, which has what each is compared with, its goal and the last result.

Each figure is a ratio of what something costs to what its peer costs in the same run, so that less is better. As a program: checks that each
line of the table has code that records it, and the code its line.
"""
import ast
import glob
import os
import re
import statistics
import sys
from typing import NamedTuple, Optional

from common import ROOT, ROUNDS, table

DOCUMENT = os.path.join(ROOT, "docs/performance.md")
HEADING = "## Figures of `make bench`"
HEAD = ["part", "figure", "over", "median", "least–largest", "goal"]
UNMEASURED = ("not measured", "–")
# A figure with a single value is worse only beyond this share, by which a machine's speed varies.
VARIATION = 0.1


class Figure(NamedTuple):
    """A figure's rounds, from the least to the largest."""
    median: float
    least: float
    largest: float

    @staticmethod
    def of(rounds):
        values = list(rounds)
        if len(values) == 1:
            margin = abs(values[0]) * VARIATION
            return Figure(values[0], values[0] - margin, values[0] + margin)
        return Figure(statistics.median(values), min(values), max(values))

    def is_worse_than(self, other):
        """Whether each one's median is above the other's rounds.

        >>> before = Figure.of([1.00, 1.02, 1.04])
        >>> [Figure.of(rounds).is_worse_than(before) for rounds in ([1.03, 1.05, 1.06], [1.01, 1.05, 1.06], [0.9, 0.9, 0.9])]
        [True, False, False]
        >>> [Figure.of([one]).is_worse_than(Figure.of([1.0])) for one in (1.05, 1.2)]
        [False, True]
        """
        return self.median > other.largest and other.median < self.least

    def cells(self):
        return (f"{self.median:.3g}", f"{self.least:.3g}–{self.largest:.3g}")


class Line(NamedTuple):
    """A line of the table: what a figure is, and the result of the last run."""
    part: str
    peer: str
    figure: Optional[Figure]
    goal: str

    def limit(self):
        """The largest value that reaches the goal; nothing without a goal."""
        return float(self.goal.removeprefix("≤ ")) if self.goal != "–" else None


class Figures:
    """What the parts of a run record, and why some figures are missing."""

    def __init__(self, lines):
        self.lines = lines
        self.found = {}
        self.reasons = {}

    def record(self, name, rounds):
        """Keeps a figure's rounds; a single one is taken to vary by 10 %.

        More values than rounds are those of a round's runs, whose median is the round's.

        >>> figures = Figures({})
        >>> figures.record("time", [1.0, 9.0, 1.2] * ROUNDS)
        >>> figures.found["time"]
        Figure(median=1.2, least=1.2, largest=1.2)
        """
        values = list(rounds)
        if len(values) > ROUNDS:
            values = [statistics.median(values[len(values) * index // ROUNDS:len(values) * (index + 1) // ROUNDS])
                      for index in range(ROUNDS)]
        self.found[name] = Figure.of(values)

    def skip(self, name, reason):
        """Says why a figure, or each one whose name begins so, is not measured."""
        self.reasons[name] = reason

    def goal(self, name):
        return self.lines[name].goal if name in self.lines else "–"

    def _reason(self, name):
        return next((reason for start, reason in self.reasons.items() if name.startswith(start)), None)

    def text(self, parts):
        """The table's lines of these parts, with the figures of the run; a line that the run left out keeps its last result."""
        rows = []
        for name, line in self.lines.items():
            if line.part in parts:
                figure = self.found.get(name, line.figure)
                cells = figure.cells() if figure else UNMEASURED
                rows.append((line.part, name, line.peer, *cells, line.goal))
        return table(HEAD, rows)

    def differences(self, parts):
        """Lines about figures that the table lacks, and about lines without a figure and without a reason.

        >>> figures = Figures({name: Line("part", "theirs", None, "–") for name in ("first", "second", "third, a", "third, b")})
        >>> figures.record("first", [1.0]); figures.record("other", [1.0]); figures.skip("third", "no program")
        >>> figures.differences(["part"])
        ['not in the table of docs/performance.md: other', 'not measured: second']
        """
        unknown = [f"not in the table of docs/performance.md: {name}" for name in self.found if name not in self.lines]
        return unknown + [f"not measured: {name}" for name, line in self.lines.items()
                          if line.part in parts and name not in self.found and not self._reason(name)]

    def compared(self, parts, is_quick=False):
        """Lines about what became worse than the rounds' differences explain, what misses its goal, and what was left out.

        A quick run's figures are not compared: its rounds are few and its clips short, so that figures vary more.
        """
        worse, missed, skipped, new = [], [], [], 0
        for name, line in self.lines.items():
            if line.part not in parts:
                continue
            one = self.found.get(name)
            if one is None:
                if self._reason(name):
                    skipped.append(f"left out: {name}: {self._reason(name)}")
                continue
            if line.figure is None:
                new += 1
            elif one.is_worse_than(line.figure):
                was, now = (f"{cells[0]} ({cells[1]})" for cells in (line.figure.cells(), one.cells()))
                worse.append(f"worse: {name} over {line.peer}: {now}, was {was}")
            if line.limit() is not None and one.median > line.limit():
                missed.append(f"goal missed: {name} over {line.peer}: {one.median:.3g}, goal {line.goal}")
        if is_quick:
            return skipped + [f"{len(self.found)} figures of a quick run, which are not compared; {len(skipped)} left out."]
        known = sum(name in self.lines for name in self.found)
        return worse + missed + skipped + [f"{known} figures: {known - new} compared with docs/performance.md, {len(worse)} worse; "
                                           f"{new} measured for the first time; {len(missed)} miss their goals; {len(skipped)} left out."]

    def write(self, machine, path=DOCUMENT):
        """Replaces the document's table, and the line that names the machine. Lines that the run did not measure keep their results.

        >>> import tempfile
        >>> figures = Figures({"time": Line("part", "theirs", None, "≤ 1.1")})
        >>> figures.record("time", [0.9, 1.2, 1.0])
        >>> with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
        ...     _ = file.write("before" + chr(10) + HEADING + chr(10) * 2 + "Machine: none" + chr(10) * 2
        ...                    + Figures(figures.lines).text(["part"]) + chr(10) + "after")
        ...     file.flush()
        ...     figures.write("a computer", file.name)
        ...     found = lines(file.name)
        ...     with open(file.name) as again: text = again.read()
        >>> found["time"], found["time"].limit()
        (Line(part='part', peer='theirs', figure=Figure(median=1.0, least=0.9, largest=1.2), goal='≤ 1.1'), 1.1)
        >>> text.startswith("before"), "Machine: a computer" in text, text.endswith("after")
        (True, True, True)
        """
        with open(path, encoding="utf-8") as file:
            before, heading, after = file.read().partition(HEADING + "\n")
        section, *rest = re.split(r"(?=^## )", after, maxsplit=1, flags=re.MULTILINE)
        section = re.sub(r"^Machine: .*$", lambda _: f"Machine: {machine}", section, flags=re.MULTILINE)
        rows = self.text({line.part for line in self.lines.values()}) + "\n"
        section = re.sub(r"(^\|.*\n)+", lambda _: rows, section, count=1, flags=re.MULTILINE)
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + heading + section + "".join(rest))


def machine():
    """The processor and the number of cores."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    except OSError:
        model = None
    return f"{model[1].strip() if model else 'unknown processor'}, {os.cpu_count()} cores"


def documented_machine(path=DOCUMENT):
    """The machine that the document names."""
    with open(path, encoding="utf-8") as file:
        return re.search(r"^Machine: (.*)$", file.read().partition(HEADING + "\n")[2], re.MULTILINE)[1]


def lines(path=DOCUMENT):
    """The document's table, by the figures' names."""
    with open(path, encoding="utf-8") as file:
        section = file.read().partition(HEADING + "\n")[2].split("\n## ")[0]
    found = {}
    for row in section.splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if not row.startswith("|") or cells == HEAD or set(row) <= set("|-"):
            continue
        if len(cells) != len(HEAD) or cells[1] in found or not re.fullmatch(r"–|≤ [\d.]+", cells[5]):
            sys.exit(f"{os.path.relpath(path, ROOT)}: this line is not one of the table, or its figure has two: {row}")
        values = re.fullmatch(r"(-?[\d.e+-]+)–(-?[\d.e+-]+)", cells[4])
        if not values and tuple(cells[3:5]) != UNMEASURED:
            sys.exit(f"{os.path.relpath(path, ROOT)}: no result: {row}")
        figure = Figure(float(cells[3]), float(values[1]), float(values[2])) if values else None
        found[cells[1]] = Line(cells[0], cells[2], figure, cells[5])
    return found


def recorded():
    """Patterns of the names that the parts' code records, each with its place."""
    found = []
    for path in sorted(glob.glob(os.path.join(ROOT, "Benchmarks/*.py"))):
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for call in ast.walk(tree):
            if (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "record"
                    and isinstance(call.func.value, ast.Name) and call.func.value.id == "FIGURES"):
                name = call.args[0]
                parts = name.values if isinstance(name, ast.JoinedStr) else [name]
                pattern = "".join(re.escape(one.value) if isinstance(one, ast.Constant) else ".*" for one in parts)
                found.append((re.compile(pattern), f"{os.path.basename(path)}:{call.lineno}"))
    return found


def check():
    """Lines about the differences of the table and the code."""
    names, patterns = lines(), recorded()
    wrong = [f"docs/performance.md: no code records {name}" for name in names
             if not any(pattern.fullmatch(name) for pattern, _ in patterns)]
    return wrong + [f"{place}: docs/performance.md has no line for {pattern.pattern}" for pattern, place in patterns
                    if not any(pattern.fullmatch(name) for name in names)]


if __name__ == "__main__":
    sys.exit("\n".join(check()) or None)

FIGURES = Figures(lines())
