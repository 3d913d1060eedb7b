# SPDX-License-Identifier: MIT
"""Shared memory: sealed memfds, mapped for as long as anything refers to them."""
from __future__ import annotations

import fcntl
import mmap
import os
from typing import TYPE_CHECKING, Optional, Sequence, Tuple

from . import payloads

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

MAX_MEMORY = 16 << 30


class Memory:
    """A mapped memfd; its descriptor is closed, and its pages are unmapped, with the last reference."""

    def __init__(self, descriptor: int, size: int, writable: bool) -> None:
        """Takes the descriptor over, also when it raises OSError or ValueError."""
        self.descriptor = descriptor
        self.size = size
        self.writable = writable
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        self.map = mmap.mmap(descriptor, size, mmap.MAP_SHARED, protection)
        self._array: Optional[NDArray[numpy.uint8]] = None

    @classmethod
    def create(cls, size: int) -> Memory:
        """Zero bytes that other processes can rely on: a file that cannot shrink does not raise SIGBUS in them."""
        descriptor = os.memfd_create("hwdaemon-pool", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, size)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            return cls(descriptor, size, writable=True)
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def receive(cls, descriptor: int, size: int) -> Memory:
        """A worker's memory, for reading; takes the descriptor over.

        Raises ValueError, with the fault, unless it is a memfd of at least `size` bytes that cannot shrink.
        """
        try:
            check_memfd(descriptor, size)
            return cls(descriptor, size, writable=False)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                raise ValueError(f"its memory cannot be mapped: {error.strerror}") from None
            raise

    def registration(self, number: int) -> Tuple[int, bytes, Sequence[Memory]]:
        """The message that makes it a pool with this number."""
        return payloads.ADD_POOL, payloads.pack_memory(number, self.size), [self]

    @property
    def view(self) -> memoryview:
        return memoryview(self.map)

    @property
    def array(self) -> NDArray[numpy.uint8]:
        """The bytes as a numpy array."""
        if self._array is None:
            # Imported late: numpy is optional, and takes longer to load than this package.
            import numpy

            self._array = numpy.frombuffer(self.map, numpy.uint8)
        return self._array

    def __del__(self) -> None:
        # A map that could not be made leaves the descriptor with the caller.
        if hasattr(self, "map"):
            os.close(self.descriptor)


class PictureMemory(Memory):
    """A dma-buf of the app's with one picture, whose bytes are mapped for the app."""

    def __init__(self, descriptor: int, picture: payloads.PictureToAdd) -> None:
        """Duplicates the descriptor. Raises OSError where it cannot be mapped."""
        own = os.dup(descriptor)
        try:
            self.is_target = picture.uses == 2
            # A camera's buffer may be one that can only be read.
            can_write = fcntl.fcntl(own, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
            # Nothing else says a dma-buf's size.
            super().__init__(own, os.lseek(own, 0, os.SEEK_END), writable=self.is_target or can_write)
        except BaseException:
            os.close(own)
            raise
        self._picture = picture

    def registration(self, number: int) -> Tuple[int, bytes, Sequence[Memory]]:
        return payloads.ADD_PICTURE, payloads.pack_picture(self._picture._replace(pool=number)), [self]


class Fence(Memory):
    """A duplicate of a sync file's descriptor, to be sent."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = os.dup(descriptor)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


def check_memfd(descriptor: int, size: int) -> None:
    """Raises ValueError unless a descriptor is a memfd of at least `size` bytes that cannot shrink."""
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError:
        raise ValueError("its memory is no memfd") from None
    if not seals & fcntl.F_SEAL_SHRINK:
        raise ValueError("its memory is not sealed against shrinking")
    # The size counts only once the seal was seen: before, the owner could shrink the file.
    if not 0 < size <= min(MAX_MEMORY, os.fstat(descriptor).st_size):
        raise ValueError(f"its memory does not have {size} bytes")
