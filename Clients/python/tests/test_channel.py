# SPDX-License-Identifier: MIT
"""Messages over sockets that take and deliver them in parts."""
import array
import errno
import os
import select
import socket
import struct
import threading
import types
import unittest

from hwdaemon._core.channel import Channel
from hwdaemon._core.memory import Memory
from hwdaemon._core.readiness import Readiness

from .support import Peer
from .test_hostile import memory


def message(opcode, payload, count, sequence):
    return struct.pack("<IIII", len(payload), opcode, count, sequence) + payload


class ChannelTests(unittest.TestCase):
    def setUp(self):
        ours, self.peer = socket.socketpair()
        ours.setblocking(False)
        self.channel = Channel(ours)
        self.addCleanup(self.peer.close)
        self.addCleanup(self.channel.close)

    def receive(self):
        return list(self.channel.receive())

    def test_what_a_full_socket_does_not_take_is_sent_later_in_order(self):
        payloads = [bytes([number]) * 60000 for number in range(30)]
        for payload in payloads:
            self.channel.send(1, payload, [Memory.create(64)])
        self.assertTrue(self.channel.has_output)
        self.assertEqual(self.channel.events, select.POLLIN | select.POLLOUT)
        readiness = Readiness(self.channel.fileno())
        poller = select.poll()
        poller.register(readiness.fileno(), select.POLLIN)
        readiness.update(False, True, True)
        self.assertFalse(poller.poll(0))
        received = []

        def read():
            peer = Peer(self.peer)
            received.extend(peer.receive() for _ in payloads)

        reader = threading.Thread(target=read)
        reader.start()
        while self.channel.has_output:
            self.assertTrue(poller.poll(10000), "the descriptor reports that the socket takes more")
            self.channel.flush()
        reader.join()
        self.assertEqual([(sequence, payload) for _, payload, sequence in received], list(enumerate(payloads, 1)))

    def test_a_queued_message_keeps_its_memory(self):
        while not self.channel.has_output:
            self.channel.send(1, bytes(60000))
        self.channel.send(3, b"", [Memory.create(12345)])
        # Others get the numbers of descriptors that were closed.
        others = [memory(1) for _ in range(8)]
        peer, opcodes = Peer(self.peer), []
        reader = threading.Thread(target=lambda: opcodes.extend(iter(lambda: peer.receive()[0], 3)))
        reader.start()
        while self.channel.has_output:
            self.channel.flush()
        reader.join(10)
        self.assertEqual(peer.sizes, [12345])
        self.assertEqual(set(opcodes), {1})
        for number in others:
            os.close(number)

    def test_a_bad_descriptor_is_no_closed_connection(self):
        closed = memory(64)
        os.close(closed)
        self.channel.send(3, b"", [types.SimpleNamespace(descriptor=closed)])
        with self.assertRaises(OSError) as failed:
            self.receive()
        self.assertEqual(failed.exception.errno, errno.EBADF)

    def test_what_was_read_is_returned_before_more_is_read(self):
        peer = Peer(self.peer)
        for number in range(3):
            peer.send(65, bytes([number]))
        self.assertEqual(next(self.channel.receive()).payload, b"\0")
        self.assertTrue(self.channel.has_input)
        peer.send(65, b"\3")
        self.peer.close()
        self.assertEqual([entry.payload for entry in self.receive()], [b"\1", b"\2", b"\3"])
        self.assertFalse(self.channel.has_input or self.channel.at_end)
        self.assertEqual(self.receive(), [])
        self.assertTrue(self.channel.at_end)

    def test_messages_that_come_byte_by_byte_keep_their_descriptors(self):
        first, second = memory(64), memory(128)
        messages = [(message(67, bytes(8), 0, 1), []), (message(66, bytes(16), 1, 2), [first]),
                    (message(66, bytes(16), 1, 3), [second]), (message(65, b"record", 0, 4), [])]
        found = []
        for data, descriptors in messages:
            for place in range(len(data)):
                control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors and place == 0 else []
                self.peer.sendmsg([data[place : place + 1]], control)
                found += self.receive()
        self.assertEqual([entry.opcode for entry in found], [67, 66, 66, 65])
        self.assertEqual([[os.fstat(number).st_size for number in entry.descriptors] for entry in found], [[], [64], [128], []])
        self.assertTrue(all(not os.get_inheritable(number) for entry in found for number in entry.descriptors))
        for number in [first, second, *(number for entry in found for number in entry.descriptors)]:
            os.close(number)

    def test_messages_that_come_at_once_keep_their_descriptors(self):
        first, second = memory(64), memory(128)
        peer = Peer(self.peer)
        peer.send(67, bytes(8))
        peer.send(66, bytes(16), [first])
        peer.send(67, bytes(8))
        peer.send(66, bytes(16), [second])
        found = [entry for _ in range(4) for entry in self.receive()]
        self.assertEqual([[os.fstat(number).st_size for number in entry.descriptors] for entry in found], [[], [64], [], [128]])
        for number in [first, second, *(number for entry in found for number in entry.descriptors)]:
            os.close(number)

    def test_releases_of_other_threads_have_gapless_numbers(self):
        def release():
            for _ in range(500):
                self.channel.release(8, bytes(8))

        threads = [threading.Thread(target=release) for _ in range(4)]
        peer, sequences = Peer(self.peer), []
        reader = threading.Thread(target=lambda: sequences.extend(peer.receive()[2] for _ in range(2500)))
        reader.start()
        for thread in threads:
            thread.start()
        for _ in range(500):
            self.channel.send(2, b"[]")
        for thread in threads:
            thread.join()
        while self.channel.has_output:
            self.channel.flush()
        reader.join(10)
        self.assertEqual(sequences, list(range(1, 2501)))

    def test_the_end_of_the_connection(self):
        self.peer.sendall(message(67, bytes(8), 0, 1)[:10])
        self.assertEqual(self.receive(), [])
        self.peer.close()
        self.assertEqual(self.receive(), [])
        self.assertTrue(self.channel.at_end)
        self.channel.send(9)
        self.assertFalse(self.channel.has_output)


if __name__ == "__main__":
    unittest.main()
