// SPDX-License-Identifier: MIT

/// One way to code, as the catalogue lists it, and what a probe found of it on one device or in software.
public struct CodecPath: Hashable, Codable, Sendable {
    /// Whether a path encodes or decodes.
    public enum Operation: String, Codable, Hashable, Sendable {
        case encode, decode
    }

    /// The path's name in the catalogue (`hevc-main10-encode`).
    public var id: String
    /// `hevc`.
    public var codec: String
    /// Whether it encodes or decodes.
    public var operation: Operation
    /// The profile (`main`, `main10`).
    public var profile: String
    /// Bits of a coded sample.
    public var bitDepth: Int
    /// The node it runs on; nil in software.
    public var device: String?
    /// The driver, or the library in software, with its version.
    public var driver: String
    /// Whether the driver or library says that it can.
    public var claimed: Bool
    /// Whether frames went through and came back right.
    public var verified: Bool
    /// Why it is not verified, a sentence; nil when it is.
    public var reason: String?
    /// Names of the catalogue's quirks that apply here.
    public var quirks: [String]
    /// The catalogue's features of the path, less what those quirks take away.
    public var features: [String]
    /// What the driver says of its limits; nil in software, and where nothing is claimed.
    public var hardware: HardwareLimits?

    /// A path by its place in the catalogue and on the machine, nothing being known of it yet.
    public init(
        id: String, codec: String, operation: Operation, profile: String, bitDepth: Int, device: String? = nil,
        driver: String, features: [String] = []
    ) {
        self.id = id
        self.codec = codec
        self.operation = operation
        self.profile = profile
        self.bitDepth = bitDepth
        self.device = device
        self.driver = driver
        self.features = features
        claimed = false
        verified = false
        quirks = []
    }

    enum CodingKeys: String, CodingKey {
        case id, codec, operation, profile, device, driver, claimed, verified, reason, quirks, features, hardware
        case bitDepth = "bit_depth"
    }
}

/// What a VA-API driver says of one entry point's limits.
public struct HardwareLimits: Hashable, Codable, Sendable {
    /// The entry point (`VAEntrypointEncSlice`).
    public var entrypoint: String
    /// Luma samples a row, at most; nil where the driver does not tell.
    public var maxWidth: Int?
    /// Rows of luma samples, at most; nil where the driver does not tell.
    public var maxHeight: Int?
    /// Ways of rate control (`CQP`, `CBR`, `VBR`, …); empty for a decoder.
    public var rateControl: [String]
    /// Headers that may be handed over ready-made (`SEQUENCE`, `PICTURE`, `SLICE`, …); empty for a decoder.
    public var packedHeaders: [String]

    /// The limits of an entry point.
    public init(
        entrypoint: String, maxWidth: Int? = nil, maxHeight: Int? = nil, rateControl: [String] = [],
        packedHeaders: [String] = []
    ) {
        self.entrypoint = entrypoint
        self.maxWidth = maxWidth
        self.maxHeight = maxHeight
        self.rateControl = rateControl
        self.packedHeaders = packedHeaders
    }

    enum CodingKeys: String, CodingKey {
        case entrypoint
        case maxWidth = "max_width"
        case maxHeight = "max_height"
        case rateControl = "rate_control"
        case packedHeaders = "packed_headers"
    }
}
