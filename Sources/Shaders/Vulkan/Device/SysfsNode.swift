// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// What sysfs tells of a character device by its number.
enum SysfsNode {
    /// Where the device sits on the PCI bus (`0000:03:00.0`); nil elsewhere, and where sysfs does not tell.
    static func pciAddress(major: Int64, minor: Int64) -> String? {
        let folder = "/sys/dev/char/\(major):\(minor)/device"
        guard target("\(folder)/subsystem") == "pci" else { return nil }
        return target(folder)
    }

    /// The last part of what a link points to.
    private static func target(_ link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink(link, &buffer, buffer.count)
        guard length > 0 else { return nil }
        let path = String(decoding: buffer.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").last.map(String.init)
    }
}
