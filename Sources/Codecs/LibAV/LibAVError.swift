// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV

/// A failed call to libav.
public struct LibAVError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence without its full stop, with libav's text for the error.
    public let description: String
    /// Whether the same call may succeed later.
    public let isTransient: Bool
    /// Whether the hardware lacks what is wanted.
    public let isUnsupported: Bool

    /// - Parameter code: libav's error; 0 for a failure that libav has no code for.
    package init(_ what: String, _ code: Int32 = 0, isTransient: Bool = false, isUnsupported: Bool = false) {
        (self.isTransient, self.isUnsupported) = (isTransient, isUnsupported)
        guard code < 0 else {
            description = what
            return
        }
        var text = [CChar](repeating: 0, count: Int(AV_ERROR_MAX_STRING_SIZE))
        clibav_error_text(code, &text, text.count)
        description =
            "\(what): \(text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" })"
    }
}
