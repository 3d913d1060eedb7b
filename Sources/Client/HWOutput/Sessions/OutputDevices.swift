// SPDX-License-Identifier: MIT

/// What decodes and converts an output's pictures, by the replies of its sessions.
public struct OutputDevices: Hashable, Sendable {
    /// A decoder or converter of the daemon.
    public struct Device: Hashable, Sendable {
        /// The decoder's id, or the converting device's name.
        public var name: String
        /// Whether it is hardware.
        public var isHardware: Bool
        /// Why it is not; nil where it is, or where hardware was not considered.
        public var fallbackReason: String?
    }

    public internal(set) var decoder: Device?
    /// Nil until the first picture is converted, and where none is.
    public internal(set) var converter: Device?
}
