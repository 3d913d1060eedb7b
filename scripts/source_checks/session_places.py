# SPDX-License-Identifier: GPL-2.0-or-later
"""The places that create or retry a session: those of the table in docs/architecture.md, and no other."""
import re

from .swift_code import body, code, end_of_group, line_of

HEADER = "| level | creates a session, and again | where |"
# What creates a session at each level, and the folder whose sources may only do so in the place that the table names.
PRIMITIVES = {
    "broker": ("Sources/HWDaemon/Broker", re.compile(r"\bSessionWorker\(")),
    "client": ("Sources/Client/HWClient", re.compile(r"\bupgrade:\s*true\b")),
}
PLACE = re.compile(r"`(\w+)\.(\w+)` in `([\w/+.-]+\.swift)`")


def table(text):
    """Level and place of each row: the type, the function, and the end of the file's path."""
    rows = re.search(rf"^{re.escape(HEADER)}\n\|[-|]+\|\n((?:\|.*\|\n)+)", text, re.MULTILINE)
    for row in rows.group(1).splitlines() if rows else []:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        place = PLACE.fullmatch(cells[-1])
        yield cells[0], place.groups() if place else None


def bodies(text, function):
    """The ranges of a function's bodies in a file's code."""
    for match in re.finditer(rf"\bfunc\s+{function}\s*(?=[<(])", text):
        start = body(text, end_of_group(text, text.find("(", match.end())))
        if start is not None:
            yield range(start, end_of_group(text, start))


def check(document, sources, complain):
    """Complains of what contradicts the table; returns the number of places."""
    for fault in faults(document, sources):
        complain(fault)
    return len(list(table(document)))


def faults(document, sources):
    """What contradicts the table, given the texts of the Swift sources by their paths."""
    rows = list(table(document))
    levels = [level for level, _ in rows]
    if sorted(levels) != sorted(PRIMITIVES):
        yield f"docs/architecture.md's table '{HEADER}' must have a row for each of {', '.join(PRIMITIVES)}, and no other"
    for level, place in rows:
        if level not in PRIMITIVES:
            continue
        if not place:
            yield f"docs/architecture.md: the {level}'s place is not written as `Type.function` in `Path.swift`"
            continue
        yield from faults_of_level(level, place, sources)


def faults_of_level(level, place, sources):
    folder, primitive = PRIMITIVES[level]
    kind, function, ending = place
    paths = [path for path in sources if path.endswith("/" + ending)]
    spans = list(bodies(code(sources[paths[0]]), function)) if len(paths) == 1 else []
    if not spans or not re.search(rf"\b(?:class|struct|enum|actor|extension)\s+{kind}\b", code(sources[paths[0]])):
        yield f"docs/architecture.md: there is no {kind}.{function} in {ending}"
        return
    uses = 0
    for path, text in sources.items():
        if not path.startswith(folder + "/"):
            continue
        for match in primitive.finditer(code(text)):
            uses += 1
            if path != paths[0] or not any(match.start() in span for span in spans):
                yield (f"{path}:{line_of(text, match.start())}: creates a session; only {kind}.{function} may at the level of the "
                       f"{level} (docs/architecture.md)")
    if uses == 0:
        yield f"docs/architecture.md: {kind}.{function} creates no session"
