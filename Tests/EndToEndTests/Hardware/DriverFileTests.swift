// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Drivers that are installed elsewhere than in the system's folders, found in the sandbox or named with what keeps them away.
    @Suite("Files of drivers") struct DriverFiles {
        /// Whether strace is there and may trace.
        private static let canTrace =
            (try? Running(Programs.required("strace"), ["-qq", "-o", "/dev/null", "true"]).wait().status) == 0

        /// A daemon whose probes have no variable for Vulkan's drivers but these, and no path that an administrator named.
        ///
        /// - Parameter trace: where strace writes the calls of a probe's threads that name files, a file each; nil for no trace.
        private static func daemon(
            _ folder: Scratch, _ variables: [String: String], trace: String? = nil
        ) throws -> TestDaemon {
            let libexec = folder.path("libexec")
            try FileManager.default.createDirectory(atPath: libexec, withIntermediateDirectories: false)
            let unset = variables["VK_DRIVER_FILES"] == nil ? "unset VK_DRIVER_FILES\n" : ""
            // The probe stays the daemon's child.
            let tracer = try trace.map { try "\(Programs.required("strace")) -D -ff -qq -e trace=%file -o \($0) " }
            for name in ["hwdaemon-probe", "hwdaemon-verify"] {
                let script = "#!/bin/sh\n\(unset)exec \(tracer ?? "")\(Programs.path(name))\n"
                try script.write(toFile: "\(libexec)/\(name)", atomically: false, encoding: .utf8)
                chmod("\(libexec)/\(name)", 0o755)
            }
            for name in ["hwdaemon-encoder", "hwdaemon-decoder", "hwdaemon-transfer"] {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(libexec)/\(name)", withDestinationPath: Programs.path(name))
            }
            return try TestDaemon(
                "--libexec", libexec,
                environment: ["CACHE_DIRECTORY": folder.root, "STATE_DIRECTORY": folder.path("state")]
                    .merging(variables) { $1 })
        }

        private static func copy(_ library: String, to path: String) throws {
            try FileManager.default.createDirectory(
                atPath: URL(filePath: path).deletingLastPathComponent().path, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: library, toPath: path)
        }

        private static func manifest(_ path: String, of library: String) throws {
            try FileManager.default.createDirectory(
                atPath: URL(filePath: path).deletingLastPathComponent().path, withIntermediateDirectories: true)
            try FakeVulkan.manifest(path, of: library)
        }

        /// Drivers in a folder, and the variables by which they are found.
        enum Fixture: CaseIterable {
            /// A manifest in a folder of `XDG_DATA_DIRS` that is a link to elsewhere, with a library by its name.
            case links
            /// A library that the driver's DT_RUNPATH finds, and Vulkan's loader from another folder.
            case dependencies
            /// A driver in a folder that others can write.
            case writable

            fileprivate func variables(in folder: Scratch) throws -> [String: String] {
                switch self {
                case .links: try DriverFiles.links(in: folder)
                case .dependencies: try DriverFiles.dependencies(in: folder)
                case .writable: try DriverFiles.writable(in: folder)
                }
            }
        }

        private static func links(in folder: Scratch) throws -> [String: String] {
            try copy(FakeVulkan.lavapipeLibrary(), to: folder.path("vendor/lib64/libvulkan_vendor.so.580"))
            try FileManager.default.createSymbolicLink(
                atPath: folder.path("vendor/lib64/libvulkan_vendor.so.1"),
                withDestinationPath: "libvulkan_vendor.so.580")
            try manifest(folder.path("vendor/share/vendor_icd.json"), of: "libvulkan_vendor.so.1")
            try FileManager.default.createDirectory(
                atPath: folder.path("share/vulkan/icd.d"), withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: folder.path("share/vulkan/icd.d/vendor_icd.json"),
                withDestinationPath: folder.path("vendor/share/vendor_icd.json"))
            return ["XDG_DATA_DIRS": folder.path("share"), "LD_LIBRARY_PATH": folder.path("vendor/lib64")]
        }

        private static func dependencies(in folder: Scratch) throws -> [String: String] {
            let compiler = try Programs.required("clang", "cc")
            for name in ["deps", "driver", "loader"] {
                try FileManager.default.createDirectory(
                    atPath: folder.path(name), withIntermediateDirectories: true)
            }
            try "int hwd_dependency(void) { return 1; }\n".write(
                toFile: folder.path("a.c"), atomically: false, encoding: .utf8)
            let build = [
                ["-shared", "-fPIC", "-o", folder.path("deps/libhwddependency.so"), folder.path("a.c")],
                [
                    "-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-o", folder.path("driver/fake-gpu-03.so"),
                    Programs.repository("Tests/FakeVulkan/fake_icd.c"), "-Wl,--no-as-needed",
                    "-L\(folder.path("deps"))", "-lhwddependency",
                    "-Wl,--enable-new-dtags,-rpath,\(folder.path("deps"))",
                ],
            ]
            for arguments in build {
                let run = try Running(compiler, arguments).wait()
                try #require(run.status == 0, "\(run.errors)")
            }
            try manifest(folder.path("icd.json"), of: "./driver/fake-gpu-03.so")
            try copy(FakeVulkan.loader(), to: folder.path("loader/libvulkan.so.1"))
            return [
                "VK_DRIVER_FILES": folder.path("icd.json"), "LD_LIBRARY_PATH": folder.path("loader"),
                "FAKE_VULKAN_DRIVER": try FakeVulkan.lavapipeLibrary(),
            ]
        }

        private static func writable(in folder: Scratch) throws -> [String: String] {
            let library = folder.path("open/libvulkan_vendor.so")
            try copy(FakeVulkan.lavapipeLibrary(), to: library)
            chmod(folder.path("open"), 0o777)
            try manifest(folder.path("icd.json"), of: library)
            return ["VK_DRIVER_FILES": folder.path("icd.json")]
        }

        /// The only device, which converts correctly.
        private static func verified(_ server: TestDaemon) throws -> ComputeDevice {
            let report = try VulkanProbes.probe(server)
            let device = try #require(report.devices.first, "\(report) \(server.log)")
            #expect(report.devices.count == 1 && device.verified, "\(report)")
            return device
        }

        @Test("Manifests in a folder of XDG_DATA_DIRS that are links to elsewhere, with a library by its name")
        func links() throws {
            let folder = try Scratch()
            let server = try Self.daemon(folder, Self.links(in: folder))
            #expect(try Self.verified(server).name.contains("llvmpipe"))
            // What it compiled is in a folder of its own.
            let cache = try FileManager.default.contentsOfDirectory(atPath: folder.path("drivers/probe"))
            #expect(!cache.isEmpty)
        }

        @Test("A library that the driver's DT_RUNPATH finds, and Vulkan's loader from another folder")
        func dependencies() throws {
            let folder = try Scratch()
            let server = try Self.daemon(folder, Self.dependencies(in: folder))
            #expect(try Self.verified(server).pciAddress == "0000:03:00.0")
        }

        @Test(
            "The sandbox refuses no file that a driver opens but those that are named",
            .enabled(if: canTrace, "needs strace and permission to trace"), arguments: Fixture.allCases)
        func refusesNothingElse(fixture: Fixture) throws {
            let folder = try Scratch()
            let server = try Self.daemon(
                folder, fixture.variables(in: folder), trace: folder.path("trace"))
            let report = try VulkanProbes.probe(server)
            #expect((report.devices.first?.verified == true) == (fixture != .writable), "\(report)")
            let traces = folder.contents.filter { $0.hasPrefix("trace.") }
            let calls = try traces.flatMap {
                try String(contentsOfFile: folder.path($0), encoding: .utf8).split(separator: "\n")
            }
            let isOpened = calls.contains {
                $0.hasPrefix("openat") && $0.contains("libvulkan.so.1\", ") && !$0.contains("= -1 ")
            }
            #expect(isOpened, "\(traces)")
            let paths = calls.filter { $0.contains("= -1 EACCES") }
                .flatMap { $0.matches(of: /"([^"]*)"/).map { String($0.1) } }
            #expect(Set(paths) == (fixture == .writable ? [folder.path("open/libvulkan_vendor.so")] : []))
        }

        @Test("A driver in a folder that others can write is refused, and named everywhere")
        func refused() throws {
            let folder = try Scratch()
            let server = try Self.daemon(folder, Self.writable(in: folder))
            let (manifest, library) = (folder.path("icd.json"), folder.path("open/libvulkan_vendor.so"))
            let report = try VulkanProbes.probe(server)
            #expect(report.state == .absent && report.cause == .driverRefused)
            let reason = try #require(report.reason)
            let fault =
                "1 Vulkan driver is installed (\(manifest)), none could be opened in the sandbox: \(library): refused, "
                + "because users other than root and the daemon's can write \(folder.path("open"))"
            #expect(reason == VulkanReport.onCPU(fault))
            #expect(server.log.contains("cannot be opened in its sandbox") && server.log.contains(library))
            let metrics = try server.daemon.call(GetMetrics.self, Empty()).metrics
            #expect(
                metrics.contains(
                    #"hwdaemon_sandbox_refused_drivers_total{driver="\#(manifest)",path="\#(library)"} 1"#))
            let doctor = try Programs.hwctl(["doctor", "--json"], socket: server.socket).text
            #expect(doctor.contains("driver_refused") && doctor.contains("SandboxPaths="))
        }
    }
}
