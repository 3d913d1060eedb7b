# SPDX-License-Identifier: MIT
"""The pools that a client has registered with a session."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Dict, Tuple

from ..errors import StatusError
from . import payloads
from .memory import Memory
from .steps import Steps

if TYPE_CHECKING:
    from .link import Link

#: Pools that a session may have at once.
MAX_POOLS = 16


class Pools:
    """Numbers of memory in a session, and how many frames or packets use each."""

    def __init__(self, link: Link) -> None:
        # No cycle, so that the memory of a session is freed with its last reference.
        self._link = weakref.proxy(link)
        self._pools: Dict[int, Tuple[Memory, int]] = {}
        self._uses: Dict[int, int] = {}
        self._next = 1

    def take(self, memory: Memory) -> Steps[int]:
        """The number of the pool that a memory is; `give_back` ends its use. Registers memory that is no pool yet.

        It counts as used from now on: another task that needs room for a pool would otherwise remove it.
        """
        while True:
            found = self._pools.get(id(memory))
            if found is not None:
                self._uses[found[1]] = self._uses.get(found[1], 0) + 1
                return found[1]
            if len(self._pools) < MAX_POOLS:
                break
            yield from self._remove_idle()
        number, self._next = self._next, self._next + 1
        # The entry keeps the memory, and so its identity, for as long as the pool is registered.
        self._pools[id(memory)] = (memory, number)
        self._uses[number] = 1
        try:
            yield from self._link.request(*memory.registration(number))
        except BaseException as error:
            self.give_back(number)
            # Where the wait was given up, the message is sent or queued, and the pool exists for all messages behind it.
            if isinstance(error, StatusError):
                self._pools.pop(id(memory), None)
            raise
        return number

    def give_back(self, number: int) -> None:
        """Ends one use of a pool."""
        count = self._uses.pop(number, 0) - 1
        if count > 0:
            self._uses[number] = count

    def is_idle(self, memory: Memory) -> bool:
        """Whether nothing uses a memory."""
        found = self._pools.get(id(memory))
        return found is None or found[1] not in self._uses

    def _remove_idle(self) -> Steps[None]:
        """Removes a pool that nothing uses; waits until there is one."""
        for memory, _ in list(self._pools.values()):
            if self.is_idle(memory):
                yield from self.remove(memory)
                return
        yield from self._link.until(lambda: any(self.is_idle(memory) for memory, _ in self._pools.values()))

    def remove(self, memory: Memory) -> Steps[None]:
        """Removes a pool that nothing uses."""
        _, number = self._pools.pop(id(memory), (memory, 0))
        if number:
            yield from self._link.request(payloads.REMOVE_POOL, number.to_bytes(4, "little"))

    def clear(self) -> None:
        """Lets go of all memory, after the session's end."""
        self._pools.clear()
        self._uses.clear()
