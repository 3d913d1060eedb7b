// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDSystem

/// What the dynamic linker reads in a shared library to find those that it needs (elf(5)).
struct LibraryHeader: Hashable, Sendable {
    /// DT_NEEDED.
    var needed: [String] = []
    /// DT_RUNPATH: folders for this library's own needs.
    var runPath: [String] = []
    /// DT_RPATH: folders for the needs of this library and of those that it loads; ignored beside a DT_RUNPATH.
    var rPath: [String] = []

    /// More program headers, or bytes of a dynamic section or of a string, than any library has.
    private static let maxHeaders = 128
    private static let maxDynamic = 1 << 16
    private static let maxString = 4096
    #if arch(x86_64)
        private static let machine: UInt16 = 62
    #else
        private static let machine: UInt16 = 183
    #endif

    /// Reads a library; nil for any other file, for a library of another architecture and for a damaged one.
    init?(_ path: String) {
        guard let file = BoundedReader(path), let header = file.bytes(at: 0, count: 64),
            // A 64-bit file with the lowest byte first.
            header.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1]),
            header.integer(at: 16, UInt16.self) == 3, header.integer(at: 18, UInt16.self) == Self.machine,
            let offset = header.integer(at: 32, UInt64.self), header.integer(at: 54, UInt16.self) == 56,
            let count = header.integer(at: 56, UInt16.self), count <= Self.maxHeaders,
            let table = file.bytes(at: offset, count: 56 * Int(count))
        else { return nil }
        let segments = (0..<Int(count)).compactMap { Segment(table, at: 56 * $0) }
        guard let dynamic = segments.first(where: { $0.type == 2 }), dynamic.size <= Self.maxDynamic,
            let entries = file.bytes(at: dynamic.offset, count: Int(dynamic.size))
        else { return nil }
        read(entries, file, segments)
    }

    /// Reads the dynamic section; strings outside of their table are passed over.
    private mutating func read(_ entries: [UInt8], _ file: BoundedReader, _ segments: [Segment]) {
        var values: [(tag: UInt64, value: UInt64)] = []
        for entry in stride(from: 0, to: entries.count, by: 16) {
            guard let tag = entries.integer(at: entry, UInt64.self), tag != 0,
                let value = entries.integer(at: entry + 8, UInt64.self)
            else { break }
            values.append((tag, value))
        }
        guard let address = values.first(where: { $0.tag == 5 })?.value,
            let size = values.first(where: { $0.tag == 10 })?.value,
            let table = segments.lazy.compactMap({ $0.offset(of: address) }).first
        else { return }
        func string(_ index: UInt64) -> String? {
            guard index < size, !table.addingReportingOverflow(index).overflow else { return nil }
            for limit in [256, Self.maxString] {
                guard let bytes = file.prefix(at: table + index, count: Int(min(size - index, UInt64(limit))))
                else {
                    return nil
                }
                if let end = bytes.firstIndex(of: 0) { return FileName.string(Array(bytes[..<end])) }
            }
            return nil
        }
        func folders(_ index: UInt64) -> [String] {
            (string(index) ?? "").split(separator: ":").map(String.init)
        }
        for (tag, value) in values {
            switch tag {
            case 1: needed += string(value).map { [$0] } ?? []
            case 15: rPath += folders(value)
            case 29: runPath += folders(value)
            default: break
            }
        }
    }

    /// A program header.
    private struct Segment {
        var type: UInt32
        var offset: UInt64
        var address: UInt64
        var size: UInt64

        init?(_ table: [UInt8], at start: Int) {
            guard let type = table.integer(at: start, UInt32.self),
                let offset = table.integer(at: start + 8, UInt64.self),
                let address = table.integer(at: start + 16, UInt64.self),
                let size = table.integer(at: start + 32, UInt64.self)
            else { return nil }
            (self.type, self.offset, self.address, self.size) = (type, offset, address, size)
        }

        /// The offset in the file of an address; nil for one that the segment does not load.
        func offset(of address: UInt64) -> UInt64? {
            guard type == 1, address >= self.address, address - self.address < size else { return nil }
            let (sum, overflow) = offset.addingReportingOverflow(address - self.address)
            return overflow ? nil : sum
        }
    }
}

/// Reads parts of a regular file that anyone may have written.
private final class BoundedReader {
    private let file: OwnedFD

    /// Opens a file; nil where that is not possible, or it is not a regular one.
    init?(_ path: String) {
        let number = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else { return nil }
        file = OwnedFD(number)
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    }

    /// Bytes from an offset on; nil where the file has fewer.
    func bytes(at offset: UInt64, count: Int) -> [UInt8]? {
        prefix(at: offset, count: count).flatMap { $0.count == count ? $0 : nil }
    }

    /// The bytes from an offset on, up to the end of the file; nil where they cannot be read.
    func prefix(at offset: UInt64, count: Int) -> [UInt8]? {
        guard let offset = off_t(exactly: offset) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = pread(file.rawValue, &bytes, count, offset)
        guard read >= 0 else { return nil }
        bytes.removeLast(count - read)
        return bytes
    }
}

extension [UInt8] {
    /// An integer with its lowest byte first; nil where the array ends before it does.
    func integer<Integer: FixedWidthInteger & UnsignedInteger>(at offset: Int, _ type: Integer.Type) -> Integer? {
        guard offset >= 0, offset <= count - MemoryLayout<Integer>.size else { return nil }
        return withUnsafeBytes { Integer(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }
}
