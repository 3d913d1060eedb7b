// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDHEVC
import HWDModel
import Testing

/// Not serialized, because one case does not use all cores.
@Suite struct RateChanges {
    typealias Kind = EndToEnd.Changing.Kind

    /// Bit rates that change in the middle of a clip: 4, 1 and 6 Mbit/s for seven seconds each.
    @Suite(.enabled(if: Clips.hasShared, Clips.needsShared)) struct Long {
        static let rates: [Int64] = [4_000_000, 1_000_000, 6_000_000]
        /// Seconds at each rate.
        static let span = 7
        static let rate = 25

        static let cases =
            [nil, "full", "intel-lp"].flatMap { personality in
                [
                    (Kind(name: "plain", personality: personality), PropertyKey.constantBitRate),
                    (Kind(name: "plain", personality: personality), .averageBitRate),
                    (Kind(name: "alpha", personality: personality, hasAlpha: true), .constantBitRate),
                    (
                        Kind(name: "levels", personality: personality, properties: EndToEnd.Changing.levels),
                        .constantBitRate
                    ),
                ]
            } + [(Kind(name: "medium", properties: [.x265Preset: .string("medium")]), .averageBitRate)]

        /// From two seconds after a change on, each second is within 15 % of a constant rate.
        ///
        /// The means of the five seconds after a change, and of those that begin two seconds later, are within 15 % of an average.
        ///
        /// Film grain is added, because a cut alone takes a second of the source 20 % away from the rate, in x265's own program
        /// too.
        @Test(arguments: cases)
        func followsEachRate(_ kind: Kind, _ key: PropertyKey) throws {
            let state = try Scratch()
            let server = try kind.daemon(state)
            let encoder = try kind.encoder(
                server.daemon, width: 640, height: 360,
                [key: .int(Self.rates[0]), .expectedFrameRate: .int(Int64(Self.rate))])
            let clip = try FrameFile(encoder.format, in: server.folder)
            let count = Self.rates.count * Self.span * Self.rate
            for index in 0..<count {
                if index > 0, index % (Self.span * Self.rate) == 0 {
                    try encoder.session.setProperties([key: .int(Self.rates[index / (Self.span * Self.rate)])])
                }
                try encoder.encode(try clip.frame(index))
            }
            try encoder.finish()
            #expect(encoder.coded.count == count)
            let seconds = try self.seconds(of: encoder)
            print("\(kind.testDescription), \(key):", seconds.map { String(format: "%.2f", $0 / 1e6) })
            for (index, rate) in Self.rates.enumerated() {
                let start = index * Self.span
                // A fresh session's average is what x265's own program gives.
                if key == .averageBitRate, index == 0 { continue }
                let values =
                    key == .constantBitRate
                    ? Array(seconds[(start + 2)..<(start + Self.span)])
                    : [0, 2].map { seconds[(start + $0)..<(start + $0 + 5)].reduce(0, +) / 5 }
                for value in values {
                    #expect(abs(value / Double(rate) - 1) <= 0.15, "\(rate): \(values)")
                }
            }
            try EndToEnd.Changing.check(encoder, count, server.folder)
        }

        /// Bits of the base layer in each second of presentation.
        private func seconds(of encoder: Encoder) throws -> [Double] {
            var seconds = [Double](repeating: 0, count: Self.rates.count * Self.span)
            for packet in encoder.coded {
                var units = try LengthPrefixedNALUnits(packet.bytes[...])
                while let unit = try units.next() {
                    guard try NALUnitHeader(nal: unit).nuhLayerId == 0 else { continue }
                    seconds[Int(packet.description.pts) / Self.rate] += Double(8 * (unit.count + 4))
                }
            }
            return seconds
        }

        /// The frames of a clip that repeats every five seconds, as raw samples in a file.
        private struct FrameFile {
            let bytes: Data
            let size: Int

            init(_ format: PixelFormat, in folder: Scratch) throws {
                let path = folder.path("animation.raw")
                let alpha = "split[a][b];[b]extractplanes=y[m];[a][m]alphamerge,"
                try Programs.tool(
                    "ffmpeg",
                    [
                        "-v", "error", "-stream_loop", "3", "-i",
                        try #require(Clips.shared).appendingPathComponent("sdr720_bbb_h264_aac.mp4").path, "-vf",
                        "scale=640:360,noise=alls=12:allf=t:all_seed=3," + (format == .yuva ? alpha : "")
                            + "format=\(format.ffmpegName)",
                        "-frames:v",
                        "\(rates.count * span * rate)", "-f", "rawvideo", path,
                    ])
                bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
                size = FrameLayout.packed(format, width: 640, height: 360).size
            }

            func frame(_ index: Int) throws -> [UInt8] {
                try #require(bytes.count >= (index + 1) * size)
                return [UInt8](bytes[(index * size)..<((index + 1) * size)])
            }
        }
    }
}
