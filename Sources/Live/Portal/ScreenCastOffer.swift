// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDModel

/// The properties of a portal's ScreenCast.
struct ScreenCastOffer {
    /// Bits of `ScreenCast.Kind`.
    private(set) var kinds: UInt32 = 0
    private var modes: UInt32 = 0
    private var version: UInt32 = 0

    /// - Parameter reply: that of org.freedesktop.DBus.Properties.GetAll.
    init(_ reply: BusMessage) throws(BusError) {
        var (kinds, modes, version): (UInt32, UInt32, UInt32) = (0, 0, 0)
        try reply.readOptions { (key) throws(BusError) in
            switch key {
            case "AvailableSourceTypes": kinds = try reply.readVariantNumber()
            case "AvailableCursorModes": modes = try reply.readVariantNumber()
            case "version": version = try reply.readVariantNumber()
            default: try reply.skip("v")
            }
        }
        (self.kinds, self.modes, self.version) = (kinds, modes, version)
    }

    /// The interface's version 4 has tokens for earlier choices.
    var canRestore: Bool { version >= 4 }

    /// The cursors that are offered.
    var cursors: [CaptureArguments.Cursor] { CaptureArguments.Cursor.allCases.filter { modes & $0.bit != 0 } }

    /// The portal's number for a cursor; nil leaves the portal's own default.
    /// - Throws: `unavailable` for one that is not offered.
    func mode(_ asked: CaptureArguments.Cursor?) throws(CommandFailure) -> UInt32? {
        guard let asked else { return cursors.contains(.embedded) ? CaptureArguments.Cursor.embedded.bit : nil }
        guard cursors.contains(asked) else {
            let names = cursors.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure(
                .unavailable,
                "the desktop's portal does not offer --cursor \(asked.rawValue): "
                    + (names.isEmpty ? "it leaves no choice" : "it has \(names)"))
        }
        return asked.bit
    }
}

extension CaptureArguments.Cursor {
    /// The bit of AvailableCursorModes.
    fileprivate var bit: UInt32 {
        switch self {
        case .hidden: 1
        case .embedded: 2
        case .metadata: 4
        }
    }
}

extension CommandFailure {
    /// A failed conversation with the portal.
    init(portal error: BusError) {
        switch error {
        case .system(let number):
            self.init(.unavailable, "the session bus cannot be used: \(String(cString: strerror(number)))")
        case .silent: self.init(.unavailable, "the session bus or the desktop's portal does not answer")
        case .gone, .refused(name: "org.freedesktop.DBus.Error.NoReply", _):
            self.init(.unavailable, "the desktop's portal has ended, or has closed the session")
        case .malformed:
            self.init(.protocolError, "the desktop's portal does not answer as the interface ScreenCast does")
        case .refused(let name, let text):
            switch name {
            case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
                self.init(
                    .unavailable,
                    "screens and windows are shared by the desktop's portal (xdg-desktop-portal), and there is none"
                )
            case "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.UnknownInterface",
                "org.freedesktop.DBus.Error.UnknownMethod":
                self.init(
                    .unavailable,
                    "the desktop's portal shares no screens and windows: no backend of it has ScreenCast")
            case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.portal.Error.NotAllowed":
                self.init(.noPermission, "the desktop's portal does not allow sharing: \(text)")
            default: self.init(.unavailable, "the desktop's portal refuses: \(text)")
            }
        }
    }
}
