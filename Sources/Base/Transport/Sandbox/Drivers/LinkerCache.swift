// SPDX-License-Identifier: MIT
internal import HWDSystem

/// The dynamic linker's list of libraries by name (`/etc/ld.so.cache`, written by ldconfig(8)).
struct LinkerCache: Sendable {
    private var bytes: [UInt8] = []
    /// Where the header begins, to which the places of names and files are relative.
    private var start = 0
    /// The place of the first entry of each name; a name's other entries, for other sets of processor features, follow it.
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
        for place in stride(from: first, to: first + Self.entrySize * Int(count), by: Self.entrySize) {
            guard let name = name(at: place), entries[name] == nil else { continue }
            entries[name] = place
        }
    }

    /// The files of a name, which need not exist.
    subscript(name: String) -> [String] {
        let name = Array(name.utf8)[...]
        guard var place = entries[name] else { return [] }
        var files: [String] = []
        while self.name(at: place) == name {
            if bytes.integer(at: place, UInt32.self) == Self.flags, let file = string(at: place + 8),
                file.first == UInt8(ascii: "/")
            {
                files.append(FileName.string(Array(file)))
            }
            place += Self.entrySize
        }
        return files
    }

    private func name(at place: Int) -> ArraySlice<UInt8>? { string(at: place + 4) }

    /// The text whose place is an entry's number; nil outside of the file.
    private func string(at place: Int) -> ArraySlice<UInt8>? {
        guard let offset = bytes.integer(at: place, UInt32.self), case let first = start + Int(offset),
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
