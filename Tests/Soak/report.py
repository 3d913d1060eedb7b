# SPDX-License-Identifier: GPL-2.0-or-later
"""What a soak test found: lines with their limits, as text and JSON, and a picture of memory and latency."""
import json
from pathlib import Path


def quantile(values, part):
    """The value below which `part` of the others lie; None of nothing."""
    return sorted(values)[min(int(part * len(values)), len(values) - 1)] if values else None


def slope(points):
    """Least squares: units of y for one of x; 0 for fewer than three points."""
    if len(points) < 3:
        return 0.0
    middle = [sum(values) / len(points) for values in zip(*points)]
    square = sum((x - middle[0]) ** 2 for x, _ in points)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) / square if square else 0.0


class Report:
    """Lines: what was measured, the value, the limit, and whether it holds; None where it is not checked."""

    def __init__(self, title, timed="Create"):
        """`timed`: what the latencies are of, as pairs of sessions or seconds so far, and seconds."""
        self.title, self.timed = title, timed
        self.lines, self.samples, self.latencies = [], [], []

    def add(self, name, value, limit="", holds=None):
        self.lines.append({"name": name, "value": value, "limit": limit, "holds": holds})

    @property
    def failed(self):
        return [line for line in self.lines if line["holds"] is False]

    def text(self):
        words = {True: "ok", False: "FAILED", None: ""}
        rows = [(line["name"], f"{line['value']}", line["limit"], words[line["holds"]]) for line in self.lines]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        body = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + f"  {row[3]}" for row in rows]
        return "\n".join([self.title, *(line.rstrip() for line in body)]) + "\n"

    def write(self, folder):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "soak.txt").write_text(self.text(), encoding="utf-8")
        (folder / "soak.json").write_text(json.dumps(
            {"schema": 1, "title": self.title, "lines": self.lines, "samples": self.samples}, indent=1), encoding="utf-8")
        (folder / "soak.svg").write_text(self.picture(), encoding="utf-8")

    def picture(self):
        """Two panels: the broker's memory, and how long something took, by sessions so far or seconds."""
        memory = [(sample["at"], sample["rss_kib"] / 1024) for sample in self.samples]
        # A point for each hundredth of the run: the median and the slowest hundredth.
        size = max(1, len(self.latencies) // 100)
        groups = [self.latencies[first:first + size] for first in range(0, len(self.latencies), size)]
        middle = [(group[0][0], 1000 * quantile([value for _, value in group], 0.5)) for group in groups]
        slow = [(group[0][0], 1000 * quantile([value for _, value in group], 0.99)) for group in groups]
        return "\n".join([
            '<svg xmlns="http://www.w3.org/2000/svg" width="760" height="460" font-family="sans-serif" font-size="12">',
            '<rect width="760" height="460" fill="white"/>', f'<text x="60" y="20">{self.title}</text>',
            panel(40, "broker's memory, MiB", [("#1b6ca8", memory)]),
            panel(250, f"{self.timed}, ms: median, slowest hundredth", [("#1b6ca8", middle), ("#c0392b", slow)]), "</svg>", ""])


def panel(top, name, curves):
    """One diagram of 640 x 160 with its axes; curves are colors and points."""
    points = [point for _, curve in curves for point in curve] or [(0, 0)]
    right, high = max(x for x, _ in points) or 1, max(y for _, y in points) * 1.1 or 1
    parts = [
        f'<path d="M60 {top + 10}V{top + 170}H700" fill="none" stroke="black"/>',
        f'<text x="64" y="{top + 8}">{name}</text>', f'<text x="690" y="{top + 186}" text-anchor="end">{right:g}</text>',
        f'<text x="54" y="{top + 20}" text-anchor="end">{high:.3g}</text>', f'<text x="54" y="{top + 170}" text-anchor="end">0</text>']
    for color, curve in curves:
        if curve:
            path = " ".join(f"{60 + 640 * x / right:.1f},{top + 170 - 160 * y / high:.1f}" for x, y in curve)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{color}"/>')
    return "\n".join(parts)
