// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

/// A call to libva that failed.
public struct VAError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A `VA_STATUS_ERROR_…`.
    public let status: Int32
    /// The function that failed.
    public let call: String
    /// libva's last message; nil when there was none.
    public let message: String?
    /// The driver's file, if the call failed because there is none.
    public let missingFile: String?

    init(_ status: Int32, _ call: String, message: String? = nil, missingFile: String? = nil) {
        self.missingFile = missingFile
        self.status = status
        self.call = call
        self.message = message
    }

    /// The call, libva's text for the status, and its last message.
    public var description: String {
        // vaErrorStr of libva 2.17 has no text for this status.
        let own = status == VA_STATUS_ERROR_TIMEDOUT ? "it did not end in time" : nil
        let text = own ?? vaErrorStr(status).map { String(cString: $0) } ?? "error \(status)"
        guard let message, !message.isEmpty else { return "\(call): \(text)" }
        return "\(call): \(text) (\(message))"
    }
}
