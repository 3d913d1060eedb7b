// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import Synchronization

/// What libva says about one display, kept instead of printed; drivers may call from threads of their own.
final class MessageLog: Sendable {
    private struct Lines {
        var error: String?
        var attempt: String?
    }

    private let lines = Mutex(Lines())

    /// How libva announces the driver files it looks for, one after the other.
    private static let attempt = "Trying to open "

    /// Bytes of a message that are kept.
    private static let maximum = 512

    /// What explains a failure best: the last error, else the driver file that was not there.
    var explanation: String? {
        lines.withLock { lines in
            lines.error ?? lines.attempt.map { "libva looked for \($0) last: is the driver's package installed?" }
        }
    }

    /// Forgets what was said about a failure that is none, or a driver that was found in the end.
    func forget() { lines.withLock { $0 = Lines() } }

    /// Takes over a display's messages; the log must outlive the display.
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
        while bytes.count < Self.maximum, message[bytes.count] != 0 {
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
