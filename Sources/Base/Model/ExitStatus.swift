// SPDX-License-Identifier: MIT

/// Exit codes of `hwctl`: those of sysexits.h, so that scripts can distinguish causes.
public enum ExitStatus: Int32, Sendable {
    case ok = 0
    /// The command line or a property is wrong.
    case usage = 64
    /// The input is damaged or of an unsupported kind.
    case badInput = 65
    /// The input does not exist or cannot be opened.
    case noInput = 66
    /// Required hardware or the daemon is not available.
    case unavailable = 69
    /// A fault inside the daemon, a worker or hwctl.
    case software = 70
    /// The output cannot be created.
    case cannotCreate = 73
    /// Reading or writing failed.
    case ioError = 74
    /// A limit was reached; the same command may succeed later.
    case tryLater = 75
    /// The daemon or a session's process broke the protocol.
    case protocolError = 76
    /// The caller may not use the socket, the file or the device.
    case noPermission = 77

    /// The exit code for a session's status; the only such table.
    public init(_ status: Status) {
        switch status {
        case .ok: self = .ok
        case .propertyNotSupported, .propertyReadOnly, .parameter: self = .usage
        case .videoDecoderBadData, .videoDecoderUnsupportedDataFormat, .formatDescriptionChangeNotSupported:
            self = .badInput
        case .couldNotFindVideoEncoder, .couldNotFindVideoDecoder, .pixelTransferNotSupported:
            self = .unavailable
        case .videoEncoderNotAvailableNow, .videoDecoderNotAvailableNow, .allocationFailed: self = .tryLater
        default: self = .software
        }
    }
}
