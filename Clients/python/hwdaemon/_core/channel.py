# SPDX-License-Identifier: MIT
"""The messages of a session's connection (docs/protocol.md, Session). A worker is hostile: everything it sends is checked."""
from __future__ import annotations

import array
import errno
import os
import socket
import struct
import threading
from collections import deque
from typing import Deque, Iterator, List, NamedTuple, Sequence, Tuple

from .payloads import DESCRIPTOR_COUNTS, MAX_PAYLOAD, Violation
from .steps import READ, WRITE

HEADER = struct.Struct("<IIII")
MAX_DESCRIPTORS = 8
_CHUNK = 65536
_CONTROL = socket.CMSG_SPACE(MAX_DESCRIPTORS * 4)


class Message(NamedTuple):
    opcode: int
    payload: bytes
    #: The receiver owns them.
    descriptors: List[int]


class Channel:
    """Sends and receives whole messages without blocking; what does not fit the socket is kept until it does."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._input = bytearray()
        self._descriptors: Deque[int] = deque()
        self._received = 0
        self._sent = 0
        self._output: Deque[Tuple[bytes, Sequence[int]]] = deque()
        self._releases: Deque[Tuple[int, bytes]] = deque()
        self._lock = threading.Lock()
        #: Whether the worker has closed the connection.
        self.at_end = False

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def events(self) -> int:
        """The events to poll for."""
        return READ | (WRITE if self._output else 0)

    @property
    def has_output(self) -> bool:
        return bool(self._output)

    def send(self, opcode: int, payload: bytes = b"", descriptors: Sequence[int] = ()) -> int:
        """Sends a message, now or when the socket takes it, and returns its sequence number.

        The descriptors must stay open until then.
        """
        with self._lock:
            number = self._append(opcode, payload, descriptors)
        self.flush()
        return number

    def release(self, opcode: int, payload: bytes) -> None:
        """As `send`, but a garbage collector may call it at any place and in any thread."""
        self._releases.append((opcode, payload))
        self.flush()

    def _append(self, opcode: int, payload: bytes, descriptors: Sequence[int] = ()) -> int:
        self._sent = self._sent % 0xFFFFFFFF + 1
        self._output.append((HEADER.pack(len(payload), opcode, len(descriptors), self._sent) + payload, descriptors))
        return self._sent

    def flush(self) -> None:
        """Sends as much as the socket takes."""
        while self._output or self._releases:
            if not self._lock.acquire(blocking=False):
                # Whoever holds the lock looks again after it has let go of it.
                return
            try:
                while self._releases:
                    self._append(*self._releases.popleft())
                if not self._send_output():
                    return
            finally:
                self._lock.release()

    def _send_output(self) -> bool:
        """Whether all messages were sent."""
        while self._output:
            data, descriptors = self._output[0]
            control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
            try:
                count = self._socket.sendmsg([data], control, socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return False
            except OSError as error:
                if error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.EBADF):
                    raise
                # The worker has ended the session; its last message, which is still to be read, says why.
                self._output.clear()
                return True
            if count == len(data):
                self._output.popleft()
            else:
                self._output[0] = (data[count:], ())
        return True

    def receive(self) -> Iterator[Message]:
        """The messages that have arrived, of at most 64 KiB together, so that a flood does not hold the caller.

        Raises Violation.
        """
        if self.at_end:
            return
        try:
            data, control, flags, _ = self._socket.recvmsg(_CHUNK, _CONTROL, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data, control, flags = b"", [], 0
        self._take_descriptors(control)
        if flags & socket.MSG_CTRUNC or len(self._descriptors) > MAX_DESCRIPTORS:
            raise Violation(f"it sent more than {MAX_DESCRIPTORS} descriptors")
        self.at_end = not data
        self._input += data
        yield from self._messages()
        # The kernel delivers descriptors with their message's first byte, so none can be left for a later message.
        if self._descriptors and not self._input:
            raise Violation("it sent descriptors without a message")

    def _take_descriptors(self, control: Sequence[Tuple[int, int, bytes]]) -> None:
        for level, kind, data in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(data[: len(data) // received.itemsize * received.itemsize])
                self._descriptors.extend(received)

    def _messages(self) -> Iterator[Message]:
        while len(self._input) >= HEADER.size:
            length, opcode, count, sequence = HEADER.unpack_from(self._input)
            if sequence != self._received % 0xFFFFFFFF + 1:
                raise Violation(f"message {sequence} follows message {self._received}")
            if length > MAX_PAYLOAD:
                raise Violation(f"a message announces {length} bytes")
            if count not in DESCRIPTOR_COUNTS.get(opcode, (0,)):
                raise Violation(f"a message of opcode {opcode} has {count} descriptors")
            if count > len(self._descriptors):
                raise Violation("a message lacks its descriptors")
            if len(self._input) < HEADER.size + length:
                return
            payload = bytes(self._input[HEADER.size : HEADER.size + length])
            del self._input[: HEADER.size + length]
            self._received = sequence
            yield Message(opcode, payload, [self._descriptors.popleft() for _ in range(count)])

    def close(self) -> None:
        """Closes the connection and descriptors that no message has taken."""
        while self._descriptors:
            os.close(self._descriptors.popleft())
        self._output.clear()
        self._socket.close()
