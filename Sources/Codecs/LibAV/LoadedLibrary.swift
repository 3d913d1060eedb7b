// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// The shared libraries of this process.
enum LoadedLibrary {
    /// The path of the library whose file name begins with `name`, from `/proc/self/maps`; nil where it is not there.
    static func path(of name: String) -> String? {
        let file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while text.count < 1 << 22 {
            let count = read(file, &buffer, buffer.count)
            if count <= 0 { break }
            text += buffer.prefix(count)
        }
        for line in text.split(separator: UInt8(ascii: "\n")) {
            guard let slash = line.firstIndex(of: UInt8(ascii: "/")) else { continue }
            let path = String(decoding: line[slash...], as: UTF8.self)
            if path.split(separator: "/").last?.hasPrefix(name) == true { return path }
        }
        return nil
    }
}
