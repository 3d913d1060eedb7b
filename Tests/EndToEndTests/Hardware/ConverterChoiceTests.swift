// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// The device that a pixel-transfer session gets, and the reason it reports.
    @Suite struct ConverterChoices {
        /// What these tests read of `hwctl convert --json`.
        private struct Summary: Decodable {
            var device: String
            var reason: String
            var usingGPU: Bool
            var fallbackReason: String?

            enum CodingKeys: String, CodingKey {
                case device = "PixelTransferDevice"
                case reason = "PixelTransferDeviceReason"
                case usingGPU = "using_gpu"
                case fallbackReason = "FallbackReason"
            }
        }

        /// Converts a frame with a daemon; returns hwctl's run, its summary and the bytes.
        private func convert(
            _ server: TestDaemon, _ device: String
        ) throws -> (run: Finished, summary: Summary?, bytes: [UInt8]) {
            let folder = try Scratch()
            let (input, output) = (folder.path("in"), folder.path("out"))
            var frame: [UInt8] = []
            for index in 0..<64 * 32 * 3 / 2 { frame.append(UInt8(16 + (index * 7) % 200)) }
            try Data(frame).write(to: URL(fileURLWithPath: input))
            let run = try Programs.hwctl(
                [
                    "convert", input, output, "--size", "64x32", "--from", "nv12", "--to", "bgra8", "--json",
                    "--device", device,
                ], socket: server.socket)
            return (
                run, try? JSON.decode(Summary.self, from: run.output),
                (try? Data(contentsOf: URL(fileURLWithPath: output))).map { Array($0) } ?? []
            )
        }

        /// The largest difference between two results.
        private func difference(_ a: [UInt8], _ b: [UInt8]) throws -> Int {
            try #require(a.count == b.count && a.count == 64 * 32 * 4)
            return zip(a, b).map { abs(Int($0) - Int($1)) }.max() ?? 0
        }

        @Test("A GPU is chosen by kind or by its PCI address")
        func choices() throws {
            let folder = try Scratch()
            // Without a device node no GPU would be looked for.
            var environment = try FakeVulkan.environment(["shared-02", "gpu-03", "wrong-05"], in: folder)
            environment["HWDAEMON_DEVICES"] = "/dev/null"
            let server = try TestDaemon(environment: environment)
            let known = try VulkanProbes.probe(server).devices
            let verified = known.filter(\.verified).compactMap(\.pciAddress).sorted()
            #expect(known.count == 3 && verified == ["0000:02:00.0", "0000:03:00.0"])

            let onCPU = try convert(server, "cpu")
            #expect(onCPU.summary?.usingGPU == false && onCPU.summary?.reason.contains("CPU") == true)
            #expect(onCPU.summary?.device.hasPrefix("CPU") == true && onCPU.summary?.fallbackReason == nil)

            let chosen = try convert(server, "auto")
            let summary = try #require(chosen.summary, "\(chosen.run.errors)")
            #expect(summary.usingGPU && summary.device.hasPrefix("Fake gpu GPU 03"))
            #expect(summary.reason.contains("discrete") && summary.fallbackReason == nil)
            #expect(try difference(chosen.bytes, onCPU.bytes) <= 1)

            let named = try convert(server, "0000:02:00.0")
            #expect(named.summary?.device.hasPrefix("Fake shared GPU 02") == true, "\(named.run.errors)")
            #expect(named.summary?.reason.contains("0000:02:00.0") == true)
            #expect(try difference(named.bytes, onCPU.bytes) <= 1)

            for (device, status, words) in [
                ("0000:05:00.0", Int32(69), "Fake wrong GPU 05"),
                ("0000:05:00.0", 69, "half floats"),
                ("0000:09:00.0", 69, "no Vulkan GPU at 0000:09:00.0"),
                ("0000:09:00", 64, "device 0000:09:00 is not one of auto, vulkan, cpu"),
            ] {
                let refused = try convert(server, device)
                #expect(refused.run.status == status && refused.bytes.isEmpty, "\(refused.run.errors)")
                #expect(refused.run.errors.contains(words), "\(refused.run.errors)")
            }

            let transfer = try TransferSession(
                server.daemon,
                CreateTransferSession.Parameters(
                    width: 32, height: 16, source: Transfers.pq, target: Transfers.halves))
            #expect(transfer.created.usingGPU && transfer.created.deviceReason == summary.reason)
            let properties = try transfer.copyProperties()
            #expect(properties[.pixelTransferDeviceReason] == .string(summary.reason))
            #expect(properties[.fallbackReason] == nil)
            let session = try #require(try server.sessions().first)
            #expect(session.codecID == "org.hwdaemon.transfer.vulkan" && session.usingHardware == true)
            transfer.invalidate()
        }

        /// Replaces the speed of a GPU in the results that a daemon has kept.
        private static func setSpeed(_ speed: [String: Int], in path: String) throws {
            var text = try String(contentsOfFile: path, encoding: .utf8)
            for (name, milliseconds) in speed {
                let member = try Regex("\"\(name)\" : [0-9.e-]+")
                try #require(text.contains(member), "\(text)")
                text.replace(member, with: "\"\(name)\" : \(milliseconds)")
            }
            try text.write(toFile: path, atomically: false, encoding: .utf8)
        }

        @Test("A session that names few frames converts on the CPU where opening the GPU takes longer")
        func frameCounts() throws {
            let folder = try Scratch()
            var environment = try FakeVulkan.environment(["timed-03"], in: folder)
            environment["HWDAEMON_DEVICES"] = "/dev/null"
            _ = try VulkanProbes.probe(try TestDaemon(environment: environment))
            try Self.setSpeed(
                ["picture_ms": 1, "cpu_picture_ms": 2, "opening_ms": 1000], in: folder.path("probe-cache.json"))
            let server = try TestDaemon(environment: environment)
            try #require(try VulkanProbes.probe(server).devices.first?.speed?.opening == 1000)
            let raw = try RawFrames(.rgba8, width: 64, height: 48, count: 1, in: server.folder)
            let stream = try CodedStream(frames: 2, in: server.folder)
            for frames in [nil, 2, 1_000_000] {
                var parameters = CreateTransferSession.Parameters(
                    width: 64, height: 48, source: Transfers.pq, target: Transfers.halves)
                parameters.frames = frames
                let transfer = try TransferSession(server.daemon, parameters)
                let encoder = try Encoder(server.daemon, .rgba8, width: 64, height: 48, frames: frames)
                try encoder.encode(raw.frames[0])
                try encoder.finish()
                let decoder = try Decoder(server.daemon, stream, pixelFormat: .rgba8, frames: frames)
                try decoder.decode(stream)
                let reasons = [
                    transfer.created.fallbackReason,
                    try Self.fallbackReason(encoder.session.copyProperties()),
                    try Self.fallbackReason(decoder.session.copyProperties()),
                ]
                let isFew = frames == 2
                #expect(transfer.created.usingGPU != isFew)
                #expect(
                    reasons.allSatisfy { ($0?.contains("to open it takes 1000 ms") ?? false) == isFew },
                    "\(reasons)")
                #expect(isFew || reasons == [nil, nil, nil])
                transfer.invalidate()
            }
            // VideoToolbox's property says the same.
            let encoder = try Encoder(
                server.daemon, .rgba8, width: 64, height: 48,
                properties: [.x265Preset: .string("ultrafast"), .sourceFrameCount: .int(2)])
            try encoder.encode(raw.frames[0])
            try encoder.finish()
            #expect(try Self.fallbackReason(encoder.session.copyProperties())?.contains("to open it takes") == true)
        }

        private static func fallbackReason(_ properties: [PropertyKey: PropertyValue]) -> String? {
            guard case .string(let reason)? = properties[.pixelTransferFallbackReason] else { return nil }
            return reason
        }

        @Test("A Vulkan device in software converts only where Vulkan is requested")
        func software() throws {
            let folder = try Scratch()
            var environment = try FakeVulkan.environment(manifest: FakeVulkan.lavapipe(), in: folder)
            environment["HWDAEMON_DEVICES"] = "/dev/null"
            let server = try TestDaemon(environment: environment)
            let left = try convert(server, "auto")
            #expect(left.summary?.usingGPU == false && left.summary?.device.hasPrefix("CPU") == true)
            #expect(left.summary?.fallbackReason?.contains("llvmpipe") == true)
            let asked = try convert(server, "vulkan")
            #expect(asked.summary?.usingGPU == false && asked.summary?.device.contains("llvmpipe") == true)
            #expect(asked.summary?.reason.contains("software") == true)
            #expect(try difference(asked.bytes, left.bytes) <= 1)
        }

        @Test(
            "A session whose driver crashes or hangs at its start continues without the GPU",
            arguments: ["crash", "hang", "late-crash"])
        func deaths(mode: String) throws {
            let folder = try Scratch()
            var environment = try FakeVulkan.environment(["\(mode)-03"], in: folder)
            environment["HWDAEMON_DEVICES"] = "/dev/null"
            let seconds = mode == "hang" ? 2 : 60
            let server = try TestDaemon(
                "--set", "ProbeTimeout=\(seconds)", "--set", "HardwareStallTimeout=\(seconds)",
                environment: environment)
            let left = try convert(server, "auto")
            #expect(left.run.status == 0, "\(left.run.errors)")
            #expect(left.summary?.usingGPU == false && left.summary?.device.hasPrefix("CPU") == true)
            let reason = left.summary?.fallbackReason ?? ""
            // Either the background probe or the session itself meets the fault first.
            let ends = ["crashed", "did not return", "timed out"]
            #expect(ends.contains(where: reason.contains), "\(reason)")
            let asked = try convert(server, "vulkan")
            #expect(asked.run.status == 69 && asked.bytes.isEmpty, "\(asked.run.errors)")
            #expect(asked.run.errors.contains("Vulkan"), "\(asked.run.errors)")
            #expect(ends.contains(where: asked.run.errors.contains), "\(asked.run.errors)")
            #expect(server.hasNoWorkers())
        }
    }
}
