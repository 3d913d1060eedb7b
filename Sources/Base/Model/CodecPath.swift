// SPDX-License-Identifier: MIT

/// The direction of a codec path.
public enum CodecOperation: String, Codable, Hashable, Sendable {
    case encode, decode
}

/// A path of the catalogue, and the state that a probe found on one device or in software.
public struct CodecPath: Hashable, Codable, Sendable {
    /// The path's name in the catalogue (`hevc-main10-encode`).
    public var id: String
    /// `hevc`, `h264`, `vp9` or `av1`.
    public var codec: String
    public var operation: CodecOperation
    /// The profile (`main`, `main10`).
    public var profile: String
    /// Bits of a coded sample.
    public var bitDepth: Int
    /// The node it runs on; nil in software.
    public var device: String?
    /// The driver, or the library in software, with its version.
    public var driver: String
    /// Whether the driver or library reports support.
    public var claimed: Bool
    /// Whether frames were coded and found correct.
    public var verified: Bool
    /// Why it is not verified; nil when it is.
    public var reason: String?
    /// The known cause of that; nil for others.
    public var cause: ProbeCause?
    /// Names of the catalogue's quirks that apply to the device and path.
    public var quirks: [String]
    /// The catalogue's features of the path, minus those that quirks disable.
    public var features: [CodecFeature]
    /// The driver's limits; nil in software, and where nothing is claimed.
    public var hardware: HardwareLimits?

    /// Makes a path that has not been probed.
    public init(
        id: String, codec: String, operation: CodecOperation, profile: String, bitDepth: Int, device: String? = nil,
        driver: String, features: [CodecFeature] = []
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
        case id, codec, operation, profile, device, driver, claimed, verified, reason, cause, quirks, features,
            hardware
        case bitDepth = "bit_depth"
    }
}

/// The limits that a VA-API driver reports for one entry point.
public struct HardwareLimits: Hashable, Codable, Sendable {
    /// The entry point (`VAEntrypointEncSlice`).
    public var entrypoint: String
    /// The largest width in luma samples; nil where the driver reports none.
    public var maxWidth: Int?
    /// The largest height in luma samples; nil where the driver reports none.
    public var maxHeight: Int?
    /// Rate control modes (`CQP`, `CBR`, `VBR`, …); empty for a decoder.
    public var rateControl: [String]
    /// Headers that the application may supply packed (`SEQUENCE`, `PICTURE`, `SLICE`, …); empty for a decoder.
    public var packedHeaders: [String]

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
