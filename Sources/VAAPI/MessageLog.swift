// SPDX-License-Identifier: GPL-2.0-or-later
internal import CVA
internal import Synchronization

/// What libva says about one display, kept instead of printed; drivers may call from threads of their own.
final class MessageLog: Sendable {
    private let line = Mutex<String?>(nil)

    /// Bytes of a message that are kept.
    private static let maximum = 512

    /// The last error, without its line break.
    var lastError: String? { line.withLock { $0 } }

    /// Takes over a display's messages; the log must outlive the display.
    func install(on display: VADisplay) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        vaSetErrorCallback(
            display,
            { context, message in
                guard let context, let message else { return }
                Unmanaged<MessageLog>.fromOpaque(context).takeUnretainedValue().take(message)
            }, context)
        vaSetInfoCallback(display, { _, _ in }, nil)
    }

    private func take(_ message: UnsafePointer<CChar>) {
        var bytes: [UInt8] = []
        while bytes.count < Self.maximum, message[bytes.count] != 0 {
            bytes.append(UInt8(bitPattern: message[bytes.count]))
        }
        while let last = bytes.last, last <= UInt8(ascii: " ") { bytes.removeLast() }
        let text = String(decoding: bytes, as: UTF8.self)
        if !text.isEmpty { line.withLock { $0 = text } }
    }
}
