# SPDX-License-Identifier: MIT
"""The daemon: its calls, and a private one where none runs."""
from __future__ import annotations

import os
import threading
from typing import Any, Dict, List, Mapping, Optional

from . import control
from ._core import varlink
from ._core.private import PrivateDaemon
from ._core.steps import Steps, run
from .errors import NotRunning

DEFAULT_ADDRESS = "/run/hwdaemon/hwdaemon.sock"
#: Long enough for calls that wait until hardware is verified.
CALL_TIMEOUT = 30.0


class Daemon:
    """A daemon at an address: a socket's path, or `@name` in the abstract namespace. Each call has its own connection.

    Methods raise NotRunning, NotPermitted, Timeout, StatusError (the daemon's errors) and CallError (Varlink's).
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._process: Optional[PrivateDaemon] = None

    @classmethod
    def find(cls, private: bool = True) -> Daemon:
        """The machine's daemon, or a private one where none listens.

        If `$HWDAEMON_SOCKET` is set, only that address is tried. A private daemon ends with this object, or this process.
        Raises NotRunning and NotPermitted.
        """
        explicit = os.environ.get("HWDAEMON_SOCKET")
        daemon = cls(explicit or DEFAULT_ADDRESS)
        try:
            run(varlink.connect(daemon.address), 10, "connecting to the daemon").close()
            return daemon
        except NotRunning:
            if explicit or not private:
                raise
        return cls.start_private()

    @classmethod
    def start_private(cls) -> Daemon:
        """Starts a daemon for this process alone. Raises NotRunning where the program is not found or does not start."""
        process = PrivateDaemon()
        daemon = cls(process.address)
        daemon._process = process
        return daemon

    @property
    def is_private(self) -> bool:
        return self._process is not None

    @property
    def is_running(self) -> bool:
        """Whether a private daemon still runs; always true for the machine's."""
        return self._process is None or self._process.is_running

    def close(self) -> None:
        """Ends a private daemon and its sessions."""
        if self._process is not None:
            self._process.close()

    def call(self, method: str, parameters: Optional[Mapping[str, Any]] = None, timeout: float = CALL_TIMEOUT) -> Dict[str, Any]:
        """The reply to any method: "Probe" is org.hwdaemon.Probe; a name with a dot is complete."""
        name = method if "." in method else varlink.INTERFACE + method
        return run(self._call(name, parameters or {}), timeout, name)

    def _call(self, method: str, parameters: Mapping[str, Any]) -> Steps[Dict[str, Any]]:
        connection = yield from varlink.connect(self.address)
        with connection:
            return (yield from varlink.exchange(connection, method, parameters))

    def info(self) -> control.ServiceInfo:
        return control.typed(control.ServiceInfo, self.call("org.varlink.service.GetInfo"))

    def interface_description(self, interface: str = "org.hwdaemon") -> str:
        """The interface's definition in Varlink's language."""
        reply = self.call("org.varlink.service.GetInterfaceDescription", {"interface": interface})
        return str(reply.get("description", ""))

    def features(self) -> control.Features:
        """What the daemon's protocol offers, and its limits."""
        return control.typed(control.Features, self.call("GetFeatures"))

    def probe(self, device: Optional[str] = None, verify: Optional[bool] = None, timeout: float = 120.0) -> control.Probe:
        """Probes the machine, or one render node, again: encoders, paths and nodes, each with why it cannot be used."""
        return control.typed(control.Probe, self.call("Probe", _present(device=device, verify=verify), timeout))

    def encoders(self) -> List[control.Encoder]:
        """The encoders found by the last probe, hardware first."""
        found: List[control.Encoder] = control.member(List[control.Encoder], self.call("ListEncoders"), "encoders")
        return found

    def decoders(self) -> List[control.Decoder]:
        """The decoders found by the last probe, hardware first; sessions use verified ones of "hevc"."""
        found: List[control.Decoder] = control.member(List[control.Decoder], self.call("ListDecoders"), "decoders")
        return found

    def effects(self) -> List[control.EffectInfo]:
        """The effects of pixel-transfer sessions; needs the feature `effects.list`."""
        found: List[control.EffectInfo] = control.member(List[control.EffectInfo], self.call("ListEffects"), "effects")
        return found

    def is_hardware_encode_supported(
        self, bit_depth: Optional[int] = None, width: Optional[int] = None, height: Optional[int] = None, codec: str = "hevc"
    ) -> control.HardwareSupport:
        """Whether a compression session that requires hardware would get it; waits up to 15 s for its verification."""
        question = _present(codec=codec, bit_depth=bit_depth, width=width, height=height)
        return control.typed(control.HardwareSupport, self.call("IsHardwareEncodeSupported", question))

    def is_hardware_decode_supported(
        self, bit_depth: Optional[int] = None, width: Optional[int] = None, height: Optional[int] = None, codec: str = "hevc"
    ) -> control.HardwareSupport:
        """Whether a decompression session that requires hardware would get it; waits up to 15 s for its verification.

        Of "h264", "vp9" and "av1", which sessions do not decode, whether a driver's decoder is verified.
        """
        question = _present(codec=codec, bit_depth=bit_depth, width=width, height=height)
        return control.typed(control.HardwareSupport, self.call("IsHardwareDecodeSupported", question))

    def is_still_encode_supported(
        self,
        width: Optional[int] = None,
        height: Optional[int] = None,
        bit_depth: Optional[int] = None,
        tile: Optional[int] = None,
    ) -> control.StillSupport:
        """Whether a HEIC file can be written, and whether hardware codes it; waits up to 15 s for its verification."""
        question = _present(bit_depth=bit_depth, width=width, height=height, tile=tile)
        return control.typed(control.StillSupport, self.call("IsStillEncodeSupported", question))

    def supported_properties(self, encoder_id: Optional[str] = None) -> Dict[str, control.Property]:
        """The properties of an encoder's or a decoder's sessions, by name; of the software encoder by default."""
        reply = self.call("GetSupportedProperties", _present(encoder_id=encoder_id))
        found: Dict[str, control.Property] = control.member(Dict[str, control.Property], reply, "properties")
        return found

    def session_result(self, session: str, wait: float = 0.0) -> control.SessionResult:
        """How a session ended; waits up to `wait` seconds (at most 10) for the end of one that runs."""
        question = {"session": session, "timeout_ms": int(wait * 1000)}
        return control.typed(control.SessionResult, self.call("GetSessionResult", question, wait + CALL_TIMEOUT))

    def sessions(self) -> List[control.RunningSession]:
        """The caller's running sessions; for root and the daemon's own user all sessions."""
        found: List[control.RunningSession] = control.member(List[control.RunningSession], self.call("ListSessions"), "sessions")
        return found

    def metrics(self) -> str:
        """The daemon's counters as OpenMetrics text."""
        return str(self.call("GetMetrics").get("metrics", ""))


def _present(**parameters: Any) -> Dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


_lock = threading.Lock()
_default: Optional[Daemon] = None


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


# Another thread of the parent may have had the lock.
os.register_at_fork(after_in_child=_renew_lock)


def default_daemon() -> Daemon:
    """The daemon that sessions use which name none: the machine's, or a private one, started once for this process."""
    global _default
    with _lock:
        if _default is None or _default.is_private and not _default.is_running:
            found = Daemon.find()
            if not found.is_private:
                # The machine's daemon may come and go; a private one is kept.
                return found
            _default = found
        return _default
