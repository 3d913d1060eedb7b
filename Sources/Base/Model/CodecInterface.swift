// SPDX-License-Identifier: MIT

/// The programming interface of a device's codecs, which the name of its node tells.
public enum CodecInterface: String, Hashable, Sendable, CaseIterable {
    /// libva, on a render node.
    case vaapi
    /// NVIDIA's decoder and encoder, through CUDA, on a card's node (`/dev/nvidia0`).
    case nvdec

    /// The interface of the device behind a node.
    public init(node: String) { self = Self.nvidiaMinor(of: node) == nil ? .vaapi : .nvdec }

    /// The number of an NVIDIA card's node; nil for another file, such as `nvidiactl`.
    public static func nvidiaMinor(of node: String) -> Int? {
        guard let name = node.split(separator: "/").last, name.hasPrefix(nvidiaName) else { return nil }
        let number = name.dropFirst(nvidiaName.count)
        guard (1...3).contains(number.count), number.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return Int(number)
    }

    /// How messages name it.
    public var name: String {
        switch self {
        case .vaapi: "VA-API"
        case .nvdec: "NVDEC"
        }
    }

    private static let nvidiaName = "nvidia"
}
