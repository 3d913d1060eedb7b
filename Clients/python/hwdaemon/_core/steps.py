# SPDX-License-Identifier: MIT
"""Operations as generators: each yields what it waits for, so that poll(2) and asyncio can drive the same code."""
from __future__ import annotations

import select
import time
from typing import Generator, NamedTuple, Optional, TypeVar

from ..errors import Timeout

T = TypeVar("T")
READ = select.POLLIN
WRITE = select.POLLOUT


class Wait(NamedTuple):
    """A wait for a descriptor's events (POLLIN, POLLOUT), for at most `seconds`; a pause if the descriptor is -1."""

    descriptor: int
    events: int = READ
    seconds: Optional[float] = None


Steps = Generator[Wait, None, T]


def run(steps: Steps[T], timeout: float, what: str) -> T:
    """Drives an operation with poll(2).

    Raises `Timeout`, which names the operation, when it still waits after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    try:
        while True:
            wait = next(steps)
            left = deadline - time.monotonic()
            if left <= 0:
                raise Timeout(f"{what} did not end within {timeout:g} s")
            _poll(wait, left)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        steps.close()


def _poll(wait: Wait, left: float) -> None:
    # poll(2) takes an int of milliseconds; a caller's timeout may be infinite.
    seconds = min(left, 3600.0 if wait.seconds is None else wait.seconds)
    poller = select.poll()
    if wait.descriptor >= 0:
        poller.register(wait.descriptor, wait.events)
    # Rounded up, so that the last wait is no busy loop.
    poller.poll(int(seconds * 1000) + 1 if seconds else 0)
