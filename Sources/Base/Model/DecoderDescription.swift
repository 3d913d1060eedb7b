// SPDX-License-Identifier: MIT

/// A decoder that was found, in the reply of `ListDecoders`.
///
/// Sessions use verified decoders of HEVC.
public struct DecoderDescription: Hashable, Codable, Sendable {
    /// The value of the property `DecoderID`, stable across boots; the same for all codecs of a device.
    public var id: String
    /// A readable name with the version.
    public var name: String
    /// `hevc`; of hardware also `h264`, `vp9`, `av1`.
    public var codec = "hevc"
    public var hardware: Bool
    /// Bits of a coded sample that it decodes.
    public var bitDepths: [Int]
    /// The render node it runs on; nil in software.
    public var device: String?
    /// That node's PCI address, if any.
    public var pciAddress: String?
    /// The largest width in luma samples; nil where none is known.
    public var maxWidth: Int?
    /// The largest height in luma samples; nil where none is known.
    public var maxHeight: Int?
    /// Whether its pictures were found correct; always in software.
    public var verified = true
    /// Why it is not verified; nil when it is.
    public var reason: String?

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

    /// Reads a description; daemons that do not send `verified` list verified decoders only.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id = try fields.decode(String.self, forKey: .id)
        name = try fields.decode(String.self, forKey: .name)
        codec = try fields.decode(String.self, forKey: .codec)
        hardware = try fields.decode(Bool.self, forKey: .hardware)
        bitDepths = try fields.decode([Int].self, forKey: .bitDepths)
        device = try fields.decodeIfPresent(String.self, forKey: .device)
        pciAddress = try fields.decodeIfPresent(String.self, forKey: .pciAddress)
        maxWidth = try fields.decodeIfPresent(Int.self, forKey: .maxWidth)
        maxHeight = try fields.decodeIfPresent(Int.self, forKey: .maxHeight)
        verified = try fields.decodeIfPresent(Bool.self, forKey: .verified) ?? true
        reason = try fields.decodeIfPresent(String.self, forKey: .reason)
    }

    /// The GPU, by PCI address if it has one; nil in software.
    public var gpu: String? { pciAddress ?? device }

    enum CodingKeys: String, CodingKey {
        case id, name, codec, hardware, device, verified, reason
        case bitDepths = "bit_depths"
        case pciAddress = "pci_address"
        case maxWidth = "max_width"
        case maxHeight = "max_height"
    }
}
