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
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._epoll = select.epoll()
        self._session = session
        self._events = select.EPOLLIN
        self._epoll.register(session, select.EPOLLIN)
        self._epoll.register(self._reader, select.EPOLLIN)
        self._is_signaled = False

    def fileno(self) -> int:
        return self._epoll.fileno()

    def update(self, has_events: bool, has_output: bool, is_open: bool) -> None:
        """Reports what the session has: events to fetch, and messages that its socket did not take yet."""
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
        for descriptor in (self._reader, self._writer):
            os.close(descriptor)
        self._epoll.close()
