# SPDX-License-Identifier: MIT
"""Sessions in several threads and processes, and what remains of them after their end."""
import gc
import importlib.util
import os
import pickle
import queue
import select
import signal
import threading
import unittest

import hwdaemon
from hwdaemon import CompressionSession, DecompressionSession, TransferSession

from .support import FakeWorker, clip, daemon
from .test_hostile import COMPRESSION, FRAME
from .test_sessions import encode


class SilentWorkerTests(unittest.TestCase):
    def setUp(self):
        def worker(peer):
            while True:
                peer.receive()

        fake = FakeWorker(COMPRESSION, worker)
        self.addCleanup(fake.close)
        self.session = CompressionSession(64, 48, "nv12", daemon=fake.daemon)
        self.addCleanup(self.session.close, timeout=0.1)

    def begin(self):
        """A thread that waits in a call of the session; what the call raises comes in the queue."""
        raised, begun = queue.Queue(), threading.Event()

        def wait():
            begun.set()
            try:
                self.session["Quality"]
            except Exception as error:
                raised.put(error)

        threading.Thread(target=wait, daemon=True).start()
        begun.wait(10)
        while self.session._user is None:
            pass
        return raised

    def test_close_ends_a_call_that_waits_in_another_thread(self):
        raised = self.begin()
        self.session.close(timeout=10)
        error = raised.get(timeout=10)
        self.assertIsInstance(error, hwdaemon.SessionEnded)
        self.assertEqual((error.name, error.reason), ("InvalidSession", "the session was closed"))
        self.assertEqual(self.session._link.channel.fileno(), -1)

    def test_a_call_after_close_began_is_an_end(self):
        # This worker does not answer, so that `close` waits.
        closing = threading.Thread(target=self.session.close, kwargs={"timeout": 0.5})
        closing.start()
        while not self.session._is_closing:
            pass
        for _ in range(2):
            with self.assertRaisesRegex(hwdaemon.SessionEnded, "was closed"):
                self.session["Quality"]
            closing.join(10)

    def test_two_threads_at_a_time_are_refused(self):
        raised = self.begin()
        for call in (lambda: self.session["Quality"], lambda: list(self.session.packets()), self.session.frame):
            with self.assertRaisesRegex(RuntimeError, "another thread"):
                call()
        self.session.close()
        raised.get(timeout=10)

    def test_a_signal_handler_may_close_the_session(self):
        before = signal.signal(signal.SIGALRM, lambda *_: self.session.close())
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with self.assertRaisesRegex(hwdaemon.SessionEnded, "was closed"):
                self.session["Quality"]
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_a_signal_handler_s_exception_leaves_the_session(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with self.assertRaises(KeyboardInterrupt):
                self.session["Quality"]
        finally:
            signal.signal(signal.SIGALRM, before)
        self.session.timeout = 0.05
        with self.assertRaises(hwdaemon.Timeout):
            self.session["Quality"]

    def test_an_end_keeps_nothing_of_those_who_catch_it(self):
        class Local:
            pass

        found = []

        def fail():
            local = Local()
            found.append(__import__("weakref").ref(local))
            self.session["Quality"]

        self.session.close(timeout=0.1)
        for _ in range(2):
            with self.assertRaises(hwdaemon.SessionEnded):
                fail()
        gc.collect()
        self.assertEqual([reference() for reference in found], [None, None])

    def test_the_descriptor_of_an_ended_session_is_readable(self):
        self.session.close(timeout=0.1)
        self.assertTrue(select.select([self.session.fileno()], [], [], 10)[0])

    def test_errors_can_be_pickled(self):
        with self.assertRaises(hwdaemon.ParameterError) as refused:
            self.session.encode(FRAME, pts=1 << 60)
        for error in (refused.exception, hwdaemon.SessionEnded(-12912, "why"), hwdaemon.Timeout("why")):
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(copy), str(copy)), (type(error), str(error)))


class ProcessTests(unittest.TestCase):
    def test_a_forked_child_leaves_its_parent_s_sessions(self):
        packets = encode(clip(64, 48, 12), 64, 48)
        with DecompressionSession(packets[0].format_description, daemon=daemon()) as session:
            descriptor, pictures = session.fileno(), []
            for packet in packets[:6]:
                session.send(packet.data, packet.pts)
            while len(pictures) < 2:
                pictures += session.pictures(timeout=10)
            held = [(picture.pts, picture.tobytes()) for picture in pictures]
            child = os.fork()
            if child == 0:
                self.run_child(session, pictures)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual([(picture.pts, picture.tobytes()) for picture in pictures], held)
            times = [picture.pts for picture in pictures]
            pictures.clear()
            for packet in packets[6:]:
                times += [picture.pts for picture in session.decode(packet.data, packet.pts)]
            times += [picture.pts for picture in session.finish()]
            self.assertEqual(times, list(range(12)))
            session.reports()
            self.assertFalse(select.select([descriptor], [], [], 0)[0], "the child has written to the parent's pipe")

    def run_child(self, session, pictures):
        """Does all that a child may do by accident; its exit status is 0 if each call was refused."""
        status = 1
        try:
            pictures.clear()
            for call in (lambda: session["RealTime"], lambda: session.send(b"", 0), lambda: list(session.pictures()), session.finish):
                try:
                    call()
                except hwdaemon.SessionEnded as error:
                    assert "the process that created it" in error.reason, error
                else:
                    raise AssertionError("a call of a child was not refused")
            session.close()
            status = 0
        finally:
            os._exit(status)


class MemoryTests(unittest.TestCase):
    def test_frames_and_pictures_outlive_their_sessions(self):
        packets = encode(clip(64, 48, 2), 64, 48)
        with DecompressionSession(packets[0].format_description, pixel_format="nv12", daemon=daemon()) as session:
            for packet in packets:
                session.send(packet.data, packet.pts)
            pictures = list(session.finish())
            copies = [picture.tobytes() for picture in pictures]
        with CompressionSession(64, 48, "nv12", daemon=daemon()) as encoder:
            frame = encoder.frame()
        del session, encoder
        gc.collect()
        frame.fill(pictures[0])
        self.assertEqual(frame.tobytes(), copies[0])
        self.assertEqual([picture.tobytes() for picture in pictures], copies)
        pictures[0].release()
        for use in (pictures[0].tobytes, lambda: frame.fill(pictures[0])):
            with self.assertRaisesRegex(ValueError, "was released"):
                use()
        del pictures, frame
        gc.collect()

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "needs numpy")
    def test_arrays_outlive_their_sessions(self):
        import numpy
        packets = encode(clip(64, 48, 1), 64, 48)
        with DecompressionSession(packets[0].format_description, pixel_format="nv12", daemon=daemon()) as session:
            session.send(packets[0].data, 0)
            picture = next(session.finish())
            luma, expected = picture.planes[0], numpy.array(picture.planes[0])
        with CompressionSession(64, 48, "nv12", daemon=daemon()) as encoder:
            plane = encoder.frame().planes[0]
        view = luma[::2, ::2]
        del session, encoder, picture, luma
        gc.collect()
        plane[...] = 7
        self.assertEqual(int(plane.sum()), 7 * 64 * 48)
        self.assertTrue((view == expected[::2, ::2]).all())

    def test_a_released_picture_is_refused(self):
        packets = encode(clip(64, 48, 1), 64, 48)
        with DecompressionSession(packets[0].format_description, pixel_format="nv12", daemon=daemon()) as session, \
                CompressionSession(64, 48, "nv12", daemon=daemon()) as encoder, \
                TransferSession(64, 48, "nv12", "ab24", device="cpu", daemon=daemon()) as converter:
            session.send(packets[0].data, 0)
            picture = next(session.finish())
            picture.release()
            for use in (lambda: encoder.encode(picture, pts=0), lambda: converter.convert(picture)):
                with self.assertRaisesRegex(hwdaemon.ParameterError, "was released"):
                    use()
            encoder.encode(FRAME, pts=0)
            self.assertEqual(len(encoder.finish()), 1)


if __name__ == "__main__":
    unittest.main()
