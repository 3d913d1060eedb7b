// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDCapturing
import HWDControlCommands
import HWMovies
import Testing

struct CaptureFilesTests {
    /// Of a gray picture of 64x64 that x265 coded.
    static let configuration = bytes(
        """
        0101600000009000000000001ef000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003001e959809a1000100\
        2842010101600000030090000003000003001ea020810596566924caf0168080000003008000000f04a2000100074401c172b42240
        """)
    static let picture = bytes("0000000c2801af0860f929e39b2b1740")

    private static func bytes(_ text: String) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), text[...])
        while !rest.isEmpty {
            bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    @Test func picturesWithoutSoundAreWrittenBeforeAPause() throws {
        let path = NSTemporaryDirectory() + "capture-\(UUID().uuidString).mov"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var files = CaptureFiles(
            CaptureFiles.Plan(
                path: path, replaces: false, isNumbered: false, maxSize: nil, color: nil,
                sound: SoundTrackSettings(timeScale: 48_000, entry: Box("mp4a", [UInt8](repeating: 0, count: 28)))))
        try files.configure(.hevc(Self.configuration, color: nil))
        let packet = CaptureFiles.Packet(bytes: Self.picture, time: 0, decodeTime: 0, duration: 3000, begins: false)
        #expect(try files.append(packet))
        #expect(files.reports.isEmpty)
        try files.flush()
        #expect(try Movie(path: path).tracks.map(\.sampleCount).max() == 1)
        try files.finish(soundEnd: nil)
        #expect(files.reports.map(\.frames) == [1])
    }

    @Test func aFailureOfHeldPicturesLeavesAFinishedFile() throws {
        let path = NSTemporaryDirectory() + "capture-\(UUID().uuidString).mov"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var files = CaptureFiles(
            CaptureFiles.Plan(
                path: path, replaces: false, isNumbered: false, maxSize: nil, color: nil,
                sound: SoundTrackSettings(timeScale: 48_000, entry: Box("mp4a", [UInt8](repeating: 0, count: 28)))))
        try files.configure(.hevc(Self.configuration, color: nil))
        // They wait for sound; the second one is no picture.
        for (number, bytes) in [Self.picture, []].enumerated() {
            let time = Int64(number) * 3000
            let packet = CaptureFiles.Packet(
                bytes: bytes, time: time, decodeTime: time, duration: 3000, begins: false)
            #expect(try files.append(packet))
        }
        #expect(throws: CaptureError.self) { try files.finish(soundEnd: nil) }
        let report = try #require(files.reports.first)
        #expect(report.frames == 1)
        #expect(report.bytes == UInt64(try Data(contentsOf: URL(fileURLWithPath: path)).count))
        #expect(try MovieRepair(path: path).outcome == .complete)
    }
}
