// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

/// A VA display on a DRM render node, with its driver initialized; terminated with this object.
public final class Display {
    let handle: VADisplay
    private let log: MessageLog

    /// The version of libva's interface that the driver was initialized with (`1.17`).
    public let version: String
    /// The driver's vendor string: its name, its version and often the device's name.
    public let vendor: String

    /// Bounds the counts that a driver reports and that arrays are sized by.
    static let maxCount: Int32 = 1024

    /// Initializes the driver of a node; nil when the descriptor is no DRM device.
    ///
    /// The driver's code runs in this process: it may crash it, or never return.
    /// - Parameter file: a descriptor open for reading and writing, which must stay open as long as the display.
    /// - Throws: why the driver cannot be initialized.
    public init?(node file: Int32) throws(VAError) {
        guard let handle = vaGetDisplayDRM(file) else { return nil }
        self.handle = handle
        log = MessageLog()
        log.install(on: handle)
        var major: Int32 = 0
        var minor: Int32 = 0
        let status = vaInitialize(handle, &major, &minor)
        guard status == VA_STATUS_SUCCESS else {
            let error = VAError(
                status, "vaInitialize", message: log.explanation, missingFile: log.missingFile)
            vaTerminate(handle)
            throw error
        }
        // The search for the driver's file explains no later failure.
        log.forget()
        version = "\(major).\(minor)"
        vendor = vaQueryVendorString(handle).map { String(cString: $0) } ?? "an unnamed driver"
    }

    deinit { vaTerminate(handle) }

    /// The driver's profiles, by libva's names (`VAProfileHEVCMain`).
    public func profiles() throws(VAError) -> [String] {
        try profileValues().map(Self.name)
    }

    /// The entry points of a profile, by libva's names (`VAEntrypointVLD`); none for a profile that the driver does not have.
    public func entrypoints(of profile: String) throws(VAError) -> [String] {
        guard let value = try value(of: profile) else { return [] }
        return try entrypointValues(of: value).map(Self.name)
    }

    private func profileValues() throws(VAError) -> [VAProfile] {
        var count = try count(vaMaxNumProfiles(handle), "vaMaxNumProfiles")
        let capacity = count
        var values = [VAProfile](repeating: VAProfileNone, count: Int(capacity))
        try check(vaQueryConfigProfiles(handle, &values, &count), "vaQueryConfigProfiles")
        return Array(values.prefix(Int(min(max(count, 0), capacity))))
    }

    func entrypointValues(of profile: VAProfile) throws(VAError) -> [VAEntrypoint] {
        var count = try count(vaMaxNumEntrypoints(handle), "vaMaxNumEntrypoints")
        let capacity = count
        var values = [VAEntrypoint](repeating: VAEntrypointVLD, count: Int(capacity))
        try check(vaQueryConfigEntrypoints(handle, profile, &values, &count), "vaQueryConfigEntrypoints")
        return Array(values.prefix(Int(min(max(count, 0), capacity))))
    }

    func value(of profile: String) throws(VAError) -> VAProfile? {
        try profileValues().first { Self.name($0) == profile }
    }

    private func count(_ value: Int32, _ call: String) throws(VAError) -> Int32 {
        guard 1...Self.maxCount ~= value else {
            throw VAError(Int32(VA_STATUS_ERROR_UNKNOWN), call, message: "the driver reports \(value)")
        }
        return value
    }

    /// Discards libva's messages about a failure that was expected.
    func forgetMessages() { log.forget() }

    func check(_ status: VAStatus, _ call: String) throws(VAError) {
        guard status == VA_STATUS_SUCCESS else { throw VAError(status, call, message: log.explanation) }
    }

    private static func name(_ profile: VAProfile) -> String {
        vaProfileStr(profile).map { String(cString: $0) } ?? "\(profile.rawValue)"
    }

    static func name(_ entrypoint: VAEntrypoint) -> String {
        vaEntrypointStr(entrypoint).map { String(cString: $0) } ?? "\(entrypoint.rawValue)"
    }
}
