# SPDX-License-Identifier: MIT
"""Drives operations with asyncio."""
from __future__ import annotations

import asyncio
from typing import Dict, Optional, TypeVar

from .link import Link
from .steps import READ, WRITE, Steps, Wait

T = TypeVar("T")


class Waiters:
    """The tasks that wait in one session: whatever happens wakes all, and each looks again at its own condition."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._waiting: Dict[asyncio.Future[None], Wait] = {}
        # The events for which the loop watches each descriptor.
        self._watched: Dict[int, int] = {}
        self._seen = 0
        link.will_close = self._close

    async def drive(self, steps: Steps[T]) -> T:
        """Runs an operation; a cancelled task leaves the session in order."""
        try:
            while True:
                wait = next(steps)
                self._look()
                await self._wait(wait)
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            steps.close()
            self._look()

    def advance(self) -> None:
        """Handles what has come without waiting, for a caller that is no task of this object."""
        self._link.advance()
        self._look()

    def _look(self) -> None:
        """Wakes the other tasks if a step has handled messages."""
        if self._link.progress != self._seen:
            self._seen = self._link.progress
            self.wake()

    async def _wait(self, wait: Wait) -> None:
        if wait.descriptor < 0:
            await asyncio.sleep(wait.seconds or 0)
            return
        self._loop = loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting[future] = wait
        self._watch(loop, wait.descriptor)
        timer = loop.call_later(wait.seconds, _wake, future) if wait.seconds is not None else None
        try:
            await future
        finally:
            del self._waiting[future]
            if timer is not None:
                timer.cancel()
            self._watch(loop, wait.descriptor)

    def _watch(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        """Watches a descriptor for what its tasks wait for, and no more: a socket that takes data would wake them without end."""
        wanted = 0
        for wait in self._waiting.values():
            if wait.descriptor == descriptor:
                wanted |= wait.events
        before = self._watched.pop(descriptor, 0)
        if wanted:
            self._watched[descriptor] = wanted
        if wanted & ~before & READ:
            loop.add_reader(descriptor, self.wake)
        if wanted & ~before & WRITE:
            loop.add_writer(descriptor, self.wake)
        if before & ~wanted & READ:
            loop.remove_reader(descriptor)
        if before & ~wanted & WRITE:
            loop.remove_writer(descriptor)

    def _close(self) -> None:
        """Lets go of the descriptor before it is closed, because the next open file may get its number."""
        descriptor = self._link.channel.fileno()
        for future, wait in self._waiting.items():
            if wait.descriptor == descriptor:
                self._waiting[future] = Wait(-1)
        if self._loop is not None and not self._loop.is_closed():
            self._watch(self._loop, descriptor)
        self.wake()

    def wake(self) -> None:
        """Lets every task look again."""
        for future in self._waiting:
            _wake(future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
