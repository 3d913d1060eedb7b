// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDEncoderTesting
import HWDHEVC
import HWDSystem
import Testing

/// The drivers of Tests/HWSim, compiled at first use, and the process that encodes with them.
enum SimulatedDriver {
    /// Why it cannot be used; nil where it can.
    static var unavailableReason: String? {
        switch library {
        case .success: nil
        case .failure(let reason): "skipped: \(reason)"
        }
    }

    /// A job's result and the driver's dump.
    struct Outcome {
        var result: EncodeResult
        /// The driver's reconstructions, in coding order.
        var reconstructions: [Reconstruction]
        /// The average QP of each.
        var quantisers: [Int]
        /// `I`, `P`, `B` or `GPB` of each.
        var types: [String]
        /// What the firmware received for rate control, whenever it changed in the context of the stream.
        var firmware: [Firmware]

        /// The pictures that a decoder must output: planar, in presentation order, cropped to the conformance window.
        func shown() throws -> [UInt8] {
            let sps = try result.sps
            // The first is the gray picture that opening codes.
            let coded = reconstructions.dropFirst()
            try #require(coded.count == result.pictures.count)
            let pictures = zip(result.pictures, coded).sorted { $0.0.frameID < $1.0.frameID }
            return pictures.flatMap { $0.1.planar(width: sps.width, height: sps.height) }
        }
    }

    /// A `firmware` line of the driver's trace.
    struct Firmware: Hashable {
        var context: String
        /// The mode of rate control that the driver runs.
        var mode: String
        /// The bounds of the QP; 0 is none.
        var qp: ClosedRange<Int>
        /// `target`, `peak`, `buffer`, `fullness`, `level`, `quality` and `skips`.
        var numbers: [String: Int]

        init?(_ line: Substring) {
            let words = line.split(separator: " ").map(String.init)
            guard words.first == "firmware", words.count % 2 == 1 else { return nil }
            let values = Dictionary(
                uniqueKeysWithValues: stride(from: 1, to: words.count, by: 2).map { (words[$0], words[$0 + 1]) })
            let bounds = (values["qp"] ?? "").split(separator: "-").compactMap { Int($0) }
            guard let context = values["context"], let mode = values["mode"], bounds.count == 2 else { return nil }
            (self.context, self.mode, numbers) = (context, mode, values.compactMapValues { Int($0) })
            qp = bounds[0]...max(bounds[0], bounds[1])
        }

        subscript(_ name: String) -> Int { numbers[name] ?? -1 }
    }

    /// A picture of the driver's dump: `HREC`, then POC, width, height and depth, then NV12 or P010.
    struct Reconstruction {
        var width: Int
        var height: Int
        var depth: Int
        var samples: ArraySlice<UInt8>

        static func read(_ dump: [UInt8]) throws -> [Reconstruction] {
            var list: [Reconstruction] = []
            var at = 0
            func word(_ index: Int) -> Int {
                (0..<4).reduce(0) { $0 | Int(dump[at + 4 * index + $1]) << (8 * $1) }
            }
            while at + 20 <= dump.count {
                try #require(word(0) == 0x4345_5248)
                let (width, height, depth) = (word(2), word(3), word(4))
                let bytes = (width * height + (width + 1) / 2 * 2 * ((height + 1) / 2)) * (depth > 8 ? 2 : 1)
                try #require(at + 20 + bytes <= dump.count)
                list.append(
                    Reconstruction(
                        width: width, height: height, depth: depth, samples: dump[(at + 20)..<(at + 20 + bytes)]))
                at += 20 + bytes
            }
            try #require(at == dump.count)
            return list
        }

        /// The top left part, planar, with 10-bit values in the low bits of words.
        func planar(width shownWidth: Int, height shownHeight: Int) -> [UInt8] {
            let size = depth > 8 ? 2 : 1
            let stride = (width + 1) / 2 * 2 * size
            var planar = [UInt8](repeating: 0, count: shownWidth * shownHeight * 3 / 2 * size)
            var target = 0
            samples.withUnsafeBufferPointer { source in
                func row(_ start: Int, _ count: Int, step: Int) {
                    for x in 0..<count {
                        let at = start + x * step
                        if size == 1 {
                            planar[target] = source[at]
                        } else {
                            let value = (Int(source[at]) | Int(source[at + 1]) << 8) >> 6
                            planar[target] = UInt8(value & 255)
                            planar[target + 1] = UInt8(value >> 8)
                        }
                        target += size
                    }
                }
                for y in 0..<shownHeight { row(y * width * size, shownWidth, step: size) }
                for component in 0..<2 {
                    for y in 0..<shownHeight / 2 {
                        row(width * height * size + y * stride + component * size, shownWidth / 2, step: 2 * size)
                    }
                }
            }
            return planar
        }
    }

    /// Encodes a job, decodes it and exports its surfaces with the driver in a separate process.
    static func surfaces(_ job: EncodeJob, _ personality: String) throws -> [SurfaceReport] {
        let folder = try Folder()
        defer { withExtendedLifetime(folder) {} }
        return try JSONDecoder().decode([SurfaceReport].self, from: tool(["surfaces"], job, personality, folder))
    }

    /// A folder that is removed with the object.
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("job-\(UUID())")

        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }
    }

    /// Runs hwd-vaapi-tool with the driver, whose dump and trace are then in the folder; returns its result.
    ///
    /// - Parameter usesCard: whether NVIDIA's libraries of Tests/HWSim encode, and not the libva driver.
    private static func tool(
        _ mode: [String], _ job: EncodeJob, _ personality: String, _ folder: Folder, usesCard: Bool = false
    ) throws -> Data {
        let libraries = try library.get()
        let (input, output) = (
            folder.url.appendingPathComponent("job"), folder.url.appendingPathComponent("result")
        )
        try JSONEncoder().encode(job).write(to: input)
        var node = "/dev/null"
        var folders: [String: String] = [:]
        if usesCard {
            // The node's name decides the interface.
            node = folder.url.appendingPathComponent("nvidia0").path
            try FileManager.default.createSymbolicLink(atPath: node, withDestinationPath: "/dev/null")
            let before = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":\($0)" } ?? ""
            folders = ["LD_LIBRARY_PATH": "\(libraries)/nvidia\(before)"]
        }
        let said = try StreamDecoders.run(
            ["\(products)/hwd-vaapi-tool", node] + mode + [input.path, output.path],
            environment: folders.merging([
                "LD_PRELOAD": "\(libraries)/nodes.so", "LIBVA_DRIVER_NAME": "hwsim",
                "LIBVA_DRIVERS_PATH": libraries, "HWSIM_PERSONALITY": personality,
                "HWSIM_RECON": folder.url.appendingPathComponent("recon").path,
                "HWSIM_TRACE": folder.url.appendingPathComponent("trace").path,
                "LIBVA_MESSAGING_LEVEL": "0", "SWIFT_BACKTRACE": "enable=no",
                // Quirks of UVD are those of its chips.
                "VAAPI_TOOL_PCI_ID": personality.hasPrefix("radeonsi-22-uvd") ? "1002:67df" : "",
            ]) { $1 })
        guard said.status == 0 else {
            throw StreamDecoders.Failure(description: "hwd-vaapi-tool ended with \(said.status): \(said.error)")
        }
        return try Data(contentsOf: output)
    }

    /// Encodes a job with the driver in a separate process.
    static func run(_ job: EncodeJob, _ personality: String) throws -> Outcome {
        let folder = try Folder()
        // Its files are read until the end.
        defer { withExtendedLifetime(folder) {} }
        let result = try JSONDecoder().decode(EncodeResult.self, from: tool([], job, personality, folder))
        let dump = folder.url.appendingPathComponent("recon")
        let trace = folder.url.appendingPathComponent("trace")
        let reconstructions = try Reconstruction.read([UInt8]((try? Data(contentsOf: dump)) ?? Data()))
        let lines = String(decoding: (try? Data(contentsOf: trace)) ?? Data(), as: UTF8.self).split(separator: "\n")
        let pictures = lines.filter { $0.hasPrefix("picture ") }.map { $0.split(separator: " ").map(String.init) }
        func field(_ name: String) -> [String] {
            pictures.compactMap { words in words.firstIndex(of: name).map { words[$0 + 1] } }
        }
        let received = lines.compactMap(Firmware.init)
        return Outcome(
            result: result, reconstructions: reconstructions, quantisers: field("qp").compactMap { Int($0) },
            types: field("type"), firmware: received.filter { $0.context == received.last?.context })
    }

    /// Encodes a job with NVIDIA's libraries of Tests/HWSim in a separate process.
    ///
    /// - Returns: also the lines of the trace about encoders that are opened (`session`) or changed (`change`) and about pictures,
    ///   without `nvenc `.
    static func runCard(
        _ job: EncodeJob, _ personality: String
    ) throws -> (result: EncodeResult, sessions: [String], pictures: [String]) {
        let folder = try Folder()
        defer { withExtendedLifetime(folder) {} }
        let result = try JSONDecoder().decode(
            EncodeResult.self, from: tool([], job, personality, folder, usesCard: true))
        let trace = folder.url.appendingPathComponent("trace")
        let lines = String(decoding: (try? Data(contentsOf: trace)) ?? Data(), as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("nvenc ") }.map { String($0.dropFirst(6)) }
        let pictures = lines.filter { $0.hasPrefix("picture ") }
        return (result, lines.filter { !$0.hasPrefix("picture ") }, pictures)
    }

    private static let products = Program.folder

    private static let library: Result<String, StreamDecoders.Failure> = {
        guard access("/usr/include/va/va_backend.h", R_OK) == 0 else {
            return .failure(StreamDecoders.Failure(description: "libva's headers are not installed"))
        }
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
        // Kept beside the test bundle, so that later runs compile only what changed.
        let folder = "\(products)/hwsim"
        let make = ["make", "-s", "-j2", "-C", "\(tests)/HWSim", "OUT=\(folder)"]
        let said = try? StreamDecoders.run(["flock", "\(products)/hwsim.lock"] + make)
        guard said?.status == 0 else {
            return .failure(
                StreamDecoders.Failure(
                    description: "Tests/HWSim does not compile: \(said?.error ?? "there is no make")"))
        }
        return .success(folder)
    }()
}
