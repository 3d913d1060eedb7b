// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCapturing
import Testing

@testable import HWDVideoSources

@Suite struct ModeTests {
    private let webcam = [
        ("YUYV", 1920, 1080, 5), ("YUYV", 1280, 720, 10), ("YUYV", 640, 480, 30), ("MJPG", 1920, 1080, 30),
        ("MJPG", 1280, 720, 60), ("MJPG", 1280, 720, 30), ("MJPG", 3840, 2160, 30), ("H264", 1920, 1080, 30),
    ].map { CameraMode(fourcc: $0, width: $1, height: $2, rate: CaptureRate($3)) }

    private func best(
        _ size: (Int, Int)? = nil, rate: Double = 30, codecs: [CaptureCodec] = [], also other: [CameraMode] = []
    ) -> String? {
        CameraMode.best(of: webcam + other, size: size.map { ($0.0, $0.1) }, rate: rate, codecs: codecs)
            .map { "\($0.fourcc) \($0.width)x\($0.height) \($0.rate?.numerator ?? 0)" }
    }

    @Test func theLargestThatReachesTheRate() {
        #expect(best() == "MJPG 1920x1080 30")
        #expect(best(rate: 60) == "MJPG 1280x720 60")
        #expect(best(rate: 5) == "YUYV 1920x1080 5")
        #expect(best((640, 480)) == "YUYV 640x480 30")
        #expect(best((1280, 720)) == "MJPG 1280x720 30")
        #expect(best((4000, 2000)) == "MJPG 3840x2160 30")
        #expect(best(codecs: [.h264]) == "H264 1920x1080 30")
        #expect(best(codecs: [.hevc]) == nil)
        // HEVC first, where it has the size.
        let hevc = [(1920, 1080), (640, 480)].map {
            CameraMode(fourcc: "HEVC", width: $0.0, height: $0.1, rate: CaptureRate(30))
        }
        #expect(best(codecs: [.hevc, .h264], also: hevc) == "HEVC 1920x1080 30")
        #expect(best(codecs: [.hevc, .h264], also: Array(hevc.dropFirst())) == "H264 1920x1080 30")
        #expect(CameraMode.best(of: [], size: nil, rate: 30) == nil)
    }
}

@Suite struct FrameStepsTests {
    /// What is reported for arrivals in periods of a frame, numbered one after the other or as given.
    private func missing(_ arrivals: [Double], numbers: [UInt64]? = nil) -> [Int] {
        var steps = FrameSteps(rate: CaptureRate(50))
        return arrivals.indices.compactMap { index in
            steps.add(
                UInt64(1_000_000_000 + arrivals[index] * 20_000_000), numbers.map { $0[index] } ?? UInt64(index))?
                .count
        }
    }

    @Test func theTimeIsThatOfTheFirst() {
        var steps = FrameSteps(rate: CaptureRate(50))
        var times: [UInt64] = []
        for (number, arrival) in [0, 1, 5, 6].enumerated() as EnumeratedSequence<[UInt64]> {
            if let missing = steps.add(1_000_000_000 + arrival * 20_000_000, UInt64(number)) {
                times.append(missing.time)
            }
        }
        #expect(times == [1_040_000_000])
    }

    @Test func whatASourceDidNotSendIsCountedOnce() {
        #expect(missing([0, 1, 2, 3]).isEmpty)
        #expect(missing([0, 1, 3, 4, 5]) == [1])
        #expect(missing([0, 1, 5, 6]) == [3])
        #expect(missing([0, 2, 4, 6, 7]) == [1, 1, 1])
        #expect(missing([0, 3, 4, 8, 9]) == [2, 3])
    }

    @Test func lateFramesAreNotMissing() {
        #expect(missing([0, 1, 2.9, 3, 4]).isEmpty)
        #expect(missing([0, 1, 2.4, 3.4, 4]).isEmpty)
        #expect(missing([0, 1, 3.8, 4, 5]) == [1])
    }

    @Test func gapsOfNumbersAreCountedElsewhere() {
        #expect(missing([0, 1, 4, 5], numbers: [1, 2, 5, 6]).isEmpty)
        #expect(missing([0, 1, 4, 5], numbers: [1, 2, 4, 5]) == [1])
        var steps = FrameSteps()
        #expect((0..<5).allSatisfy { steps.add($0 * 1_000_000_000, $0) == nil })
    }
}

@Suite struct CameraListingTests {
    @Test func aCameraOfCodedPicturesHasNone() {
        func camera(_ formats: [String]) -> Camera {
            Camera(
                path: "", name: "", driver: "", bus: "",
                modes: formats.map { CameraMode(fourcc: $0, width: 640, height: 480, rate: nil) },
                otherFormats: ["BGR3"])
        }
        #expect(camera(["H264", "MJPG"]).hasPictures && camera(["YUYV"]).hasPictures)
        #expect(!camera(["H264", "HEVC"]).hasPictures && !camera([]).hasPictures)
        #expect(camera(["H264", "MJPG", "HEVC"]).codecs == [.hevc, .h264] && camera(["MJPG"]).codecs.isEmpty)
    }
}

@Suite struct SourceClockTests {
    @Test func timesRiseAndAreNearTheArrival() {
        var clock = SourceClock()
        let now: Int64 = 100_000_000_000
        #expect(clock.time(stated: now - 1_000_000, arrival: now) == UInt64(now - 1_000_000))
        // Of another clock, of the future, none, and again.
        #expect(clock.time(stated: 5, arrival: now + 1) == UInt64(now + 1))
        #expect(clock.time(stated: .max, arrival: now + 2) == UInt64(now + 2))
        #expect(clock.time(stated: nil, arrival: now + 3) == UInt64(now + 3))
        #expect(clock.time(stated: now - 5, arrival: now + 3) == UInt64(now + 4))
        #expect(clock.time(stated: .min, arrival: .min) == UInt64(now + 5))
    }

    @Test func numbersGoOnOverWrapsAndJumps() {
        var clock = SourceClock()
        #expect([UInt64(0xffff_fffd), 0xffff_ffff, 1].map { clock.number($0, bits: 32) } == [1, 3, 5])
        // Backwards, the same again, and far ahead: another numbering.
        #expect([UInt64(0), 0, 3_000_000].map { clock.number($0, bits: 32) } == [6, 7, 8])
        clock.damaged(3_000_001, bits: 32)
        #expect(clock.number(3_000_003, bits: 32) == 10)
    }

    @Test func keyFramesByTheirUnits() {
        func isKey(_ bytes: [UInt8], _ codec: CaptureCodec) -> Bool? {
            bytes.withUnsafeBytes { CapturedUnit.isKeyFrame($0, codec) }
        }
        #expect(isKey([0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x65, 9], .h264) == true)
        #expect(isKey([0, 0, 0, 1, 9, 0xf0, 0, 0, 1, 0x41, 9], .h264) == false)
        #expect(isKey([0, 0, 0, 1, 0x40, 1, 0, 0, 1, 0x26, 1], .hevc) == true)
        #expect(isKey([0, 0, 1, 0x02, 1], .hevc) == false)
        #expect(
            isKey([0, 0, 1], .hevc) == nil && isKey([], .h264) == nil && isKey([1, 2, 3, 4, 5, 6], .h264) == nil)
    }
}

@Suite struct CameraColorTests {
    private func color(_ colorspace: UInt32, isJPEG: Bool) -> CameraColor {
        CameraColor(
            colorspace: colorspace, transfer: 0, encoding: 0, quantization: 0, isRGB: false, isJPEG: isJPEG)
    }

    /// What JFIF says counts where the driver says nothing (T.871 clause 7), and the driver's word else.
    @Test func jpegHasAColorWithoutTheDriver() {
        let stated = color(7, isJPEG: true)
        #expect(color(0, isJPEG: true) == stated)
        #expect(stated.matrix == 6 && stated.transfer == 13 && stated.primaries == 1 && stated.isFullRange)
        #expect(color(3, isJPEG: true).matrix == 1)
        let raw = color(0, isJPEG: false)
        #expect(raw.matrix == nil && raw.transfer == nil && raw.primaries == nil && !raw.isFullRange)
    }
}
