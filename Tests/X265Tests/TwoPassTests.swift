// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDCoding
import HWDEncoderTesting
import HWDModel
import Testing

@testable import HWDX265

@Suite struct TwoPassTests {
    /// x265's program writes its statistics to files; these are in memory.
    @Test(arguments: [PixelFormat.nv12, .p010])
    func slicesEqualThoseOfTheCommandLine(format: PixelFormat) throws {
        let clip = Clip(format: format, width: 192, height: 128, frames: 60, cut: 30)
        let before = try FileManager.default.contentsOfDirectory(atPath: ".")
        let statistics = X265Statistics()
        let first = try encode(
            clip, ["AverageBitRate": .int(300_000), "MultiPassStorage": .string("FirstPass")],
            statistics: statistics
        ).output
        #expect(first.pictures.count == clip.frames)
        #expect(statistics.byteCount > 0)
        let own = try encode(
            clip, ["AverageBitRate": .int(300_000), "MultiPassStorage": .string("FinalPass")],
            statistics: statistics
        ).output
        #expect(try FileManager.default.contentsOfDirectory(atPath: ".") == before)

        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("passes-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let options = [
            "--bitrate", "300", "--output-depth", "\(format.bitDepth)", "--stats",
            folder.appendingPathComponent("stats").path,
        ]
        let theirFirst = try commandLine(clip, options + ["--pass", "1"])
        let theirs = try commandLine(clip, options + ["--pass", "2"])
        #expect(vcl(first.nalUnits) == vcl(theirFirst))
        #expect(vcl(own.nalUnits) == vcl(theirs))
        // So that the comparison of the final pass means something.
        #expect(vcl(theirFirst) != vcl(theirs))
    }

    @Test func statisticsGoWithTheirOwner() throws {
        let clip = Clip(format: .yu12, width: 64, height: 64, frames: 5)
        let rate: [String: PropertyValue] = ["AverageBitRate": .int(100_000)]
        var statistics: X265Statistics? = X265Statistics()
        let name = try #require(statistics).name
        _ = try encode(
            clip, rate.merging(["MultiPassStorage": .string("FirstPass")]) { $1 }, statistics: statistics)
        let other = X265Statistics()
        #expect(other.byteCount == 0 && other.name != name)
        // Without statistics of a first pass x265 does not open for the final one.
        #expect(throws: SessionError.self) {
            try encode(clip, rate.merging(["MultiPassStorage": .string("FinalPass")]) { $1 }, statistics: other)
        }
        statistics = nil
        #expect(fopen(name, "r") == nil && errno == ENOENT)
        // Files of other names are the C library's.
        let file = try #require(fopen("/proc/self/stat", "r"))
        #expect(fgetc(file) >= 48)
        fclose(file)
    }
}
