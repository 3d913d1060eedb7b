// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The Vulkan section of `hwctl probe`.
enum VulkanText {
    /// A table of devices, each followed by its imports and limits; one line if there is no device.
    static func section(_ report: VulkanReport) -> String {
        var rows = [["VULKAN DEVICE", "TYPE", "PCI", "DRIVER", "CHOSEN", "VERIFIED", "REASON"]]
        var details: [String] = []
        for device in report.devices {
            let reasons = [device.choice, device.reason ?? ""].filter { !$0.isEmpty }
            rows.append([
                device.name, device.kind.rawValue, device.pciAddress ?? "-", device.driver,
                device.chosen ? "yes" : "no", device.verified ? "yes" : "no",
                // A fault that is the reason of the choice is shown once.
                device.choice.hasSuffix(device.reason ?? " ") ? device.choice : reasons.joined(separator: "; "),
            ])
            details.append(
                "  imports \(imports(device.imports)); \(limits(device))"
                    + (device.speed.map { "; \($0.text)" } ?? ""))
        }
        var lines = Console.table(rows).split(separator: "\n").map(String.init)
        for (index, detail) in details.enumerated() { lines.insert(detail, at: 2 + 2 * index) }
        if let reason = report.reason { lines.append("(\(report.devices.isEmpty ? "none: " : "")\(reason))") }
        return lines.joined(separator: "\n")
    }

    private static func imports(_ imports: ComputeDevice.Imports) -> String {
        var parts: [String] = []
        if let alignment = imports.hostMemoryAlignment {
            let proof = imports.hostMemoryVerified ? "verified" : "not verified"
            parts.append("memfd pages (of \(size(alignment)), \(proof))")
        }
        if imports.dmaBufs { parts.append(imports.dmaBufModifiers ? "dma-bufs (tiled too)" : "dma-bufs") }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }

    private static func limits(_ device: ComputeDevice) -> String {
        let limits = device.limits
        var parts = [
            "Vulkan \(device.apiVersion)", "buffers of \(size(limits.maxStorageBufferRange))",
            limits.timestampPeriod == nil ? "no timestamps" : "timestamps",
        ]
        if limits.storage16Bit { parts.append("16-bit storage") }
        if limits.float16 { parts.append("half floats") }
        return parts.joined(separator: ", ")
    }

    /// Bytes in the largest unit that divides them.
    private static func size(_ bytes: Int) -> String {
        for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] where bytes > 0 && bytes % (1 << shift) == 0 {
            return "\(bytes >> shift) \(unit)"
        }
        // Vulkan's limit has 32 bits: its largest value stands for 4 GiB.
        return bytes == Int(UInt32.max) ? "4 GiB" : "\(bytes) bytes"
    }
}
