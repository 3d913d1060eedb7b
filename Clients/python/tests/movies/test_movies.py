# SPDX-License-Identifier: MIT
"""Movies that survive a crash, checked by FFmpeg and hwctl."""
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import hwdaemon
from hwdaemon import BT709, MovieRecorder, ParameterError

from ..support import PROGRAMS, clip, daemon, decode, ffmpeg, stream

WIDTH, HEIGHT, RATE = 160, 96, 30
COUNT = 75


def probe(path, *entries):
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_format", "-show_streams", *entries, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return json.loads(result.stdout)


def pictures(path):
    """The pictures of a file as FFmpeg decodes them."""
    return ffmpeg("-i", str(path), "-map", "0:v", "-fps_mode", "passthrough", "-pix_fmt", "nv12", "-f", "rawvideo", "-")


def repair(path):
    result = subprocess.run([PROGRAMS / "hwctl", "repair", "--json", str(path)], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def top_level(path):
    """The boxes of a file, in order, and that they end where it does."""
    data, place, found = Path(path).read_bytes(), 0, []
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        if size == 1:
            size = int.from_bytes(data[place + 8 : place + 16], "big")
        assert size >= 8 and place + size <= len(data), (place, size)
        found.append(data[place + 4 : place + 8].decode())
        place += size
    return found


class MovieTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A key frame each second, with reordered pictures.
        with hwdaemon.CompressionSession(
                WIDTH, HEIGHT, "nv12", time_base=(1, RATE), daemon=daemon(), MaxKeyFrameInterval=RATE,
                AllowFrameReordering=True, AllowOpenGOP=False) as session:
            cls.record = session.prepare()
            cls.packets = []
            for number, frame in enumerate(clip(WIDTH, HEIGHT, COUNT)):
                session.encode(frame, pts=number, duration=1)
                cls.packets += session.packets()
            cls.packets += session.finish()
        cls.pictures = decode(stream(cls.packets))
        assert len(cls.packets) == COUNT and len(cls.pictures) == COUNT * WIDTH * HEIGHT * 3 // 2

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, path, **options):
        movie = MovieRecorder(path, **options)
        self.addCleanup(movie.close)
        self.assertEqual(movie.add_video(self.record, WIDTH, HEIGHT, time_scale=RATE, color=BT709), 0)
        return movie

    def test_the_packets_reorder_pictures(self):
        self.assertTrue(any(packet.pts != packet.dts for packet in self.packets))
        self.assertGreaterEqual(sum(packet.is_sync for packet in self.packets), 3)

    def test_a_file_has_every_packet_and_picture(self):
        for name in ("a.mov", "a.mp4"):
            path = self.path(name)
            with self.start(path) as movie:
                for packet in self.packets:
                    movie.add(0, packet)
            self.assertEqual(top_level(path), ["ftyp", "mdat", "moov"])
            found = probe(path, "-show_packets")
            video = found["streams"][0]
            self.assertEqual((video["codec_name"], video["width"], video["height"], int(video["nb_frames"])),
                             ("hevc", WIDTH, HEIGHT, COUNT))
            color = b"nclc\0\1\0\1\0\1" if name.endswith("mov") else b"nclx\0\1\0\1\0\1\0"
            self.assertEqual(Path(path).read_bytes().count(b"colr" + color), 2)
            self.assertAlmostEqual(float(found["format"]["duration"]), COUNT / RATE, places=3)
            self.assertEqual([int(packet["pts"]) for packet in found["packets"]], [packet.pts for packet in self.packets])
            self.assertEqual([int(packet["dts"]) for packet in found["packets"]], [packet.dts for packet in self.packets])
            self.assertEqual(["K" in packet["flags"] for packet in found["packets"]], [packet.is_sync for packet in self.packets])
            self.assertEqual(pictures(path), self.pictures)

    def test_a_killed_recorder_leaves_a_file_that_plays_and_is_finished(self):
        path = self.path("killed.mov")
        source = self.path("packets")
        with open(source, "wb") as file:
            for packet in self.packets:
                file.write(b"".join(number.to_bytes(8, "big", signed=True) for number in (
                    packet.pts, packet.dts, packet.duration, len(packet.data))) + packet.data)
        program = """
import os, signal, sys
import hwdaemon
path, source, record, width, height, rate = sys.argv[1:]
movie = hwdaemon.MovieRecorder(path)
track = movie.add_video(bytes.fromhex(record), int(width), int(height), time_scale=int(rate))
with open(source, "rb") as file:
    while True:
        head = [int.from_bytes(file.read(8), "big", signed=True) for _ in range(4)]
        if head[3] == 0:
            break
        movie.append(track, file.read(head[3]), head[0], head[1], head[2])
os.kill(os.getpid(), signal.SIGKILL)
"""
        environment = {**os.environ, "PYTHONPATH": str(Path(hwdaemon.__file__).resolve().parents[1])}
        result = subprocess.run(
            [sys.executable, "-c", program, path, source, self.record.hex(), str(WIDTH), str(HEIGHT), str(RATE)],
            env=environment, capture_output=True, timeout=60)
        self.assertEqual(result.returncode, -signal.SIGKILL, result.stderr)
        # What waited for its fragment is lost: half a second at most, and what is decoded after it is shown.
        shown = pictures(path)
        size = WIDTH * HEIGHT * 3 // 2
        lost = COUNT - len(shown) // size
        self.assertLessEqual(lost, RATE // 2 + 1)
        self.assertIn("moof", top_level(path))
        report = repair(path)
        self.assertTrue(report["repaired"])
        self.assertEqual(report["packets"], COUNT - lost)
        self.assertEqual(top_level(path)[1], "mdat")
        self.assertNotIn("moof", top_level(path))
        self.assertEqual(pictures(path), shown)
        self.assertEqual(len(probe(path, "-show_packets")["packets"]), COUNT - lost)

    def test_a_block_that_raises_leaves_what_was_recorded(self):
        path = self.path("a.mov")
        with self.assertRaisesRegex(RuntimeError, "the app fails"):
            with self.start(path) as movie:
                for packet in self.packets[:40]:
                    movie.add(0, packet)
                raise RuntimeError("the app fails")
        self.assertGreaterEqual(len(pictures(path)), 30 * WIDTH * HEIGHT * 3 // 2)
        self.assertTrue(repair(path)["repaired"])

    def test_sound_beside_pictures(self):
        sound = self.path("a.m4a")
        ffmpeg("-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=2.5", "-c:a", "aac", sound)
        data = Path(sound).read_bytes()
        start = data.index(b"stsd") + 12
        entry = data[start : start + int.from_bytes(data[start : start + 4], "big")]
        packets = probe(sound, "-show_packets")["packets"]
        path = self.path("both.mp4")
        with self.start(path) as movie:
            self.assertEqual(movie.add_sound(entry, time_scale=48000), 1)
            waiting = list(packets)
            for packet in self.packets:
                movie.add(0, packet)
                while waiting and int(waiting[0]["pts"]) / 48000 <= packet.dts / RATE:
                    take = waiting.pop(0)
                    place = int(take["pos"])
                    movie.append(1, data[place : place + int(take["size"])], int(take["pts"]), duration=int(take["duration"]))
            count = len(packets) - len(waiting)
        found = probe(path, "-show_packets")
        self.assertEqual([entry["codec_name"] for entry in found["streams"]], ["hevc", "aac"])
        times = [int(packet["pts"]) for packet in found["packets"] if packet["codec_type"] == "audio"]
        self.assertEqual(times, [int(packet["pts"]) for packet in packets[:count]])
        self.assertEqual(pictures(path), self.pictures)
        mixed = ["-map", "0:a", "-f", "s16le", "-"]
        whole = ffmpeg("-i", sound, *mixed)
        part = ffmpeg("-i", path, *mixed)
        self.assertEqual(part[: 2 * 48000], whole[: 2 * 48000])

    def test_times_that_begin_later_and_gaps(self):
        path = self.path("a.mov")
        with self.start(path) as movie:
            for packet in self.packets:
                # From 2 s on, with a second more behind the first key frame's second.
                shift = 2 * RATE + (RATE if packet.pts >= RATE else 0)
                movie.append(0, packet.data, packet.pts + shift, packet.dts + shift, packet.duration)
        found = probe(path, "-show_packets")
        times = sorted(float(packet["pts_time"]) for packet in found["packets"])
        self.assertAlmostEqual(times[0], 2.0, places=3)
        self.assertAlmostEqual(times[-1] - times[0], (COUNT - 1) / RATE + 1, places=3)

    def test_another_format_is_another_sample_entry(self):
        with hwdaemon.CompressionSession(WIDTH, HEIGHT, "nv12", time_base=(1, RATE), daemon=daemon(), ProfileLevel="HEVC_Main_5",
                                         ) as session:
            frames = clip(WIDTH, HEIGHT, 10)
            for number, frame in enumerate(frames):
                session.encode(frame, pts=COUNT + number, duration=1)
            more = session.finish()
        self.assertNotEqual(more[0].format_description, self.record)
        path = self.path("a.mov")
        movie = self.start(path)
        for packet in [*self.packets, *more]:
            movie.add(0, packet)
        expected = self.pictures + decode(stream(more))
        movie.finish()
        self.assertEqual(pictures(path), expected)
        self.assertEqual(Path(path).read_bytes().count(b"hvc1"), 4)

    def test_a_packet_that_no_movie_can_hold_is_refused_and_others_follow(self):
        path = self.path("a.mov")
        movie = self.start(path)
        first, second = self.packets[:2]
        movie.add(0, first)
        good = second.data
        for data, pts, dts, duration, words in [
                (b"", 1, 1, 1, "0 bytes"), (good[:-1], 1, 1, 1, "NAL unit"), (b"\0\0\0\2\x42\1", 1, 1, 1, "no HEVC picture"),
                (good, 1, 2, 1, "decoded after"), (good, first.dts - 1, first.dts - 1, 1, "decoded before"),
                (good, 1 << 60, 1 << 60, 1, "times"), (good, 1, 1, -1, "times"), (good, 1 << 40, 1 << 40, 1, "later")]:
            with self.assertRaisesRegex(ParameterError, words):
                movie.append(0, data, pts, dts, duration)
        for track in (-1, 1, 1 << 40):
            with self.assertRaisesRegex(ParameterError, "no track"):
                movie.append(track, good, 1)
        with self.assertRaisesRegex(ParameterError, "before the first packet"):
            movie.add_video(self.record, WIDTH, HEIGHT, time_scale=RATE)
        for packet in self.packets[1:]:
            movie.add(0, packet)
        movie.finish()
        self.assertEqual(pictures(path), self.pictures)
        with self.assertRaisesRegex(ParameterError, "is finished"):
            movie.append(0, good, 100)
        with self.assertRaisesRegex(ParameterError, "is finished"):
            movie.finish()

    def test_settings_that_no_movie_can_hold(self):
        movie = self.start(self.path("a.mov"))
        entry = b"\0\0\0\x24mp4a" + bytes(28)
        for arguments, words in [
                ((self.record[:30], 16, 16), "hvcC record"), ((b"", 16, 16), "no hvcC"), ((self.record, 0, 16), "0x16"),
                ((self.record[:21] + b"\0" + self.record[22:], 16, 16), "4 bytes"), ((self.record, 16, 1 << 16), "16x65536")]:
            with self.assertRaisesRegex(ParameterError, words):
                movie.add_video(*arguments, time_scale=RATE)
        for options, words in [
                ({"time_scale": 0}, "time scale"), ({"time_scale": RATE, "rotation": 45}, "45"),
                ({"time_scale": RATE, "extra": b"\0\0\0\7free"}, "not whole")]:
            with self.assertRaisesRegex(ParameterError, words):
                movie.add_video(self.record, 16, 16, **options)
        for wrong in (b"", entry[:-1], entry + b"\0"):
            with self.assertRaisesRegex(ParameterError, "sample entry"):
                movie.add_sound(wrong, time_scale=48000)
        for _ in range(15):
            movie.add_sound(entry, time_scale=48000)
        with self.assertRaisesRegex(ParameterError, "16 tracks"):
            movie.add_sound(entry, time_scale=48000)
        for options, words in [({"container": "mkv"}, "mov or mp4"), ({"fragment_duration": 0}, "a second"),
                               ({"fragment_duration": 2}, "a second"), ({"fragment_duration": float("nan")}, "a second")]:
            with self.assertRaisesRegex(ParameterError, words):
                MovieRecorder(self.path("b.mov"), **options)
        self.assertEqual(os.listdir(self.folder), ["a.mov"])

    def test_names_that_cannot_be_written(self):
        for path, kind in [(self.folder, IsADirectoryError), (self.path("no/a.mov"), FileNotFoundError), ("/dev/null", OSError)]:
            with self.assertRaises(kind):
                MovieRecorder(path)
        path = self.path("a.mov")
        movie = self.start(path)
        with self.assertRaises(BlockingIOError):
            MovieRecorder(path)
        with self.assertRaises(FileExistsError):
            MovieRecorder(path, replace=False)
        movie.add(0, self.packets[0])
        movie.flush()
        size = os.path.getsize(path)
        self.assertEqual(size, movie.size)
        with self.assertRaises(BlockingIOError):
            MovieRecorder(path)
        self.assertEqual(os.path.getsize(path), size)
        movie.close()

    def test_a_movie_without_a_packet_leaves_no_file(self):
        movie = self.start(self.path("a.mov"))
        with self.assertRaisesRegex(ParameterError, "needs a packet"):
            movie.finish()
        self.start(self.path("b.mov")).close()
        self.assertEqual(os.listdir(self.folder), [])

    def test_another_file_of_the_name_stays(self):
        path = self.path("a.mov")
        movie = self.start(path)
        os.rename(path, self.path("b.mov"))
        Path(path).write_bytes(b"another")
        movie.close()
        self.assertEqual(Path(path).read_bytes(), b"another")
        # An empty file that cannot be removed is closed all the same.
        path = self.path("c.mov")
        movie = self.start(path)
        with mock.patch("os.unlink", side_effect=PermissionError):
            movie.close()
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_a_movie_ends_before_what_its_readers_take(self):
        for name, value in [("samples", (1 << 24) - 20), ("sequence", (1 << 20) - 10), ("runs", (1 << 21) - 3),
                            ("boxes", (256 << 20) - 700)]:
            path = self.path(f"{name}.mov")
            movie = self.start(path)
            movie.add(0, self.packets[0])
            movie.flush()
            setattr(movie, "_" + name, value)
            accepted = 1
            # A disk of any size has space for the end.
            with mock.patch("os.fstatvfs", return_value=mock.Mock(f_blocks=0)), self.assertRaises(OSError) as raised:
                for number in range(1, 2000):
                    movie.append(0, self.packets[0].data, number)
                    accepted += 1
            self.assertEqual(raised.exception.errno, errno.EFBIG, name)
            with self.assertRaisesRegex(OSError, "readers"):
                movie.append(0, self.packets[0].data, 2000)
            movie.finish()
            self.assertGreater(accepted, 15, name)
            self.assertEqual(int(probe(path)["streams"][0]["nb_frames"]), accepted, name)

    def test_the_folder_is_flushed_with_the_first_sync_or_at_the_end(self):
        with mock.patch("hwdaemon.movies._flush_folder") as flush:
            for syncs in (0, 2):
                flush.reset_mock()
                movie = self.start(self.path("a.mov"))
                movie.add(0, self.packets[0])
                movie.flush()
                for _ in range(syncs):
                    movie.sync()
                self.assertEqual(flush.call_count, min(syncs, 1))
                movie.finish()
                self.assertEqual(flush.call_count, 1)
                movie.sync()

    def test_a_file_that_may_not_grow_is_finished_with_what_was_written(self):
        import resource
        path = self.path("a.mov")
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        movie = self.start(path)
        try:
            for packet in self.packets[:40]:
                movie.add(0, packet)
            movie.flush()
            resource.setrlimit(resource.RLIMIT_FSIZE, (movie.size + 10, limit[1]))
            with self.assertRaises(OSError) as raised:
                for packet in self.packets[40:]:
                    movie.add(0, packet)
            self.assertEqual(raised.exception.errno, errno.EFBIG)
            with self.assertRaises(OSError):
                movie.add(0, self.packets[-1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, before)
        movie.finish()
        self.assertEqual(int(probe(path)["streams"][0]["nb_frames"]), 40)
        self.assertNotIn("moof", top_level(path))

    def test_threads_take_turns_and_the_disk_is_waited_for_elsewhere(self):
        path = self.path("a.mov")
        movie = self.start(path)
        done = threading.Event()
        failures = []

        def sync():
            while not done.is_set():
                try:
                    movie.sync()
                except OSError as error:
                    failures.append(error)
                    return
                done.wait(0.001)

        thread = threading.Thread(target=sync)
        thread.start()
        for packet in self.packets:
            movie.add(0, packet)
        movie.flush()
        done.set()
        thread.join()
        self.assertEqual(failures, [])
        movie.finish()
        self.assertEqual(pictures(path), self.pictures)
        # Nothing holds the lock any more.
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


if __name__ == "__main__":
    unittest.main()
