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
