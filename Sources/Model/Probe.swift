// SPDX-License-Identifier: MIT

/// An encoder this machine can run, as `Probe` and `ListEncoders` tell it.
public struct EncoderDescription: Hashable, Codable, Sendable {
    /// The value of `EncoderID`, stable over versions.
    public var id: String
    /// What a person calls it, with its version.
    public var name: String
    /// `hevc`.
    public var codec: String
    /// Whether it is hardware.
    public var hardware: Bool
    /// The library's or driver's own version string.
    public var version: String
    /// Bits of a coded sample it can write.
    public var bitDepths: [Int]
    /// DRM fourccs of the frames it takes.
    public var pixelFormats: [String]

    /// An encoder by all it can say about itself.
    public init(
        id: String, name: String, codec: String, hardware: Bool, version: String, bitDepths: [Int],
        pixelFormats: [String]
    ) {
        self.id = id
        self.name = name
        self.codec = codec
        self.hardware = hardware
        self.version = version
        self.bitDepths = bitDepths
        self.pixelFormats = pixelFormats
    }

    enum CodingKeys: String, CodingKey {
        case id, name, codec, hardware, version
        case bitDepths = "bit_depths"
        case pixelFormats = "pixel_formats"
    }
}

/// A DRM render node and what came of opening it.
public struct RenderNode: Hashable, Codable, Sendable {
    /// The device's path.
    public var node: String
    /// Whether it could be opened for reading and writing.
    public var opened: Bool
    /// Where the device sits on the PCI bus (`0000:03:00.0`); stable over boots where the node's number is not.
    public var pciAddress: String?
    /// The kernel driver's name (`i915`, `amdgpu`).
    public var kernelDriver: String?
    /// Why it is not usable, a sentence an admin can act on.
    public var reason: String?

    /// A node by what came of opening it.
    public init(
        node: String, opened: Bool, pciAddress: String? = nil, kernelDriver: String? = nil, reason: String? = nil
    ) {
        self.node = node
        self.opened = opened
        self.pciAddress = pciAddress
        self.kernelDriver = kernelDriver
        self.reason = reason
    }

    enum CodingKeys: String, CodingKey {
        case node, opened, reason
        case pciAddress = "pci_address"
        case kernelDriver = "kernel_driver"
    }
}

/// What the machine can do, at one moment: the input of the choice of encoder.
public struct ProbeSnapshot: Hashable, Codable, Sendable {
    /// The version of this vocabulary.
    public var schema: Int
    /// Every encoder that works here, hardware first.
    public var encoders: [EncoderDescription]
    /// Every render node looked at.
    public var nodes: [RenderNode]

    /// The vocabulary's version at present.
    public static let currentSchema = 1

    /// A snapshot of these encoders and nodes.
    public init(encoders: [EncoderDescription], nodes: [RenderNode]) {
        schema = Self.currentSchema
        self.encoders = encoders
        self.nodes = nodes
    }
}
