// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import Testing

@testable import HWDHEVC

@Suite struct HDRMessageTests {
    @Test func ambientViewingHasAnIPhonesBytes() throws {
        let message = try SEIMessage(.ambientViewingEnvironment(AmbientViewingEnvironment()))
        #expect(message.payloadType == 148 && Hexadecimal.text(message.payload) == "002fe9a03d134042")
        #expect(try message.interpreted() == .ambientViewingEnvironment(AmbientViewingEnvironment()))
        #expect(throws: BitstreamError.self) {
            try SEIMessage(payloadType: 148, payload: [UInt8](repeating: 0, count: 8)).interpreted()
        }
    }

    /// Metadata of one window, as streams have them, with a tone curve and each optional part.
    static func metadata(windows: Int = 0, peaks: Bool = false) -> HDR10PlusMetadata {
        var metadata = HDR10PlusMetadata()
        metadata.targetMaxLuminance = 400
        metadata.windows = (0..<windows).map {
            var window = HDR10PlusMetadata.Window()
            (window.corners, window.center, window.axes) = ([$0, 1, 100, 90], [50, 45], [10, 20, 15])
            (window.rotationAngle, window.overlapProcessOption) = (45, true)
            return window
        }
        var light = HDR10PlusMetadata.Light()
        (light.maxSCL, light.averageMaxRGB, light.fractionBrightPixels) = ([9000, 8000, 7001], 1234, 3)
        light.distribution = zip([1, 5, 10, 25, 50, 75, 90, 95, 99], [0, 9999, 3, 40, 120, 600, 2000, 4000, 8999])
            .map {
                var percentile = HDR10PlusMetadata.Percentile()
                (percentile.percentage, percentile.value) = ($0, $1)
                return percentile
            }
        metadata.light = [HDR10PlusMetadata.Light](repeating: light, count: windows + 1)
        var (tone, curve) = (HDR10PlusMetadata.Tone(), HDR10PlusMetadata.Curve())
        (curve.kneePoint, curve.anchors) = ([17, 64], [265, 666, 741, 800, 848, 887, 920, 945, 957])
        (tone.curve, tone.saturationWeight) = (curve, windows > 0 ? 8 : nil)
        metadata.tones = [HDR10PlusMetadata.Tone](repeating: tone, count: windows + 1)
        if peaks {
            (metadata.targetPeaks, metadata.masteringPeaks) = ([[1, 2, 3], [4, 5, 15]], [[0, 1], [2, 3]])
        }
        return metadata
    }

    @Test("HDR10+ round-trips", arguments: [(0, false), (1, true), (2, false)])
    func hdr10Plus(windows: Int, peaks: Bool) throws {
        let metadata = Self.metadata(windows: windows, peaks: peaks)
        let message = try SEIMessage(.hdr10Plus(metadata))
        #expect(message.payloadType == 4 && message.payload.starts(with: HDR10PlusMetadata.identifier + [1]))
        #expect(try message.interpreted() == .hdr10Plus(metadata))
        let longer = SEIMessage(payloadType: 4, payload: message.payload + [1, 2])
        #expect(try SEIMessage(longer.interpreted()) == longer)
    }

    @Test func ffmpegReadsWhatIsWritten() throws {
        var stream: [UInt8] = []
        var isFirst = true
        for nal in AnnexB.NALUnits(try Clips.annexB("raw.hevc")) {
            if isFirst, try NALUnitHeader(nal: nal).nalUnitType.isVCL {
                isFirst = false
                AnnexB.append(try SEI(messages: [SEIMessage(.hdr10Plus(Self.metadata()))]).nalUnit(), to: &stream)
            }
            AnnexB.append(nal, to: &stream)
        }
        let file = Clips.scratch("hevc")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(stream).write(to: file)
        let output = try Clips.run(
            ["ffprobe", "-v", "error", "-show_frames", "-read_intervals", "%+#1", "-of", "flat", file.path]
        ).output
        let text = String(decoding: output, as: UTF8.self)
        for value in [
            "targeted_system_display_maximum_luminance=\"400/1\"", "maxscl=\"9000/100000\"",
            "average_maxrgb=\"1234/100000\"", "distribution_maxrgb_percentile=\"8999/100000\"",
            "knee_point_x=\"17/4095\"",
            "bezier_curve_anchors=\"957/1023\"", "fraction_bright_pixels=\"3/1000\"",
        ] { #expect(text.contains(value), "ffprobe does not report \(value)") }
    }

    @Test("HDR10+ that is cut off is refused", arguments: [6, 7, 10, 20, 30])
    func truncated(count: Int) throws {
        let payload = try Self.metadata().payload()
        #expect(throws: BitstreamError.self) { try HDR10PlusMetadata(payload: Array(payload.prefix(count))) }
    }

    @Test func captionsSayWhatTheyCarry() throws {
        let message = try SEIMessage(
            .closedCaptions(
                ClosedCaptions(constructs: [.init(type: 0, bytes: [0x94, 0x20]), .init(isValid: false, type: 2)])))
        #expect(
            Hexadecimal.text(message.payload)
                == "b50031474139340 3c2fffc9420fa8080ff".replacingOccurrences(of: " ", with: ""))
        guard case .closedCaptions(let captions) = try message.interpreted() else {
            Issue.record("captions are not recognized")
            return
        }
        #expect(captions.hasCEA608 && !captions.hasCEA708)
        let padding = ClosedCaptions(constructs: [.init(type: 0), .init(type: 3)])
        #expect(!padding.hasCEA608 && padding.hasCEA708)
        #expect(throws: BitstreamError.self) { try ClosedCaptions(payload: Array(message.payload.prefix(12))) }
    }

    @Test func otherRegisteredDataStayAsTheyAre() throws {
        let message = SEIMessage(payloadType: 4, payload: [0xB5, 1, 2, 3])
        #expect(try message.interpreted() == .other(message))
    }

    @Test func theConfigurationRecordOfAnIPhone() throws {
        let bytes: [UInt8] = [1, 0, 0x10, 0x15, 0x40] + [UInt8](repeating: 0, count: 19)
        let configuration = try DolbyVisionConfiguration(bytes: bytes)
        #expect(configuration == DolbyVisionConfiguration(profile: 8, level: 2, compatibilityID: 4))
        #expect(try configuration.bytes() == bytes)
        #expect(configuration.profileName == "8.4")
        #expect(throws: BitstreamError.self) { try DolbyVisionConfiguration(bytes: Array(bytes.prefix(4))) }
    }

    @Test(
        "Levels by size and rate",
        arguments: [
            ((1280, 720, 24.0), 1), ((1280, 720, 29.97), 2), ((1920, 1080, 24.0), 3), ((1920, 1080, 30.0), 4),
            ((2560, 720, 30.0), 4), ((1920, 1080, 60.0), 5), ((3840, 2160, 24.0), 6), ((3840, 2160, 60.0), 9),
            ((7680, 2160, 60.0), 11), ((7680, 4320, 120.0), 13), ((7680, 4320, 240.0), nil), ((16, 16, 0.0), nil),
        ] as [((Int, Int, Double), Int?)])
    func levels(picture: (Int, Int, Double), level: Int?) {
        #expect(DolbyVisionConfiguration.level(width: picture.0, height: picture.1, frameRate: picture.2) == level)
    }
}
