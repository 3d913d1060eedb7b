// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

/// A VA display on a DRM render node, with its driver started; ended with this object.
public final class Display {
    let handle: VADisplay
    private let log: MessageLog

    /// libva's version of the interface, as the driver started with it (`1.17`).
    public let version: String
    /// What the driver calls itself, with its version and often the device's name.
    public let vendor: String

    /// What a driver may claim to have, at most; it tells the counts itself.
    private static let maxCount: Int32 = 1024

    /// Starts the driver of a node; nil when the descriptor is no DRM device.
    ///
    /// The driver's code runs in this process: it may crash it, or never return.
    /// - Parameter file: a descriptor open for reading and writing, which must stay open as long as the display.
    /// - Throws: libva's reason why the driver does not start.
    public init?(node file: Int32) throws(VAError) {
        guard let handle = vaGetDisplayDRM(file) else { return nil }
        self.handle = handle
        log = MessageLog()
        log.install(on: handle)
        var major: Int32 = 0
        var minor: Int32 = 0
        let status = vaInitialize(handle, &major, &minor)
        guard status == VA_STATUS_SUCCESS else {
            let error = VAError(status, "vaInitialize", message: log.explanation)
            vaTerminate(handle)
            throw error
        }
        // Where it was looked for explains nothing that goes wrong from here on.
        log.forget()
        version = "\(major).\(minor)"
        vendor = vaQueryVendorString(handle).map { String(cString: $0) } ?? "an unnamed driver"
    }

    deinit { vaTerminate(handle) }

    /// The profiles that the driver knows, by libva's names (`VAProfileHEVCMain`).
    public func profiles() throws(VAError) -> [String] {
        try profileValues().map(Self.name)
    }

    /// The entry points of a profile, by libva's names (`VAEntrypointVLD`); none for a profile it does not know.
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
            throw VAError(Int32(VA_STATUS_ERROR_UNKNOWN), call, message: "the driver told \(value)")
        }
        return value
    }

    /// Forgets what libva said about a failure that was expected.
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
