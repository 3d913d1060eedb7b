# SPDX-License-Identifier: MIT
"""A daemon for the tests, a worker that they play, and FFmpeg as the reference decoder."""
from __future__ import annotations

import array
import atexit
import functools
import json
import os
import socket
import struct
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence

import hwdaemon

ROOT = Path(os.environ.get("HWDAEMON_ROOT", Path(__file__).resolve().parents[3]))
PROGRAMS = Path(os.environ.get("HWDAEMON_PROGRAMS", ROOT / ".build/debug"))


@functools.lru_cache(maxsize=None)
def daemon(*arguments: str) -> hwdaemon.Daemon:
    """A daemon without devices: each test gets the same software. One for each set of arguments."""
    folder = tempfile.TemporaryDirectory()
    path = f"{folder.name}/socket"
    environment = {**os.environ, "HWDAEMON_DEVICES": "/dev/null"}
    configuration = Path(folder.name, "config")
    configuration.mkdir()
    process = subprocess.Popen(
        [PROGRAMS / "hwdaemon", "--socket", path, "--config", configuration, "--log-level", "error", *arguments], env=environment)

    def end() -> None:
        process.terminate()
        process.wait(20)
        folder.cleanup()

    atexit.register(end)
    started = hwdaemon.Daemon(path)
    for _ in range(500):
        try:
            started.info()
            return started
        except hwdaemon.NotRunning:
            threading.Event().wait(0.02)
    raise AssertionError("the daemon does not listen")


def ffmpeg(*arguments: str, data: Optional[bytes] = None) -> bytes:
    """Standard output of ffmpeg, which must not print an error."""
    command = ["ffmpeg", "-v", "error", *([] if data is not None else ["-nostdin"]), *arguments]
    result = subprocess.run(command, input=data, capture_output=True, timeout=120)
    assert result.returncode == 0 and not result.stderr, f"{command}: {result.stderr.decode()}"
    return result.stdout


def clip(width: int, height: int, count: int, pixel_format: str = "nv12", source: str = "testsrc") -> List[bytes]:
    """Frames of a test pattern without padding."""
    data = ffmpeg("-f", "lavfi", "-i", f"{source}=size={width}x{height}:rate=30", "-frames:v", str(count), "-pix_fmt",
                  pixel_format, "-f", "rawvideo", "-")
    size = len(data) // count
    return [data[start : start + size] for start in range(0, len(data), size)]


def stream(packets: Sequence[hwdaemon.Packet]) -> bytes:
    """Packets as a byte stream with their parameter sets."""
    return hwdaemon.annex_b_parameter_sets(packets[0].format_description) + b"".join(packet.annex_b for packet in packets)


def decode(data: bytes, pixel_format: str = "nv12") -> bytes:
    """Raw frames that FFmpeg decodes of a byte stream."""
    return ffmpeg("-f", "hevc", "-i", "-", "-pix_fmt", pixel_format, "-f", "rawvideo", "-", data=data)


class FakeWorker:
    """A daemon whose sessions' worker is a function of the test: it gets the connection after the reply to Create."""

    def __init__(self, created: Any, worker: Callable[[Peer], None], result: Any = None) -> None:
        self.address = f"@hwdaemon-test-{os.getpid()}-{id(self)}"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind("\0" + self.address[1:])
        self._listener.listen(8)
        self._created, self._worker = created, worker
        self._result = result or {"error": "org.hwdaemon.InvalidSession", "parameters": {"code": -12903, "reason": "none"}}
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def daemon(self) -> hwdaemon.Daemon:
        return hwdaemon.Daemon(self.address)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                call = b""
                while not call.endswith(b"\0"):
                    call += connection.recv(1)
                creates = b'.Create' in call
                reply = {"parameters": self._created} if creates else self._result
                connection.sendall(json.dumps(reply).encode() + b"\0")
                if creates:
                    try:
                        self._worker(Peer(connection))
                    except (OSError, EOFError):
                        pass

    def close(self) -> None:
        self._listener.close()


class Peer:
    """A worker's end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.sent = 0
        #: Sizes of the files whose descriptors have come.
        self.sizes: List[int] = []

    def send(self, opcode: int, payload: bytes = b"", descriptors: Sequence[int] = (), **header: int) -> None:
        self.sent += 1
        fields = {"length": len(payload), "count": len(descriptors), "sequence": self.sent, **header}
        data = struct.pack("<IIII", fields["length"], opcode, fields["count"], fields["sequence"]) + payload
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self.socket.sendmsg([data], control)

    def receive(self) -> Any:
        """Opcode, payload and sequence number of the client's next message; descriptors are closed."""
        length, opcode, _, sequence = struct.unpack("<IIII", self._read(16))
        return opcode, self._read(length), sequence

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part, descriptors, _, _ = socket.recv_fds(self.socket, size - len(data), 8)
            for descriptor in descriptors:
                self.sizes.append(os.fstat(descriptor).st_size)
                os.close(descriptor)
            if not part:
                raise EOFError
            data += part
        return data

    def reply(self, sequence: int, status: int = 0, body: bytes = b"") -> None:
        self.send(64, struct.pack("<Ii", sequence, status) + body)
