// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDSystem

/// The dynamic linker's list of libraries by name (`/etc/ld.so.cache`, written by ldconfig(8)).
struct LinkerCache: Sendable {
    private var bytes: [UInt8] = []
    /// Where the header begins; the offsets of names and files count from there.
    private var start = 0
    /// The offsets of the entries.
    private var entries = stride(from: 0, to: 0, by: entrySize)

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
        entries = stride(from: first, to: first + Self.entrySize * Int(count), by: Self.entrySize)
    }

    /// The files of a name, which need not exist: a name may have one for each set of processor features.
    subscript(name: String) -> [String] {
        let name = Array(name.utf8)
        return entries.filter { string(at: $0 + 4, is: name) }.compactMap { entry in
            file(of: entry).map { FileName.string(Array($0)) }
        }
    }

    /// The folders of all files.
    var folders: [String] {
        var found: [ArraySlice<UInt8>] = []
        for entry in entries {
            guard let file = file(of: entry), let slash = file.lastIndex(of: UInt8(ascii: "/")) else { continue }
            let folder = file[..<slash]
            if !folder.isEmpty, !found.contains(folder) { found.append(folder) }
        }
        return found.map { FileName.string(Array($0)) }
    }

    /// The absolute path of an entry's file; nil for libraries of another architecture.
    private func file(of entry: Int) -> ArraySlice<UInt8>? {
        guard bytes.integer(at: entry, UInt32.self) == Self.flags,
            let offset = bytes.integer(at: entry + 8, UInt32.self), case let first = start + Int(offset),
            first < bytes.count, bytes[first] == UInt8(ascii: "/"),
            let end = bytes[first..<min(first + Int(PATH_MAX), bytes.count)].firstIndex(of: 0)
        else { return nil }
        return bytes[first..<end]
    }

    /// Whether the text to which the field at an offset points is a name.
    private func string(at field: Int, is name: [UInt8]) -> Bool {
        guard let offset = bytes.integer(at: field, UInt32.self), case let first = start + Int(offset),
            first + name.count < bytes.count, bytes[first + name.count] == 0
        else { return false }
        return bytes[first..<first + name.count].elementsEqual(name)
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
