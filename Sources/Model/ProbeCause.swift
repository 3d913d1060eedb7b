// SPDX-License-Identifier: MIT

/// A known cause of hardware that is not used, or used in part: the one table from causes to remedies.
public enum ProbeCause: String, Codable, Sendable, CaseIterable {
    /// The VA-API driver's file does not exist.
    case driverMissing = "driver_missing"
    /// The VA-API driver's file exists, and the driver did not start.
    case driverFailed = "driver_failed"
    /// The driver crashed the process that probed it.
    case driverCrashed = "driver_crashed"
    /// The driver did not return in time.
    case driverHung = "driver_hung"
    /// Two verifications in fresh processes ended differently.
    case unstable
    /// The user may not open the render node.
    case permission
    /// Intel's HuC firmware does not run; without it the low-power encoder has no bit rates.
    case hucFirmware = "huc_firmware"
    /// AMD's video engines are not available, which needs their firmware (VCN, before it UVD and VCE).
    case vcnFirmware = "vcn_firmware"
    /// A Vulkan driver's manifest cannot be read.
    case vulkanManifest = "vulkan_manifest"
    /// The library that a Vulkan driver's manifest names cannot be loaded.
    case vulkanLibrary = "vulkan_library"
    /// A cause that a later version of the daemon reports.
    case unknown

    /// Reads a cause; one of a later version is `unknown`.
    public init(from decoder: any Decoder) throws {
        self = ProbeCause(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
    }

    /// What an administrator can do about it; nil where the reason names it, or it is unknown.
    ///
    /// - Parameter pciID: the device's vendor and device numbers (`8086:8a52`); nil where they are unknown.
    public func remedy(pciID: String? = nil) -> String? {
        switch self {
        case .driverMissing: "install \(Self.package(pciID) ?? "the VA-API driver of this device")"
        case .driverFailed: "install a driver that knows this device, and look at the kernel's log"
        case .driverCrashed, .driverHung, .unstable:
            "install another version of \(Self.package(pciID) ?? "the VA-API driver"), and report the fault to its authors"
        case .permission, .unknown: nil
        case .hucFirmware: "install firmware-misc-nonfree and start the computer again"
        case .vcnFirmware: "install firmware-amd-graphics and start the computer again"
        case .vulkanManifest: "install the package that owns the manifest again, or delete the manifest"
        case .vulkanLibrary: "install the package of the library, or delete the manifest"
        }
    }

    /// Debian's package with the VA-API driver of a PCI vendor; nil for vendors without one.
    private static func package(_ pciID: String?) -> String? {
        switch pciID?.prefix(4) {
        case "1002": "mesa-va-drivers"
        case "8086": "intel-media-va-driver"
        case "10de": "nvidia-vaapi-driver"
        default: nil
        }
    }
}
