// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import Synchronization

/// libva's messages about one display, kept instead of printed; drivers may log from their own threads.
final class MessageLog: Sendable {
    private struct Lines {
        var error: String?
        var attempt: String?
    }

    private let lines = Mutex(Lines())

    /// The prefix of libva's message about each driver file that it tries (va.c, va_openDriver).
    private static let attempt = "Trying to open "

    /// Bytes of a message that are kept.
    private static let maxLength = 512

    /// The last error, or else the driver file that libva tried last; nil without messages.
    var explanation: String? {
        lines.withLock { lines in
            lines.error ?? lines.attempt.map { "libva tried \($0) last" }
        }
    }

    /// The driver file that libva tried last, if it reported no error about it; libva passes over files that do not exist.
    var missingFile: String? { lines.withLock { $0.error == nil ? $0.attempt : nil } }

    /// Discards the messages so far.
    func forget() { lines.withLock { $0 = Lines() } }

    /// Redirects a display's messages to this log, which must outlive the display.
    func install(on display: VADisplay) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        vaSetErrorCallback(
            display,
            { context, message in
                guard let context, let message else { return }
                Unmanaged<MessageLog>.fromOpaque(context).takeUnretainedValue().take(message, isError: true)
            }, context)
        vaSetInfoCallback(
            display,
            { context, message in
                guard let context, let message else { return }
                Unmanaged<MessageLog>.fromOpaque(context).takeUnretainedValue().take(message, isError: false)
            }, context)
    }

    private func take(_ message: UnsafePointer<CChar>, isError: Bool) {
        var bytes: [UInt8] = []
        while bytes.count < Self.maxLength, message[bytes.count] != 0 {
            bytes.append(UInt8(bitPattern: message[bytes.count]))
        }
        while let last = bytes.last, last <= UInt8(ascii: " ") { bytes.removeLast() }
        let text = String(decoding: bytes, as: UTF8.self)
        guard !text.isEmpty else { return }
        lines.withLock { lines in
            if isError {
                lines.error = text
            } else if text.hasPrefix(Self.attempt) {
                lines.attempt = String(text.dropFirst(Self.attempt.count))
            }
        }
    }
}
