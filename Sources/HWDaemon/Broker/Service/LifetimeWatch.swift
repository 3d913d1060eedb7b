// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport

/// Watches the inherited descriptor whose other end the process that owns a private daemon holds.
final class LifetimeWatch {
    /// Called once, when the other end is closed.
    var onEnd: (() -> Void)?

    private let file: OwnedFD
    private let loop: EventLoop
    private var watch: EventLoop.Watch?

    /// Takes ownership of a descriptor; nil where there is none.
    ///
    /// - Throws: `EBADF` if it is not open.
    init?(_ number: Int32?, loop: EventLoop) throws(SystemError) {
        guard let number else { return nil }
        file = try Configuration.inheritedFile(number)
        self.loop = loop
        watch = try loop.watch(self.file.rawValue, .readable) { [weak self] _ in self?.ended() }
    }

    private func ended() {
        if let watch { loop.remove(watch) }
        watch = nil
        onEnd?()
        onEnd = nil
    }
}
