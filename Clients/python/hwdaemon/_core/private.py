# SPDX-License-Identifier: MIT
"""A private daemon (docs/protocol.md, A private daemon)."""
from __future__ import annotations

import os
import secrets
import socket
import subprocess
import weakref
from typing import Iterator

from ..errors import NotRunning

_INSTALLED = ("/usr/local/libexec/hwdaemon/hwdaemon", "/usr/libexec/hwdaemon/hwdaemon")


class PrivateDaemon:
    """A daemon that serves this user alone and ends with this object or this process.

    It has one end of a socket pair; the kernel closes the other end, which is held here, however this process ends.
    """

    def __init__(self) -> None:
        program = executable()
        name = f"hwdaemon-{os.getpid()}-{secrets.token_hex(8)}"
        self.address = f"@{name}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(f"\0{name}")
            # Clients can connect before the program runs. Without this process's copy, they are refused once it has died.
            listener.listen(128)
            self._lifetime, theirs = socket.socketpair()
            with theirs:
                self._process = _start(program, listener.fileno(), theirs.fileno())

        self._end = weakref.finalize(self, _end, self._lifetime, self._process, os.getpid())

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the daemon, and waits for it."""
        self._end()


def _end(lifetime: socket.socket, process: subprocess.Popen[bytes], owner: int) -> None:
    lifetime.close()
    if os.getpid() != owner:
        # A forked child's copy; the daemon is the parent's.
        return
    for signal in (None, process.terminate, process.kill):
        if signal is not None:
            signal()
        try:
            process.wait(6)
            return
        except subprocess.TimeoutExpired:
            continue


def _start(program: str, listener: int, lifetime: int) -> subprocess.Popen[bytes]:
    # The session itself reports its failures; warnings of the daemon would repeat them.
    command = [program, "--private", "--listen-fd", str(listener), "--lifetime-fd", str(lifetime), "--log-level", "error"]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(listener, lifetime),
            start_new_session=True)
    except OSError as error:
        raise NotRunning(f"a private daemon ({program}) cannot be started: {error.strerror}") from None


def _candidates() -> Iterator[str]:
    for folder in os.environ.get("PATH", "").split(":"):
        # A relative entry would make the choice depend on the working directory.
        if folder.startswith("/"):
            yield f"{folder}/hwdaemon"
            yield f"{folder}/../libexec/hwdaemon/hwdaemon"
    yield from _INSTALLED


def executable() -> str:
    """`hwdaemon` in `$PATH`, or where a package installs it. Raises NotRunning."""
    for path in _candidates():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise NotRunning("no daemon is running, and hwdaemon is neither in $PATH nor installed to start a private one")
