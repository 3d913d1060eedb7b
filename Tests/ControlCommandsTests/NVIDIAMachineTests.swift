// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import Testing

@testable import HWDControlCommands

/// A machine with an NVIDIA card, as files beneath a folder.
private final class SimulatedMachine {
    let root: String
    static let address = "0000:01:00.0"

    /// - Parameter files: their texts, by their paths.
    init(_ files: [String: String], driver: String? = "nvidia", class number: String = "0x030200") throws {
        root = FileManager.default.temporaryDirectory.appendingPathComponent("machine-\(UUID())").path
        let device = "/sys/bus/pci/devices/\(Self.address)"
        let card = ["\(device)/vendor": "0x10de\n", "\(device)/class": "\(number)\n"]
        for (path, text) in files.merging(card, uniquingKeysWith: { $1 }) {
            try folder(of: path)
            try text.write(toFile: root + path, atomically: false, encoding: .utf8)
        }
        if let driver { try link("\(device)/driver", to: "../../../../bus/pci/drivers/\(driver)") }
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    func link(_ path: String, to target: String) throws {
        try folder(of: path)
        try FileManager.default.createSymbolicLink(atPath: root + path, withDestinationPath: target)
    }

    private func folder(of path: String) throws {
        try FileManager.default.createDirectory(
            at: URL(filePath: root + path).deletingLastPathComponent(), withIntermediateDirectories: true)
    }

    func driver(_ environment: [String: String] = [:]) -> NVIDIADriver? {
        NVIDIADriver(root: root) { environment[$0] }
    }
}

@Suite("Machines with NVIDIA's cards")
struct NVIDIAMachineTests {
    /// What a working driver has, in the folders of a machine of a cloud.
    private static let installed = [
        "/proc/driver/nvidia/version":
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Jan 1 00:00:00 UTC 2026\nGCC version:\n",
        "/sys/module/nvidia_drm/parameters/modeset": "Y\n", "/dev/nvidiactl": "", "/dev/nvidia-uvm": "",
        "/usr/local/nvidia/lib64/libcuda.so.580.159.04": "", "/usr/local/nvidia/lib64/libcuda.so.1": "",
        "/etc/ld.so.cache": "libcuda.so.1\0/usr/local/nvidia/lib64/libcuda.so.1\0",
    ]

    /// A machine, and what is found on it.
    struct Case: Sendable {
        var name: String
        var changes: [String: String?] = [:]
        var driver: String? = "nvidia"
        var environment: [String: String] = [:]
        var isContainer = false
        var hasRenderNode = false
        var cause: ProbeCause?
        var words = ""
    }

    private static let cases = [
        Case(name: "works", hasRenderNode: true),
        Case(
            name: "no module", changes: ["/proc/driver/nvidia/version": nil, "/dev/nvidiactl": nil], driver: nil,
            cause: .nvidiaModule, words: "kernel module is not loaded"),
        Case(
            name: "no nvidia-drm", changes: ["/sys/module/nvidia_drm/parameters/modeset": nil],
            cause: .nvidiaModeset, words: "nvidia-drm is not loaded"),
        Case(
            name: "modeset=0", changes: ["/sys/module/nvidia_drm/parameters/modeset": "N\n"],
            cause: .nvidiaModeset, words: "modeset=0"),
        Case(
            name: "nouveau", changes: ["/proc/driver/nvidia/version": nil], driver: "nouveau", hasRenderNode: true,
            cause: .nouveau, words: "\(SimulatedMachine.address) is driven by nouveau"),
        Case(
            name: "another version",
            changes: [
                "/usr/local/nvidia/lib64/libcuda.so.580.159.04": nil,
                "/usr/local/nvidia/lib64/libcuda.so.550.54.15": "",
            ],
            hasRenderNode: true, cause: .nvidiaVersion, words: "550.54.15, its kernel module of version 580.159.04"),
        Case(
            name: "folder", changes: ["/etc/ld.so.cache": "libc.so.6\0"], hasRenderNode: true,
            cause: .nvidiaFolder, words: "are in /usr/local/nvidia/lib64, where the dynamic linker does not look"),
        Case(
            name: "container",
            changes: [
                "/usr/local/nvidia/lib64/libcuda.so.580.159.04": nil, "/usr/local/nvidia/lib64/libcuda.so.1": nil,
            ],
            environment: ["NVIDIA_DRIVER_CAPABILITIES": "utility"], isContainer: true, cause: .nvidiaCapabilities,
            words: "NVIDIA_DRIVER_CAPABILITIES is utility"),
        Case(
            name: "no nvidia-uvm", changes: ["/dev/nvidia-uvm": nil], hasRenderNode: true, cause: .nvidiaMemory,
            words: "nvidia-uvm does not exist"),
        Case(
            name: "folder in the environment", changes: ["/etc/ld.so.cache": nil],
            environment: ["LD_LIBRARY_PATH": "/usr/local/nvidia/lib64"], hasRenderNode: true),
    ]

    @Test("Each fault of the driver is named, with a cure", arguments: cases)
    func faults(_ machine: Case) throws {
        let files = Self.installed.merging(machine.changes.compactMapValues(\.self)) { $1 }
            .filter { machine.changes[$0.key, default: ""] != nil }
        let simulated = try SimulatedMachine(files, driver: machine.driver)
        let nvidia = try #require(simulated.driver(machine.environment))
        let node = RenderNode(node: "/dev/dri/renderD128", state: .ready)
        let snapshot = ProbeSnapshot(encoders: [], nodes: machine.hasRenderNode ? [node] : [])
        let diagnosis = Diagnosis(snapshot, Machine(isContainer: machine.isContainer, nvidia: nvidia))
        #expect(diagnosis.problems.map(\.cause) == (machine.cause.map { [$0] } ?? []), "\(machine.name)")
        for problem in diagnosis.problems {
            #expect(problem.problem.contains(machine.words), "\(problem.problem)")
            #expect(problem.remedy != nil && problem.command != nil)
        }
    }

    @Test("A card that decodes without a render node is hardware, and the missing node is still named")
    func decoderAlone() throws {
        let simulated = try SimulatedMachine(Self.installed.filter { !$0.key.contains("nvidia_drm") })
        var path = CodecPath(
            id: "hevc-main-decode", codec: "hevc", operation: .decode, profile: "main", bitDepth: 8,
            device: "/dev/nvidia0", driver: "NVIDIA NVDEC, driver 580.159.04")
        (path.claimed, path.verified) = (true, true)
        let snapshot = ProbeSnapshot(
            encoders: [], nodes: [RenderNode(node: "/dev/nvidia0", state: .ready)], paths: [path])
        let diagnosis = Diagnosis(snapshot, Machine(nvidia: simulated.driver()))
        #expect(diagnosis.decode.hardware)
        #expect(diagnosis.decode.by == "HEVC of 8 bits by NVIDIA NVDEC, driver 580.159.04 on /dev/nvidia0")
        #expect(!diagnosis.encode.hardware)
        #expect(diagnosis.problems.map(\.cause) == [.nvidiaModeset])
    }

    @Test("Without a VA-API driver, what works is said")
    func noVideoDriver() {
        var node = RenderNode(node: "/dev/dri/renderD128", state: .driverFailed, reason: "no file")
        (node.cause, node.pciID) = (.driverMissing, "10de:2330")
        let problem = Diagnosis(ProbeSnapshot(encoders: [], nodes: [node]), Machine()).problems.first
        #expect(problem?.command == "apt install nvidia-vaapi-driver")
        #expect(problem?.remedy?.contains("Vulkan converts colors on the GPU") == true)
    }

    @Test("A machine without NVIDIA's cards has none of these faults; hostile files do no harm")
    func others() throws {
        #expect(NVIDIADriver(root: "/nowhere", environment: { _ in nil }) == nil)
        let audio = try SimulatedMachine([:], class: "0x040300")
        #expect(audio.driver() == nil)
        let hostile = try SimulatedMachine([
            "/proc/driver/nvidia/version": "NVRM version: \u{1b}[31m 1..2 .. 99999999.1",
            "/usr/lib/libcuda.so.\u{1b}[2J": "",
        ])
        #expect(
            hostile.driver()?.faults(isContainer: false, hasRenderNode: true).map(\.cause) == [.nvidiaModule])
    }

    @Test("A virtual machine made from a container's image is none")
    func container() throws {
        let machine = try SimulatedMachine(["/.dockerenv": ""])
        let first = ["cgroup": 4_026_531_835, "pid": 4_026_531_836, "uts": 4_026_531_838, "ipc": 4_026_531_839]
        for (name, number) in first { try machine.link("/proc/self/ns/\(name)", to: "\(name):[\(number)]") }
        #expect(!Machine.isContainer(root: machine.root, variable: nil))
        #expect(Machine.isContainer(root: machine.root, variable: "podman"))
        try FileManager.default.removeItem(atPath: "\(machine.root)/proc/self/ns/uts")
        try machine.link("/proc/self/ns/uts", to: "uts:[4026532201]")
        #expect(Machine.isContainer(root: machine.root, variable: nil))
        try FileManager.default.removeItem(atPath: "\(machine.root)/.dockerenv")
        #expect(!Machine.isContainer(root: machine.root, variable: nil))
    }
}
