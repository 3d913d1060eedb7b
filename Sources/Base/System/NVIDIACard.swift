// SPDX-License-Identifier: MIT

/// A card of NVIDIA's, as the kernel's driver describes it below `/proc/driver/nvidia`.
public struct NVIDIACard: Hashable, Sendable {
    /// Domain, bus, device and function (`0000:00:06.0`).
    public let pciAddress: String
    /// The number by which CUDA identifies it (`GPU-…`); nil where the driver does not say.
    public let uuid: String?

    /// The card with a node's number; nil where the driver describes none, as in a container without that folder.
    ///
    /// - Parameter root: what precedes the absolute paths of the machine's files.
    public init?(minor: Int, root: String = "") {
        let folder = "\(root)/proc/driver/nvidia/gpus"
        for address in ((try? Directory.names(in: folder, limit: 64)) ?? []).sorted() {
            let path = "\(folder)/\(address)/information"
            guard let bytes = try? BoundedFile.read(path, limit: 1 << 16) else { continue }
            let fields = Self.fields(String(decoding: bytes, as: UTF8.self))
            guard fields["Device Minor"].flatMap({ Int($0) }) == minor else { continue }
            pciAddress = address
            uuid = fields["GPU UUID"].flatMap { $0.hasPrefix("GPU-") && !$0.contains("?") ? $0 : nil }
            return
        }
        return nil
    }

    /// The version of the kernel's driver (`580.159.04`); nil where it is not loaded.
    public static func driverVersion(root: String = "") -> String? {
        guard let bytes = try? BoundedFile.read("\(root)/sys/module/nvidia/version", limit: 64) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        return text.isEmpty || !text.allSatisfy({ $0.isNumber || $0 == "." }) ? nil : text
    }

    /// The lines `name: value`.
    private static func fields(_ text: String) -> [String: String] {
        text.split(separator: "\n").reduce(into: [:]) { fields, line in
            guard let colon = line.firstIndex(of: ":") else { return }
            let value = line[line.index(after: colon)...].drop { $0.isWhitespace }
            fields[String(line[..<colon])] = String(value)
        }
    }
}
