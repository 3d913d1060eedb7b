# SPDX-License-Identifier: MIT
"""Messages over sockets that take and deliver them in parts."""
import array
import os
import select
import socket
import struct
import threading
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
