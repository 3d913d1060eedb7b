// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import Testing

extension EndToEnd {
    /// RGB of 10 bits in words through `hwctl convert`.
    @Suite struct WordTransfers {
        /// 32x32 words with every code in each color, opaque.
        private static let ramps: Data = {
            var bytes = Data()
            for code in 0..<1024 {
                let word = UInt32(3 << 30 | code << 20 | (code ^ 0x155) << 10 | (1023 - code))
                bytes.append(contentsOf: (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(8 * $0)) })
            }
            return bytes
        }()

        private func convert(_ folder: Scratch, _ arguments: [String]) throws -> Finished {
            try Programs.hwctl(["convert"] + arguments + ["--size", "32x32", "--device", "cpu"])
        }

        @Test(
            "half floats keep every code", arguments: ["bgra10", "rgba10", "bgrx10", "rgbx10"],
            ["pq", "hlg", "srgb"])
        func roundTrip(format: String, transfer: String) throws {
            let folder = try Scratch()
            let (input, middle, output) = (folder.path("in.raw"), folder.path("middle.raw"), folder.path("out.raw"))
            try Self.ramps.write(to: URL(fileURLWithPath: input))
            let common = ["--transfer", transfer, "--from-primaries", "2020", "--to-primaries", "2020"]
            for files in [
                [input, middle, "--from", format, "--to", "rgba16f"],
                [middle, output, "--from", "rgba16f", "--to", format],
            ] {
                let done = try convert(folder, files + common)
                try #require(done.status == 0, "\(done.errors)")
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: middle)).count == 32 * 32 * 8)
            #expect(try Data(contentsOf: URL(fileURLWithPath: output)) == Self.ramps)
        }

        @Test("a file of another size, and commands that do not take them, are refused without a file")
        func refusals() throws {
            let folder = try Scratch()
            let (input, output) = (folder.path("in.raw"), folder.path("out.raw"))
            try (Self.ramps + Data([1, 2, 3])).write(to: URL(fileURLWithPath: input))
            let cut = try convert(folder, [input, output, "--from", "bgra10", "--to", "rgbx10"])
            #expect(cut.status == 65 && cut.complaints.count == 1, "\(cut.errors)")
            try Self.ramps.write(to: URL(fileURLWithPath: input))
            for (arguments, status, words) in [
                (["--from", "bgrx10", "--to", "bgra8", "--from-alpha", "straight"], 64, "alpha"),
                (["--from", "bgrx10", "--to", "bgra8", "--range", "video"], 64, "range"),
                (["--from", "bgra8", "--to", "bgrx10", "--effect", "key:color=00ff00"], 64, "alpha"),
                (["--from", "bgrx8", "--to", "bgra8"], 64, "bgrx10"),
            ] as [([String], Int32, String)] {
                let done = try convert(folder, [input, output] + arguments)
                #expect(done.status == status && done.errors.contains(words), "\(arguments): \(done.errors)")
            }
            let decoded = try Programs.hwctl(["decode", "--format", "bgra10", input, output])
            #expect(decoded.status == 64 && decoded.errors.contains("rgba8"), "\(decoded.errors)")
            #expect(folder.contents == ["in.raw"])
        }
    }
}
