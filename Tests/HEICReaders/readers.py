# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers that share no code with this project: each returns what it saw of a file, or raises Failed.

A reader is (name, function of a written file and a folder); the function is None where the reader is not installed.
"""
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess

import libheif
from pictures import ALPHA, MULTIPLIED, Failed, psnr, read, run

# In dB. A reader may interpolate chroma in its own way, or repeat it.
TOLERANCE = 3.0
# The least in dB where that is not comparable: of premultiplied pictures, and of odd sizes, over which swscale stretches chroma by half a
# sample; hwctl converts from RGB and to it by swscale.
LEAST = 38.0


def require(condition, text):
    if not condition:
        raise Failed(text)


def compare(image, written, picture):
    """The PSNR of a reader's picture, which may be less than that of hwctl's by the interpolation of chroma only.

    libheif's programs write premultiplied pictures as they are stored; hwctl writes straight ones.
    """
    is_multiplied = written.alpha == "premultiplied"
    quality = psnr(image, picture.source, chain_of_second=MULTIPLIED if is_multiplied else "")
    is_odd = any(side & 1 for side in written.size)
    least = LEAST if is_multiplied or is_odd else picture.quality - TOLERANCE
    require(quality > least, f"{quality} dB, {picture.quality:.1f} dB by hwctl")
    text = f"{quality:.1f} dB"
    if written.alpha:
        quality = psnr(image, picture.source, ALPHA)
        require(quality > LEAST, f"alpha has {quality:.1f} dB")
        text += f", alpha {quality:.1f} dB"
    return text


def heif_info(program):
    """What heif-info says of size, thumbnail, alpha and depth."""
    def reader(written, _):
        text = run([program, written.path]).stdout.decode()
        width, height = written.size
        shown = len(written.pictures) if not written.is_sequence else 1
        require(len(re.findall(rf"^image: {width}x{height} ", text, re.M)) == shown, "the pictures or their size are not shown")
        require(not written.has_thumbnail or "thumbnail: " in text, "no thumbnail")
        require(("alpha channel: yes" in text) == bool(written.alpha), "alpha is not right")
        require(("depth channel: yes" in text) == written.has_depth, "depth is not right")
        # Version 1.15 shows no depth.
        require("bit depth:" not in text or f"bit depth: {written.depth}" in text, "the bit depth is not right")
        return f"{shown} of {width}x{height}"
    return reader


def heif_convert(written, folder):
    """PNG by heif-convert of libheif 1.15."""
    stem = os.path.join(folder, f"{written.name}-convert")
    run(["heif-convert", written.path, stem + ".png"])
    count = len(written.pictures) if not written.is_sequence else 1
    names = [stem + ".png"] if count == 1 else [f"{stem}-{index}.png" for index in range(1, count + 1)]
    pictures = written.pictures if count > 1 else [written.cover]
    return ", ".join(compare(name, written, picture) for name, picture in zip(names, pictures)) or "opens"


def libheif_samples(library):
    """The samples of libheif, which must be hwctl's."""
    def reader(written, _):
        with libheif.File(library, written.path) as file:
            items = file.items()
            pictures = written.pictures if not written.is_sequence else [written.cover]
            require(len(items) == len(pictures), f"{len(items)} pictures")
            for item, picture in zip(items, pictures):
                planes = file.planes(item)
                require(libheif.samples(planes) == picture.samples, f"samples of item {item} differ")
                if written.alpha:
                    require(planes[libheif.ALPHA][3] == picture.alpha, f"alpha of item {item} differs")
                points = file.code_points(item)
                require(points == written.code_points, f"the code points of item {item} are {points}")
            seen = ["samples"] + (["alpha"] if written.alpha else [])
            if not written.is_sequence:
                seen += related_samples(file, items[written.primary], written)
        return f"same {', '.join(seen)}; {'/'.join(map(str, written.code_points[:3]))}"
    return reader


def related_samples(file, item, written):
    """Compares the thumbnail and the maps of a picture; returns what there is."""
    seen = []
    thumbnails = file.related(item, "thumbnail")
    require(len(thumbnails) == int(written.has_thumbnail), f"{len(thumbnails)} thumbnails")
    for planes, _ in thumbnails:
        require(libheif.samples(planes) == written.thumbnail, "samples of the thumbnail differ")
        seen.append("thumbnail")
    for kind, name, urn in (("depth", "depth_image", ""), ("gainmap", "auxiliary_image", "urn:com:apple:photo:2020:aux:hdrgainmap")):
        found = file.related(item, name)
        require(len(found) == int(kind in written.maps), f"{len(found)} pictures of {kind}")
        for planes, theirs in found:
            require(theirs == urn, f"the URN is {theirs}")
            require(planes[0][3] == written.maps[kind], f"samples of {kind} differ")
            seen.append(kind)
    return seen


def pillow(written, folder):
    """PNG by pillow-heif; thumbnail, depth, Exif, the mode of alpha and the primary picture."""
    import pillow_heif
    from PIL import Image
    file = pillow_heif.open_heif(written.path)
    pictures = written.pictures if not written.is_sequence else [written.cover]
    require(len(file) == len(pictures), f"{len(file)} pictures")
    require(written.is_sequence or file.primary_index == written.primary, f"the cover is {file.primary_index}")
    seen = []
    for index, (image, picture) in enumerate(zip(file, pictures)):
        require(image.size == written.size, f"the size is {image.size}")
        require(image.has_alpha == bool(written.alpha), "alpha is not right")
        require(image.premultiplied_alpha == (written.alpha == "premultiplied"), "the mode of alpha is not right")
        path = os.path.join(folder, f"{written.name}-pillow-{index}.png")
        shown = image.to_pillow()
        if shown.mode == "RGBa":
            # PNG of the samples as they are stored.
            shown = Image.frombytes("RGBA", shown.size, shown.tobytes())
        shown.save(path)
        seen.append(compare(path, written, picture))
    cover = file[file.primary_index]
    require(not written.has_thumbnail or cover.info["thumbnails"], "no thumbnail")
    require(bool(cover.info["depth_images"]) == written.has_depth, "depth is not right")
    require(bool(cover.info["exif"]) == written.has_exif, "Exif is not right")
    return ", ".join(seen)


def exiftool(written, _):
    tags = json.loads(run(["exiftool", "-n", "-j", written.path]).stdout)[0]
    require("Warning" not in tags and "Error" not in tags, tags.get("Warning") or tags.get("Error"))
    shown = (tags["ImageWidth"], tags["ImageHeight"])
    # It does not turn the picture.
    require(shown in (written.size, written.size[::-1]) if written.has_exif else shown == written.size, f"the size is {shown}")
    text = "size"
    if not written.is_sequence:
        points = tuple(tags.get(name) for name in ("ColorPrimaries", "TransferCharacteristics", "MatrixCoefficients"))
        require(points == written.code_points[:3], f"the code points are {points}")
        text += f", {'/'.join(map(str, points))}"
    if written.has_exif:
        require((tags.get("Make"), tags.get("ISO"), tags.get("Orientation")) == ("Maker", 200, 1), "Exif is not right")
        text += ", Exif, Orientation 1"
    return text


def part(plane, width, columns, rows):
    """The upper left part of a plane; width and columns in bytes."""
    return b"".join(plane[y * width:y * width + columns] for y in range(rows))


def cropped(samples, size, step):
    """A picture in 4:2:0 without an odd column and row; step is the bytes of a sample."""
    position, result = 0, b""
    for shift in (0, 1, 1):
        across, down = ((side + shift) >> shift for side in size)
        columns, rows = ((side & ~1) >> shift for side in size)
        result += part(samples[position:position + across * down * step], across * step, columns * step, rows)
        position += across * down * step
    return result


def ffmpeg(program):
    """The samples of FFmpeg, which must be hwctl's; it shows an even number of rows and columns."""
    def reader(written, folder):
        def decode(stream, *options, ending="yuv"):
            """A stream, or a grid of tiles as [0:g:NUMBER], as a file."""
            output = os.path.join(folder, f"{written.name}-ffmpeg.{ending}")
            run([program, "-v", "error", "-y", "-i", written.path, "-map", stream, *options, output])
            return output

        listing, step = streams(program, written.path), 2 if written.depth > 8 else 1
        if written.is_sequence:
            # The tracks; pictures have no language.
            tracks = re.findall(r"Stream #(0:\d+)\S*\(und\): Video", listing)
            require(len(tracks) == (2 if written.alpha else 1), f"{len(tracks)} tracks")
            text = sequence(read(decode(tracks[0], "-f", "rawvideo")), written)
            if written.alpha:
                text += alpha_sequence(read(decode(tracks[1], "-f", "rawvideo")), written)
            return text
        # A grid of one tile is a stream, which is not cropped.
        is_grid = "Tile Grid" in listing and written.name != "whole-odd"
        first = "[0:g:%d]" if is_grid else "0:v:%d"
        if written.has_exif:
            # The turned picture, as RGB: FFmpeg turns after it converts.
            return compare(decode(first % 0, "-frames:v", "1", ending="png"), written, written.cover)
        for index, picture in enumerate(written.pictures):
            found = shown_part(read(decode(first % index, "-f", "rawvideo")), written.size, step)
            require(found == cropped(picture.samples, written.size, step), f"samples of picture {index + 1} differ")
        if written.alpha:
            found, (columns, rows) = read(decode("[0:g:1]", "-f", "rawvideo")), (side & ~1 for side in written.size)
            wanted = part(written.cover.alpha, written.size[0], columns, rows)
            require(found[:len(wanted)] == wanted, "alpha differs")
        return "same samples"
    return reader


def shown_part(frame, size, step):
    """The even part of a frame, which FFmpeg shows with an even number of columns and rows: one less, or one of padding more."""
    padded, even = ([side + (side & 1) for side in size], [side & ~1 for side in size])
    for width, height in (padded, even):
        if len(frame) == width * height * 3 // 2 * step:
            position, result = 0, b""
            for shift in (0, 1, 1):
                across, down = width >> shift, height >> shift
                plane = frame[position:position + across * down * step]
                result += part(plane, across * step, (even[0] >> shift) * step, even[1] >> shift)
                position += len(plane)
            return result
    raise Failed(f"a frame has {len(frame)} bytes")


def sequence(frames, written):
    """Compares the frames of the track."""
    count = len(written.pictures)
    require(len(frames) % count == 0, f"{len(frames)} bytes")
    one = len(frames) // count
    for index, picture in enumerate(written.pictures):
        found = shown_part(frames[index * one:(index + 1) * one], written.size, 1)
        require(found == cropped(picture.samples, written.size, 1), f"samples of frame {index + 1} differ")
    return f"same samples, {count} frames"


def alpha_sequence(frames, written):
    """Compares the frames of the track of alpha."""
    count, (columns, rows) = len(written.pictures), (side & ~1 for side in written.size)
    one = len(frames) // count
    for index, picture in enumerate(written.pictures):
        found = shown_part(frames[index * one:(index + 1) * one], written.size, 1)[:columns * rows]
        require(found == part(picture.alpha, written.size[0], columns, rows), f"alpha of frame {index + 1} differs")
    return ", alpha too"


def streams(program, path):
    """What FFmpeg lists of a file; it ends with an error, because it has no output."""
    return subprocess.run([program, "-hide_banner", "-i", path], stderr=subprocess.PIPE, check=False).stderr.decode()


def checker(path):
    """The independent checker of the structure."""
    def reader(written, _):
        done = run(["python3", path, written.path, "--strict", *written.checks]).stdout.decode()
        return f"{done.count('PASS')} rules"
    return reader


def new_ffmpeg():
    """FFmpeg of the imageio-ffmpeg package, which joins tiles; None without it."""
    package = importlib.util.find_spec("imageio_ffmpeg")
    programs = glob.glob(os.path.join(os.path.dirname(package.origin), "binaries", "ffmpeg-*")) if package else []
    return programs[0] if programs else None


def version(command, pattern):
    """What a program says of its version; None where it says nothing."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    found = re.search(pattern, done.stdout.decode(errors="replace"))
    return found[1] if found else None


def versions():
    """The versions of the readers that are installed, by what the columns call them.

    Raises Failed for a version that is not the column's.
    """
    found, (library, program) = {}, (libheif.load(), new_ffmpeg())
    if shutil.which("heif-info") and shutil.which("heif-convert"):
        found["heif-info 1.15"], found["heif-convert 1.15"] = (
            version([name], r"libheif version: ([\d.]+)") for name in ("heif-info", "heif-convert"))
    if library:
        found["libheif 1.23"] = library.heif_get_version().decode()
        found["heif-info 1.23"] = version([f"{libheif.folder()}/bin/heif-info", "--version"], r"^([\d.]+)")
    if importlib.util.find_spec("pillow_heif"):
        import pillow_heif
        found["pillow-heif"] = f"{pillow_heif.__version__} with libheif {pillow_heif.libheif_version()}"
    if shutil.which("exiftool"):
        found["exiftool"] = version(["exiftool", "-ver"], r"([\d.]+)")
    if program:
        found["FFmpeg ≥ 8"] = version([program, "-version"], r"ffmpeg version n?([\d.]+)")
    for name, number in found.items():
        wanted = re.search(r"[\d.]+$", name)
        if not wanted:
            continue
        digits = [int(part) for part in (number or "0").split(".")]
        least = [int(part) for part in wanted[0].split(".")]
        is_right = digits[:1] >= least if "≥" in name else digits[:2] == least
        require(is_right, f"the column {name} needs that version, but {number} is installed")
    return found


def all_readers(checker_path):
    """The readers in the order of the table; the function is None where one is not installed."""
    found = []
    old = shutil.which("heif-info") if shutil.which("heif-convert") else None
    found.append(("heif-info 1.15", old and heif_info(old)))
    found.append(("heif-convert 1.15", old and heif_convert))
    library, place = libheif.load(), libheif.folder()
    found.append(("heif-info 1.23", place and heif_info(f"{place}/bin/heif-info")))
    found.append(("libheif 1.23", library and libheif_samples(library)))
    found.append(("pillow-heif", pillow if importlib.util.find_spec("pillow_heif") else None))
    found.append(("exiftool", shutil.which("exiftool") and exiftool))
    program = new_ffmpeg()
    found.append(("FFmpeg ≥ 8", program and ffmpeg(program)))
    found.append(("check_heic.py", checker(checker_path) if os.path.exists(checker_path) else None))
    return found
