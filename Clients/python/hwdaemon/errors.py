# SPDX-License-Identifier: MIT
"""Exceptions, and VideoToolbox's status numbers (VTErrors.h)."""
from __future__ import annotations

from typing import Mapping, Optional

STATUS_NAMES: Mapping[int, str] = {
    -12900: "PropertyNotSupported",
    -12901: "PropertyReadOnly",
    -12902: "Parameter",
    -12903: "InvalidSession",
    -12904: "AllocationFailed",
    -12905: "PixelTransferNotSupported",
    -12906: "CouldNotFindVideoDecoder",
    -12907: "CouldNotCreateInstance",
    -12908: "CouldNotFindVideoEncoder",
    -12909: "VideoDecoderBadData",
    -12910: "VideoDecoderUnsupportedDataFormat",
    -12911: "VideoDecoderMalfunction",
    -12912: "VideoEncoderMalfunction",
    -12913: "VideoDecoderNotAvailableNow",
    -12915: "VideoEncoderNotAvailableNow",
    -12916: "FormatDescriptionChangeNotSupported",
}

PARAMETER = -12902
INVALID_SESSION = -12903
DECODER_MALFUNCTION = -12911
ENCODER_MALFUNCTION = -12912
#: Statuses with which the same call may succeed later.
RETRY_LATER = frozenset({-12904, -12913, -12915})


class Error(Exception):
    """The base of all errors of this package."""


class StatusError(Error):
    """An error of the daemon or of a session; a session that raises it continues, unless it is a `SessionEnded`."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        #: VideoToolbox's number.
        self.code = code
        #: VideoToolbox's name without its prefix, such as "VideoEncoderMalfunction".
        self.name = STATUS_NAMES.get(code, "Unknown")
        #: One sentence of the daemon.
        self.reason = reason

    @property
    def may_succeed_later(self) -> bool:
        """Whether the same call may succeed when a limit is no longer reached."""
        return self.code in RETRY_LATER

    def __str__(self) -> str:
        return f"{self.name} ({self.code}): {self.reason}"


class ParameterError(StatusError, ValueError):
    """What this package refuses before it sends it: -12902, which the daemon would answer, often by ending the session."""


def refused(reason: str) -> ParameterError:
    """The error for a wrong argument."""
    return ParameterError(PARAMETER, reason)


class SessionEnded(StatusError):
    """The session has ended; each later call raises an equal error."""


class CallError(Error):
    """An error of Varlink itself, such as org.varlink.service.MethodNotFound."""

    def __init__(self, error: str, parameters: Mapping[str, object]) -> None:
        super().__init__(error, dict(parameters))
        self.error = error
        self.parameters = parameters

    @property
    def parameter(self) -> Optional[str]:
        """The name, with its path, of the parameter that is wrong, if the error is InvalidParameter."""
        value = self.parameters.get("parameter")
        return value if isinstance(value, str) else None

    def __str__(self) -> str:
        details = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        return f"{self.error}: {details}" if details else self.error


class NotRunning(Error, ConnectionError):
    """No daemon listens, and none could be started."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class NotPermitted(Error, PermissionError):
    """The user may not connect to the daemon's socket, or another user listens there who is not trusted."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ConnectionClosed(Error, ConnectionError):
    """The daemon closed the connection, or sent what is no reply."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class Timeout(Error, TimeoutError):
    """Nothing came within the timeout; the session continues."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
