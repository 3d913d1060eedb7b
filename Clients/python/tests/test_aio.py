# SPDX-License-Identifier: MIT
"""The sessions for asyncio."""
import asyncio
import select
import threading
import unittest

import hwdaemon
from hwdaemon import Frame, aio
from hwdaemon._core.memory import Memory
from hwdaemon.formats import layout

from .support import FakeWorker, clip, daemon, decode, stream
from .test_hostile import COMPRESSION, DECOMPRESSION


class AsyncTests(unittest.IsolatedAsyncioTestCase):
    async def test_one_task_sends_while_another_takes_packets(self):
        frames, packets = clip(320, 180, 12), []

        async def collect(session):
            async for packet in session.packets():
                packets.append(packet)

        async with aio.CompressionSession(320, 180, "nv12", time_base=(1, 30), daemon=daemon(), RealTime=True) as session:
            self.assertTrue(await session.prepare())
            collector = asyncio.ensure_future(collect(session))
            for number, frame in enumerate(frames):
                await session.encode(frame, pts=number, duration=1)
            await session.flush()
            await session.set(AverageBitRate=300_000)
            self.assertEqual(await session.get("AverageBitRate"), 300_000)
            rest = await session.finish()
            await asyncio.wait_for(collector, 10)
        packets += rest
        self.assertEqual(len(packets), 12)
        self.assertEqual(len(decode(stream(packets))), sum(map(len, frames)))

    async def test_pictures_come_in_order(self):
        async with aio.CompressionSession(64, 48, "nv12", daemon=daemon()) as encoder:
            for number, frame in enumerate(clip(64, 48, 20)):
                await encoder.encode(frame, pts=number)
            packets = await encoder.finish()
        times = []
        async with aio.DecompressionSession(packets[0].format_description, daemon=daemon()) as decoder:
            for packet in packets:
                await decoder.decode(packet.data, packet.pts)
                times += [picture.pts for picture in decoder.pictures_now()]
            async for picture in decoder.finish():
                times.append(picture.pts)
        self.assertEqual(times, list(range(20)))

    async def test_many_tasks_convert_at_once(self):
        frame = clip(64, 48, 1)[0]
        async with aio.TransferSession(64, 48, "nv12", "ab24", device="cpu", daemon=daemon()) as session:
            async def size():
                return len((await session.convert(frame)).tobytes())

            self.assertEqual(await asyncio.gather(*(size() for _ in range(60))), [64 * 48 * 4] * 60)

    async def test_a_silent_worker_is_a_timeout_and_a_cancelled_task_leaves_the_session(self):
        def worker(peer):
            for _ in range(2):
                peer.receive()
            _, _, sequence = peer.receive()
            peer.reply(1)
            peer.reply(sequence, body=b'{"Quality": 1}')
            peer.receive()

        fake = FakeWorker(COMPRESSION, worker)
        async with aio.CompressionSession(64, 48, "nv12", daemon=fake.daemon) as session:
            session.timeout = 0.2
            with self.assertRaises(hwdaemon.Timeout):
                await session.get("EncoderID")
            task = asyncio.ensure_future(session.get("EncoderID"))
            await asyncio.sleep(0.05)
            task.cancel()
            session.timeout = 5
            self.assertEqual(await session.get("Quality"), 1)
            await session.close(timeout=0.2)
        fake.close()

    async def test_tasks_that_wait_do_not_wake_each_other(self):
        fake = FakeWorker(COMPRESSION, lambda peer: [peer.receive() for _ in range(5)])
        async with aio.CompressionSession(64, 48, "nv12", daemon=fake.daemon) as session:
            session.timeout = 0.2
            advance, count = session._link.advance, 0

            def counted():
                nonlocal count
                count += 1
                advance()

            session._link.advance = counted
            results = await asyncio.gather(*(session.get("Quality") for _ in range(3)), return_exceptions=True)
            self.assertEqual([type(result) for result in results], [hwdaemon.Timeout] * 3)
            # Each looks once; tasks that wake each other would look thousands of times.
            self.assertLessEqual(count, 10)
            await session.close(timeout=0.1)
        fake.close()

    async def test_a_socket_that_takes_data_again_wakes_no_one_without_end(self):
        reads = threading.Event()

        def worker(peer):
            reads.wait(10)
            while True:
                peer.receive()

        fake = FakeWorker(COMPRESSION, worker)
        async with aio.CompressionSession(64, 48, "nv12", daemon=fake.daemon) as session:
            session.timeout = 1
            waiting = [asyncio.ensure_future(session.get("Quality"))]
            await asyncio.sleep(0.05)
            waiting += [asyncio.ensure_future(session.set(X265Params="x" * 60000)) for _ in range(8)]
            await asyncio.sleep(0.05)
            self.assertTrue(session._link.channel.has_output)
            advance, count = session._link.advance, 0

            def counted():
                nonlocal count
                count += 1
                advance()

            reads.set()
            while session._link.channel.has_output:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            session._link.advance = counted
            results = await asyncio.gather(*waiting, return_exceptions=True)
            self.assertEqual({type(result) for result in results}, {hwdaemon.Timeout})
            # The socket takes more, and nothing comes: nobody has a reason to look again.
            self.assertLessEqual(count, 20)
            await session.close(timeout=0.1)
        fake.close()

    async def test_pictures_now_wakes_those_for_whom_something_came(self):
        replies = threading.Event()

        def worker(peer):
            _, _, sequence = peer.receive()
            replies.wait(10)
            peer.reply(sequence, body=b'{"RealTime": true}')
            peer.receive()

        fake = FakeWorker(DECOMPRESSION, worker)
        async with aio.DecompressionSession(b"\1", daemon=fake.daemon) as session:
            value = asyncio.ensure_future(session.get("RealTime"))
            while not session._link._answers:
                await asyncio.sleep(0)
            replies.set()
            select.select([session._link.channel], [], [], 10)
            self.assertEqual(session.pictures_now(), [])
            self.assertTrue(await asyncio.wait_for(value, 5))
            await session.close(timeout=0.1)
        fake.close()

    async def test_more_sources_than_pools(self):
        form = layout("NV12", 64, 48)
        async with aio.TransferSession(64, 48, "nv12", "ab24", device="cpu", daemon=daemon()) as session:
            async def convert(number):
                source = Frame(Memory.create(form.size), form, 0, lambda: None)
                source.fill([bytes([16 + number]) * (64 * 48), bytes([128]) * (64 * 24)])
                return (await session.convert(source)).tobytes()[0]

            self.assertEqual(len(await asyncio.gather(*(convert(number) for number in range(60)))), 60)
            self.assertLessEqual(len(session._link.pools._pools), 16)

    async def test_a_session_is_created_by_async_with(self):
        session = aio.CompressionSession(64, 48, "nv12", daemon=daemon())
        with self.assertRaisesRegex(RuntimeError, "async with"):
            await session.get("Quality")


if __name__ == "__main__":
    unittest.main()
