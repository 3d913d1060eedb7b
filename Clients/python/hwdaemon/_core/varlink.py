# SPDX-License-Identifier: MIT
"""Calls in Varlink (docs/protocol.md, Control)."""
from __future__ import annotations

import errno
import grp
import json
import os
import socket
from typing import Any, Dict, Mapping

from ..errors import CallError, ConnectionClosed, NotPermitted, NotRunning, StatusError, refused
from .peer import check
from .steps import READ, WRITE, Steps, Wait

MAX_CALL = 65536
MAX_REPLY = 4 << 20
INTERFACE = "org.hwdaemon."


def connect(address: str) -> Steps[socket.socket]:
    """A nonblocking connection to a socket's path, or to `@name` in the abstract namespace, of a user who is trusted.

    Raises NotRunning, NotPermitted or OSError.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        while True:
            try:
                connection.connect("\0" + address[1:] if address.startswith("@") else address)
                break
            except BlockingIOError:
                # The queue of the listening socket is full; poll(2) does not report when it is not.
                yield Wait(-1, 0, 0.01)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        raise NotRunning(f"no daemon listens on {address}") from None
    except PermissionError:
        connection.close()
        group = _group(address)
        remedy = f"join the group {group} (sudo usermod -aG {group} $USER, then log in again)"
        if group == "root":
            remedy = "the socket belongs to root; see docs/admin.md"
        raise NotPermitted(f"no permission to use {address}: {remedy}") from None
    except BaseException:
        connection.close()
        raise
    try:
        check(connection, address)
    except BaseException:
        connection.close()
        raise
    return connection


def _group(path: str) -> str:
    """The name of the group that owns a socket."""
    try:
        return grp.getgrgid(os.stat(path).st_gid).gr_name
    except (OSError, KeyError):
        return "hwdaemon"


def exchange(
    connection: socket.socket, method: str, parameters: Mapping[str, Any], upgrade: bool = False
) -> Steps[Dict[str, Any]]:
    """The parameters of the reply to a call.

    Raises StatusError, CallError, ConnectionClosed; ParameterError if the call is too long.
    """
    call: Dict[str, Any] = {"method": method, "parameters": parameters}
    if upgrade:
        call["upgrade"] = True
    data = json.dumps(call, allow_nan=False).encode() + b"\0"
    if len(data) > MAX_CALL + 1:
        raise refused(f"a call of {method} has {len(data) - 1} bytes; {MAX_CALL} is the limit")
    yield from _send(connection, data)
    return _parameters(method, (yield from _receive(connection, method)))


def _send(connection: socket.socket, data: bytes) -> Steps[None]:
    sent = 0
    while sent < len(data):
        try:
            sent += connection.send(data[sent:], socket.MSG_NOSIGNAL)
        except BlockingIOError:
            yield Wait(connection.fileno(), WRITE)
        except OSError as error:
            # A daemon at its connection limit sends the reason and closes, possibly before it reads the call.
            if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                raise
            return


class NoReply(ConnectionClosed):
    """The connection was closed instead of a reply."""


def _receive(connection: socket.socket, method: str) -> Steps[bytes]:
    """One reply without its NUL; nothing behind it is read, because the messages of a session may follow."""
    reply = bytearray()
    while True:
        try:
            chunk = connection.recv(65536, socket.MSG_PEEK)
            end = chunk.find(b"\0")
            # Exactly the peeked bytes, up to the NUL if there is one.
            reply += connection.recv(len(chunk) if end < 0 else end + 1)
        except BlockingIOError:
            yield Wait(connection.fileno(), READ)
            continue
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            raise NoReply(f"the daemon closed the connection without a reply to {method}")
        if len(reply) > MAX_REPLY + 1:
            raise ConnectionClosed(f"the reply to {method} is longer than {MAX_REPLY} bytes")
        if reply.endswith(b"\0"):
            return bytes(reply[:-1])


def _parameters(method: str, reply: bytes) -> Dict[str, Any]:
    try:
        value = json.loads(reply)
    except (ValueError, RecursionError):
        raise ConnectionClosed(f"the reply to {method} is no JSON") from None
    parameters = value.get("parameters", {}) if isinstance(value, dict) else None
    if not isinstance(parameters, dict):
        raise ConnectionClosed(f"the reply to {method} has no parameters")
    error = value.get("error")
    if error is None:
        return parameters
    code, reason = parameters.get("code"), parameters.get("reason")
    if str(error).startswith(INTERFACE) and isinstance(code, int) and isinstance(reason, str):
        raise StatusError(code, reason)
    raise CallError(str(error), parameters)
