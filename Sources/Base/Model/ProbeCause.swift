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
    /// `LIBVA_DRIVER_NAME` names a driver whose file does not exist, or that does not start on this device.
    case driverName = "driver_name"
    /// The VA-API driver's file has no entry for the libva that is installed.
    case driverVersion = "driver_version"
    /// The VA-API driver's file exists, libva chose it, and the driver did not start.
    case driverFailed = "driver_failed"
    /// The driver crashed the process that probed it.
    case driverCrashed = "driver_crashed"
    /// The driver did not return in time.
    case driverHung = "driver_hung"
    /// The driver started, and has no HEVC encoder.
    case noEncoder = "no_encoder"
    /// The card has no such decoder.
    case noDecoder = "no_decoder"
    /// The encoder or decoder is in use, or at its limit.
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
    /// A driver is installed, and the sandbox keeps it from being opened.
    case driverRefused = "driver_refused"
    /// NVIDIA's kernel module is not loaded.
    case nvidiaModule = "nvidia_module"
    /// NVIDIA's module for render nodes, nvidia-drm, is not loaded or creates none.
    case nvidiaModeset = "nvidia_modeset"
    /// NVIDIA's card is driven by nouveau.
    case nouveau
    /// NVIDIA's libraries are of another version than its kernel module.
    case nvidiaVersion = "nvidia_version"
    /// NVIDIA's libraries are where the dynamic linker does not look.
    case nvidiaFolder = "nvidia_folder"
    /// A container has NVIDIA's device nodes but not its libraries.
    case nvidiaCapabilities = "nvidia_capabilities"
    /// The node that CUDA and NVIDIA's decoder need does not exist.
    case nvidiaMemory = "nvidia_uvm"
    /// The libraries of CUDA and NVIDIA's decoder cannot be loaded.
    case nvidiaDecoder = "nvidia_decoder"
    /// A cause that a later version of the daemon reports.
    case unknown

    /// Reads a cause; one of a later version is `unknown`.
    public init(from decoder: any Decoder) throws {
        self = ProbeCause(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
    }

    /// What an administrator can do about it; nil where the reason names it, or it is unknown.
    ///
    /// - Parameters:
    ///   - pciID: the device's vendor and device numbers (`8086:8a52`); nil where they are unknown.
    ///   - group: the group that owns the device's node; nil where the reason names it.
    ///   - fixedIn: the first version of the driver that a quirk does not concern; nil where none is known.
    public func remedy(pciID: String? = nil, group: String? = nil, fixedIn: String? = nil) -> String? {
        remedies(pciID, group: group, fixedIn: fixedIn).sentence
    }

    /// A command that cures it, or that shows more about it, for root on Debian; nil for what is unknown.
    ///
    /// - Parameters:
    ///   - pciID: the device's vendor and device numbers; nil where they are unknown.
    ///   - group: the group that owns the device's node.
    ///   - user: the user who may not open it.
    ///   - library: the file name of a library that is missing (`libva.so.2`).
    ///   - fixedIn: as for `remedy`.
    public func command(
        pciID: String? = nil, group: String = "render", user: String = "USER", library: String? = nil,
        fixedIn: String? = nil
    ) -> String? {
        switch self {
        case .permission: "usermod -aG \(group) \(user)"
        case .libraryMissing:
            library.flatMap(Self.packages(ofLibrary:)).map { "apt install \($0)" } ?? "apt --fix-broken install"
        default: remedies(pciID, group: group, fixedIn: fixedIn).command
        }
    }

    private func remedies(
        _ pciID: String?, group: String?, fixedIn: String?
    ) -> (sentence: String?, command: String?) {
        let package = Self.package(pciID)
        let later = package.map { "apt install -t bookworm-backports \($0)" }
        return switch self {
        case .noRenderNode:
            ("install the kernel driver and the firmware of the GPU, if there is one", "lspci -nnk -d ::0300")
        case .containerWithoutNode:
            (
                "pass the node to the container, or mount the socket of the host's daemon",
                "docker run --device /dev/dri …"
            )
        case .nodeMissing:
            ("leave the node out of Devices= and HWDAEMON_DEVICES, or connect the device", "ls -l /dev/dri/by-path")
        case .libraryMissing: ("install the package of the library that is missing", nil)
        case .driverMissing:
            (
                "install \(package ?? "the VA-API driver of this device")"
                    + (Self.isNVIDIA(pciID) ? ", which decodes; \(Self.withoutVideo)" : ""),
                package.map { "apt install \($0)" } ?? "apt search va-driver"
            )
        case .driverName: ("remove LIBVA_DRIVER_NAME from the daemon's environment", "systemctl edit hwdaemon")
        case .driverVersion:
            (
                "install libva and the driver from the same release",
                "apt install --reinstall libva2 \(package ?? "va-driver-all")"
            )
        case .driverFailed:
            (
                "install a driver that knows this device, and look at the kernel's log",
                "journalctl -k -b | grep -i drm"
            )
        case .driverCrashed, .driverHung, .unstable:
            (
                "install another version of \(package ?? "the VA-API driver"), and report the fault to its authors",
                later ?? "journalctl -u hwdaemon -p warning"
            )
        case .noEncoder: Self.noEncoder(pciID)
        case .noDecoder: ("a newer card decodes it; here software does", "hwctl probe --table")
        case .busy: Self.busy(pciID)
        case .quirk: Self.quirk(fixedIn, later)
        case .permission: (group.map { "let the daemon's user join the group \($0), which owns the node" }, nil)
        case .unknown: (nil, nil)
        case .devicePolicy:
            ("allow the device in the container's or the unit's policy (DeviceAllow=)", "systemctl cat hwdaemon")
        default: installation
        }
    }

    /// What cures a fault of the installation of a driver or its firmware.
    private var installation: (sentence: String?, command: String?) {
        switch self {
        case .hucFirmware: Self.firmware("firmware-misc-nonfree")
        case .vcnFirmware: Self.firmware("firmware-amd-graphics")
        case .vulkanManifest: ("install the package that owns the manifest again, or delete the manifest", nil)
        case .vulkanLibrary: ("install the package of the library, or delete the manifest", nil)
        case .driverRefused:
            ("let only root write the driver's files and folders, or name its folder in SandboxPaths=", nil)
        case .nvidiaModule:
            (
                "install NVIDIA's driver (nvidia-driver), or find in the kernel's log why its module is not loaded",
                "modprobe nvidia; journalctl -k -b | grep -i -e nvidia -e nvrm"
            )
        case .nvidiaModeset:
            (
                "load nvidia-drm with modeset=1; \(Self.withoutVideo)",
                "modprobe -r nvidia-drm; modprobe nvidia-drm modeset=1"
            )
        case .nouveau: ("install NVIDIA's driver, which replaces nouveau", "apt install nvidia-driver && reboot")
        case .nvidiaVersion:
            (
                "install both in the same version; after an upgrade, start the computer again",
                "modinfo -F version nvidia"
            )
        case .nvidiaFolder:
            (
                "name the folder in a file of /etc/ld.so.conf.d, so that the dynamic linker finds them",
                "ldconfig && ldconfig -p | grep -e libcuda -e libGLX_nvidia"
            )
        case .nvidiaCapabilities:
            (
                "start the container with graphics and video among NVIDIA_DRIVER_CAPABILITIES",
                "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all …"
            )
        case .nvidiaDecoder:
            (
                "install libcuda1 and libnvcuvid1 in the version of NVIDIA's driver; a container needs compute and video among "
                    + "NVIDIA_DRIVER_CAPABILITIES",
                "apt install libcuda1 libnvcuvid1"
            )
        case .nvidiaMemory: ("load the module, and make its node when the system starts", "nvidia-modprobe -u -c 0")
        default: (nil, nil)
        }
    }

    /// What works on NVIDIA's cards where VA-API does not.
    private static let withoutVideo =
        "without it NVDEC decodes, NVENC encodes and Vulkan converts colors on the GPU"

    private static func isNVIDIA(_ pciID: String?) -> Bool { pciID?.hasPrefix("10de") == true }

    private static func firmware(_ package: String) -> (sentence: String?, command: String?) {
        ("install \(package) and start the computer again", "apt install \(package) && reboot")
    }

    /// NVIDIA's cards have nodes of their own.
    private static func busy(_ pciID: String?) -> (sentence: String?, command: String?) {
        isNVIDIA(pciID)
            ? ("end other programs that use the card; it is tried again after 30 s", "fuser -v /dev/nvidia[0-9]*")
            : ("end other programs that encode; it is tried again after 30 s", "fuser -v /dev/dri/renderD*")
    }

    /// Intel's driver comes in two packages, of which the free one has fewer encoders.
    private static func noEncoder(_ pciID: String?) -> (sentence: String?, command: String?) {
        guard pciID?.hasPrefix("8086") == true else {
            return (
                "this GPU or its driver cannot encode HEVC; docs/admin.md lists some that can",
                "hwctl probe --table"
            )
        }
        let package = "intel-media-va-driver-non-free"
        return ("install \(package), which has more encoders than the free package", "apt install \(package)")
    }

    /// A driver that is too old, or a fault that no known version fixes.
    private static func quirk(_ fixedIn: String?, _ install: String?) -> (sentence: String?, command: String?) {
        guard let fixedIn else {
            return ("a file in /etc/hwdaemon/capabilities.d can override the quirk", "hwctl probe --table")
        }
        return ("install version \(fixedIn) or later of the driver", install ?? "apt search va-driver")
    }

    /// The words of the dynamic linker before the name of a library that it does not find.
    public static let linkerMessage = "error while loading shared libraries: "

    /// Libraries of the programs that probe and code, not including their dependencies.
    private static let libraries = ["libva", "libva-drm", "libdrm", "libx265", "libavcodec", "libavutil"]

    /// Debian's packages of a library that the daemon's programs link: its name with the number of its interface (Debian policy,
    /// 8.1); nil for another one.
    ///
    /// - Parameter library: a file name such as `libx265.so.199`, whose package is `libx265-199`.
    private static func packages(ofLibrary library: String) -> String? {
        let parts = library.split(separator: ".so.", maxSplits: 1).map(String.init)
        guard parts.count == 2, libraries.contains(parts[0]), let number = UInt16(parts[1]) else { return nil }
        // Both are from one source: they are installed together.
        if parts[0].hasPrefix("libva") { return "libva2 libva-drm2" }
        return "\(parts[0])\(parts[0].last?.isNumber == true ? "-" : "")\(number)"
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
