# SPDX-License-Identifier: MIT
"""A private daemon (docs/protocol.md, A private daemon)."""
from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import socket
import subprocess
import weakref
from typing import Iterator, Tuple

from ..errors import NotRunning

_INSTALLED = ("/usr/local/libexec/hwdaemon/hwdaemon", "/usr/libexec/hwdaemon/hwdaemon")


class PrivateDaemon:
    """A daemon that serves this user alone and ends with this object or this process.

    It has one end of a socket pair; the kernel closes the other end, which is held here, however this process ends.
    """

    def __init__(self) -> None:
        program = executable()
        # Clients can connect before the program runs. Without this process's copy, they are refused once it has died.
        listener, self.address = _listen()
        with listener:
            try:
                self._lifetime, theirs = socket.socketpair()
                with theirs:
                    self._process = _start(program, listener.fileno(), theirs.fileno())
            except BaseException:
                _remove(self.address)
                raise

        self._end = weakref.finalize(self, _end, self._lifetime, self._process, os.getpid(), self.address)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the daemon, and waits for it."""
        self._end()


def _listen() -> Tuple[socket.socket, str]:
    """A listening socket and its address: in `$XDG_RUNTIME_DIR`, or in the abstract namespace."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    name = f"hwdaemon-private-{secrets.token_hex(8)}"
    try:
        with contextlib.suppress(OSError), _locked(folder):
            path = f"{folder}/{name}.sock"
            listener.bind(path)
            listener.listen(128)
            return listener, path
        listener.bind(f"\0{name}")
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    return listener, f"@{name}"


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Locks a folder that no other user can enter, for a socket between bind and listen: it refuses connections as a stale one does.

    Raises OSError for another folder, and while a daemon removes stale sockets.
    """
    if not path.startswith("/"):
        raise OSError(errno.EINVAL, "no absolute path", path)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(errno.EPERM, "other users can enter it", path)
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    finally:
        os.close(folder)


def _remove(address: str) -> None:
    """Removes the socket of a daemon that has ended; the daemon itself does that, unless it was killed."""
    if address.startswith("/"):
        with contextlib.suppress(OSError):
            os.unlink(address)


def _end(lifetime: socket.socket, process: subprocess.Popen[bytes], owner: int, address: str) -> None:
    lifetime.close()
    if os.getpid() != owner:
        # A forked child's copy; the daemon is the parent's.
        return
    for signal in (None, process.terminate, process.kill):
        if signal is not None:
            signal()
        try:
            process.wait(6)
            break
        except subprocess.TimeoutExpired:
            continue
    _remove(address)


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
