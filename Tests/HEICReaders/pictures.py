# SPDX-License-Identifier: GPL-2.0-or-later
"""The HEIC files that `hwctl encode` writes, with the pictures that they must show, and what compares pictures."""
import dataclasses
import json
import os
import subprocess

# The program to test.
HWCTL = os.environ.get("HWCTL") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.build/debug/hwctl")


class Failed(Exception):
    """What a reader gets wrong."""


def run(command, **kwargs):
    """Runs a program for its output.

    Raises Failed with the last line of its errors.
    """
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=300, **kwargs)
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).decode(errors="replace").strip().split("\n")
        raise Failed(f"{os.path.basename(command[0])} ends with {done.returncode}: {lines[-1][:120]}")
    return done


def hwctl(*arguments, socket=None):
    """Runs the program to test, with the daemon at a socket, else with its own."""
    environment = {key: value for key, value in os.environ.items() if key != "HWDAEMON_SOCKET"}
    if socket:
        environment["HWDAEMON_SOCKET"] = socket
    return run([HWCTL, *arguments], env=environment).stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


# As 4:2:0, since readers interpolate chroma differently, and without an odd column and row, which have no chroma of their own.
COLOR = "crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0,format=yuv420p"
ALPHA = "format=rgba,alphaextract,format=gray"
MULTIPLIED = "format=rgba,format=gbrap,premultiply=inplace=1,format=rgb24,"


def psnr(first, second, chain=COLOR, chain_of_second=""):
    """The PSNR in dB of two picture files after a chain of filters."""
    graph = f"[0]{chain}[a];[1]{chain_of_second}{chain}[b];[a][b]psnr"
    errors = run(["ffmpeg", "-nostdin", "-i", first, "-i", second, "-lavfi", graph, "-f", "null", "-"]).stderr.decode()
    found = errors.split("average:")[-1].split()[0]
    return 100.0 if found == "inf" else float(found)


@dataclasses.dataclass
class Picture:
    """One picture of a file: its item, and the file that it was made of."""
    source: str
    item: int = 0
    # Of hwctl's own PNG, in dB.
    quality: float = 0.0
    # Its planes of Y', Cb and Cr, as hwctl decodes them.
    samples: bytes = b""
    # The plane of alpha, as hwctl decodes it.
    alpha: bytes = b""


@dataclasses.dataclass
class Written:
    """A file that hwctl wrote."""
    name: str
    path: str
    size: tuple
    pictures: list
    options: list
    checks: list
    alpha: str = ""
    depth: int = 8
    primary: int = 0
    has_exif: bool = False
    has_depth: bool = False
    has_thumbnail: bool = True
    # Primaries, transfer function, matrix and full range (H.273).
    code_points: tuple = (1, 13, 6, 1)
    # The samples of the cover's thumbnail and the luma of its depth and gain map, as hwctl decodes them.
    thumbnail: bytes = b""
    maps: dict = dataclasses.field(default_factory=dict)
    # The daemon that codes it; None for one of its own, without hardware.
    socket: str = None

    @property
    def is_sequence(self):
        return self.path.endswith(".heics")

    @property
    def cover(self):
        return self.pictures[self.primary]


def make_source(folder, name, size, *, hue=0, alpha=False, jpeg=False):
    """A test card of ffmpeg's, not as sharp."""
    path = os.path.join(folder, name)
    graph = f"testsrc=size={size[0]}x{size[1]}:rate=1,hue=h={hue},gblur=sigma=4"
    if alpha:
        graph += ",format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='128+64*sin(X/40)'"
    pixels = "rgba" if alpha else "yuvj420p" if jpeg else "rgb24"
    run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", graph, "-frames:v", "1", "-pix_fmt", pixels, path])
    return path


def turned_source(folder):
    """A JPEG that lies on its side, with Exif that says so; and the picture upright."""
    lying, upright = make_source(folder, "lying.jpg", (640, 400), jpeg=True), os.path.join(folder, "upright.png")
    run(["exiftool", "-q", "-overwrite_original", "-n", "-Orientation=6", "-Make=Maker", "-ISO=200", lying])
    run(["ffmpeg", "-v", "error", "-y", "-noautorotate", "-i", lying, "-vf", "transpose=1", upright])
    return lying, upright


def encode(written, inputs):
    """Writes a file; then decodes it for what other readers are compared with."""
    report = json.loads(hwctl("encode", "--json", "--quality", "0.7", *written.options, *inputs, written.path, socket=written.socket))
    if report["UsingHardwareAcceleratedVideoEncoder"] != bool(written.socket):
        raise Failed(f"{report['EncoderID']} wrote it")
    if written.is_sequence:
        return describe_sequence(written)
    described = json.loads(hwctl("info", "--json", written.path))["pictures"]
    describe_related(written, described[0])
    items = sorted(picture["item"] for picture in described)
    if len(items) != len(written.pictures):
        raise Failed(f"hwctl info shows {len(items)} pictures")
    for item, picture in zip(items, written.pictures):
        picture.item = item
        describe(written, picture, ["--item", str(item)])
    return written


def describe(written, picture, option):
    stem = os.path.splitext(written.path)[0]
    hwctl("decode", *option, written.path, stem + "-own.png")
    hwctl("decode", *option, written.path, stem + "-own.yuv")
    picture.samples = read(stem + "-own.yuv")
    picture.quality = psnr(stem + "-own.png", picture.source)
    if written.alpha:
        hwctl("decode", *option, "--format", "yuva", written.path, stem + "-own-alpha.yuv")
        picture.alpha = read(stem + "-own-alpha.yuv")[-written.size[0] * written.size[1]:]
        quality = psnr(stem + "-own.png", picture.source, ALPHA)
        if quality < 38:
            raise Failed(f"alpha as hwctl decodes it has {quality:.1f} dB")
    if picture.quality < 38:
        raise Failed(f"the picture as hwctl decodes it has {picture.quality:.1f} dB")


def describe_related(written, info):
    """Decodes the thumbnail and the maps of the cover, and compares them with what they were made of."""
    stem = os.path.splitext(written.path)[0]
    for thumbnail in info["thumbnails"]:
        for ending in ("png", "yuv"):
            hwctl("decode", "--item", str(thumbnail["item"]), written.path, f"{stem}-thumbnail.{ending}")
        written.thumbnail = read(stem + "-thumbnail.yuv")
        scale = f"scale={thumbnail['width']}:{thumbnail['height']}:flags=area,"
        multiplied = MULTIPLIED if written.alpha == "premultiplied" else ""
        quality = psnr(stem + "-thumbnail.png", written.cover.source, COLOR, multiplied + scale)
        if quality < 34:
            raise Failed(f"the thumbnail as hwctl decodes it has {quality:.1f} dB")
    for kind, option in (("depth", "--depth-map"), ("gainmap", "--gain-map")):
        if option in written.options:
            for ending in ("png", "yuv"):
                hwctl("decode", "--aux", kind, written.path, f"{stem}-map.{ending}")
            samples = read(stem + "-map.yuv")
            written.maps[kind] = samples[:len(samples) * 2 // 3]
            quality = psnr(stem + "-map.png", written.options[written.options.index(option) + 1], "format=gray")
            if quality < 38:
                raise Failed(f"the {kind} as hwctl decodes it has {quality:.1f} dB")


def describe_sequence(written):
    for number, picture in enumerate(written.pictures, 1):
        describe(written, picture, ["--frame", str(number)])
    return written


def write_all(folder, hardware=None):
    """Yields each kind of file; hardware is the socket of a daemon that has some."""
    def path(name):
        return os.path.join(folder, name)

    def plain(name, size, options, checks, **more):
        source = make_source(folder, f"{name}.png", size)
        return encode(Written(name, path(f"{name}.heic"), size, [Picture(source)], options, checks, **more), [source])

    deep = ["--profile", "main10", "--primaries", "2020"]
    pq, hlg = (deep + ["--property", f"TransferFunction={transfer}"] for transfer in (16, 18))
    yield plain("single", (400, 300), [], ["--expect-thumb"])
    yield plain("grid-odd", (1367, 901), [], ["--expect-grid", "2x3", "--expect-tile", "512", "--expect-thumb"])
    yield plain("whole-odd", (1001, 601), ["--tile", "0"], ["--expect-grid", "1x1"])
    yield plain("pq-single", (400, 300), pq, ["--expect-thumb"], depth=10, code_points=(9, 16, 9, 1))
    yield plain("pq-grid", (641, 480), pq, ["--expect-grid", "1x2", "--expect-thumb"], depth=10, code_points=(9, 16, 9, 1))
    yield plain("hlg", (640, 480), hlg, ["--expect-grid", "1x2", "--expect-thumb"], depth=10, code_points=(9, 18, 9, 1))
    yield plain("p3", (640, 480), ["--primaries", "p3"], ["--expect-grid", "1x2"], code_points=(12, 13, 6, 1))
    if hardware:
        yield plain("hardware-grid", (1100, 601), [], ["--expect-grid", "2x3", "--expect-tile", "512", "--expect-thumb"], socket=hardware)
    for mode in ("straight", "premultiplied"):
        source = make_source(folder, f"{mode}.png", (701, 301), alpha=True)
        yield encode(Written(f"alpha-{mode}", path(f"{mode}.heic"), (701, 301), [Picture(source)], ["--alpha", mode],
                             ["--expect-alpha", mode], alpha=mode), [source])
    small = make_source(folder, "depth.png", (200, 134))
    yield plain("depth", (600, 400), ["--depth-map", small, "--depth-range", "1.5:4.25"], ["--expect-depth"], has_depth=True)
    yield plain("gain-map", (600, 400), ["--gain-map", small], [])
    lying, upright = turned_source(folder)
    yield encode(Written("turned-exif", path("turned.heic"), (400, 640), [Picture(upright)], ["--exif", "copy"],
                         ["--expect-exif", "--expect-thumb"], has_exif=True), [lying])
    several = [make_source(folder, f"burst-{index}.png", (700, 500), hue=60 * index) for index in range(3)]
    yield encode(Written("burst", path("burst.heic"), (700, 500), [Picture(source) for source in several],
                         ["--burst", "--cover", "2"], ["--expect-grid", "1x2", "--expect-thumb"], primary=1), several)
    several = [make_source(folder, f"sequence-{index}.png", (201, 121), hue=60 * index, alpha=True) for index in range(4)]
    yield encode(Written("sequence", path("sequence.heics"), (201, 121), [Picture(source) for source in several],
                         ["--alpha", "straight", "--frame-rate", "10", "--cover", "3"], [], alpha="straight", primary=2,
                         has_thumbnail=False), several)
    several = [make_source(folder, f"plain-{index}.png", (201, 121), hue=60 * index) for index in range(3)]
    yield encode(Written("sequence-plain", path("plain.heics"), (201, 121), [Picture(source) for source in several],
                         ["--frame-rate", "10"], [], has_thumbnail=False), several)
