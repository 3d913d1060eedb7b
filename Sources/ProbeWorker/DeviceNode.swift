// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Model
internal import Transport

/// A device node: what the kernel says of it, and whether it opens.
enum DeviceNode {
    /// Looks at a node.
    ///
    /// Whether it may be opened is found by opening it: access(2) asks about the real user and knows no security module.
    static func look(at path: String) -> RenderNode {
        var node = RenderNode(node: path, opened: false)
        var status = stat()
        guard stat(path, &status) == 0 else {
            node.reason = reason(errno, path, nil)
            return node
        }
        guard status.st_mode & S_IFMT == S_IFCHR else {
            node.reason = "\(path) is not a character device"
            return node
        }
        let device = SysfsDevice(status.st_rdev)
        node.pciAddress = device.pciAddress
        node.kernelDriver = device.driver

        // O_NONBLOCK and O_NOCTTY: a list of devices may name a serial line by mistake.
        let number = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else {
            node.reason = reason(errno, path, status)
            return node
        }
        defer { close(number) }
        node.opened = true
        node.reason =
            device.isDRM
            ? "hardware encoding is not built into this version"
            : "\(path) is a character device but not a DRM render node"
        return node
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

    /// Whether the DRM subsystem made it.
    var isDRM: Bool { target("subsystem") == "drm" }

    /// The kernel driver's name, nil for a device without one.
    var driver: String? { target("device/driver") }

    /// Where it sits on the PCI bus, nil elsewhere.
    var pciAddress: String? {
        guard target("device/subsystem") == "pci" else { return nil }
        return target("device")
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
