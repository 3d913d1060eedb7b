// SPDX-License-Identifier: GPL-2.0-or-later
import EncoderTesting
import Foundation
import Glibc
import HEVC
import Testing

/// The libva driver of Tests/HWSim, compiled when a test first needs it, and the process that encodes with it.
enum SimulatedDriver {
    /// Why it cannot be had, or nil.
    static var whyNot: String? {
        switch library {
        case .success: nil
        case .failure(let reason): "skipped: \(reason)"
        }
    }

    /// What came of a job, with what only the driver knows.
    struct Outcome {
        var result: EncodeResult
        /// What the driver reconstructed, in the order it coded.
        var reconstructions: [Reconstruction]

        /// The pictures as a decoder must show them: planar, in the order they are shown, the conformance window cut
        /// out.
        func shown() throws -> [UInt8] {
            let sps = try result.sps
            // The first is the grey picture that is coded when the encoder opens.
            let coded = reconstructions.dropFirst()
            try #require(coded.count == result.pictures.count)
            let pictures = zip(result.pictures, coded).sorted { $0.0.frameID < $1.0.frameID }
            return pictures.flatMap { $0.1.planar(width: sps.width, height: sps.height) }
        }
    }

    /// A picture out of the driver's dump: `HREC`, then POC, width, height and depth, then NV12 or P010.
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

        /// The top left part, as Y4M has it: values at the low ends of words.
        func planar(width shownWidth: Int, height shownHeight: Int) -> [UInt8] {
            let size = depth > 8 ? 2 : 1
            let stride = (width + 1) / 2 * 2 * size
            let chroma = samples.startIndex + width * height * size
            var planar: [UInt8] = []
            planar.reserveCapacity(shownWidth * shownHeight * 3 / 2 * size)
            func append(_ at: Int) {
                guard size == 2 else { return planar.append(samples[at]) }
                let value = (Int(samples[at]) | Int(samples[at + 1]) << 8) >> 6
                planar += [UInt8(value & 255), UInt8(value >> 8)]
            }
            for y in 0..<shownHeight {
                for x in 0..<shownWidth { append(samples.startIndex + (y * width + x) * size) }
            }
            for component in 0..<2 {
                for y in 0..<shownHeight / 2 {
                    for x in 0..<shownWidth / 2 { append(chroma + y * stride + (2 * x + component) * size) }
                }
            }
            return planar
        }
    }

    /// Encodes a job with the driver in a process of its own.
    static func run(_ job: EncodeJob, _ personality: String) throws -> Outcome {
        let libraries = try library.get()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("job-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (input, output) = (folder.appendingPathComponent("job"), folder.appendingPathComponent("result"))
        let dump = folder.appendingPathComponent("recon")
        try JSONEncoder().encode(job).write(to: input)
        let said = try StreamDecoders.run(
            ["\(products)/vaapi-tool", "/dev/null", input.path, output.path],
            environment: [
                "LD_PRELOAD": "\(libraries)/nodes.so", "LIBVA_DRIVER_NAME": "hwsim",
                "LIBVA_DRIVERS_PATH": libraries, "HWSIM_PERSONALITY": personality, "HWSIM_RECON": dump.path,
                "LIBVA_MESSAGING_LEVEL": "0", "SWIFT_BACKTRACE": "enable=no",
            ])
        guard said.status == 0 else {
            throw StreamDecoders.Failure(description: "vaapi-tool ended with \(said.status): \(said.error)")
        }
        let result = try JSONDecoder().decode(EncodeResult.self, from: Data(contentsOf: output))
        let reconstructions = try Reconstruction.read([UInt8]((try? Data(contentsOf: dump)) ?? Data()))
        return Outcome(result: result, reconstructions: reconstructions)
    }

    private static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    private static let library: Result<String, StreamDecoders.Failure> = {
        guard access("/usr/include/va/va_backend.h", R_OK) == 0 else {
            return .failure(StreamDecoders.Failure(description: "libva's headers are not installed"))
        }
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
        // Beside the bundle, so that nothing needs to be cleared away.
        let folder = "\(products)/hwsim-\(getpid())"
        mkdir(folder, 0o755)
        atexit { try? FileManager.default.removeItem(atPath: "\(SimulatedDriver.products)/hwsim-\(getpid())") }
        let sources = ((try? FileManager.default.contentsOfDirectory(atPath: "\(tests)/HWSim")) ?? [])
            .filter { $0.hasSuffix(".c") }.map { "\(tests)/HWSim/\($0)" }
        guard !sources.isEmpty else { return .failure(StreamDecoders.Failure(description: "there is no Tests/HWSim")) }
        for (files, output) in [(sources, "hwsim_drv_video"), (["\(tests)/FakeVA/nodes.c"], "nodes")] {
            let command = ["cc", "-std=gnu11", "-shared", "-fPIC", "-O2", "-o", "\(folder)/\(output).so"] + files
            let said = try? StreamDecoders.run(command + ["-lpthread", "-lm"])
            guard said?.status == 0 else {
                return .failure(
                    StreamDecoders.Failure(description: "\(output) does not compile: \(said?.error ?? "no compiler")"))
            }
        }
        return .success(folder)
    }()
}
