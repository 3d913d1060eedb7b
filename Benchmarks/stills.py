# SPDX-License-Identifier: GPL-2.0-or-later
"""HEIC pictures: 12 megapixels in tiles of 512 against the x265 CLI and libheif's programs, and a part of a gigapixel picture.

HEIF_ENC and HEIF_DEC name libheif's programs of a version with --cut-tiles (1.23), not the scripts that pip makes of them: those start
Python first. Without them only x265 is compared.
"""
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time

from common import BIN, ROUNDS, SECONDS, Daemon, interleaved, median_ratio, ratios, run, table, timed
from figures import FIGURES

WIDTH, HEIGHT, TILE, QP = 4032, 3024, 512, 26
COLUMNS, ROWS = -(-WIDTH // TILE), -(-HEIGHT // TILE)
# The picture of the region: 63x178 tiles.
GIGAPIXEL = (91000, 32000)
REGION = "1000x1000+45000+16000"


def libheif(name):
    """One of libheif's programs, of a version that cuts tiles; None without it."""
    path = os.environ.get(name.upper().replace("-", "_")) or shutil.which(name)
    if not path:
        return None
    version = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.decode()
    found = re.search(r"(\d+)\.(\d+)", version)
    return path if found and (int(found[1]), int(found[2])) >= (1, 23) else None


def pictures(folder):
    """A picture of 12 megapixels, and its tiles one after another, as Y4M."""
    whole, tiles = (os.path.join(folder, name) for name in ("still.y4m", "tiles.y4m"))
    # Not as smooth as a test card, and not noise alone.
    graph = f"testsrc2=size={WIDTH}x{HEIGHT}:rate=1,noise=alls=12:allf=t,gblur=sigma=1"
    run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", graph, "-frames:v", "1", "-pix_fmt", "yuvj420p", "-strict", "-1", "-y", whole])
    padded = f"pad={COLUMNS * TILE}:{ROWS * TILE}"
    cut = f"{padded},untile={COLUMNS}x{ROWS}"
    run(["ffmpeg", "-v", "error", "-i", whole, "-vf", cut, "-pix_fmt", "yuvj420p", "-strict", "-1", "-y", tiles])
    return whole, tiles


def encoding(folder, whole, tiles):
    """Rows of the encoders; each round has its own ratio."""
    still = os.path.join(folder, "still.heic")
    ours = [f"{BIN}/hwctl", "encode", "--hardware", "off", "--preset", "medium", "--qp", str(QP), "--thumbnail", "0", whole, still]
    x265 = ["x265", "--log-level", "error", "--no-progress", "--preset", "medium", "--keyint", "1", "--bframes", "0",
            "--rc-lookahead", "0", "--scenecut", "0", "--qp", str(QP), "--ipratio", "1", "--no-info", "--input", tiles, "-o",
            os.path.join(folder, "tiles.hevc")]
    rows = []
    sides = [("x265 CLI, the same tiles in one session", x265, "≤ 1.05")]
    heif = libheif("heif-enc")
    if not heif:
        FIGURES.skip("time of a HEIC encode, beside heif-enc", "HEIF_ENC names no heif-enc of 1.23 or later")
    else:
        theirs = [heif, "-e", "x265", "-p", "preset=medium", "--cut-tiles", str(TILE), "-o",
                  os.path.join(folder, "theirs.heic"), whole]
        # Its default is a rate factor of 25, which is a lower QP of key frames than ours.
        sides.append(("heif-enc --cut-tiles 512", theirs + ["-q", "50"], "≤ 0.75"))
        quantizer = ["-p", f"x265:qp={QP}", "-p", "x265:ipratio=1"]
        sides.append((f"heif-enc --cut-tiles 512 at QP {QP}", theirs + quantizer, "–"))
    for name, theirs, goal in sides:
        wall, cpu = interleaved((ours, theirs), seconds=SECONDS)
        FIGURES.record(f"time of a HEIC encode, beside {name}", ratios(wall))
        rows.append((f"encode, against {name}", f"{statistics.median(wall[0]):.2f} s", f"{statistics.median(wall[1]):.2f} s",
                     f"{median_ratio(wall):.2f}", f"{median_ratio(cpu):.2f}", goal))
    return rows, still, ours, x265


def as_bt601(still):
    """A copy of a picture whose colr box says BT.601: heif-dec converts other matrices, which is a third of its time."""
    with open(still, "rb") as file:
        data = file.read()
    box = b"nclx" + struct.pack(">HHHB", 1, 13, 1, 0x80)
    if data.count(box) != 1:
        sys.exit(f"{still}: its colors are not those that were expected")
    path = still.replace(".heic", "-601.heic")
    with open(path, "wb") as file:
        file.write(data.replace(box, b"nclx" + struct.pack(">HHHB", 1, 13, 6, 0x80)))
    return path


def decoding(folder, daemon, still):
    """Rows of the decoders, with a daemon that runs already; their samples must be the same."""
    rows = []
    heif = libheif("heif-dec")
    if not heif:
        FIGURES.skip("time of a HEIC decode", "HEIF_DEC names no heif-dec of 1.23 or later")
    else:
        still, outputs = as_bt601(still), [os.path.join(folder, name) for name in ("ours.yuv", "theirs.y4m")]
        ours = ["env", f"HWDAEMON_SOCKET={daemon.socket}", f"{BIN}/hwctl", "decode", still, outputs[0]]
        theirs = [heif, still, outputs[1]]
        # The CPU time of a worker is the daemon's.
        wall, _ = interleaved((ours, theirs), seconds=SECONDS / 2)
        with open(outputs[0], "rb") as first, open(outputs[1], "rb") as second:
            if first.read() != second.read().split(b"FRAME\n", 1)[1]:
                sys.exit("hwctl and heif-dec decode different samples")
        FIGURES.record("time of a HEIC decode, beside heif-dec", ratios(wall))
        rows.append(("decode to .yuv, against heif-dec", f"{statistics.median(wall[0]):.2f} s",
                     f"{statistics.median(wall[1]):.2f} s", f"{median_ratio(wall):.2f}", "–", "≤ 1.00"))
    return rows


def box(kind, body):
    return struct.pack(">I4s", len(body) + 8, kind) + body


def children(data, start, end):
    """The boxes of a part of a file: type, first and last byte of the body."""
    found = []
    while start + 8 <= end:
        size, kind = struct.unpack(">I4s", data[start:start + 8])
        found.append((kind, start + 8, start + size))
        start += size
    return found


class Source:
    """A picture in tiles that hwctl wrote: its tiles, and the properties that they share."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        meta = next(place for kind, *place in children(data, 0, len(data)) if kind == b"meta")
        parts = {kind: place for kind, *place in children(data, meta[0] + 4, meta[1])}
        properties = children(data, *next(place for kind, *place in children(data, *parts[b"iprp"]) if kind == b"ipco"))
        self.properties = {kind: data[start:end] for kind, start, end in reversed(properties)}
        start = parts[b"iloc"][0] + 8
        self.tiles = []
        for index in range(COLUMNS * ROWS):
            offset, length = struct.unpack(">II", data[start + 16 * index + 8:start + 16 * index + 16])
            self.tiles.append(data[offset:offset + length])


def grid_items(source, width, height):
    """The boxes of a grid's items without their places, the grid's description, and the number of tiles."""
    columns, rows = -(-width // TILE), -(-height // TILE)
    count = columns * rows
    large = max(width, height) > 65535
    grid = bytes([0, int(large), rows - 1, columns - 1]) + struct.pack(">II" if large else ">HH", width, height)
    body = source.properties
    ipco = b"".join(box(kind, payload) for kind, payload in (
        (b"hvcC", body[b"hvcC"]), (b"ispe", struct.pack(">III", 0, TILE, TILE)), (b"colr", body[b"colr"]),
        (b"ispe", struct.pack(">III", 0, width, height)), (b"pixi", body[b"pixi"])))
    ipma = struct.pack(">II", 0, count + 1)
    ipma += b"".join(struct.pack(">HB3B", item, 3, 0x81, 2, 3) for item in range(1, count + 1))
    ipma += struct.pack(">HB3B", count + 1, 3, 4, 3, 5)
    iinf = b"".join(box(b"infe", struct.pack(">BBHHH", 2, 0, 1, item, 0) + b"hvc1\0") for item in range(1, count + 1))
    iinf += box(b"infe", struct.pack(">BBHHH", 2, 0, 0, count + 1, 0) + b"grid\0")
    dimg = struct.pack(">HH", count + 1, count) + struct.pack(f">{count}H", *range(1, count + 1))
    inner = box(b"hdlr", b"\0" * 8 + b"pict" + b"\0" * 13) + box(b"pitm", struct.pack(">IH", 0, count + 1))
    inner += box(b"iinf", struct.pack(">IH", 0, count + 1) + iinf) + box(b"iref", b"\0" * 4 + box(b"dimg", dimg))
    inner += box(b"iprp", box(b"ipco", ipco) + box(b"ipma", ipma)) + box(b"idat", grid)
    return inner, grid, count


def write_grid(path, source, width, height, order):
    """Writes a grid; `order` returns a tile of the source for the index of a place and the number of columns."""
    inner, grid, count = grid_items(source, width, height)

    def head(places):
        iloc = struct.pack(">IBBH", 1 << 24, 0x44, 0, count + 1)
        for item, (offset, length) in enumerate(places, 1):
            iloc += struct.pack(">HHHHII", item, 0, 0, 1, offset, length)
        iloc += struct.pack(">HHHHII", count + 1, 1, 0, 1, 0, len(grid))
        return box(b"ftyp", b"heic\0\0\0\0mif1heic") + box(b"meta", b"\0" * 4 + inner + box(b"iloc", iloc))

    size, places, position = len(head([(0, 0)] * count)) + 8, [], 0
    for tile in source.tiles:
        places.append((size + position, len(tile)))
        position += len(tile)
    columns = -(-width // TILE)
    with open(path, "wb") as file:
        file.write(head([places[order(index, columns)] for index in range(count)]) + box(b"mdat", b"".join(source.tiles)))
    return path


def gigapixel(folder, still):
    """A grid of 11,214 tiles, whose places share the bytes of the 48 tiles of a picture.

    Returns the file, and one with the tiles of the region alone.
    """
    source = Source(still)
    number = len(source.tiles)
    large = write_grid(os.path.join(folder, "gigapixel.heic"), source, *GIGAPIXEL, lambda index, _: index % number)
    # The region's 9 tiles, in 3 columns.
    columns = -(-GIGAPIXEL[0] // TILE)
    first = 16000 // TILE * columns + 45000 // TILE
    small = write_grid(os.path.join(folder, "part.heic"), source, 3 * TILE, 3 * TILE,
                       lambda index, _: (first + index // 3 * columns + index % 3) % number)
    return large, small


def peak_while(command, socket, measure):
    """The highest number that `measure` returns for a command's process while that runs with a daemon."""
    process = subprocess.Popen(["env", f"HWDAEMON_SOCKET={socket}", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, measure(process.pid))
        time.sleep(0.002)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {process.returncode}")
    return peak


def peak_resident(pids):
    """The highest resident size so far of any of the processes, in KiB."""
    peak = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status") as status:
                peak = max([peak] + [int(line.split()[1]) for line in status if line.startswith("VmHWM:")])
        except OSError:
            pass
    return peak


def memory(encode, x265, part, alone, folder):
    """Rows of the workers' memory, with a daemon that starts no worker before its session: each worker is the session's."""
    with Daemon(folder, "SpareWorkers=0") as daemon:
        encoders, decoders, theirs, whole = [], [], [], []
        for _ in range(ROUNDS):
            encoders.append(peak_while(encode, daemon.socket, lambda _: peak_resident(daemon.workers("hwdaemon-encode"))) / 1024)
            theirs.append(timed(x265)[2] / 1024)
            for command, found in ((part, decoders), (alone, whole)):
                found.append(peak_while(
                    command, daemon.socket, lambda pid: shared_memory([pid] + daemon.workers("hwdaemon-decode"))) / 1024)
    FIGURES.record("memory of a HEIC encode's worker", ratios((encoders, theirs)))
    FIGURES.record("memory for a region of a gigapixel picture", ratios((decoders, whole)))
    return [("encode: peak of the worker", f"{max(encoders):.0f} MiB", "–", "–", "–", "≤ 61 MiB (64 MB)"),
            ("region: hwctl and its worker, sum of Pss", f"{max(decoders):.0f} MiB", "–", "–", "–", "≤ 66 MiB (70 MB)")]


def shared_memory(pids):
    """The sum of the proportional set sizes of processes, in KiB."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as rollup:
                total += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
        except (OSError, StopIteration):
            pass
    return total


def region(folder, daemon, still):
    """The row of the time of a part of a gigapixel picture, against a picture of its tiles alone; and both commands."""
    large, small = gigapixel(folder, still)
    output = os.path.join(folder, "region.yuv")
    start, decode = ["env", f"HWDAEMON_SOCKET={daemon.socket}"], [f"{BIN}/hwctl", "decode"]
    part, whole = decode + ["--region", REGION, large, output], decode + [small, output]
    wall, _ = interleaved((start + part, start + whole), seconds=SECONDS / 2)
    FIGURES.record("time of a region of a gigapixel picture", ratios(wall))
    return [("region of 1000x1000 of 91,000x32,000, against its 9 tiles alone", f"{statistics.median(wall[0]):.3f} s",
             f"{statistics.median(wall[1]):.3f} s", f"{median_ratio(wall):.2f}", "–", "≤ 2")], part, whole


def stills(folder):
    """12 megapixels in tiles of 512, 8 bits, preset medium, QP 26, all in software."""
    whole, tiles = pictures(folder)
    rows, still, encode, x265 = encoding(folder, whole, tiles)
    with Daemon(folder) as daemon:
        rows += decoding(folder, daemon, still)
        times, part, alone = region(folder, daemon, still)
    rows += times + memory(encode, x265, part, alone, folder)
    return "HEIC, 12 megapixels in 48 tiles of 512x512, preset medium, QP 26, in software:\n\n" + table(
        ["what", "hwctl", "other", "time", "CPU time", "goal"], rows)
