// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDSystem
import Testing

@Suite struct NVIDIACardTests {
    private static let uuid = "GPU-11111111-2222-3333-4444-555555555555"
    /// Of a card that is not started.
    private static let unknown = "GPU-????????-????-????-????-????????????"
    /// `information` of driver 580.159.04, with the card's own numbers replaced.
    private static func information(_ minor: String, uuid: String = Self.uuid) -> String {
        """
        Model: \t\t NVIDIA H100 80GB HBM3
        IRQ:   \t\t 40
        GPU UUID: \t \(uuid)
        Video BIOS: \t 96.00.74.00.1c
        Bus Type: \t PCIe
        Bus Location: \t 0000:00:06.0
        Device Minor: \t \(minor)
        GPU Firmware: \t 580.159.04
        GPU Excluded:\t No

        """
    }

    private func machine(_ files: [String: String]) throws -> String {
        let root = FileManager.default.temporaryDirectory.path + "/cards-\(UUID().uuidString)"
        for (path, text) in files {
            let file = root + path
            let folder = file.split(separator: "/").dropLast().joined(separator: "/")
            try FileManager.default.createDirectory(atPath: "/\(folder)", withIntermediateDirectories: true)
            try text.write(toFile: file, atomically: false, encoding: .utf8)
        }
        return root
    }

    @Test("A card is found by its node's number, whatever its place on the bus")
    func find() throws {
        let gpus = "/proc/driver/nvidia/gpus"
        let root = try machine([
            "\(gpus)/0000:00:06.0/information": Self.information("1"),
            "\(gpus)/0000:41:00.0/information": Self.information("0", uuid: Self.unknown),
            "\(gpus)/0000:81:00.0/information": "nothing: of use\nDevice Minor: x\n:\n",
            "/sys/module/nvidia/version": "580.159.04\n",
        ])
        defer { try? FileManager.default.removeItem(atPath: root) }
        let second = try #require(NVIDIACard(minor: 1, root: root))
        #expect(second.pciAddress == "0000:00:06.0")
        #expect(second.uuid == Self.uuid)
        let first = try #require(NVIDIACard(minor: 0, root: root))
        #expect(first.pciAddress == "0000:41:00.0" && first.uuid == nil)
        #expect(NVIDIACard(minor: 2, root: root) == nil)
        #expect(NVIDIACard.driverVersion(root: root) == "580.159.04")
    }

    @Test("Without the driver, and with a version that is none, nothing is claimed")
    func nothing() throws {
        let root = try machine(["/sys/module/nvidia/version": "\u{1b}[31m580\n"])
        defer { try? FileManager.default.removeItem(atPath: root) }
        #expect(NVIDIACard(minor: 0, root: root) == nil)
        #expect(NVIDIACard.driverVersion(root: root) == nil)
        #expect(NVIDIACard.driverVersion(root: root + "/none") == nil)
    }
}
