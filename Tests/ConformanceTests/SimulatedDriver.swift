// SPDX-License-Identifier: GPL-2.0-or-later
import EncoderTesting
import Foundation
import Glibc
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
        /// The reconstructions, in coding order, as the driver dumps them.
        var reconstructions: [UInt8]
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
        return Outcome(result: result, reconstructions: [UInt8]((try? Data(contentsOf: dump)) ?? Data()))
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
