# SPDX-License-Identifier: MIT
"""Pools that are divided into slots of one size."""
from __future__ import annotations

from typing import List, Optional

from .memory import Memory

#: Memory of a session's own pools; a session may have 2 GiB by default. Pages that are not written take no memory.
MAX_POOL_SIZE = 1 << 30
#: Seconds between looks for a free slot: an app that drops a frame causes no message.
SLOT_INTERVAL = 0.05


class Slots:
    """A pool with `count` slots, or as many as its greatest size allows."""

    def __init__(self, size: int, count: int) -> None:
        self.size = size
        self.count = max(2, min(count, MAX_POOL_SIZE // size))
        self.memory = Memory.create(size * self.count)
        # The slot that was returned last is taken first: its pages are likely to be in a cache.
        self._free: List[int] = list(range(self.count - 1, -1, -1))

    @property
    def is_full(self) -> bool:
        return not self._free

    def take(self) -> Optional[int]:
        """A slot's offset in the memory; None if all are in use."""
        return self._free.pop() * self.size if self._free else None

    def give_back(self, offset: int) -> None:
        self._free.append(offset // self.size)
