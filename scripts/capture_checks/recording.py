# SPDX-License-Identifier: GPL-2.0-or-later
"""The boxes of a recording (ISO/IEC 14496-12), read without the project's code."""
import subprocess

CONTAINERS = {"moov", "trak", "mdia", "minf", "stbl", "edts", "moof", "traf"}


def boxes(data, start=0, end=None):
    """(type, start, start of the body, end) of each box; the last one may be cut off."""
    end = len(data) if end is None else end
    while start + 8 <= end:
        size, kind = int.from_bytes(data[start:start + 4], "big"), data[start + 4:start + 8].decode("latin1")
        head = 8
        if size == 1:
            size, head = int.from_bytes(data[start + 8:start + 16], "big"), 16
        yield kind, start, start + head, start + size
        start += size


def tree(data, start, end, path=""):
    """(path, start of the body, end) of all boxes below one."""
    for kind, _, body, stop in boxes(data, start, end):
        yield path + kind, body, stop
        if kind in CONTAINERS:
            yield from tree(data, body, stop, f"{path}{kind}/")


def packets(path):
    """The end in seconds of each packet of the video, by its position and its size in the file, where it may be cut off."""
    text = subprocess.run(
        ["ffprobe", "-v", "quiet", "-fflags", "+ignidx", "-select_streams", "v", "-show_entries",
         "packet=pts_time,duration_time,size,pos", "-of", "csv=p=0", path], capture_output=True, text=True).stdout
    rows = [line.rstrip(",").split(",") for line in text.split()]
    return {(int(position), int(size)): float(time) + float(duration) for time, duration, size, position in rows}
