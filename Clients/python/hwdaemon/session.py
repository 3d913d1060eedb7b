# SPDX-License-Identifier: MIT
"""What the three kinds of sessions share."""
from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Dict, Generic, Optional, Type, TypeVar

from . import errors
from ._core.link import Link
from ._core.readiness import Readiness
from ._core.steps import Steps, run

T = TypeVar("T")
L = TypeVar("L", bound=Link)
S = TypeVar("S", bound="Session[Any]")


class Session(Generic[L]):
    """A session with a worker, and a context manager that closes it. Use it in one thread at a time; `close` in any.

    Every method that waits has a timeout and then raises `Timeout`; the session continues. `SessionEnded` is raised by
    each call once the session has ended, another `StatusError` by a call that failed while the session continues:
    `ParameterError`, which is a `ValueError` too, for what is refused before it is sent. A forked child cannot use it.
    """

    _link: L

    def __init__(self, link: L, timeout: float) -> None:
        self._link = link
        #: Seconds that a method waits unless it has a timeout of its own.
        self.timeout = timeout
        self._readiness: Optional[Readiness] = None
        self._busy = threading.Lock()
        self._user: Optional[int] = None
        self._is_closing = False

    def _run(self, steps: Steps[T], what: str, timeout: Optional[float] = None) -> T:
        self._enter()
        try:
            return run(steps, self.timeout if timeout is None else timeout, what)
        finally:
            self._leave()

    def _advance(self) -> None:
        self._enter()
        try:
            self._link.advance()
        finally:
            self._leave()

    def _enter(self) -> None:
        if not self._busy.acquire(blocking=False):
            if self._is_closing:
                raise errors.SessionEnded(errors.INVALID_SESSION, "the session was closed")
            raise RuntimeError("another thread, or the call that a signal has interrupted, uses the session")
        self._user = threading.get_ident()

    def _leave(self) -> None:
        try:
            self._update()
        finally:
            self._user = None
            self._busy.release()

    def _update(self) -> None:
        if self._readiness is not None:
            link, is_open = self._link, self._link.ended is None
            has_events = link.has_events or link.channel.has_input or not is_open
            self._readiness.update(has_events, link.channel.has_output, is_open)

    @property
    def session_id(self) -> str:
        """The daemon's name for it, for `Daemon.session_result`."""
        return self._link.session

    @property
    def using_hardware(self) -> bool:
        return bool(getattr(self._link.created, "using_hardware", False))

    @property
    def fallback_reason(self) -> Optional[str]:
        """Why it does not use hardware, where hardware was allowed."""
        reason = self._link.created.fallback_reason
        return None if reason is None else str(reason)

    def fileno(self) -> int:
        """A descriptor that is readable when packets, pictures or results have come, or the session has ended."""
        if self._readiness is None:
            self._readiness = Readiness(self._link.channel.fileno())
            self._update()
        return self._readiness.fileno()

    def __getitem__(self, name: str) -> Any:
        """The value of a property, None if it has none. Raises StatusError for an unknown one."""
        return self._run(self._link.copy_properties([name]), f"reading {name}").get(name)

    def __setitem__(self, name: str, value: Any) -> None:
        """Sets one property. Raises StatusError; the session continues."""
        self.set({name: value})

    def set(self, properties: Optional[Dict[str, Any]] = None, **more: Any) -> None:
        """Sets properties, all or none; None unsets one. Raises StatusError; the session continues."""
        self._run(self._link.set_properties({**(properties or {}), **more}), "setting properties")

    def properties(self) -> Dict[str, Any]:
        """All properties that have a value."""
        return self._run(self._link.copy_properties([]), "reading properties")

    def close(self, timeout: float = 5.0) -> None:
        """Ends the session; what it has not returned is lost. A call that waits in another thread raises SessionEnded."""
        if not self._interrupts(timeout):
            try:
                run(self._link.close(), timeout, "closing the session")
            except errors.Timeout:
                self._link.abort()
            finally:
                self._leave()

    def _interrupts(self, timeout: float) -> bool:
        """Begins a call that ends the session; or, where one waits that does not leave within the timeout, makes it end it."""
        self._is_closing = True
        if not self._busy.acquire(blocking=False):
            self._link.interrupt()
            # A signal handler interrupts a call of its own thread, which continues when the handler has returned.
            if self._user == threading.get_ident() or not self._busy.acquire(timeout=min(timeout, threading.TIMEOUT_MAX)):
                return True
        self._user = threading.get_ident()
        return False

    def __enter__(self: S) -> S:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is None:
            self.close()
        elif not self._interrupts(0):
            # The error is what the app should see, at once.
            self._link.abort()
            self._leave()

    def __del__(self) -> None:
        link = getattr(self, "_link", None)
        if link is not None and hasattr(link, "channel"):
            link.abort()
