// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import Testing

@testable import HWDProbing

@Suite("Causes of unused hardware")
struct CauseTests {
    private static func path(_ operation: CodecOperation, rateControl: [String]) -> CodecPath {
        var path = CodecPath(
            id: "p", codec: "hevc", operation: operation, profile: "main", bitDepth: 8, device: "/dev/a",
            driver: "d")
        path.claimed = true
        path.hardware = HardwareLimits(
            entrypoint: "VAEntrypointEncSliceLP", rateControl: rateControl, packedHeaders: [])
        return path
    }

    @Test func recognizesEncodersWithoutBitRates() {
        let decoder = Self.path(.decode, rateControl: [])
        #expect(VideoFirmware.hasOnlyConstantQP([Self.path(.encode, rateControl: ["CQP"]), decoder]))
        #expect(!VideoFirmware.hasOnlyConstantQP([Self.path(.encode, rateControl: ["CBR", "CQP"])]))
        #expect(!VideoFirmware.hasOnlyConstantQP([decoder]))
    }

    @Test func namesTheStatesOfHuCFirmware() {
        #expect(VideoFirmware.intelFault(status: 1) == nil)
        // A chip without a HuC lacks no firmware.
        #expect(VideoFirmware.intelFault(status: -ENODEV) == nil)
        for (status, word) in [(0, "not run"), (-ENOPKG, "not installed"), (-EOPNOTSUPP, "enable_guc")] {
            let fault = VideoFirmware.intelFault(status: Int32(status))
            #expect(fault?.cause == .hucFirmware && fault?.reason.contains(word) == true)
        }
    }

    @Test func namesFaultyVulkanManifests() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("icd-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func manifest(_ name: String, _ text: String) throws -> String {
            let file = folder.appendingPathComponent(name)
            try text.write(to: file, atomically: false, encoding: .utf8)
            return file.path
        }
        func document(_ library: String) -> String {
            "{\"file_format_version\":\"1.0.0\",\"ICD\":{\"library_path\":\"\(library)\",\"api_version\":\"1.3.0\"}}"
        }
        let good = try manifest("a.json", document("libc.so.6"))
        #expect(VulkanManifests.fault(of: [folder.path, good, "/nowhere.json"]) == nil)
        for text in ["", "{", "[]", "{\"ICD\":{}}", String(repeating: "[", count: 100_000)] {
            let damaged = try manifest("b.json", text)
            let fault = VulkanManifests.fault(of: [good, damaged])
            #expect(
                fault?.cause == .vulkanManifest && fault?.reason.contains(damaged) == true, "\(text.prefix(20))")
        }
        for library in ["libvulkan_nonesuch.so", "./nonesuch.so", "/nowhere/nonesuch.so"] {
            let broken = try manifest("c.json", document(library))
            let fault = VulkanManifests.fault(of: [broken])
            #expect(fault?.cause == .vulkanLibrary && fault?.reason.contains("nonesuch.so") == true)
            // The driver that loads is the one that has no device.
            #expect(VulkanManifests.fault(of: [broken, good]) == nil)
        }
        // Libraries of 32 bits are installed beside those of 64: neither their manifests nor their names are faults.
        let narrow = document("./nonesuch.so").replacingOccurrences(
            of: "\"library_path\"", with: "\"library_arch\":\"32\",\"library_path\"")
        #expect(VulkanManifests.fault(of: [try manifest("d.json", narrow)]) == nil)
        var elf = try Data(contentsOf: URL(fileURLWithPath: "/proc/self/exe"), options: .mappedIfSafe).prefix(4096)
        elf[4] = 1  // EI_CLASS: ELFCLASS32
        try elf.write(to: folder.appendingPathComponent("narrow.so"))
        #expect(VulkanManifests.fault(of: [try manifest("e.json", document("./narrow.so"))]) == nil)
    }

    @Test func namesThePackageOfEachVendor() {
        #expect(ProbeCause.driverMissing.remedy(pciID: "1002:73bf")?.contains("mesa-va-drivers") == true)
        #expect(ProbeCause.driverMissing.remedy(pciID: "8086:8a52")?.contains("intel-media-va-driver") == true)
        #expect(ProbeCause.driverMissing.remedy(pciID: "10de:2330")?.contains("nvidia-vaapi-driver") == true)
    }

    @Test func namesTheNodesOfBusyHardware() {
        #expect(ProbeCause.busy.command(pciID: "1002:73bf") == "fuser -v /dev/dri/renderD*")
        // NVIDIA's cards have other nodes, and encode nothing here.
        #expect(ProbeCause.busy.command(pciID: "10de:2330") == "fuser -v /dev/nvidia[0-9]*")
        #expect(ProbeCause.busy.remedy(pciID: "10de:2330")?.contains("encode") == false)
    }

    @Test func readsCausesOfLaterVersions() throws {
        let later = Data(#"{"node": "/dev/a", "state": "ready", "cause": "driver_on_strike"}"#.utf8)
        #expect(try JSONDecoder().decode(RenderNode.self, from: later).cause == .unknown)
        let known = Data(#"{"node": "/dev/a", "state": "ready", "cause": "driver_hung"}"#.utf8)
        #expect(try JSONDecoder().decode(RenderNode.self, from: known).cause == .driverHung)
    }
}
