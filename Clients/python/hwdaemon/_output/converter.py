# SPDX-License-Identifier: MIT
"""The conversion of pictures that are shown next."""
from __future__ import annotations

from typing import Mapping, Optional, Tuple, Union

from ..daemon import Daemon
from ..errors import Error, SessionEnded, Timeout
from ..images import Image, Picture
from ..transfer import TransferSession
from .playback import QueuedFrame
from .shared import OutputState


class Converter:
    """A transfer session, which is replaced where pictures of another size or format come."""

    def __init__(self, state: OutputState, target: Union[str, Mapping[str, str]], daemon: Daemon) -> None:
        self._state, self._target, self._daemon = state, target, daemon
        self._session: Optional[TransferSession] = None
        self._key: Tuple[int, int, str] = (0, 0, "")

    @property
    def has_ended(self) -> bool:
        """Whether its process has failed."""
        return self._session is not None and self._session._link.ended is not None

    def check(self) -> None:
        """Raises why its process has failed."""
        if self._session is not None:
            self._session._link.check()

    def close(self) -> None:
        if self._session is not None:
            self._session.close(0)
        self._session = None

    def convert(self, frame: QueuedFrame, picture: Picture) -> bool:
        """Converts a frame's picture; false if nothing was done."""
        key = (picture.width, picture.height, picture.pixel_format)
        error: Optional[Exception] = None
        shown: Optional[Image] = None
        try:
            if self._session is None or self._key != key:
                self.close()
                self._session = TransferSession(key[0], key[1], key[2], self._target, daemon=self._daemon)
                self._key = key
            try:
                # An app that keeps all frames gets no more of them; the decoder is not to wait for that.
                number = self._session.submit(picture, picture.color, 0.05)
            except Timeout:
                return False
            shown = self._session.result(number)
        except SessionEnded:
            raise
        except Error as fault:
            error = fault
        with self._state.looked as playback:
            frame.shown, frame.error = shown, error
            playback.counts.converted += shown is not None
        return True
