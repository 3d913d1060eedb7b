# SPDX-License-Identifier: MIT
"""Workers that break the protocol: each fault ends the session with a sentence, and no call waits without end."""
import fcntl
import os
import random
import struct
import unittest

import hwdaemon
from hwdaemon import CompressionSession, DecompressionSession

from .support import FakeWorker
from .test_protocol import messages

COMPRESSION = {"session": "5", "encoder_id": "e", "using_hardware": False, "max_frames_in_flight": 4, "max_packets_in_flight": 4}
DECOMPRESSION = {"session": "5", "decoder_id": "d", "using_hardware": False, "width": 64, "height": 48, "pixel_format": "NV12",
                 "max_packets_in_flight": 4, "max_frames_in_flight": 2}
FRAME = bytes(64 * 48 * 3 // 2)


def memory(size, seals=fcntl.F_SEAL_SHRINK):
    descriptor = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def packet(frame=1, pts=0, arena=1, offset=0, size=16, number=1):
    return struct.pack("<QQqqqIIQIBBH", number, frame, pts, pts, 0, arena, 1, offset, size, 20, 0, 0)


def picture(width=64, height=48, planes=((0, 64), (3072, 64)), form=b"NV12", clean=None, frame=1, number=1, counts=None):
    clean = clean or (0, 0, width, height)
    data = struct.pack("<QQqqII4sII4I8BiiI", number, frame, 0, 0, 1, 1, form, width, height, *clean, 1, 1, 1, 0, 0, 8,
                       *(counts or (len(planes), 0)), 1, 1, 0)
    return data + b"".join(struct.pack("<QII", offset, stride, 0) for offset, stride in planes)


class Faults(unittest.TestCase):
    def open_descriptors(self):
        return len(os.listdir("/proc/self/fd"))

    def compression(self, faulty, reason):
        """Sends a frame to a worker that accepts its pool and then misbehaves."""
        def worker(peer):
            _, _, sequence = peer.receive()
            peer.reply(sequence)
            peer.receive()
            faulty(peer)
            peer.receive()

        fake = FakeWorker(COMPRESSION, worker)
        session = CompressionSession(64, 48, "nv12", daemon=fake.daemon, timeout=5)
        with self.assertRaises(hwdaemon.SessionEnded) as ended:
            session.encode(FRAME, pts=0)
            for _ in range(100):
                list(session.packets(timeout=5))
        fake.close()
        self.assertRegex(str(ended.exception), "VideoEncoderMalfunction.*the worker broke the protocol: .*" + reason)

    def decompression(self, faulty, reason):
        def worker(peer):
            _, _, sequence = peer.receive()
            peer.reply(sequence)
            peer.receive()
            descriptor = memory(8192)
            peer.send(66, struct.pack("<IIQ", 1, 0, 8192), [descriptor])
            os.close(descriptor)
            faulty(peer)
            peer.receive()

        fake = FakeWorker(DECOMPRESSION, worker)
        session = DecompressionSession(b"\1", daemon=fake.daemon, timeout=5)
        with self.assertRaises(hwdaemon.SessionEnded) as ended:
            session.send(b"123", 0)
            kept = []
            for _ in range(100):
                kept += session.pictures(timeout=5)
        fake.close()
        self.assertRegex(str(ended.exception), "VideoDecoderMalfunction.*the worker broke the protocol: .*" + reason)

    def test_headers(self):
        self.compression(lambda peer: peer.send(67, struct.pack("<Q", 1), sequence=7), "message 7 follows message 1")
        self.compression(lambda peer: peer.send(67, length=65537), "announces 65537 bytes")
        self.compression(lambda peer: peer.send(67, struct.pack("<Q", 1), count=1), "has 1 descriptors")
        self.compression(lambda peer: peer.send(66, struct.pack("<IIQ", 1, 0, 16), count=1), "lacks its descriptors")
        self.compression(lambda peer: peer.send(200), "opcode 200")
        self.compression(lambda peer: peer.send(6), "opcode 6")
        self.compression(lambda peer: peer.send(70, picture()), "opcode 70")

    def test_descriptors(self):
        before = self.open_descriptors()
        descriptor = memory(64)
        self.compression(lambda peer: peer.send(67, struct.pack("<Q", 1), [descriptor] * 9, count=0), "more than 8 descriptors")
        self.compression(lambda peer: peer.send(67, struct.pack("<Q", 1), [descriptor], count=0), "without a message")
        self.compression(lambda peer: peer.send(68, packet(), [descriptor]), "is in no arena")
        os.close(descriptor)
        self.assertLessEqual(self.open_descriptors(), before + 4)

    def test_arenas(self):
        def arena(descriptor, size=64, number=1):
            return lambda peer: peer.send(66, struct.pack("<IIQ", number, 0, size), [descriptor])

        self.compression(arena(memory(64, 0)), "not sealed")
        self.compression(arena(memory(64), 65), "does not have 65 bytes")
        self.compression(arena(memory(64), 0), "does not have 0 bytes")
        self.compression(arena(memory(64), 1 << 63), "does not have")
        reader, _ = os.pipe()
        self.compression(arena(reader), "no memfd")
        self.compression(lambda peer: [arena(memory(64))(peer), arena(memory(64), number=2)(peer)], "a second arena")
        self.decompression(arena(memory(64)), "arena 1 twice")
        self.decompression(lambda peer: peer.send(72, struct.pack("<I", 9)), "does not exist")

    def test_packets(self):
        def sends(data, described=True):
            def faulty(peer):
                peer.send(66, struct.pack("<IIQ", 1, 0, 64), [memory(64)])
                if described:
                    peer.send(65, b"\1")
                peer.send(68, data)
            return faulty

        self.compression(sends(packet(frame=2)), "frame 2, which waits for none")
        self.compression(sends(packet(pts=1)), "with the pts 1")
        self.compression(sends(packet(arena=2)), "in no arena")
        self.compression(sends(packet(arena=0xFFFFFFFF)), "without a descriptor")
        self.compression(sends(packet(size=65)), "leaves its arena")
        self.compression(sends(packet(size=3 << 20)), "a packet has 3145728 bytes, and its frame")
        self.compression(sends(packet(offset=(1 << 64) - 8)), "leaves its arena")
        self.compression(sends(packet(), described=False), "before the format description")
        self.compression(lambda peer: peer.send(67, struct.pack("<Q", 3)), "released frame 3")
        self.compression(lambda peer: peer.reply(77), "replied to message 77")

    def test_pictures(self):
        def sends(*pictures):
            return lambda peer: [peer.send(70, data) for data in pictures]

        self.decompression(sends(picture(form=b"NOPE")), "pixel format")
        self.decompression(sends(picture(planes=((0, 64),))), "2 planes, not 1")
        self.decompression(sends(picture(planes=((0, 64), (8192 - 64, 64)))), "ends outside")
        self.decompression(sends(picture(planes=((0, 63), (3072, 64)))), "stride")
        self.decompression(sends(picture(planes=(((1 << 64) - 1, 64), (3072, 64)))), "ends outside")
        self.decompression(sends(picture(width=0)), "size")
        self.decompression(sends(picture(clean=(1, 0, 64, 48))), "clean aperture")
        self.decompression(sends(picture(counts=(9, 0))), "9 planes")
        self.decompression(sends(picture(counts=(2, 1))), "side data exceed")
        self.decompression(sends(picture() + b"\0"), "1 bytes follow")
        self.decompression(sends(picture(frame=2)), "never sent")
        self.decompression(sends(picture(), picture()), "sent twice")
        self.decompression(sends(*(picture(number=number) for number in range(3))), "exceeds its credits")
        self.decompression(lambda peer: peer.send(71, struct.pack("<QiI", 5, 0, 0)), "never sent")
        self.decompression(lambda peer: [peer.send(71, struct.pack("<QiI", 1, 0, 0)) for _ in range(50)], "too often")

    def test_properties_that_are_no_object(self):
        for body in (b"[]", b"{", b"[" * 60000, b"\xff"):
            def worker(peer, body=body):
                _, _, sequence = peer.receive()
                peer.reply(sequence, body=body)
                peer.receive()

            fake = FakeWorker(COMPRESSION, worker)
            session = CompressionSession(64, 48, "nv12", daemon=fake.daemon, timeout=5)
            with self.assertRaisesRegex(hwdaemon.SessionEnded, "no JSON object"):
                session["EncoderID"]
            fake.close()

    def test_a_reply_to_a_message_that_was_not_sent(self):
        def worker(peer):
            _, _, sequence = peer.receive()
            peer.reply(sequence + 1, body=b"{}")
            peer.receive()

        fake = FakeWorker(COMPRESSION, worker)
        session = CompressionSession(64, 48, "nv12", daemon=fake.daemon, timeout=5)
        with self.assertRaisesRegex(hwdaemon.SessionEnded, "replied to message 2"):
            session["Quality"]
        fake.close()

    def test_a_silent_worker_is_a_timeout(self):
        fake = FakeWorker(COMPRESSION, lambda peer: peer.receive() and peer.receive())
        session = CompressionSession(64, 48, "nv12", daemon=fake.daemon)
        session.timeout = 0.2
        with self.assertRaises(TimeoutError):
            session["EncoderID"]
        session.close(timeout=0.2)
        fake.close()

    def test_a_worker_that_dies_has_the_daemon_s_reason(self):
        result = {"parameters": {"finished": True, "code": -12912, "reason": "it ran away", "frames_in": 0, "frames_out": 0}}
        for answer, reason in ((result, "it ran away"), (None, "does not know why")):
            fake = FakeWorker(COMPRESSION, lambda peer: peer.receive(), answer)
            session = CompressionSession(64, 48, "nv12", daemon=fake.daemon, timeout=5)
            with self.assertRaisesRegex(hwdaemon.SessionEnded, reason):
                session["EncoderID"]
            fake.close()

    def test_ten_thousand_mutated_messages_raise_nothing_else(self):
        """Each is a message of the document with changed bytes, among messages that are right."""
        examples = [data for name, data, _ in messages() if int.from_bytes(data[4:8], "little") >= 64]
        generator = random.Random(19)
        count = 0

        def worker(peer):
            nonlocal count
            while True:
                mutated = bytearray(generator.choice(examples))
                mutated[12:16] = struct.pack("<I", peer.sent + 1)
                for _ in range(generator.randrange(4)):
                    mutated[generator.randrange(len(mutated))] = generator.randrange(256)
                descriptors = [memory(8192)] if generator.random() < 0.4 else []
                count += 1
                try:
                    peer.send(mutated[4], bytes(mutated[16:]), descriptors, length=int.from_bytes(mutated[:4], "little"),
                              count=int.from_bytes(mutated[8:12], "little"))
                finally:
                    for descriptor in descriptors:
                        os.close(descriptor)

        before = self.open_descriptors()
        while count < 10000:
            kind = generator.randrange(2)
            fake = FakeWorker((COMPRESSION, DECOMPRESSION)[kind], worker)
            with self.assertRaises(hwdaemon.SessionEnded):
                session = (CompressionSession(64, 48, "nv12", daemon=fake.daemon, timeout=5) if kind == 0 else
                           DecompressionSession(b"\1", daemon=fake.daemon, timeout=5))
                for _ in range(1000):
                    list((session.packets if kind == 0 else session.pictures)(timeout=1))
            fake.close()
        self.assertLess(self.open_descriptors(), before + 50)


class CallTests(unittest.TestCase):
    def test_a_daemon_that_sends_nonsense(self):
        for reply in ([], 5, {"parameters": 5}, {"error": 5}, {"parameters": {"encoders": [{}]}}, {"parameters": {}}):
            fake = FakeWorker(COMPRESSION, lambda peer: None, reply)
            with self.assertRaises(hwdaemon.Error, msg=reply):
                fake.daemon.encoders()
            fake.close()

    def test_no_daemon(self):
        with self.assertRaises(hwdaemon.NotRunning):
            hwdaemon.Daemon("@hwdaemon-nobody-is-here").info()
        with self.assertRaises(ConnectionError):
            hwdaemon.Daemon("/nonexistent/socket").info()


if __name__ == "__main__":
    unittest.main()
