// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Which device a pixel-transfer session gets, and what it is told of that.
    @Suite(.enabled(if: FakeVulkan.whyNot == nil, Comment(rawValue: FakeVulkan.whyNot ?? "")))
    struct ConverterChoices {
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

        /// A frame converted by a daemon, and what hwctl says of it.
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

        @Test("A GPU is chosen by kind, or by its PCI address, and software where Vulkan is asked for")
        func choices() throws {
            let folder = try Scratch()
            // A node there is, so that a GPU is looked for.
            var environment = try FakeVulkan.environment(["shared-02", "gpu-03", "wrong-05"], in: folder)
            environment["HWDAEMON_DEVICES"] = "/dev/null"
            let server = try TestDaemon(environment: environment)
            let known = try VulkanProbes.probe(server).devices
            let verified = known.filter(\.verified).compactMap(\.pciAddress).sorted()
            #expect(known.count == 3 && verified == ["0000:02:00.0", "0000:03:00.0"])

            let onCPU = try convert(server, "cpu")
            #expect(onCPU.summary?.usingGPU == false && onCPU.summary?.reason == "the CPU is asked for")
            #expect(onCPU.summary?.device.hasPrefix("CPU") == true && onCPU.summary?.fallbackReason == nil)

            let chosen = try convert(server, "auto")
            let summary = try #require(chosen.summary, "\(chosen.run.errors)")
            #expect(summary.usingGPU && summary.device.hasPrefix("Fake gpu GPU 03"))
            #expect(summary.reason == "the first of 2 GPUs: a discrete GPU" && summary.fallbackReason == nil)
            #expect(try difference(chosen.bytes, onCPU.bytes) <= 1)

            let named = try convert(server, "0000:02:00.0")
            #expect(named.summary?.device.hasPrefix("Fake shared GPU 02") == true, "\(named.run.errors)")
            #expect(named.summary?.reason == "asked for by its PCI address, 0000:02:00.0")
            #expect(try difference(named.bytes, onCPU.bytes) <= 1)

            for (device, status, words) in [
                ("0000:05:00.0", Int32(69), "Fake wrong GPU 05"),
                ("0000:05:00.0", 69, "half floats came out wrong"),
                ("0000:09:00.0", 69, "no Vulkan GPU at 0000:09:00.0; the devices here: "),
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

        @Test("Software converts only where Vulkan is asked for by name")
        func software() throws {
            let folder = try Scratch()
            var environment = FakeVulkan.environment(manifest: try #require(FakeVulkan.lavapipe), in: folder)
            environment["HWDAEMON_DEVICES"] = "/dev/null"
            let server = try TestDaemon(environment: environment)
            let left = try convert(server, "auto")
            #expect(left.summary?.usingGPU == false && left.summary?.device.hasPrefix("CPU") == true)
            #expect(left.summary?.fallbackReason?.hasPrefix("no Vulkan GPU; the devices here: llvmpipe") == true)
            let asked = try convert(server, "vulkan")
            #expect(asked.summary?.usingGPU == false && asked.summary?.device.contains("llvmpipe") == true)
            #expect(asked.summary?.reason == "software: Vulkan is asked for, and there is no GPU")
            #expect(try difference(asked.bytes, left.bytes) <= 1)
        }

        @Test(
            "A driver that crashes or hangs in a session's start costs that session nothing but its GPU",
            arguments: ["crash", "hang", "late-crash"])
        func deaths(mode: String) throws {
            let folder = try Scratch()
            var environment = try FakeVulkan.environment(["\(mode)-03"], in: folder)
            environment["HWDAEMON_DEVICES"] = "/dev/null"
            let server = try TestDaemon(
                "--set", "ProbeTimeout=1", "--set", "HardwareStallTimeout=1", environment: environment)
            let left = try convert(server, "auto")
            #expect(left.run.status == 0, "\(left.run.errors)")
            #expect(left.summary?.usingGPU == false && left.summary?.device.hasPrefix("CPU") == true)
            let reason = left.summary?.fallbackReason ?? ""
            // The probe in the background or the session itself met it first.
            let ends = ["crashed", "did not return", "timed out"]
            #expect(ends.contains(where: reason.contains), "\(reason)")
            let asked = try convert(server, "vulkan")
            #expect(asked.run.status == 69 && asked.bytes.isEmpty, "\(asked.run.errors)")
            #expect(asked.run.errors.contains("Vulkan is asked for, but "), "\(asked.run.errors)")
            #expect(ends.contains(where: asked.run.errors.contains), "\(asked.run.errors)")
            #expect(server.hasNoWorkers())
        }
    }
}
