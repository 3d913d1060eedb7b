# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of HWDaemon that needs nothing but docs/protocol.md and Python's standard library.

It shows that the document is complete: scripts/check-protocol runs it, and shares no code with HWClient and Wire.
"""
import array
import fcntl
import json
import mmap
import os
import socket
import stat
import struct
import time

HEADER = struct.Struct("<IIII")
PLANE = struct.Struct("<QII")
NO_TIME = -(1 << 63)
OWN_MEMORY = (1 << 32) - 1
F_ADD_SEALS, F_SEAL_SHRINK = 1033, 2


class Failure(Exception):
    """An error of the daemon: its name or status, and its reason."""


class Pool:
    """Memory of this process that sessions read and write."""

    def __init__(self, size):
        self.size = size
        self.descriptor = os.memfd_create("pool", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, size)
        fcntl.fcntl(self.descriptor, F_ADD_SEALS, F_SEAL_SHRINK)
        self.bytes = mmap.mmap(self.descriptor, size)

    def close(self):
        self.bytes.close()
        os.close(self.descriptor)


class Daemon:
    """A Varlink connection."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(60)
        deadline = time.monotonic() + 10
        while True:
            try:
                self.socket.connect(path)
                break
            except (ConnectionRefusedError, FileNotFoundError):
                # A daemon that starts does not listen yet.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        _, user, _ = struct.unpack("iII", self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user not in (os.geteuid(), 0) and not self.is_made_by(user, path):
            raise Failure(f"user {user}, who is not trusted, listens on {path}")

    @staticmethod
    def is_made_by(user, path):
        """Whether nobody else can have made the socket ("Who listens")."""
        folders = [os.lstat(path[:end] or "/") for end, letter in enumerate(path) if letter == "/"]
        return path.startswith("/") and os.lstat(path).st_uid == user and all(
            stat.S_ISDIR(folder.st_mode) and folder.st_uid in (0, os.geteuid(), user) and not folder.st_mode & 0o022
            for folder in folders)

    def call(self, method, parameters=None, upgrade=False):
        """The parameters of the reply; raises Failure for an error."""
        call = {"method": method, "parameters": parameters or {}}
        if upgrade:
            call["upgrade"] = True
        reply = self.exchange(call)
        if "error" in reply:
            raise Failure(f"{reply['error']}: {reply.get('parameters')}")
        return reply["parameters"]

    def exchange(self, call):
        """The reply to a call, both as the protocol has them."""
        self.socket.sendall(json.dumps(call).encode() + b"\0")
        reply = b""
        while not reply.endswith(b"\0"):
            # The reply to an upgrade call ends where the session's messages begin, so bytes are read one by one.
            byte = self.socket.recv(1)
            if not byte:
                raise Failure("the daemon closed the connection")
            reply += byte
        return json.loads(reply[:-1])

    def close(self):
        self.socket.close()


class Session:
    """The messages of a session. Subclasses handle those of their kind."""

    def __init__(self, path, method, parameters):
        daemon = Daemon(path)
        self.info = daemon.call(method, parameters, upgrade=True)
        self.socket = daemon.socket
        self.sent = self.received = 0
        self.replies = {}
        self.arenas = {}
        self.ended = None

    def send(self, opcode, payload=b"", descriptors=()):
        self.sent += 1
        message = HEADER.pack(len(payload), opcode, len(descriptors), self.sent) + payload
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        try:
            count = self.socket.sendmsg([message], ancillary)
            if count < len(message):
                self.socket.sendall(message[count:])
        except BrokenPipeError:
            # The worker ended the session; its last message says why.
            while self.ended is None:
                self.receive()
        return self.sent

    def read(self, size):
        parts, descriptors = [], []
        while size:
            part, received, _, _ = socket.recv_fds(self.socket, size, 8, socket.MSG_CMSG_CLOEXEC)
            if not part:
                raise Failure("the session's connection ended without a reason")
            parts.append(part)
            descriptors += received
            size -= len(part)
        return b"".join(parts), descriptors

    def receive(self):
        """Handles one message of the worker."""
        header, descriptors = self.read(HEADER.size)
        length, opcode, count, sequence = HEADER.unpack(header)
        self.received += 1
        assert sequence == self.received, f"message {sequence} instead of {self.received}"
        assert length <= 65536 and count == len(descriptors), f"opcode {opcode}: {length} bytes, {len(descriptors)} descriptors"
        payload, more = self.read(length)
        assert not more, "descriptors come with the first byte"
        if opcode == 64:
            number, status = struct.unpack_from("<Ii", payload)
            self.replies[number] = (status, payload[8:].decode())
        elif opcode == 66:
            arena, zero, size = struct.unpack("<IIQ", payload)
            assert zero == 0
            self.arenas[arena] = mmap.mmap(descriptors[0], size, prot=mmap.PROT_READ)
            os.close(descriptors[0])
        elif opcode == 69:
            status, = struct.unpack_from("<i", payload)
            self.ended = (status, payload[4:].decode())
            if status:
                raise Failure(f"the session ended with {status}: {self.ended[1]}")
        else:
            self.handle(opcode, payload, descriptors)

    def request(self, opcode, payload=b"", descriptors=()):
        """Sends a message and waits for its reply's text."""
        number = self.send(opcode, payload, descriptors)
        return self.wait(number)

    def wait(self, number):
        while number not in self.replies:
            self.receive()
        status, text = self.replies.pop(number)
        if status:
            raise Failure(f"{status}: {text}")
        return text

    def add_pool(self, number, pool):
        self.request(3, struct.pack("<IIQ", number, 0, pool.size), [pool.descriptor])

    def properties(self, *names):
        return json.loads(self.request(2, json.dumps(names).encode()))

    def close(self):
        self.send(9)
        while self.ended is None:
            self.receive()
        for arena in self.arenas.values():
            arena.close()
        self.socket.close()


class CompressionSession(Session):
    """Frames to packets: (pts, dts, duration, flags, bytes), and the mean squared errors of Y', Cb and Cr by frame."""

    def __init__(self, path, parameters):
        self.format_description, self.in_flight, self.packets, self.errors = None, set(), [], {}
        super().__init__(path, "org.hwdaemon.CreateCompressionSession", parameters)

    def handle(self, opcode, payload, descriptors):
        if opcode == 65:
            self.format_description = payload
        elif opcode == 67:
            self.in_flight.remove(struct.unpack("<Q", payload)[0])
        elif opcode == 68:
            self.take_packet(payload, descriptors)
        elif opcode == 73:
            _, frame, *self.errors[frame] = struct.unpack("<QQddd", payload)
        else:
            raise Failure(f"unexpected opcode {opcode}")

    def take_packet(self, payload, descriptors):
        packet, _, pts, dts, duration, arena, flags, offset, size, kind, level, zero = struct.unpack("<QQqqqIIQIBBH", payload)
        assert zero == 0
        if arena == OWN_MEMORY:
            with mmap.mmap(descriptors[0], 0, prot=mmap.PROT_READ) as memory:
                data = memory[offset:offset + size]
            os.close(descriptors[0])
        else:
            data = self.arenas[arena][offset:offset + size]
        assert len(data) == size, "the packet leaves its arena"
        self.packets.append((pts, dts, duration, flags, data))
        self.send(8, struct.pack("<Q", packet))

    def encode(self, frame, pts, duration, pool, planes, flags=0, qp=-1, color=None, side_data=None):
        """Planes are (offset, stride); a color is (primaries, transfer, matrix, full range, chroma location); side data are
        (kind, bytes). A frame with either, or with side_data [], is sent with metadata."""
        while len(self.in_flight) >= self.info["max_frames_in_flight"]:
            self.receive()
        self.in_flight.add(frame)
        places = b"".join(PLANE.pack(offset, stride, 0) for offset, stride in planes)
        if color is None and side_data is None:
            self.send(6, struct.pack("<QqqIIiI", frame, pts, duration, pool, flags, qp, len(planes)) + places)
            return
        entries = side_data or []
        fields = [color is not None, *(color or [0] * 5), len(planes), len(entries), 0]
        payload = struct.pack("<QqqIIi8BI", frame, pts, duration, pool, flags, qp, *fields) + places
        self.send(15, payload + b"".join(struct.pack("<II", kind, len(data)) + data for kind, data in entries))

    def prepare(self):
        self.request(5)

    def complete(self):
        self.request(7, struct.pack("<q", (1 << 63) - 1))


class DecompressionSession(Session):
    """Packets to pictures: (pts, fourcc, width, height, [(offset, stride)], memory)."""

    def __init__(self, path, parameters, show):
        self.in_flight, self.show, self.reports = set(), show, []
        super().__init__(path, "org.hwdaemon.CreateDecompressionSession", parameters)

    def handle(self, opcode, payload, _):
        if opcode == 67:
            self.in_flight.remove(struct.unpack("<Q", payload)[0])
        elif opcode == 70:
            self.take_picture(payload)
        elif opcode == 71:
            frame, status, flags = struct.unpack_from("<QiI", payload)
            self.reports.append((frame, status, flags, payload[16:].decode()))
        elif opcode == 72:
            self.arenas.pop(struct.unpack("<I", payload)[0]).close()
        else:
            raise Failure(f"unexpected opcode {opcode}")

    def take_picture(self, payload):
        layout = struct.Struct("<QQqqIIIII4I8BiiI")
        values = layout.unpack_from(payload)
        picture, _, pts, _, arena, _, fourcc, width, height = values[:9]
        plane_count, side_data_count = values[19], values[20]
        place, planes = layout.size, []
        for _ in range(plane_count):
            offset, stride, zero = PLANE.unpack_from(payload, place)
            assert zero == 0
            planes.append((offset, stride))
            place += PLANE.size
        for _ in range(side_data_count):
            _, size = struct.unpack_from("<II", payload, place)
            place += 8 + size
        assert place == len(payload), f"{len(payload) - place} bytes after the side data"
        self.show(pts, fourcc.to_bytes(4, "little").decode(), width, height, planes, self.arenas[arena])
        self.send(14, struct.pack("<Q", picture))

    def decode(self, frame, pts, duration, pool, offset, size):
        while len(self.in_flight) >= self.info["max_packets_in_flight"]:
            self.receive()
        self.in_flight.add(frame)
        self.send(10, struct.pack("<QqqIIQII", frame, pts, duration, pool, 1, offset, size, 0))

    def finish(self):
        self.request(11)


class TransferSession(Session):
    """Frames to converted frames."""

    def __init__(self, path, parameters):
        self.answers = {}
        super().__init__(path, "org.hwdaemon.CreateTransferSession", parameters)

    def handle(self, opcode, payload, _):
        if opcode != 80:
            raise Failure(f"unexpected opcode {opcode}")
        frame, status, zero = struct.unpack_from("<QiI", payload)
        assert zero == 0
        self.answers[frame] = (status, payload[16:].decode())

    def transfer(self, frame, source, source_planes, target, target_planes, color=None):
        """Planes are (offset, stride); a color is (primaries, transfer, matrix, full range, chroma location)."""
        fields = [frame, source, target, color is not None, *(color or [0] * 5), len(source_planes), len(target_planes)]
        planes = b"".join(PLANE.pack(offset, stride, 0) for offset, stride in [*source_planes, *target_planes])
        self.send(20, struct.pack("<QII8B", *fields) + planes)
        while frame not in self.answers:
            self.receive()
        status, reason = self.answers.pop(frame)
        if status:
            raise Failure(f"{status}: {reason}")
