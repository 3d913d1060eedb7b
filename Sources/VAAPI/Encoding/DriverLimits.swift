// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDCoding
public import HWDModel

/// What a driver can do on one path; the settings of an encoder are made within it.
public struct DriverLimits: Sendable {
    let path: HardwarePath
    let attributes: ConfigAttributes
    /// Nil where the driver reports none.
    let sizes: SurfaceSizes?

    /// Checks that the driver can code with a configuration, as far as its claims show.
    ///
    /// - Throws: `PropertyNotSupported` with the driver's limitation.
    public func check(_ configuration: EncoderConfiguration) throws(SessionError) {
        do throws(VAAPIFailure) {
            _ = try EncoderSettings(configuration, self)
        } catch { throw SessionError(.propertyNotSupported, error.error.reason) }
    }
}
