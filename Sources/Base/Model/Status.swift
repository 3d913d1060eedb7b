// SPDX-License-Identifier: MIT

/// The status of a call or session: VideoToolbox's `OSStatus` numbers and names (VTErrors.h).
public struct Status: RawRepresentable, Hashable, Sendable {
    /// The number, as VideoToolbox defines it; 0 is success.
    public let rawValue: Int32

    /// Makes a status, which VideoToolbox need not define.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// No error.
    public static let ok = Status(rawValue: 0)
    /// The key is unknown, or the codec does not honor it.
    public static let propertyNotSupported = Status(rawValue: -12900)
    /// The key is read-only, or can no longer be set.
    public static let propertyReadOnly = Status(rawValue: -12901)
    /// A parameter is malformed, out of range or contradicts another.
    public static let parameter = Status(rawValue: -12902)
    /// The session was invalidated or its state does not allow the call.
    public static let invalidSession = Status(rawValue: -12903)
    /// Memory, file descriptors or processes ran out.
    public static let allocationFailed = Status(rawValue: -12904)
    /// The requested pixel transfer is not supported.
    public static let pixelTransferNotSupported = Status(rawValue: -12905)
    /// No decoder fits the request.
    public static let couldNotFindVideoDecoder = Status(rawValue: -12906)
    /// The worker process could not be started.
    public static let couldNotCreateInstance = Status(rawValue: -12907)
    /// No encoder fits the request.
    public static let couldNotFindVideoEncoder = Status(rawValue: -12908)
    /// The coded data are damaged.
    public static let videoDecoderBadData = Status(rawValue: -12909)
    /// The decoder does not support this kind of coded data.
    public static let videoDecoderUnsupportedDataFormat = Status(rawValue: -12910)
    /// The decoder failed or died.
    public static let videoDecoderMalfunction = Status(rawValue: -12911)
    /// The encoder failed or died.
    public static let videoEncoderMalfunction = Status(rawValue: -12912)
    /// A decoder exists but is busy or at its limit.
    public static let videoDecoderNotAvailableNow = Status(rawValue: -12913)
    /// An encoder exists but is busy or at its limit.
    public static let videoEncoderNotAvailableNow = Status(rawValue: -12915)
    /// The stream's format changed in a way the session cannot follow.
    public static let formatDescriptionChangeNotSupported = Status(rawValue: -12916)

    /// VideoToolbox's name without `kVT…Err`, or `Status<number>` for a number it does not define.
    public var name: String { Self.names[rawValue] ?? "Status\(rawValue)" }

    /// VideoToolbox's constant, such as `kVTParameterErr`; `noErr` for success, the number if there is no constant.
    public var constantName: String {
        self == .ok ? "noErr" : Self.names[rawValue].map { "kVT\($0)Err" } ?? "\(rawValue)"
    }

    /// The status with VideoToolbox's `name`, if there is one.
    public init?(name: String) {
        guard let entry = Self.names.first(where: { $0.value == name }) else { return nil }
        self.init(rawValue: entry.key)
    }

    private static let names: [Int32: String] = [
        0: "Ok",
        -12900: "PropertyNotSupported", -12901: "PropertyReadOnly", -12902: "Parameter",
        -12903: "InvalidSession", -12904: "AllocationFailed", -12905: "PixelTransferNotSupported",
        -12906: "CouldNotFindVideoDecoder", -12907: "CouldNotCreateInstance",
        -12908: "CouldNotFindVideoEncoder", -12909: "VideoDecoderBadData",
        -12910: "VideoDecoderUnsupportedDataFormat", -12911: "VideoDecoderMalfunction",
        -12912: "VideoEncoderMalfunction", -12913: "VideoDecoderNotAvailableNow",
        -12915: "VideoEncoderNotAvailableNow", -12916: "FormatDescriptionChangeNotSupported",
    ]
}

/// An error of a session: VideoToolbox's number and a cause in words that the user can act on.
public struct SessionError: Error, Hashable, Sendable, CustomStringConvertible {
    public let status: Status
    /// The cause: one line, lower case, without a full stop.
    public let reason: String

    public init(_ status: Status, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    /// `reason (name, number)`.
    public var description: String { "\(reason) (\(status.name), \(status.rawValue))" }
}
