# SPDX-License-Identifier: MIT
"""Drives operations with asyncio."""
from __future__ import annotations

import asyncio
import select
from typing import Dict, Set, TypeVar

from .link import Link
from .steps import Steps, Wait

T = TypeVar("T")


class Waiters:
    """The tasks that wait in one session: whatever happens wakes all, and each looks again at its own condition."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._waiting: Set[asyncio.Future[None]] = set()
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

    def _look(self) -> None:
        """Wakes the other tasks if a step has handled messages."""
        if self._link.progress != self._seen:
            self._seen = self._link.progress
            self.wake()

    async def _wait(self, wait: Wait) -> None:
        loop = asyncio.get_running_loop()
        if wait.descriptor < 0:
            await asyncio.sleep(wait.seconds or 0)
            return
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.add(future)
        self._add(loop, wait.descriptor, wait.events)
        timer = loop.call_later(wait.seconds, self.wake) if wait.seconds is not None else None
        try:
            await future
        finally:
            self._waiting.discard(future)
            if timer is not None:
                timer.cancel()
            self._remove(loop, wait.descriptor)

    def _add(self, loop: asyncio.AbstractEventLoop, descriptor: int, events: int) -> None:
        self._watched[descriptor] = self._watched.get(descriptor, 0) + 1
        if events & select.POLLIN:
            loop.add_reader(descriptor, self.wake)
        if events & select.POLLOUT:
            loop.add_writer(descriptor, self.wake)

    def _remove(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        count = self._watched.pop(descriptor, 0)
        if count > 1:
            self._watched[descriptor] = count - 1
        elif count == 1:
            loop.remove_reader(descriptor)
            loop.remove_writer(descriptor)

    def _close(self) -> None:
        """Lets go of the descriptor before it is closed, because the next open file may get its number."""
        descriptor = self._link.channel.fileno()
        if self._watched.pop(descriptor, 0):
            loop = asyncio.get_running_loop()
            loop.remove_reader(descriptor)
            loop.remove_writer(descriptor)
        self.wake()

    def wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
