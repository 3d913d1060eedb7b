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
from typing import Deque, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .memory import Memory
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
    """Sends and receives whole messages without blocking; what does not fit the socket is kept until it does.

    In a forked child it sends and receives nothing, because the connection is the parent's.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._owner = os.getpid()
        self._input = bytearray()
        self._descriptors: Deque[int] = deque()
        self._received = 0
        self._sent = 0
        # Messages own the memory whose descriptors they carry, which stay open until they are sent.
        self._output: Deque[Tuple[bytes, Sequence[Memory]]] = deque()
        self._releases: Deque[Tuple[int, bytes]] = deque()
        self._lock = threading.Lock()
        self._failure: Optional[OSError] = None
        self._has_read_end = False
        self._is_closed = False

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def events(self) -> int:
        """The events to poll for."""
        return READ | (WRITE if self._output else 0)

    @property
    def has_output(self) -> bool:
        return bool(self._output)

    @property
    def has_input(self) -> bool:
        """Whether `receive` has a message, or a violation, without reading the socket."""
        if len(self._input) < HEADER.size:
            return False
        length = int.from_bytes(self._input[:4], "little")
        return length > MAX_PAYLOAD or len(self._input) >= HEADER.size + length

    @property
    def at_end(self) -> bool:
        """Whether the worker has closed the connection, and no message of it is left."""
        return self._has_read_end and not self.has_input

    @property
    def is_foreign(self) -> bool:
        """Whether this process is a forked child of the connection's owner."""
        return os.getpid() != self._owner

    def send(self, opcode: int, payload: bytes = b"", memory: Sequence[Memory] = ()) -> int:
        """Sends a message with the descriptors of memory, now or when the socket takes it; returns its sequence number.

        A failure of the connection is raised by `receive`.
        """
        with self._lock:
            number = self._append(opcode, payload, memory)
        self.flush()
        return number

    def release(self, opcode: int, payload: bytes) -> None:
        """As `send`, but a garbage collector may call it at any place and in any thread."""
        self._releases.append((opcode, payload))
        self.flush()

    def _append(self, opcode: int, payload: bytes, memory: Sequence[Memory] = ()) -> int:
        self._sent = self._sent % 0xFFFFFFFF + 1
        self._output.append((HEADER.pack(len(payload), opcode, len(memory), self._sent) + payload, memory))
        return self._sent

    def flush(self) -> None:
        """Sends as much as the socket takes."""
        while (self._output or self._releases) and not self.is_foreign:
            if not self._lock.acquire(blocking=False):
                # Whoever holds the lock looks again after it has let go of it.
                return
            try:
                while self._releases:
                    self._append(*self._releases.popleft())
                if not self._send_output():
                    break
            finally:
                self._lock.release()
        if self._is_closed:
            self._close_socket()

    def _send_output(self) -> bool:
        """Whether nothing is left to send."""
        while self._output:
            data, memory = self._output[0]
            descriptors = array.array("i", [entry.descriptor for entry in memory])
            try:
                if self._is_closed or self._failure:
                    raise BrokenPipeError(errno.EPIPE, "the connection is closed")
                count = self._socket.sendmsg(
                    [data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)] if memory else [], socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return False
            except OSError as error:
                # The worker may have ended the session; its last message, which is still to be read, says why.
                if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                    self._failure = error
                self._output.clear()
                return True
            if count == len(data):
                self._output.popleft()
            else:
                self._output[0] = (data[count:], ())
        return True

    def receive(self) -> Iterator[Message]:
        """The messages that have arrived: those that were read before, and then those of one more read of at most 64 KiB.

        A caller may stop and continue with another call. Raises Violation and OSError.
        """
        if self._is_closed or self.is_foreign:
            return
        if self._failure is not None:
            raise self._failure
        yield from self._messages()
        if not self._has_read_end and self._read():
            yield from self._messages()

    def _read(self) -> bool:
        """Whether the socket had data, or its end."""
        try:
            data, control, flags, _ = self._socket.recvmsg(_CHUNK, _CONTROL, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data, control, flags = b"", [], 0
        self._take_descriptors(control)
        if flags & socket.MSG_CTRUNC or len(self._descriptors) > MAX_DESCRIPTORS:
            raise Violation(f"it sent more than {MAX_DESCRIPTORS} descriptors")
        self._has_read_end = not data
        self._input += data
        return True

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
        # The kernel delivers descriptors with their message's first byte, so none can be left for a later message.
        if self._descriptors and not self._input:
            raise Violation("it sent descriptors without a message")

    def shut_down(self) -> None:
        """Ends the connection, so that a thread that waits for it wakes; `close` then closes it."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            # It has ended already.
            pass

    def close(self) -> None:
        """Closes the connection and descriptors that no message has taken."""
        while self._descriptors:
            os.close(self._descriptors.popleft())
        self._is_closed = True
        self._close_socket()

    def _close_socket(self) -> None:
        # A thread that sends meanwhile closes it after that, or its descriptor's number could be another file's by then.
        if self._lock.acquire(blocking=False):
            try:
                self._output.clear()
                self._releases.clear()
                self._socket.close()
            finally:
                self._lock.release()
