// SPDX-License-Identifier: MIT

/// A decoder that sessions may use, in the reply of `ListDecoders`.
public struct DecoderDescription: Hashable, Codable, Sendable {
    /// The value of the property `DecoderID`, stable across boots.
    public var id: String
    /// A readable name with the version.
    public var name: String
    /// `hevc`.
    public var codec = "hevc"
    public var hardware: Bool
    /// Bits of a coded sample that it decodes; of hardware those that are verified.
    public var bitDepths: [Int]
    /// The render node it runs on; nil in software.
    public var device: String?
    /// That node's PCI address, if any.
    public var pciAddress: String?
    /// The largest width in luma samples; nil where none is known.
    public var maxWidth: Int?
    /// The largest height in luma samples; nil where none is known.
    public var maxHeight: Int?

    public init(id: String, name: String, bitDepths: [Int], device: String? = nil, pciAddress: String? = nil) {
        self.id = id
        self.name = name
        hardware = device != nil
        self.bitDepths = bitDepths
        self.device = device
        self.pciAddress = pciAddress
    }

    /// libavcodec's decoder.
    public static let software = DecoderDescription(
        id: "org.hwdaemon.decoder.libavcodec", name: "libavcodec (software)", bitDepths: [8, 10])

    /// The GPU, by PCI address if it has one; nil in software.
    public var gpu: String? { pciAddress ?? device }

    enum CodingKeys: String, CodingKey {
        case id, name, codec, hardware, device
        case bitDepths = "bit_depths"
        case pciAddress = "pci_address"
        case maxWidth = "max_width"
        case maxHeight = "max_height"
    }
}
