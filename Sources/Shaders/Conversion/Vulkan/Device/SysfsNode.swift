// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// Sysfs attributes of a character device, by its number.
enum SysfsNode {
    /// The PCI address (`0000:03:00.0`); nil for devices of other buses and without sysfs.
    static func pciAddress(major: Int64, minor: Int64) -> String? {
        let folder = "/sys/dev/char/\(major):\(minor)/device"
        guard target("\(folder)/subsystem") == "pci" else { return nil }
        return target(folder)
    }

    /// The last component of a symbolic link's target.
    private static func target(_ link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink(link, &buffer, buffer.count)
        guard length > 0 else { return nil }
        let path = String(decoding: buffer.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").last.map(String.init)
    }
}
