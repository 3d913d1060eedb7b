# SPDX-License-Identifier: GPL-2.0-or-later
"""HEIF files with items that hwctl reads and does not write: AVCI, JPEG, and HEVC of 4:0:0, compared with FFmpeg and libheif."""
import os
import struct

import libheif
from pictures import Failed, hwctl, read, run

SIZE = (320, 240)
# The samples of both chroma planes that hwctl adds to 4:0:0, for a 4:2:0 picture.
NEUTRAL_CHROMA = {"gray": b"\x80" * (SIZE[0] * SIZE[1] // 2), "gray10le": b"\0\x02" * (SIZE[0] * SIZE[1] // 2)}


def box(kind, body):
    return struct.pack(">I4s", len(body) + 8, kind) + body


def still(kind, brand, configuration, data):
    """A file of one coded item (ISO/IEC 23008-12); configuration is a box, or empty."""
    size = box(b"ispe", struct.pack(">III", 0, *SIZE))
    listed = bytes([2, 0x82, 1] if configuration else [1, 1])
    inner = box(b"hdlr", b"\0" * 8 + b"pict" + b"\0" * 13) + box(b"pitm", struct.pack(">IH", 0, 1))
    inner += box(b"iinf", struct.pack(">IH", 0, 1) + box(b"infe", struct.pack(">IHH", 2 << 24, 1, 0) + kind + b"\0"))
    inner += box(b"iprp", box(b"ipco", size + configuration) + box(b"ipma", struct.pack(">IIH", 0, 1, 1) + listed))
    start = box(b"ftyp", brand + b"\0\0\0\0mif1" + brand)

    def head(offset):
        iloc = box(b"iloc", struct.pack(">IBBHHHHII", 0, 0x44, 0, 1, 1, 0, 1, offset, len(data)))
        return start + box(b"meta", b"\0" * 4 + inner + iloc)

    return head(len(head(0)) + 8) + box(b"mdat", data)


def body(kind, data):
    """The body of the first box of a type."""
    offset = data.index(kind)
    size = struct.unpack(">I", data[offset - 4:offset])[0]
    return data[offset + 4:offset - 4 + size]


def code(folder, name, *options):
    """A picture that ffmpeg codes, as a file and as its bytes."""
    path = os.path.join(folder, name)
    run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=size={SIZE[0]}x{SIZE[1]}:rate=1", "-frames:v", "1", *options, path])
    return path, read(path)


def files(folder):
    """Yields the name of a kind of file, its path, a file that FFmpeg reads, and the format of the samples to compare."""
    def write(name, data):
        path = os.path.join(folder, f"{name}.heif")
        with open(path, "wb") as file:
            file.write(data)
        return path

    clip, data = code(folder, "avc.mp4", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-bsf:v", "filter_units=remove_types=6")
    yield "avci", write("avci", still(b"avc1", b"avci", box(b"avcC", body(b"avcC", data)), body(b"mdat", data))), clip, "yuv420p"
    picture, data = code(folder, "picture.jpg", "-c:v", "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj420p")
    yield "jpeg", write("jpeg", still(b"jpeg", b"jpeg", b"", data)), picture, "yuvj420p"
    frame = data.index(b"\xff\xc0")
    yield "jpeg, tables apart", write("tables", still(b"jpeg", b"jpeg", box(b"jpgC", data[:frame]), data[frame:])), picture, "yuvj420p"
    for name, pixels in (("hevc 4:0:0", "gray"), ("hevc 4:0:0, 10 bits", "gray10le")):
        clip, data = code(folder, f"{pixels}.mp4", "-c:v", "libx265", "-pix_fmt", pixels, "-tag:v", "hvc1", "-x265-params",
                          "log-level=error", "-bsf:v", "filter_units=remove_types=39")
        yield name, write(pixels, still(b"hvc1", b"heix", box(b"hvcC", body(b"hvcC", data)), body(b"mdat", data))), clip, pixels


def libheif_text(library, path, ours):
    """How libheif's samples compare, in words."""
    try:
        with libheif.File(library, path) as file:
            found = [file.planes(file.items()[0], color) for color in (None, libheif.VIDEO_RANGE)]
    except Failed as failure:
        return f"refuses it ({failure})"
    if any(libheif.samples(planes) == ours for planes in found):
        return "same samples"
    # Decoders of JPEG round its transform in their own ways, and libheif's widens chroma and narrows it again.
    luma = found[0][0][3]
    most = max(abs(one - other) for one, other in zip(luma, ours))
    if most > 1:
        raise Failed(f"luma differs by {most}")
    return f"luma differs by {most} at most"


def is_same(ours, source, pixels):
    """Whether samples are those of FFmpeg, with neutral chroma in place of none, and as many as a picture has."""
    theirs = run(["ffmpeg", "-v", "error", "-i", source, "-f", "rawvideo", "-pix_fmt", pixels, "-"]).stdout
    theirs += NEUTRAL_CHROMA.get(pixels, b"")
    bytes_per_sample = 2 if pixels.endswith("10le") else 1
    return len(theirs) == SIZE[0] * SIZE[1] * 3 // 2 * bytes_per_sample and ours == theirs


def compare_all(folder):
    """Prints how each file's samples compare with FFmpeg's and libheif's; returns the number of those that differ."""
    library, wrong = libheif.load(), 0
    print("\n| item | FFmpeg (Debian) | libheif 1.23 |\n|---|---|---|")
    for name, path, source, pixels in files(folder):
        output = os.path.join(folder, "crafted.yuv")
        hwctl("decode", path, output)
        ours = read(output)
        first, second = "same samples" if is_same(ours, source, pixels) else "WRONG: the samples differ", "–"
        try:
            if library:
                second = libheif_text(library, path, ours)
        except Failed as failure:
            second = f"WRONG: {failure}"
        wrong += any("WRONG" in text for text in (first, second))
        print(f"| {name} | {first} | {second} |", flush=True)
    return wrong
