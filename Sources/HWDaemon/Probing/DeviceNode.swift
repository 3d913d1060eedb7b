// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import HWDVAAPI

/// A device node: what the kernel reports about it, whether it can be opened, and its VA-API driver.
struct DeviceNode: ~Copyable {
    /// The results so far.
    var description: RenderNode
    /// The kernel's driver; nil if the node could not be opened, or is neither the DRM's nor NVIDIA's.
    private(set) var kernelDriver: DRMDriver?
    /// The open node, which a display needs as long as it exists; nil if it could not be opened, and for NVIDIA's cards.
    private var file: OwnedFD?
    /// Whether the node can be opened.
    private(set) var isUsable = false

    /// Identifies a node and opens it.
    ///
    /// Only opening shows whether that is permitted: access(2) checks the real user and no security module.
    init(_ path: String) {
        description = RenderNode(node: path, state: .failed)
        var status = stat()
        guard stat(path, &status) == 0 else {
            fail(errno, nil)
            return
        }
        guard status.st_mode & S_IFMT == S_IFCHR else {
            description.state = .notADevice
            description.reason = "\(path) is not a character device"
            return
        }
        if let minor = CodecInterface.nvidiaMinor(of: path) {
            identifyCard(minor)
            // Not opened: that starts the card, which takes a second where no other program uses it.
            guard access(path, R_OK | W_OK) == 0 else {
                fail(errno, status)
                return
            }
            isUsable = true
            return
        }
        if let device = DRMDevice(number: status.st_rdev) {
            description.pciAddress = device.pciAddress
            description.pciID = device.pciID
            description.byPath = device.link(to: status.st_rdev)
        }
        // O_NONBLOCK and O_NOCTTY, because a list of devices may name a serial line by mistake.
        let number = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else {
            fail(errno, status)
            return
        }
        file = OwnedFD(number)
        isUsable = true
        kernelDriver = DRMDriver(file: number)
        description.kernelDriver = kernelDriver?.name
    }

    /// Reads what the kernel's driver says about a card of NVIDIA's.
    private mutating func identifyCard(_ minor: Int) {
        if let address = NVIDIACard(minor: minor)?.pciAddress {
            let folder = "/sys/bus/pci/devices/\(address)"
            let numbers = ["vendor", "device"].compactMap { name in
                (try? BoundedFile.read("\(folder)/\(name)", limit: 64)).map { bytes in
                    String(decoding: bytes, as: UTF8.self).filter(\.isHexDigit).dropFirst()
                }
            }
            description.pciAddress = address
            if numbers.count == 2 { description.pciID = numbers.joined(separator: ":") }
        }
        kernelDriver = NVIDIACard.driverVersion().map { DRMDriver(name: "nvidia", version: $0) }
        description.kernelDriver = kernelDriver?.name
    }

    /// Starts the VA-API driver; nil if the node could not be opened or is not a render node.
    mutating func startDriver() throws(VAError) -> Display? {
        guard let number = file?.rawValue else { return nil }
        guard let display = try Display(node: number) else {
            description.state = .notADevice
            description.reason = "\(description.node) is a character device but not a DRM render node"
            return nil
        }
        description.state = .ready
        description.driver = display.vendor
        return display
    }

    /// The open node's descriptor; nil if it could not be opened.
    var fileDescriptor: Int32? {
        switch file {
        case .some(let file): file.rawValue
        case nil: nil
        }
    }

    private mutating func fail(_ error: Int32, _ status: stat?) {
        switch error {
        case ENOENT, ENOTDIR, ENXIO, ENODEV: (description.state, description.cause) = (.absent, .nodeMissing)
        case EACCES: (description.state, description.cause) = (.permission, .permission)
        case EPERM: (description.state, description.cause) = (.permission, .devicePolicy)
        default: break
        }
        description.reason = Self.reason(error, description.node, status)
    }

    /// Why a node could not be opened, and what an administrator can do about it.
    private static func reason(_ error: Int32, _ path: String, _ status: stat?) -> String {
        switch error {
        case ENOENT, ENOTDIR: return "no such device"
        case ENXIO, ENODEV: return "the node exists but its device does not"
        case EACCES:
            guard let status else { return "permission denied: a directory of its path is not accessible" }
            guard status.st_mode & S_IRGRP != 0, status.st_mode & S_IWGRP != 0 else {
                return "permission denied: not even the node's group may read and write it"
            }
            return "permission denied: add the user to group \(groupName(status.st_gid))"
        case EPERM: return "permission denied: the device policy of this service or container forbids it"
        default: return SystemError(errno: error, call: "open", subject: path).description
        }
    }

    private static func groupName(_ gid: gid_t) -> String {
        guard let entry = getgrgid(gid), let name = entry.pointee.gr_name else { return "\(gid)" }
        return String(cString: name)
    }
}
