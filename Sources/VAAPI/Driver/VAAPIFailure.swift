// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
public import HWDModel

/// Why a VA-API encoder did not open.
public struct VAAPIFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The status and the sentence.
    public var error: SessionError
    /// Whether another attempt may succeed later: the device is busy or at its limit.
    public var isTransient: Bool

    /// A failure.
    public init(_ error: SessionError, isTransient: Bool = false) {
        self.error = error
        self.isTransient = isTransient
    }

    /// libva's error as a session's: `VideoEncoderNotAvailableNow` where it is transient, else `VideoEncoderMalfunction`.
    init(_ error: VAError) {
        let isTransient = Self.transient.contains(error.status)
        self.init(
            SessionError(
                isTransient ? .videoEncoderNotAvailableNow : .videoEncoderMalfunction, error.description),
            isTransient: isTransient)
    }

    private static let transient: Set<Int32> = [
        VA_STATUS_ERROR_HW_BUSY, VA_STATUS_ERROR_MAX_NUM_EXCEEDED, VA_STATUS_ERROR_ALLOCATION_FAILED,
    ]

    /// The error's sentence.
    public var description: String { error.description }
}
