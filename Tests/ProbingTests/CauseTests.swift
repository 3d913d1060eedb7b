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
            let fault = VulkanManifests.fault(of: [try manifest("c.json", document(library))])
            #expect(fault?.cause == .vulkanLibrary && fault?.reason.contains("nonesuch.so") == true)
        }
    }

    @Test func hasARemedyForEveryCause() {
        for cause in ProbeCause.allCases { #expect(!cause.remedy().isEmpty) }
        #expect(ProbeCause.driverMissing.remedy(pciID: "1002:73bf").contains("mesa-va-drivers"))
        #expect(ProbeCause.driverMissing.remedy(pciID: "8086:8a52").contains("intel-media-va-driver"))
        #expect(ProbeCause.driverMissing.remedy(pciID: "10de:2330").contains("nvidia-vaapi-driver"))
    }
}
