# SPDX-License-Identifier: MIT
"""Frames in shared memory: those that an app fills, and pictures that a worker has written."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple, Union

from ._core.memory import Memory, PictureMemory
from ._core.payloads import PictureToAdd
from .errors import refused
from .formats import PIXEL_FORMATS, Layout, Plane, PlaneFormat, fault, fourcc
from .metadata import Color, Rectangle, SideData

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

#: What can be copied into a frame: another image, one buffer with all planes without padding, or one buffer for each plane.
#: Buffers are numpy arrays, bytes, memoryviews and the like.
Source = Union["Image", "Array", bytes, bytearray, memoryview, Sequence[Any]]


class Image:
    """A picture in shared memory."""

    def __init__(self, memory: Memory, pixel_format: str, size: Tuple[int, int], places: Sequence[Plane]) -> None:
        self.memory = memory
        #: Its DRM fourcc.
        self.pixel_format = pixel_format
        self.width, self.height = size
        #: Where its planes are in `memory`.
        self.places = tuple(places)
        # What list methods do is atomic, and sessions of several threads may read one image.
        self._pins: List[None] = []

    @property
    def formats(self) -> Tuple[PlaneFormat, ...]:
        return PIXEL_FORMATS[self.pixel_format]

    @property
    def in_use(self) -> bool:
        """Whether a session still reads it; it must not be written then."""
        return bool(self._pins)

    @property
    def is_writable(self) -> bool:
        """Whether samples may be changed: those of a frame may, those of a decoded picture are the worker's."""
        return self.memory.writable

    @property
    def planes(self) -> Tuple[Array, ...]:
        """The planes as numpy arrays in the shared memory: (rows, columns), or (rows, columns, components).

        The arrays keep the image alive. Those of a decoded picture are read-only, like the memory that they are in (`is_writable`,
        numpy's `flags.writeable`): `copy` them to change samples. Raises ModuleNotFoundError without numpy: `tobytes` and `fill` work without it.
        """
        return tuple(self._plane(number) for number in range(len(self.places)))

    def _plane(self, number: int) -> Array:
        try:
            import numpy
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
            raise ModuleNotFoundError(
                "planes are numpy arrays, and numpy is not installed (pip install 'hwdaemon[numpy]'); without it, tobytes() "
                "reads the samples and fill() writes them", name="numpy") from None

        self.check()
        place, form = self.places[number], self.formats[number]
        rows, columns, size = form.rows(self.height), form.columns(self.width), form.sample_size
        shape: Tuple[int, ...] = (rows, columns)
        strides: Tuple[int, ...] = (place.stride, size * form.components)
        if form.components > 1:
            shape, strides = (*shape, form.components), (*strides, size)
        start = self.memory.array.__array_interface__["data"][0] + place.offset
        return numpy.asarray(_Interface(self, {
            "version": 3, "typestr": form.sample, "shape": shape, "strides": strides,
            "data": (start, not self.memory.writable)}))

    def check(self) -> None:
        """Raises ParameterError if its memory may no longer be used."""

    def check_use(self, target: bool) -> None:
        """Raises ParameterError if a session may not read it or, for a target, write it."""

    def tobytes(self) -> bytes:
        """A copy of all planes without padding, one behind the other."""
        self.check()
        view, parts = self.memory.view, []
        for place, form in zip(self.places, self.formats):
            row = form.row_bytes(self.width)
            parts += [view[start : start + row] for start in _rows(place, form.rows(self.height))]
        return b"".join(parts)

    def fill(self, source: Source) -> None:
        """Copies samples into this image. Raises ParameterError for another size, type of samples or number of planes."""
        if not self.memory.writable:
            raise refused("the image belongs to a worker, or is in a dma-buf that can only be read")
        if self.in_use:
            raise refused("a session still reads the frame")
        for number, data in enumerate(self._split(source)):
            if hasattr(data, "__array_interface__"):
                self._copy_array(number, data)
            else:
                self._copy_bytes(number, data)

    def _split(self, source: Any) -> Sequence[Any]:
        """A source's planes."""
        if isinstance(source, Image):
            if (source.pixel_format, source.width, source.height) != (self.pixel_format, self.width, self.height):
                raise refused(f"{source} does not fit {self}")
            source = source.tobytes()
        if isinstance(source, (list, tuple)):
            if len(source) != len(self.places):
                raise refused(f"{self.pixel_format} has {len(self.places)} planes, not {len(source)}")
            return source
        if len(self.places) == 1:
            return [source]
        data = _flat(source)
        sizes = Layout(self.pixel_format, self.width, self.height, self.places, 0).packed_sizes
        if len(data) != sum(sizes):
            raise refused(f"{self} has {sum(sizes)} bytes without padding, not {len(data)}")
        return [data[sum(sizes[:number]) : sum(sizes[: number + 1])] for number in range(len(sizes))]

    def _copy_array(self, number: int, data: Any) -> None:
        import numpy

        target, array = self._plane(number), numpy.asarray(data)
        if array.dtype != target.dtype:
            raise refused(f"plane {number} of {self.pixel_format} has samples of type {target.dtype}, not {array.dtype}")
        if array.size != target.size:
            raise refused(f"plane {number} of {self} has the shape {target.shape}, not {array.shape}")
        numpy.copyto(target, array.reshape(target.shape))

    def _copy_bytes(self, number: int, data: Any) -> None:
        place, form, flat = self.places[number], self.formats[number], _flat(data)
        row, rows, target = form.row_bytes(self.width), form.rows(self.height), self.memory.view
        if len(flat) != row * rows:
            raise refused(f"plane {number} of {self} has {row * rows} bytes, not {len(flat)}")
        if place.stride == row:
            target[place.offset : place.offset + row * rows] = flat
            return
        for line, start in enumerate(_rows(place, rows)):
            target[start : start + row] = flat[line * row : (line + 1) * row]

    def pin(self) -> None:
        """Keeps the memory while a session reads it."""
        self._pins.append(None)

    def unpin(self) -> None:
        self._pins.pop()

    def __str__(self) -> str:
        return f"{self.pixel_format} of {self.width}x{self.height}"


class _Interface:
    """What numpy makes an array of; the array refers to it, and so to the image."""

    def __init__(self, owner: Image, interface: Any) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def _rows(place: Plane, count: int) -> range:
    return range(place.offset, place.offset + place.stride * count, place.stride)


def _flat(data: Any) -> memoryview:
    view = memoryview(data)
    return view.cast("B") if view.c_contiguous else memoryview(view.tobytes())


class Frame(Image):
    """A frame that an app fills; its memory is used again once nothing refers to the frame and no session reads it."""

    def __init__(self, memory: Memory, layout: Layout, start: int, free: Callable[[], None]) -> None:
        super().__init__(memory, layout.pixel_format, (layout.width, layout.height), layout.at(start))
        self._free = free

    def __del__(self) -> None:
        free = getattr(self, "_free", None)
        if free is not None:
            free()


class DMABufFrame(Frame):
    """A picture in a dma-buf of the app's, which sessions read or write in its place; needs the feature `dmabufs`.

    Pass it as a frame to encode or convert, or as the target of `TransferSession.submit`. The daemon checks it with its first use:
    what cannot be imported raises StatusError with what can, and the session continues. `fill`, `tobytes` and `planes` access the
    dma-buf through a mapping, which is read-only where the descriptor of a source is; the app puts DMA_BUF_IOCTL_SYNC around them where
    a device uses it as well.
    """

    def __init__(
        self, descriptor: int, pixel_format: str, size: Tuple[int, int], places: Sequence[Plane], *, modifier: int = 0,
        target: bool = False
    ) -> None:
        """Describes a picture.

        - descriptor: the dma-buf's, which is duplicated.
        - pixel_format: a name that is a DRM fourcc.
        - size: width and height in luma samples.
        - places: the planes, in the format's order.
        - modifier: DRM's format modifier; daemons import linear pictures, 0.
        - target: whether frames are written to it instead of read from it.

        Raises OSError for a descriptor that cannot be mapped, ParameterError for planes that are not in it.
        """
        name = fourcc(pixel_format)
        picture = PictureToAdd(
            0, int.from_bytes(name.encode(), "little"), size[0], size[1], 2 if target else 1, modifier,
            [(0, place.stride, place.offset) for place in places])
        memory = PictureMemory(descriptor, picture)
        reason = fault(name, size[0], size[1], places, memory.size)
        if reason:
            raise refused(reason)
        super().__init__(memory, Layout(name, size[0], size[1], tuple(places), memory.size), 0, lambda: None)
        self._is_target = memory.is_target

    def check_use(self, target: bool) -> None:
        if self._is_target != target:
            raise refused("the picture is a source, made without target=True" if target else "the picture is a target, not a source")


class Picture(Image):
    """A decoded picture. Its samples are the worker's memory: a session has few, so release or drop pictures soon."""

    def __init__(self, image: Tuple[Memory, str, Tuple[int, int], Sequence[Plane]], release: Callable[[], None]) -> None:
        super().__init__(*image)
        self._give_back: Optional[Callable[[], None]] = release
        self._released = False
        #: The number of its packet, as `decode` returned it.
        self.frame = 0
        self.pts: Optional[int] = None
        self.duration = 0
        self.is_sync = False
        #: The picture, or one that it refers to, was damaged.
        self.is_damaged = False
        #: Decoded in hardware.
        self.is_hardware = False
        #: Side data did not fit their message.
        self.lacks_side_data = False
        #: Alpha comes from the stream; it is premultiplied; the stream has alpha, but this picture's is missing.
        self.has_alpha = self.is_premultiplied = self.is_alpha_missing = False
        #: Mapped by its Dolby Vision RPU (AppliesPerFrameHDRDisplayMetadata).
        self.is_rpu_applied = False
        self.color = Color()
        #: Bits of a coded sample.
        self.coded_bit_depth = 0
        #: The part to show.
        self.clean_aperture = Rectangle(0, 0, self.width, self.height)
        #: Width and height of a sample, if specified.
        self.aspect_ratio: Optional[Tuple[int, int]] = None
        self.side_data: Tuple[SideData, ...] = ()

    def release(self) -> None:
        """Returns the memory to the worker, at the latest when no session reads it; arrays of it must not be used then."""
        self._released = True
        if not self.in_use and self._give_back is not None:
            give_back, self._give_back = self._give_back, None
            give_back()

    def unpin(self) -> None:
        super().unpin()
        if self._released:
            self.release()

    def check(self) -> None:
        if self._released:
            raise refused("the picture was released")

    def __del__(self) -> None:
        if getattr(self, "_give_back", None) is not None:
            self._pins.clear()
            self.release()
