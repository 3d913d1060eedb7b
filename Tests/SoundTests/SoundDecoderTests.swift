// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWMovies
import Testing

@testable import HWDSound

/// The sound of movies that FFmpeg writes, beside what FFmpeg decodes of them, and of damaged ones.
struct SoundDecoderTests {
    struct Case: CustomTestStringConvertible {
        /// The type of the sample entry that the file has.
        let entry: String
        let options: [String]
        /// By how much samples may be off.
        var tolerance: Float = 0
        var testDescription: String { entry }
    }

    /// PCM and lossless codecs have no tolerance.
    private static let cases = [
        Case(entry: "sowt", options: ["-c:a", "pcm_s16le"]),
        Case(entry: "twos", options: ["-c:a", "pcm_s16be"]),
        Case(entry: "in24", options: ["-c:a", "pcm_s24le"]),
        Case(entry: "in32", options: ["-c:a", "pcm_s32be"]),
        Case(entry: "fl32", options: ["-c:a", "pcm_f32le"]),
        Case(entry: "fl64", options: ["-c:a", "pcm_f64be"]),
        Case(entry: "ulaw", options: ["-c:a", "pcm_mulaw"]),
        Case(entry: "alaw", options: ["-c:a", "pcm_alaw"]),
        Case(entry: "lpcm", options: ["-ar", "96000", "-c:a", "pcm_s24le"]),
        Case(entry: "alac", options: ["-c:a", "alac"]),
        Case(entry: "mp4a", options: ["-c:a", "aac"], tolerance: 2e-5),
        Case(entry: "fLaC", options: ["-c:a", "flac", "-strict", "-2", "-f", "mp4"]),
        Case(entry: "ac-3", options: ["-c:a", "ac3", "-f", "mp4"], tolerance: 2e-5),
        // QuickTime's entry of version 1.
        Case(entry: "ac-3", options: ["-c:a", "ac3", "-f", "mov"], tolerance: 2e-5),
        Case(entry: "ec-3", options: ["-c:a", "eac3", "-f", "mp4"], tolerance: 2e-5),
        Case(entry: "Opus", options: ["-c:a", "libopus", "-f", "mp4"], tolerance: 2e-5),
    ]

    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "sound-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func ffmpeg(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["timeout", "60", "ffmpeg", "-v", "error", "-y"] + arguments
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    /// 0.3 s of two tones, one for each channel, with its movie box before its samples.
    private func write(_ sound: Case) throws -> String {
        let path = folder.appending(path: "\(sound.entry).mov").path
        let tones = "aevalsrc='0.3*sin(880*PI*t)|0.4*sin(1320*PI*t)':s=48000:d=0.3"
        try ffmpeg(["-f", "lavfi", "-i", tones] + sound.options + ["-movflags", "+faststart", path])
        return path
    }

    /// The samples by their item times, from 0 on.
    private func decode(_ path: String, entry: String? = nil) throws(MovieError) -> [Float] {
        let movie = try Movie(path: path)
        guard let track = movie.tracks.first(where: { $0.kind == .sound }) else { return [] }
        if let entry, "\(track.entries[0].type)" != entry {
            throw MovieError(.unsupported, "the entry is \(track.entries[0].type), not \(entry)")
        }
        let decoder = try SoundDecoder(movie, track)
        decoder.seek(to: 0)
        var result: [Float] = []
        // A damaged file may say that it is long.
        for _ in 0..<4096 {
            guard let block = decoder.block() else { break }
            #expect(block.samples.allSatisfy { (-1...1).contains($0) })
            let start = (Double(block.item) * Double(block.rate) / 1e9).rounded()
            guard start > -1e6, start < 1e6 else { continue }
            let offset = Int(start) * block.channels.count
            result += repeatElement(0, count: max(0, offset - result.count))
            result.removeLast(max(0, result.count - max(0, offset)))
            result += block.samples.dropFirst(max(0, -offset))
        }
        return result
    }

    @Test(arguments: cases) func samplesAreTheOnesOfFFmpeg(_ sound: Case) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = try write(sound)
        try ffmpeg(["-i", path, "-f", "f32le", path + ".raw"])
        let bytes = try Data(contentsOf: URL(filePath: path + ".raw"))
        let wanted = bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        let decoded = try decode(path, entry: sound.entry)
        try #require(wanted.count >= 2 * 14000)
        // FFmpeg does not end sound where an edit does, which is in milliseconds.
        #expect((0...2 * 48).contains(wanted.count - decoded.count))
        let worst = zip(decoded, wanted).map { abs($0 - $1) }.max() ?? 1
        #expect(worst <= sound.tolerance, "off by \(worst)")
    }

    /// Files that end early or have other bytes in their movie box are refused, or decoded as far as they can be.
    @Test(arguments: cases) func damagedFilesEnd(_ sound: Case) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = try write(sound)
        let whole = try Data(contentsOf: URL(filePath: path))
        let complete = try decode(path)
        let start = try #require(whole.range(of: Data("stsd".utf8))).lowerBound
        let copy = folder.appending(path: "copy.mov")
        for part in 1...8 {
            try whole.prefix(whole.count * part / 9).write(to: copy)
            let found = (try? decode(copy.path)) ?? []
            #expect(found.count <= complete.count)
        }
        // The sample entry and its configuration.
        for offset in 4..<150 where offset % 2 == 0 || offset < 60 {
            var bytes = whole
            bytes[start + offset] = [0, 0x7F, 0xFF, bytes[start + offset] ^ 1][offset / 2 % 4]
            try bytes.write(to: copy)
            _ = try? decode(copy.path)
        }
    }
    /// The last time of a file whose ticks are shorter than nanoseconds is no number of ticks.
    @Test func theLastTimeCanBeSought() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = try write(Self.cases[0])
        var bytes = try Data(contentsOf: URL(filePath: path))
        // ISO/IEC 14496-12 8.4.2: version and flags, two times, the time scale.
        let header = try #require(bytes.range(of: Data("mdhd".utf8))).upperBound
        bytes.replaceSubrange(header + 12..<header + 16, with: [0xFF, 0xFF, 0xFF, 0xFF])
        try bytes.write(to: URL(filePath: path))
        let movie = try Movie(path: path)
        let track = try #require(movie.tracks.first)
        #expect(track.timeScale == .max)
        let decoder = try SoundDecoder(movie, track)
        decoder.seek(to: .max)
        _ = decoder.block()
        #expect(decoder.failure == nil)
    }
}
