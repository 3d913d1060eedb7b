# SPDX-License-Identifier: MIT
"""What all kinds of sessions share: Create, requests and replies, pools, the end and its cause."""
from __future__ import annotations

import json
import os
import time
from typing import Any, Callable, ClassVar, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from .. import control
from ..errors import INVALID_SESSION, Error, SessionEnded, StatusError, refused
from ..images import Image
from . import payloads, varlink
from .channel import Channel, Message
from .memory import Memory
from .payloads import Violation
from .pools import Pools
from .steps import Steps, Wait
from .varlink import NoReply

#: Seconds for which arrived messages are handled before a deadline is looked at again.
SLICE = 0.02
#: How often a session is asked for, where connections are closed without a reply.
MAX_ATTEMPTS = 3


class Link:
    """A client's end of a session's connection."""

    METHOD: ClassVar[str]
    #: The status of a worker that died or broke the protocol.
    MALFUNCTION: ClassVar[int]
    created: Any

    def __init__(self) -> None:
        self.ended: Optional[SessionEnded] = None
        self.session = ""
        #: Counts what happened, so that tasks that wait look again.
        self.progress = 0
        #: Called before the connection is closed.
        self.will_close: Callable[[], None] = lambda: None
        self.channel: Channel
        self._address = ""
        self._answers: Dict[int, Optional[Tuple[int, bytes]]] = {}
        self._abandoned: Set[int] = set()
        self._is_interrupted = False
        self.pools = Pools(self)

    def open(self, address: str, parameters: Mapping[str, Any]) -> Steps[Dict[str, Any]]:
        """Sends the Create call; returns the reply."""
        for attempt in range(MAX_ATTEMPTS):
            connection = yield from varlink.connect(address)
            try:
                created = yield from varlink.exchange(connection, varlink.INTERFACE + self.METHOD, parameters, upgrade=True)
                break
            except NoReply:
                # The process that was to serve the session died while it replied.
                connection.close()
                if attempt == MAX_ATTEMPTS - 1:
                    raise
            except BaseException:
                connection.close()
                raise
        self._address, self.session = address, str(created.get("session", ""))
        self.channel = Channel(connection)
        return created

    # Waiting.

    def until(self, condition: Callable[[], bool], seconds: Optional[float] = None) -> Steps[None]:
        """Handles messages until the condition holds. Raises SessionEnded; what came before the end counts.

        A condition that can come true without a message is looked at after `seconds`.
        """
        while True:
            self.advance()
            if condition():
                return
            if self.ended is None and self.channel.at_end:
                self._end((yield from self._cause()))
            self.check()
            yield Wait(self.channel.fileno(), self.channel.events, 0 if self.channel.has_input else seconds)

    def advance(self) -> None:
        """Sends and handles what is possible without waiting, for `SLICE` seconds at most.

        A worker can send without end, and its messages can take long to copy; `channel.has_input` is true when some are left.
        """
        self._look_for_end()
        if self.ended is not None:
            return
        end = time.monotonic() + SLICE
        try:
            self.channel.flush()
            for message in self.channel.receive():
                self._dispatch(message)
                if self.ended is not None or time.monotonic() >= end:
                    return
        except Violation as violation:
            self._end(SessionEnded(self.MALFUNCTION, f"the worker broke the protocol: {violation}"))
        except OSError as error:
            self._end(SessionEnded(self.MALFUNCTION, f"the session's connection failed: {error.strerror}"))

    def check(self) -> None:
        """Raises the error that ended the session."""
        self._look_for_end()
        if self.ended is not None:
            # A copy: the traceback of one that is kept would keep the frames, and so the pictures, of whoever caught it.
            raise SessionEnded(*self.ended.args)

    def _look_for_end(self) -> None:
        """Ends the session in a forked child, or where another thread has closed it."""
        if self._is_interrupted:
            self.abort()
        elif self.ended is None and self.channel.is_foreign:
            self._end(SessionEnded(INVALID_SESSION, "the session belongs to the process that created it"))

    # Messages.

    def _dispatch(self, message: Message) -> None:
        self.progress += 1
        try:
            if message.opcode == payloads.REPLY:
                self._take_reply(message.payload)
            elif message.opcode == payloads.END:
                status, reason = payloads.unpack_end(message.payload)
                self._end(SessionEnded(status or INVALID_SESSION, reason))
            else:
                self.handle(message)
        finally:
            # What `handle` did not take.
            for descriptor in message.descriptors:
                os.close(descriptor)

    def handle(self, message: Message) -> None:
        """Handles a message of this kind of session; takes descriptors out of it. Raises Violation."""
        raise Violation(f"it sent opcode {message.opcode} to a client")

    def _take_reply(self, payload: bytes) -> None:
        sequence, status, body = payloads.unpack_reply(payload)
        if sequence in self._abandoned:
            self._abandoned.remove(sequence)
        elif sequence in self._answers and self._answers[sequence] is None:
            self._answers[sequence] = (status, body)
        else:
            raise Violation(f"it replied to message {sequence}, which asks for no reply")

    def receive_memory(self, message: Message, size: int) -> Memory:
        """The memory whose descriptor comes with a message."""
        if not message.descriptors:
            raise Violation("memory comes without a descriptor")
        try:
            return Memory.receive(message.descriptors.pop(0), size)
        except ValueError as error:
            raise Violation(str(error)) from None

    # Requests.

    def post(self, opcode: int, payload: bytes = b"", memory: Sequence[Memory] = ()) -> int:
        """Sends a message that is answered by a reply; `answer` takes it, or `abandon`."""
        self.check()
        number = self.channel.send(opcode, payload, memory)
        self._answers[number] = None
        return number

    def is_answered(self, number: int) -> bool:
        return self._answers.get(number) is not None

    def answer(self, number: int) -> bytes:
        """The body of a reply that has come. Raises StatusError for a failure."""
        answer = self._answers.pop(number)
        assert answer is not None
        status, body = answer
        if status:
            raise StatusError(status, payloads.text(body))
        return body

    def abandon(self, number: int) -> None:
        """Forgets a request; its reply is ignored."""
        if number in self._answers and self._answers.pop(number) is None:
            self._abandoned.add(number)

    def request(self, opcode: int, payload: bytes = b"", memory: Sequence[Memory] = ()) -> Steps[bytes]:
        number = self.post(opcode, payload, memory)
        try:
            yield from self.until(lambda: self.is_answered(number))
            return self.answer(number)
        finally:
            self.abandon(number)

    def set_properties(self, properties: Mapping[str, Any]) -> Steps[None]:
        yield from self.request(payloads.SET_PROPERTIES, _json(dict(properties)))

    def copy_properties(self, names: List[str]) -> Steps[Dict[str, Any]]:
        body = yield from self.request(payloads.COPY_PROPERTIES, _json(names))
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            self._end(SessionEnded(self.MALFUNCTION, "the worker broke the protocol: its properties are no JSON object"))
            self.check()
        return dict(values or {})

    # Images and pools.

    def lend(self, image: Image) -> Steps[int]:
        """The pool that an image is in; the image is the worker's until `take_back`. Raises ParameterError for a released one."""
        image.check()
        image.pin()
        try:
            return (yield from self.pools.take(image.memory))
        except BaseException:
            image.unpin()
            raise

    def take_back(self, image: Image, pool: int) -> None:
        """Ends what `lend` began."""
        image.unpin()
        self.pools.give_back(pool)

    @property
    def has_events(self) -> bool:
        """Whether there is something to fetch."""
        return False

    # The end.

    def _end(self, error: SessionEnded) -> None:
        if self.ended is None:
            self.ended = error
            self.progress += 1
            self.will_close()
            self.channel.close()
            self.did_end()
            self.pools.clear()

    def did_end(self) -> None:
        """Lets go of what was in flight."""

    def _cause(self) -> Steps[SessionEnded]:
        """Asks the daemon how the worker died, because the connection closed without an `end` message."""
        question = {"session": self.session, "timeout_ms": 2000}
        try:
            connection = yield from varlink.connect(self._address)
            with connection:
                reply = yield from varlink.exchange(connection, varlink.INTERFACE + "GetSessionResult", question)
            result = control.typed(control.SessionResult, reply)
        except (Error, OSError):
            result = control.SessionResult(False, 0, "", 0, 0)
        if not result.finished:
            return SessionEnded(self.MALFUNCTION, "the session's process ended and the daemon does not know why")
        return SessionEnded(result.code or self.MALFUNCTION, result.reason)

    def close(self) -> Steps[None]:
        """Ends the session, and waits for the worker's `end`."""
        if self.ended is not None:
            return
        try:
            self.channel.send(payloads.INVALIDATE)
            yield from self.until(lambda: False)
        except (SessionEnded, OSError):
            pass
        finally:
            self.abort()

    def interrupt(self) -> None:
        """Ends the session from another thread: a call that waits raises SessionEnded."""
        self._is_interrupted = True
        self.channel.shut_down()

    def abort(self) -> None:
        """Ends the session at once."""
        self._end(SessionEnded(INVALID_SESSION, "the session was closed"))


def _json(value: object) -> bytes:
    data = json.dumps(value, allow_nan=False).encode()
    if len(data) > payloads.MAX_PAYLOAD:
        raise refused(f"properties have {len(data)} bytes; {payloads.MAX_PAYLOAD} is the limit")
    return data
