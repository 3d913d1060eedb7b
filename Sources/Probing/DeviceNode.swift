// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDVAAPI

/// A device node: what the kernel says of it, whether it opens, and its driver.
struct DeviceNode: ~Copyable {
    /// What is known so far.
    var description: RenderNode
    /// The node, if it opened; a display needs it as long as it lives.
    private var file: OwnedFD?

    /// Looks at a node.
    ///
    /// Whether it may be opened is found by opening it: access(2) asks about the real user and knows no security module.
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
        let device = SysfsDevice(status.st_rdev)
        description.pciAddress = device.pciAddress
        description.pciID = device.pciID
        description.kernelDriver = device.driver
        description.byPath = Self.link(to: status.st_rdev, device.pciAddress)

        // O_NONBLOCK and O_NOCTTY: a list of devices may name a serial line by mistake.
        let number = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else {
            fail(errno, status)
            return
        }
        file = OwnedFD(number)
    }

    /// Starts the VA-API driver; nil for a node that did not open or is none of the DRM's.
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

    /// The open node's number; nil where it did not open.
    var fileDescriptor: Int32? {
        switch file {
        case .some(let file): file.rawValue
        case nil: nil
        }
    }

    /// The link that udev makes to a render node by its place on the bus; nil where there is none.
    private static func link(to device: dev_t, _ pciAddress: String?) -> String? {
        guard let pciAddress else { return nil }
        let path = "/dev/dri/by-path/pci-\(pciAddress)-render"
        var status = Glibc.stat()
        return stat(path, &status) == 0 && status.st_rdev == device ? path : nil
    }

    private mutating func fail(_ error: Int32, _ status: stat?) {
        switch error {
        case ENOENT, ENOTDIR, ENXIO, ENODEV: description.state = .absent
        case EACCES, EPERM: description.state = .permission
        default: break
        }
        description.reason = Self.reason(error, description.node, status)
    }

    /// Why a node did not open, and what an admin can do about it.
    private static func reason(_ error: Int32, _ path: String, _ status: stat?) -> String {
        switch error {
        case ENOENT, ENOTDIR: return "no such device"
        case ENXIO, ENODEV: return "the node is there but its device is not"
        case EACCES:
            guard let status else { return "permission denied: a directory on the way to it is closed" }
            guard status.st_mode & S_IRGRP != 0, status.st_mode & S_IWGRP != 0 else {
                return "permission denied: the node's group may not read and write it either"
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

/// What sysfs tells of a character device.
private struct SysfsDevice {
    private let folder: String

    init(_ number: dev_t) {
        // makedev(3), whose macros Swift does not see.
        let major = number >> 8 & 0xfff | number >> 32 & ~0xfff
        let minor = number & 0xff | number >> 12 & ~0xff
        folder = "/sys/dev/char/\(UInt32(truncatingIfNeeded: major)):\(UInt32(truncatingIfNeeded: minor))"
    }

    /// The kernel driver's name, nil for a device without one.
    var driver: String? { target("device/driver") }

    /// Where it sits on the PCI bus, nil elsewhere.
    var pciAddress: String? {
        guard target("device/subsystem") == "pci" else { return nil }
        return target("device")
    }

    /// Its PCI vendor and device number (`8086:8a52`), nil elsewhere.
    var pciID: String? {
        guard pciAddress != nil, let vendor = number("device/vendor"), let device = number("device/device")
        else { return nil }
        return "\(vendor):\(device)"
    }

    /// What a file with one hexadecimal number says, without its `0x`.
    private func number(_ file: String) -> String? {
        let number = open("\(folder)/\(file)", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var buffer = [UInt8](repeating: 0, count: 16)
        let count = read(number, &buffer, buffer.count)
        guard count > 2, buffer.starts(with: Array("0x".utf8)) else { return nil }
        let digits = buffer[2..<count].prefix { $0 > UInt8(ascii: " ") }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The last part of what a link points to.
    private func target(_ link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("\(folder)/\(link)", &buffer, buffer.count)
        guard length > 0 else { return nil }
        let path = String(decoding: buffer.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").last.map(String.init)
    }
}
