// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// `hwctl probe` of Vulkan: with lavapipe, without any driver, and with drivers that fail.
    @Suite struct VulkanProbes {
        static func probe(_ server: TestDaemon, _ arguments: String...) throws -> VulkanReport {
            let run = try Programs.hwctl(["probe", "--json"] + arguments, socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            return try #require(try JSON.decode(ProbeSnapshot.self, from: run.output).vulkan)
        }

        @Test("lavapipe is verified, reported as vulkaninfo reports it, and never chosen")
        func lavapipe() throws {
            let folder = try Scratch()
            let manifest = try FakeVulkan.lavapipe()
            let environment = FakeVulkan.environment(manifest: manifest, in: folder)
            let server = try TestDaemon(environment: environment)
            let listed = try Self.probe(server, "--no-verify")
            #expect(listed.devices.map(\.verified) == [false] && listed.devices.map(\.tried) == [false])
            #expect(listed.devices.first?.reason?.contains("not verified") == true)

            let report = try Self.probe(server)
            let device = try #require(report.devices.first)
            #expect(report.state == .ready && report.devices.count == 1)
            #expect(device.kind == .cpu && device.name.contains("llvmpipe") && device.pciAddress == nil)
            #expect(device.claimed && device.tried && device.verified && device.reason == nil)
            #expect(device.imports.hostMemory && device.imports.hostMemoryVerified)
            #expect(device.imports.hostMemoryAlignment == 4096)
            #expect(device.limits.maxStorageBufferRange == 128 << 20 && device.limits.maxStorageBuffers >= 7)
            #expect(!device.chosen && device.choice.contains("software"))
            #expect(report.reason?.contains("llvm") == true)
            let text = try Programs.hwctl(["probe", "--table"], socket: server.socket).text
            #expect(text.contains("VULKAN DEVICE") && text.contains("memfd pages (of 4 KiB, verified)"), "\(text)")
            #expect(text.contains("buffers of 128 MiB") && text.contains("(color conversion is done on the CPU"))

            let summary = try Running(Programs.required("vulkaninfo"), ["--summary"], environment: environment)
                .wait().text
            func field(_ name: String) -> String? {
                let line = summary.split(separator: "\n").first { $0.hasPrefix("\t\(name) ") }
                return line?.split(separator: "=", maxSplits: 1).last?.trimmingCharacters(in: .whitespaces)
            }
            #expect(field("deviceName") == device.name)
            #expect(field("deviceType") == "PHYSICAL_DEVICE_TYPE_CPU")
            #expect(field("deviceUUID")?.replacingOccurrences(of: "-", with: "") == device.id)
            #expect(field("driverInfo").map(device.driver.contains) == true)
            // "1.3.230", or "4206822 (1.3.230)" of older ones.
            #expect(field("apiVersion")?.contains(device.apiVersion) == true)
            let version = summary.split(separator: "\n").first { $0.hasPrefix("Vulkan Instance Version: ") }
            #expect(version?.hasSuffix(report.loader ?? "none") == true)
        }

        @Test("Results are kept until a driver's manifest changes, and a new daemon remembers them")
        func memory() throws {
            let folder = try Scratch()
            let manifest = folder.path("driver.json")
            try FakeVulkan.manifest(manifest, of: FakeVulkan.lavapipeLibrary())
            var environment = FakeVulkan.environment(manifest: manifest, in: folder)
            // Missing nodes would be probed each time.
            environment["HWDAEMON_DEVICES"] = ""
            // Counts every start of a probing program.
            let libexec = folder.path("libexec")
            try FileManager.default.createDirectory(atPath: libexec, withIntermediateDirectories: false)
            for name in ["hwdaemon-probe", "hwdaemon-verify", "hwdaemon-encoder"] {
                let text = "#!/bin/sh\necho \(name) >>\(folder.path("starts"))\nexec \(Programs.path(name))\n"
                try text.write(toFile: "\(libexec)/\(name)", atomically: false, encoding: .utf8)
                chmod("\(libexec)/\(name)", 0o755)
            }
            func starts() -> Int {
                ((try? String(contentsOfFile: folder.path("starts"), encoding: .utf8)) ?? "").count { $0 == "\n" }
            }
            var server = try TestDaemon("--libexec", libexec, environment: environment)
            let first = try Self.probe(server)
            #expect(first.devices.map(\.verified) == [true])
            let before = starts()
            #expect(try Self.probe(server) == first)
            #expect(try Self.probe(server, "--no-verify") == first)
            #expect(starts() == before)
            // A rewritten manifest of the same driver: it is examined again, and its results still hold.
            try FakeVulkan.manifest(manifest, of: FakeVulkan.lavapipeLibrary())
            #expect(try Self.probe(server, "--no-verify") == first)
            #expect(starts() > before)
            server = try TestDaemon("--libexec", libexec, environment: environment)
            #expect(try Self.probe(server, "--no-verify") == first)
            #expect(try Self.probe(server, "--verify").devices.map(\.verified) == [true])
        }

        @Test("Without a driver, a device or a loader the reason is one line")
        func nothing() throws {
            for (drivers, reason) in [
                ([], "no Vulkan driver"),
                (["empty-01"], "device"),
            ] {
                let folder = try Scratch()
                let server = try TestDaemon(environment: FakeVulkan.environment(drivers, in: folder))
                let report = try Self.probe(server)
                let line = try #require(report.reason)
                #expect(line.contains(reason) && !line.contains("\n"))
                #expect(report == VulkanReport(state: .absent, reason: line))
                #expect(try Programs.hwctl(["probe", "--table"], socket: server.socket).text.contains(line))
            }
            let folder = try Scratch()
            try "no library".write(toFile: folder.path("libvulkan.so.1"), atomically: false, encoding: .utf8)
            var environment = try FakeVulkan.environment(["gpu-01"], in: folder)
            environment["LD_LIBRARY_PATH"] = folder.root
            let report = try Self.probe(try TestDaemon(environment: environment))
            #expect(report.state == .absent && report.devices.isEmpty)
            #expect(report.reason?.contains("no Vulkan") == true, "\(report.reason ?? "")")
        }

        @Test(
            "A driver that crashes or hangs affects only the report's Vulkan part",
            arguments: [("crash", "SIGSEGV"), ("hang", "timed out")])
        func deaths(mode: String, end: String) throws {
            let folder = try Scratch()
            let server = try TestDaemon(
                "--set", "ProbeTimeout=\(mode == "hang" ? 2 : 60)",
                environment: FakeVulkan.environment(["\(mode)-01", "gpu-02"], in: folder))
            let run = try Programs.hwctl(["probe", "--json"], socket: server.socket)
            let snapshot = try JSON.decode(ProbeSnapshot.self, from: run.output)
            let report = try #require(snapshot.vulkan)
            #expect(report.state == (mode == "crash" ? .crashed : .timedOut))
            #expect(report.reason?.contains(end) == true, "\(report.reason ?? "")")
            #expect(snapshot.encoders.map(\.id) == ["org.hwdaemon.encoder.x265"])
            #expect(snapshot.paths.count == 4 && snapshot.paths.allSatisfy(\.verified))
            // The daemon itself loads no driver; only root may see that.
            if geteuid() == 0 {
                let maps = try String(contentsOfFile: "/proc/\(server.pid)/maps", encoding: .utf8)
                #expect(!maps.contains("libvulkan") && !maps.contains("fake-"))
            }
            #expect(server.hasNoWorkers())
        }

        @Test("Each device is checked by itself, and the best that converts correctly is chosen")
        func manyDevices() throws {
            let folder = try Scratch()
            let drivers = ["wrong-05", "late-crash-04", "shared-02", "old-07", "gpu-03"]
            let server = try TestDaemon(environment: FakeVulkan.environment(drivers, in: folder))
            let report = try Self.probe(server)
            func device(_ bus: String) throws -> ComputeDevice {
                try #require(report.devices.first { $0.pciAddress == "0000:\(bus):00.0" }, "\(report)")
            }
            #expect(report.devices.count == 5 && report.reason == nil)
            let best = try device("03")
            #expect(best.verified && best.chosen && best.kind == .discrete && best.reason == nil)
            #expect(best.choice.contains("discrete"))
            let shared = try device("02")
            #expect(shared.verified && !shared.chosen && shared.kind == .integrated)
            #expect(shared.choice.contains("Fake gpu GPU 03"))
            let wrong = try device("05")
            #expect(wrong.claimed && wrong.tried && !wrong.verified)
            #expect(wrong.reason?.contains("half floats") == true)
            #expect(wrong.choice.contains("half floats"))
            let crashing = try device("04")
            #expect(crashing.claimed && !crashing.verified)
            #expect(crashing.reason?.contains("SIGSEGV") == true)
            let old = try #require(report.devices.first { $0.name == "Fake old GPU 07" })
            #expect(!old.claimed && !old.tried && old.apiVersion == "1.0.0")
            #expect(old.reason?.contains("Vulkan 1.1") == true)
        }
    }
}
