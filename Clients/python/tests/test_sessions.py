# SPDX-License-Identifier: MIT
"""The three kinds of sessions against a daemon, with FFmpeg as the reference decoder."""
import os
import queue
import select
import signal
import threading
import unittest

import hwdaemon
from hwdaemon import Color, CompressionSession, DecompressionSession, SideData, StatusError, TransferSession

from .support import clip, daemon, decode, ffmpeg, stream

WIDTH, HEIGHT, COUNT = 320, 180, 12


def encode(frames, width=WIDTH, height=HEIGHT, pixel_format="nv12", **options):
    with CompressionSession(width, height, pixel_format, time_base=(1, 30), daemon=daemon(), **options) as session:
        for number, frame in enumerate(frames):
            session.encode(frame, pts=number, duration=1)
        return session.finish()


def difference(first, second):
    """Mean absolute difference of two clips of bytes."""
    assert len(first) == len(second), f"{len(first)} and {len(second)} bytes"
    return sum(abs(a - b) for a, b in zip(first[::7], second[::7])) / (len(first) // 7)


class CompressionTests(unittest.TestCase):
    def test_every_frame_is_a_packet_that_ffmpeg_decodes(self):
        frames = clip(WIDTH, HEIGHT, COUNT)
        packets = encode(frames, Quality=0.9)
        self.assertEqual(sorted(packet.pts for packet in packets), list(range(COUNT)))
        self.assertTrue(all(a.dts < b.dts for a, b in zip(packets, packets[1:])))
        self.assertTrue(packets[0].is_sync and all(packet.duration == 1 for packet in packets))
        decoded = decode(stream(packets))
        self.assertLess(difference(decoded, b"".join(frames)), 2)

    def test_packets_come_while_frames_are_sent(self):
        packets = []
        with CompressionSession(WIDTH, HEIGHT, "nv12", daemon=daemon(), RealTime=True) as session:
            for number, frame in enumerate(clip(WIDTH, HEIGHT, COUNT)):
                session.encode(frame, pts=number * 3000)
                packets += session.packets(timeout=10)
            self.assertGreaterEqual(len(packets), 1)
            packets += session.finish()
        self.assertEqual(len(packets), COUNT)

    def test_more_frames_than_credits_wait_for_slots(self):
        frame = clip(64, 48, 1)[0]
        self.assertEqual(len(encode([frame] * 100, 64, 48)), 100)

    def test_properties_are_live(self):
        with CompressionSession(WIDTH, HEIGHT, "nv12", time_base=(1, 30), daemon=daemon(), AverageBitRate=400_000) as session:
            self.assertEqual(session["AverageBitRate"], 400_000)
            self.assertEqual(session["EncoderID"], session.encoder_id)
            session.prepare()
            session["AverageBitRate"] = 300_000
            session.set(ExpectedFrameRate=30, RealTime=None)
            self.assertEqual(session.properties()["AverageBitRate"], 300_000)
            with self.assertRaises(StatusError) as refused:
                session["ProfileLevel"] = "HEVC_Main_AutoLevel"
            self.assertEqual(refused.exception.name, "PropertyReadOnly")
            with self.assertRaises(StatusError) as unknown:
                session["NoSuchProperty"] = 1
            self.assertEqual(unknown.exception.name, "PropertyNotSupported")
            session.encode(clip(WIDTH, HEIGHT, 1)[0], pts=0)
            self.assertEqual(len(session.finish()), 1)

    def test_a_forced_key_frame_and_flushes(self):
        with CompressionSession(64, 48, "yuv420p", daemon=daemon()) as session:
            packets = []
            for number, frame in enumerate(clip(64, 48, 8, "yuv420p")):
                session.encode(frame, pts=number, force_key_frame=number == 5, qp=30 if number == 6 else None)
                if number == 3:
                    packets += session.flush()
                    self.assertEqual(len(packets), 4)
            packets += session.finish()
        keys = {packet.pts for packet in packets if packet.is_sync}
        self.assertLessEqual({0, 5}, keys)
        self.assertEqual(len(packets), 8)

    def test_a_session_without_frames_is_finished_at_once(self):
        with CompressionSession(64, 48, "nv12", daemon=daemon()) as session:
            self.assertEqual(session.finish(), [])
            session.encode(clip(64, 48, 1)[0], pts=0)
            self.assertEqual(len(session.finish()), 1)

    def test_alpha_has_a_layer_of_its_own(self):
        frames = clip(64, 48, 4, "yuva420p")
        packets = encode(frames, 64, 48, "yuva420p")
        layers = {(unit[0] & 1) << 5 | unit[1] >> 3 for packet in packets for unit in hwdaemon.bitstream.nal_units(packet.data)}
        self.assertEqual(layers, {0, 1})
        with DecompressionSession(packets[0].format_description, pixel_format="yuva", daemon=daemon()) as session:
            for packet in packets:
                session.send(packet.data, packet.pts)
            pictures = [(picture.has_alpha, picture.tobytes()) for picture in session.finish()]
        self.assertTrue(all(has_alpha for has_alpha, _ in pictures))
        self.assertLess(difference(b"".join(data for _, data in pictures), b"".join(frames)), 6)

    def test_temporal_levels(self):
        frames = clip(64, 48, 16)
        packets = encode(frames, 64, 48, BaseLayerFrameRate=15, ExpectedFrameRate=30)
        self.assertEqual({packet.temporal_id for packet in packets}, {0, 1})
        with DecompressionSession(packets[0].format_description, daemon=daemon(), MaxTemporalLevel=0) as session:
            for packet in packets:
                session.send(packet.data, packet.pts)
            self.assertEqual(sum(1 for _ in session.finish()), 8)
            reports = session.reports()
        self.assertEqual([report.is_above_level for report in reports], [True] * 8)

    def test_side_data_and_color_come_back_with_their_frames(self):
        color, light = Color(9, 16, 9, chroma_location=2), SideData.content_light(1000, 400)
        display = SideData.mastering_display(
            [(0.708, 0.292), (0.170, 0.797), (0.131, 0.046)], (0.3127, 0.329), 0.0001, 1000)
        with CompressionSession(64, 48, "p010", daemon=daemon(), ColorPrimaries=9, TransferFunction=16, YCbCrMatrix=9) as session:
            for number, frame in enumerate(clip(64, 48, 3, "p010le")):
                session.encode(frame, pts=number, color=color, side_data=[light, display])
            packets = session.finish()
        with DecompressionSession(packets[0].format_description, daemon=daemon()) as session:
            for packet in packets:
                session.send(packet.data, packet.pts)
            picture = next(session.finish())
            self.assertEqual((picture.color.primaries, picture.color.transfer, picture.color.matrix), (9, 16, 9))
            self.assertIn(light, picture.side_data)
            self.assertIn(display, picture.side_data)

    def test_quality_is_measured(self):
        packets = encode(clip(64, 48, 3), 64, 48, CalculateMeanSquaredError=True)
        self.assertTrue(all(packet.mean_squared_error and packet.mean_squared_error[0] < 100 for packet in packets))

    def test_what_would_end_the_session_is_refused_first(self):
        frame = clip(64, 48, 1)[0]
        with CompressionSession(64, 48, "nv12", daemon=daemon()) as session:
            session.encode(frame, pts=5)
            for options in ({"pts": 5}, {"pts": 1 << 56}, {"pts": 6, "duration": -1}, {"pts": 6, "qp": 52},
                            {"pts": 6, "alpha_mode": "both"}, {"pts": 6, "side_data": [SideData(4, bytes(50000))]}):
                with self.assertRaises(ValueError, msg=options):
                    session.encode(frame, **options)
            for wrong in (frame[:-1], [frame], b""):
                with self.assertRaises(ValueError):
                    session.encode(wrong, pts=6)
            session.encode(frame, pts=6)
            self.assertEqual(len(session.finish()), 2)
        with self.assertRaises(hwdaemon.SessionEnded):
            session.encode(frame, pts=7)

    def test_create_names_what_is_wrong(self):
        with self.assertRaises(ValueError):
            CompressionSession(64, 48, "yuyv", daemon=daemon())
        with self.assertRaises(StatusError) as required:
            CompressionSession(64, 48, "nv12", daemon=daemon(), hardware=True)
        self.assertEqual(required.exception.name, "CouldNotFindVideoEncoder")
        with self.assertRaises(hwdaemon.CallError) as unknown:
            daemon().call("CreateCompressionSession", {"nothing": 1})
        self.assertEqual(unknown.exception.error, "org.varlink.service.InvalidParameter")

    def test_the_descriptor_is_readable_when_packets_wait(self):
        with CompressionSession(64, 48, "nv12", daemon=daemon()) as session:
            poller = select.poll()
            poller.register(session.fileno(), select.POLLIN)
            session.encode(clip(64, 48, 1)[0], pts=0)
            session._run(session._link.complete(), "completing")
            self.assertTrue(poller.poll(0), "packets wait, and the socket is silent")
            self.assertEqual(len(list(session.packets())), 1)
            self.assertFalse(poller.poll(0))
        self.assertTrue(poller.poll(0), "the end is an event")

    def test_a_killed_worker_ends_the_session_with_the_daemon_s_reason(self):
        session = CompressionSession(64, 48, "nv12", daemon=daemon())
        pid = next(entry.pid for entry in daemon().sessions() if entry.session == session.session_id)
        os.kill(pid, signal.SIGSEGV)
        with self.assertRaises(hwdaemon.SessionEnded) as ended:
            session["EncoderID"]
        self.assertEqual(ended.exception.name, "VideoEncoderMalfunction")
        self.assertNotIn("does not know", ended.exception.reason)


class DecompressionTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packets = encode(clip(WIDTH, HEIGHT, COUNT))
        cls.record = cls.packets[0].format_description

    def test_pictures_are_ffmpeg_s(self):
        with DecompressionSession(self.record, time_base=(1, 30), daemon=daemon(), pixel_format="nv12") as session:
            pictures = []
            for packet in self.packets:
                pictures += [(picture.pts, picture.tobytes()) for picture in session.decode(packet.data, packet.pts)]
            pictures += [(picture.pts, picture.tobytes()) for picture in session.finish()]
        self.assertEqual([pts for pts, _ in pictures], list(range(COUNT)))
        self.assertEqual(b"".join(data for _, data in pictures), decode(stream(self.packets)))

    def test_byte_streams_and_large_packets(self):
        sets = hwdaemon.annex_b_parameter_sets(self.record)
        with DecompressionSession(sets, daemon=daemon()) as session:
            self.assertEqual((session.width, session.height), (WIDTH, HEIGHT))
            for number, packet in enumerate(self.packets):
                # Filler data (NAL unit type 38), so that packets outgrow the pool's first slots.
                filler = hwdaemon.bitstream.START_CODE + b"\x4c\x01" + b"\xff" * (400_000 if number == 6 else 0) + b"\x80"
                session.send(packet.annex_b + filler, packet.pts)
            self.assertEqual(sum(1 for _ in session.finish()), COUNT)

    def test_damage_is_reported(self):
        with DecompressionSession(self.record, daemon=daemon()) as session:
            for number, packet in enumerate(self.packets):
                session.send(packet.data[: len(packet.data) // 2] if number == 3 else packet.data, packet.pts)
            damaged = [picture.is_damaged for picture in session.finish()]
            reports = session.reports()
        self.assertIn(4, [report.frame for report in reports])
        self.assertTrue(any(report.status == -12909 and report.reason for report in reports))
        self.assertFalse(damaged[0])

    def test_formats_are_asked_and_changed(self):
        other = encode(clip(64, 48, 2), 64, 48)
        with DecompressionSession(self.record, daemon=daemon()) as session:
            self.assertTrue(session.can_accept(other[0].format_description))
            self.assertFalse(session.can_accept(b"nothing"))
            session.change_format(other[0].format_description)
            for packet in other:
                session.send(packet.data, packet.pts)
            self.assertEqual([(picture.width, picture.height) for picture in session.finish()], [(64, 48)] * 2)
            with self.assertRaises(StatusError):
                session.change_format(b"nothing")

    def test_a_client_that_keeps_all_pictures_gets_a_timeout(self):
        with DecompressionSession(self.record, daemon=daemon()) as session:
            for packet in self.packets:
                session.send(packet.data, packet.pts)
            kept = []
            with self.assertRaises(hwdaemon.Timeout):
                for picture in session.finish(timeout=5):
                    kept.append(picture)
            self.assertEqual(len(kept), 8)
            kept[0].release()
            with self.assertRaises(ValueError):
                kept[0].tobytes()
            kept.clear()
            self.assertEqual(sum(1 for _ in session.pictures(timeout=10)) > 0, True)


    def test_a_client_that_takes_no_pictures_gets_the_reason(self):
        packets = encode(clip(64, 48, 1) * 60, 64, 48)
        with DecompressionSession(packets[0].format_description, daemon=daemon()) as session:
            session.timeout = 4
            with self.assertRaisesRegex(hwdaemon.Timeout, "[1-8] pictures are to be taken by pictures"):
                for packet in packets:
                    session.send(packet.data, packet.pts)
            self.assertGreaterEqual(sum(1 for _ in session.pictures(timeout=10)), 1)

    def test_pictures_may_be_dropped_in_another_thread(self):
        packets = encode(clip(64, 48, 1) * 60, 64, 48)
        pictures = queue.Queue()
        dropping = threading.Thread(target=lambda: all(iter(pictures.get, None)))
        dropping.start()
        count = 0
        with DecompressionSession(packets[0].format_description, daemon=daemon()) as session:
            for _ in range(10):
                for packet in packets:
                    for picture in session.decode(packet.data, packet.pts):
                        pictures.put(picture)
                        count += 1
                    picture = None
                for picture in session.finish():
                    pictures.put(picture)
                    count += 1
                picture = None
        pictures.put(None)
        dropping.join()
        self.assertEqual(count, 600)


class TransferTests(unittest.TestCase):
    def test_conversion_is_ffmpeg_s(self):
        frames = clip(WIDTH, HEIGHT, 3, source="smptebars")
        image = {"primaries": "709", "transfer": "bt1886"}
        with TransferSession(WIDTH, HEIGHT, {"pixel_format": "nv12", "matrix": "709", **image}, {"pixel_format": "rgba", **image},
                             device="cpu", daemon=daemon()) as session:
            self.assertFalse(session.using_gpu)
            numbers = [session.submit(frame) for frame in frames]
            converted = b"".join(session.result(number).tobytes() for number in numbers)
        expected = ffmpeg("-f", "rawvideo", "-video_size", f"{WIDTH}x{HEIGHT}", "-pix_fmt", "nv12", "-i", "-", "-vf",
                          "scale=in_color_matrix=bt709:in_range=tv:flags=accurate_rnd+full_chroma_int", "-pix_fmt", "rgba", "-f",
                          "rawvideo", "-", data=b"".join(frames))
        self.assertLess(difference(converted, expected), 1.5)

    def test_frames_are_scaled(self):
        frames = clip(WIDTH, HEIGHT, 2, source="smptebars")
        size = (WIDTH // 4 * 2, HEIGHT // 4 * 2)
        with TransferSession(WIDTH, HEIGHT, "nv12", "nv12", target_size=size, device="cpu", daemon=daemon()) as session:
            scaled = b"".join(session.convert(frame).tobytes() for frame in frames)
        expected = ffmpeg("-f", "rawvideo", "-video_size", f"{WIDTH}x{HEIGHT}", "-pix_fmt", "nv12", "-i", "-", "-vf",
                          f"zscale={size[0]}:{size[1]}:filter=lanczos", "-pix_fmt", "nv12", "-f", "rawvideo", "-",
                          data=b"".join(frames))
        self.assertLess(difference(scaled, expected), 1.0)

    def test_an_unsupported_color_fails_one_frame(self):
        frame = clip(64, 48, 1)[0]
        with TransferSession(64, 48, "nv12", "ab24", device="cpu", daemon=daemon()) as session:
            with self.assertRaises(StatusError) as refused:
                session.convert(frame, color=Color(9, 16, 14))
            self.assertEqual(refused.exception.name, "PixelTransferNotSupported")
            self.assertEqual(len(session.convert(frame).tobytes()), 64 * 48 * 4)

    def test_a_decoded_picture_is_converted_and_encoded_in_place(self):
        packets = encode(clip(64, 48, 4), 64, 48)
        with DecompressionSession(packets[0].format_description, pixel_format="nv12", daemon=daemon()) as decoder, \
                TransferSession(64, 48, "nv12", "ab24", device="cpu", daemon=daemon()) as converter, \
                CompressionSession(64, 48, "ab24", daemon=daemon()) as encoder:
            for packet in packets:
                decoder.send(packet.data, packet.pts)
            for picture in decoder.finish():
                encoder.encode(converter.convert(picture), pts=picture.pts)
            again = encoder.finish()
        self.assertEqual(len(decode(stream(again))), 4 * 64 * 48 * 3 // 2)


if __name__ == "__main__":
    unittest.main()
