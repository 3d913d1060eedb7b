# SPDX-License-Identifier: MIT
"""Which listening users the package trusts (docs/protocol.md, Who listens)."""
from __future__ import annotations

import os
import socket
import stat
import struct
from typing import List, NamedTuple, Optional

from ..errors import NotPermitted

_CREDENTIALS = struct.Struct("iII")


class Folder(NamedTuple):
    """A folder in the path of a socket."""

    owner: int
    mode: int


def allows(peer: int, own: int, socket_owner: Optional[int], folders: List[Folder]) -> bool:
    """Whether a client trusts the user who listens: itself, root, or the only one who could have made the socket."""
    if peer in (own, 0):
        return True
    # With an access control list, the group's bits are the most that it grants.
    return socket_owner == peer and bool(folders) and all(
        folder.owner in (0, own, peer) and not folder.mode & 0o022 for folder in folders)


def check(connection: socket.socket, address: str) -> None:
    """Raises NotPermitted if the user who listens at the address, to which the connection leads, is not trusted."""
    _, peer, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    try:
        owner = None if address.startswith("@") else os.lstat(address).st_uid
    except OSError:
        owner = None
    if not allows(peer, os.geteuid(), owner, _folders(address)):
        raise NotPermitted(
            f"user {peer} listens on {address} and is not trusted: neither this user nor root, and others can replace the socket")


def _folders(path: str) -> List[Folder]:
    """The folders in an absolute path; none if one of them is a symbolic link, or for other paths."""
    if not path.startswith("/"):
        return []
    found = []
    for end, letter in enumerate(path):
        if letter == "/":
            try:
                status = os.lstat(path[:end] or "/")
            except OSError:
                return []
            if not stat.S_ISDIR(status.st_mode):
                return []
            found.append(Folder(status.st_uid, stat.S_IMODE(status.st_mode)))
    return found
