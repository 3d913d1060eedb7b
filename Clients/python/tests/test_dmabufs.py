# SPDX-License-Identifier: MIT
"""Pictures in dma-bufs, for which memfds stand (Tests/FakeDMABuf)."""
from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from typing import Tuple
from unittest import mock

from hwdaemon import CompressionSession, DMABufFrame, ParameterError, StatusError, TransferSession
from hwdaemon.formats import Plane

from .support import ROOT, clip, daemon

WIDTH, HEIGHT = 66, 38
PLACES = (Plane(128, 128), Plane(128 + 128 * HEIGHT + 64, 96))
RGB = (Plane(64, 4 * WIDTH + 32),)


def buffer(target: bool = False) -> Tuple[DMABufFrame, int]:
    size = 1 << 15
    descriptor = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    name, places = ("AR24", RGB) if target else ("nv12", PLACES)
    return DMABufFrame(descriptor, name, (WIDTH, HEIGHT), places, target=target), descriptor


class DMABufTests(unittest.TestCase):
    library: str

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.library = f"{folder.name}/dmabufs.so"
        subprocess.run(
            ["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", cls.library, ROOT / "Tests/FakeDMABuf/dmabufs.c", "-ldl"], check=True)

    def test_frames_are_those_of_pools(self) -> None:
        with mock.patch.dict(os.environ, {"LD_PRELOAD": self.library}):
            # Processes of sessions load it, too.
            server = daemon("--set", "SpareWorkers=0")
            with TransferSession(WIDTH, HEIGHT, "nv12", "AR24", device="cpu", daemon=server) as session:
                (source, _), (target, memory) = buffer(), buffer(target=True)
                ready, signal = os.pipe()
                os.write(signal, b"1")
                for frame in clip(WIDTH, HEIGHT, 3):
                    source.fill(frame)
                    session.add_fence(source, ready)
                    converted = session.result(session.submit(source, target=target))
                    self.assertIs(converted, target)
                    self.assertEqual(target.tobytes(), session.convert(frame).tobytes())
                with self.assertRaisesRegex(StatusError, "is not a sync file"):
                    session.add_fence(target, memory)

    def test_a_picture_with_a_fence_stays_registered(self) -> None:
        with mock.patch.dict(os.environ, {"LD_PRELOAD": self.library}):
            # Processes of sessions load it, too.
            server = daemon("--set", "SpareWorkers=0")
            with TransferSession(WIDTH, HEIGHT, "nv12", "AR24", device="cpu", daemon=server) as session:
                source, _ = buffer()
                targets = [buffer(target=True)[0] for _ in range(16)]
                source.fill(clip(WIDTH, HEIGHT, 1)[0])
                ready, write = os.pipe()
                os.write(write, b"1")
                # The first pool is the source's, the first to be removed. With the targets, they are as many as a session may have.
                session.add_fence(source, ready)
                for target in targets[:15]:
                    session.result(session.submit(source, target=target))
                unsignaled, signal = os.pipe()
                session.add_fence(source, unsignaled)
                # One more target takes the place of another pool.
                number = session.submit(source, target=targets[15])
                with self.assertRaisesRegex(StatusError, "fence"):
                    session.result(number)
                for target in targets[:14]:
                    session.add_fence(target, ready)
                session.add_fence(targets[0], ready)
                with self.assertRaisesRegex(ParameterError, "14 pictures have fences"):
                    session.add_fence(source, ready)
                for target in targets:
                    self.assertIs(session.result(session.submit(source, target=target)), target)
                for descriptor in (unsignaled, signal, ready, write):
                    os.close(descriptor)

    def test_a_memfd_is_refused(self) -> None:
        with TransferSession(WIDTH, HEIGHT, "nv12", "AR24", device="cpu", daemon=daemon()) as session:
            source, _ = buffer()
            with self.assertRaisesRegex(StatusError, "is not a dma-buf"):
                session.submit(source)
            self.assertEqual(len(session.convert(clip(WIDTH, HEIGHT, 1)[0]).tobytes()), 4 * WIDTH * HEIGHT)

    def test_a_picture_of_the_other_use_is_refused_and_the_session_continues(self) -> None:
        source, target, frame = buffer()[0], buffer(target=True)[0], clip(WIDTH, HEIGHT, 1)[0]
        with TransferSession(WIDTH, HEIGHT, "nv12", "nv12", device="cpu", daemon=daemon()) as session:
            with self.assertRaisesRegex(ParameterError, "is a source"):
                session.submit(frame, target=source)
            turned = DMABufFrame(os.dup(source.memory.descriptor), "nv12", (WIDTH, HEIGHT), PLACES, target=True)
            with self.assertRaisesRegex(ParameterError, "is a target"):
                session.submit(turned)
            self.assertEqual(session.convert(frame).tobytes(), frame)
        with CompressionSession(WIDTH, HEIGHT, "AR24", daemon=daemon()) as encoder:
            with self.assertRaisesRegex(ParameterError, "is a target"):
                encoder.encode(target, 0)

    def test_a_source_may_be_read_only(self) -> None:
        with mock.patch.dict(os.environ, {"LD_PRELOAD": self.library}):
            server = daemon("--set", "SpareWorkers=0")
            with TransferSession(WIDTH, HEIGHT, "nv12", "AR24", device="cpu", daemon=server) as session:
                (source, descriptor), frame = buffer(), clip(WIDTH, HEIGHT, 1)[0]
                source.fill(frame)
                read_only = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
                picture = DMABufFrame(read_only, "nv12", (WIDTH, HEIGHT), PLACES)
                os.close(read_only)
                self.assertEqual(picture.tobytes(), source.tobytes())
                with self.assertRaisesRegex(ParameterError, "can only be read"):
                    picture.fill(frame)
                self.assertEqual(session.convert(picture).tobytes(), session.convert(frame).tobytes())

    def test_planes_outside_the_dma_buf_are_refused(self) -> None:
        _, descriptor = buffer()
        with self.assertRaisesRegex(ParameterError, "plane 1 ends outside"):
            DMABufFrame(descriptor, "nv12", (WIDTH, HEIGHT), (Plane(0, 128), Plane((1 << 15) - 64, 96)))


if __name__ == "__main__":
    unittest.main()
