// SPDX-License-Identifier: MIT
internal import HWDSystem

/// The dynamic linker's list of libraries by name (`/etc/ld.so.cache`, written by ldconfig(8)).
struct LinkerCache: Sendable {
    private var bytes: [UInt8] = []
    /// Where the header begins; the offsets of names and files count from there.
    private var start = 0
    /// The offset of each name's first entry; its other entries, for other processor features, follow that one.
    private var entries: [ArraySlice<UInt8>: Int] = [:]

    private static let magic = Array("glibc-ld.so.cache1.1".utf8)
    /// The format of old versions, after which a file may have the present one.
    private static let oldMagic = Array("ld.so-1.7.0".utf8)
    private static let maxSize = 16 << 20
    private static let (headerSize, entrySize) = (48, 24)
    /// `FLAG_ELF_LIBC6` with the architecture (dl-cache.h of the GNU C library).
    #if arch(x86_64)
        private static let flags: UInt32 = 0x0303
    #else
        private static let flags: UInt32 = 0x0a03
    #endif

    /// Reads a file; one that is missing or damaged lists nothing.
    init(_ path: String) {
        guard let bytes = try? BoundedFile.read(path, limit: Self.maxSize), let start = Self.start(of: bytes),
            let count = bytes.integer(at: start + 20, UInt32.self), Int(count) <= bytes.count / Self.entrySize
        else { return }
        (self.bytes, self.start) = (bytes, start)
        let first = start + Self.headerSize
        for entry in stride(from: first, to: first + Self.entrySize * Int(count), by: Self.entrySize) {
            guard let name = name(at: entry), entries[name] == nil else { continue }
            entries[name] = entry
        }
    }

    /// The files of a name, which need not exist.
    subscript(name: String) -> [String] {
        let name = Array(name.utf8)[...]
        guard var entry = entries[name] else { return [] }
        var files: [String] = []
        while self.name(at: entry) == name {
            if bytes.integer(at: entry, UInt32.self) == Self.flags, let file = string(at: entry + 8),
                file.first == UInt8(ascii: "/")
            {
                files.append(FileName.string(Array(file)))
            }
            entry += Self.entrySize
        }
        return files
    }

    private func name(at entry: Int) -> ArraySlice<UInt8>? { string(at: entry + 4) }

    /// The text to which the field at an offset points; nil for one outside of the file.
    private func string(at field: Int) -> ArraySlice<UInt8>? {
        guard let offset = bytes.integer(at: field, UInt32.self), case let first = start + Int(offset),
            first < bytes.count, let end = bytes[first...].firstIndex(of: 0)
        else { return nil }
        return bytes[first..<end]
    }

    /// Where the present format begins; nil in a file of another format.
    private static func start(of bytes: [UInt8]) -> Int? {
        if bytes.starts(with: magic) { return 0 }
        guard bytes.starts(with: oldMagic), let count = bytes.integer(at: 12, UInt32.self) else { return nil }
        // 12 bytes an entry, and the next multiple of 8.
        let start = (16 + 12 * Int(count) + 7) & ~7
        return start < bytes.count && bytes[start...].starts(with: magic) ? start : nil
    }
}
