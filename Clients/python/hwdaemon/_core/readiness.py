# SPDX-License-Identifier: MIT
"""A descriptor for event loops."""
from __future__ import annotations

import os
import select


class Readiness:
    """An epoll descriptor over a session's socket and a pipe.

    A call that waits may take packets from the socket for a later call; the pipe then keeps the descriptor readable.
    """

    def __init__(self, session: int) -> None:
        """`session` is negative for one that has ended. Raises OSError."""
        self._owner = os.getpid()
        self._epoll = select.epoll()
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._session = session
        self._events = select.EPOLLIN
        if session >= 0:
            self._epoll.register(session, select.EPOLLIN)
        self._epoll.register(self._reader, select.EPOLLIN)
        self._is_signaled = False

    def fileno(self) -> int:
        return self._epoll.fileno()

    def update(self, has_events: bool, has_output: bool, is_open: bool) -> None:
        """Reports what the session has: events to fetch, and messages that its socket did not take yet."""
        if os.getpid() != self._owner:
            # A forked child shares the pipe and the epoll descriptor with its parent.
            return
        if has_events and not self._is_signaled:
            os.write(self._writer, b"\0")
        elif self._is_signaled and not has_events:
            os.read(self._reader, 1)
        self._is_signaled = has_events
        events = select.EPOLLIN | (select.EPOLLOUT if has_output else 0)
        if is_open and events != self._events:
            self._epoll.modify(self._session, events)
            self._events = events

    def __del__(self) -> None:
        # An attribute is absent where a descriptor could not be made.
        for descriptor in (getattr(self, "_reader", -1), getattr(self, "_writer", -1)):
            if descriptor >= 0:
                os.close(descriptor)
        if hasattr(self, "_epoll"):
            self._epoll.close()
