// SPDX-License-Identifier: MIT

/// A known cause of hardware that is not used, or used in part: the one table from causes to remedies.
public enum ProbeCause: String, Codable, Sendable, CaseIterable {
    /// The machine has no render node.
    case noRenderNode = "no_render_node"
    /// A container has no render node, whatever its host has.
    case containerWithoutNode = "container_without_node"
    /// The node that was named does not exist, or its device was removed.
    case nodeMissing = "node_missing"
    /// A library that the probe needs cannot be loaded, as libva.
    case libraryMissing = "library_missing"
    /// The VA-API driver's file does not exist.
    case driverMissing = "driver_missing"
    /// `LIBVA_DRIVER_NAME` names a driver whose file does not exist.
    case driverName = "driver_name"
    /// The VA-API driver's file has no entry for the libva that is installed.
    case driverVersion = "driver_version"
    /// The VA-API driver's file exists, and the driver did not start.
    case driverFailed = "driver_failed"
    /// The driver crashed the process that probed it.
    case driverCrashed = "driver_crashed"
    /// The driver did not return in time.
    case driverHung = "driver_hung"
    /// The driver started, and has no HEVC encoder.
    case noEncoder = "no_encoder"
    /// The encoder is in use, or at its limit.
    case busy
    /// A quirk of the catalogue excludes the driver.
    case quirk
    /// Two verifications in fresh processes ended differently.
    case unstable
    /// The user may not open the render node.
    case permission
    /// The device policy of the service or container forbids the render node.
    case devicePolicy = "device_policy"
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
    public func remedy(pciID: String? = nil) -> String? { remedies(pciID).sentence }

    /// Commands that cure it, for root on Debian, one for each line; nil where there is none.
    ///
    /// - Parameters:
    ///   - pciID: the device's vendor and device numbers; nil where they are unknown.
    ///   - group: the group that owns the device's node.
    ///   - user: the user who may not open it.
    public func command(pciID: String? = nil, group: String = "render", user: String = "USER") -> String? {
        if self == .permission { return "usermod -aG \(group) \(user)" }
        return remedies(pciID).command
    }

    private func remedies(_ pciID: String?) -> (sentence: String?, command: String?) {
        let package = Self.package(pciID)
        let install = package.map { "apt install \($0)" }
        return switch self {
        case .noRenderNode:
            ("install the kernel driver and the firmware of the GPU, if there is one", "lspci -nnk -d ::0300")
        case .containerWithoutNode:
            (
                "pass the node to the container, or mount the socket of the host's daemon",
                "docker run --device /dev/dri …"
            )
        case .nodeMissing: ("leave the node out of Devices= and HWDAEMON_DEVICES, or connect the device", nil)
        case .libraryMissing: ("install libva", "apt install libva2 libva-drm2")
        case .driverMissing: ("install \(package ?? "the VA-API driver of this device")", install)
        case .driverName: ("remove LIBVA_DRIVER_NAME from the daemon's environment", "systemctl edit hwdaemon")
        case .driverVersion:
            (
                "install libva and the driver from the same release",
                package.map { "apt install --reinstall libva2 \($0)" }
            )
        case .driverFailed:
            (
                "install a driver that knows this device, and look at the kernel's log",
                "journalctl -k -b | grep -i drm"
            )
        case .driverCrashed, .driverHung, .unstable:
            (
                "install another version of \(package ?? "the VA-API driver"), and report the fault to its authors",
                package.map { "apt install -t bookworm-backports \($0)" }
            )
        case .noEncoder: Self.noEncoder(pciID)
        case .busy: ("end other programs that encode; it is tried again after 30 s", "fuser -v /dev/dri/renderD*")
        case .quirk: ("install a newer driver; a file in /etc/hwdaemon/capabilities.d can enable the path", install)
        case .permission, .unknown: (nil, nil)
        case .devicePolicy:
            ("allow the device in the container's or the unit's policy (DeviceAllow=)", "systemctl cat hwdaemon")
        case .hucFirmware: Self.firmware("firmware-misc-nonfree")
        case .vcnFirmware: Self.firmware("firmware-amd-graphics")
        case .vulkanManifest: ("install the package that owns the manifest again, or delete the manifest", nil)
        case .vulkanLibrary: ("install the package of the library, or delete the manifest", nil)
        }
    }

    private static func firmware(_ package: String) -> (sentence: String?, command: String?) {
        ("install \(package) and start the computer again", "apt install \(package) && reboot")
    }

    /// Intel's driver comes in two packages, of which the free one has fewer encoders.
    private static func noEncoder(_ pciID: String?) -> (sentence: String?, command: String?) {
        guard pciID?.hasPrefix("8086") == true else {
            return ("this GPU or its driver cannot encode HEVC; docs/hardware.md lists some that can", nil)
        }
        let package = "intel-media-va-driver-non-free"
        return ("install \(package), which has more encoders than the free package", "apt install \(package)")
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
