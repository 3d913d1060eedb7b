// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
public import HWDModel

/// Why a VA-API encoder did not open.
public struct VAAPIFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The status and the sentence.
    public var error: SessionError
    /// Whether it may work later: the device is busy or at its limit.
    public var isTransient: Bool

    /// A failure.
    public init(_ error: SessionError, isTransient: Bool = false) {
        self.error = error
        self.isTransient = isTransient
    }

    /// What libva's error means to a session: `VideoEncoderNotAvailableNow` where it may pass, else
    /// `VideoEncoderMalfunction`.
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

    /// The error's own.
    public var description: String { error.description }
}
