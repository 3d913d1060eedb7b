// SPDX-License-Identifier: MIT

/// The programming interface of a device's codecs, which is known by the name of its node.
public enum CodecInterface: Hashable, Sendable, CaseIterable {
    /// libva, on a render node.
    case vaapi
    /// NVIDIA's decoder (NVDEC) and encoder (NVENC), through CUDA, on a card's node (`/dev/nvidia0`).
    case nvidia

    /// The interface of the device behind a node.
    public init(node: String) { self = Self.nvidiaMinor(of: node) == nil ? .vaapi : .nvidia }

    /// Its part of a decoder's id (`org.hwdaemon.decoder.nvdec.0000:01:00.0`), which clients may have stored.
    public var decoderID: String { self == .vaapi ? "vaapi" : "nvdec" }

    /// Its part of an encoder's id (`org.hwdaemon.encoder.nvenc.0000:01:00.0`), which clients may have stored.
    public var encoderID: String { self == .vaapi ? "vaapi" : "nvenc" }

    /// The number of an NVIDIA card's node; nil for another file, such as `nvidiactl`.
    public static func nvidiaMinor(of node: String) -> Int? {
        guard let name = node.split(separator: "/").last, name.hasPrefix(nvidiaName) else { return nil }
        let number = name.dropFirst(nvidiaName.count)
        guard (1...3).contains(number.count), number.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return Int(number)
    }

    /// How messages about decoding name it.
    public var decoderName: String { self == .vaapi ? "VA-API" : "NVDEC" }

    private static let nvidiaName = "nvidia"
}
