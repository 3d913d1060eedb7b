// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel

/// Host memory that the device uses in place.
final class ImportedRegion {
    let buffer: DeviceBuffer
    /// The caller's address of the memory, which identifies it.
    let key: UnsafeRawPointer
    /// Whether the device may write to it.
    let isWritable: Bool

    /// Imports the pages of `memory` in whole units of the device's alignment.
    ///
    /// Planes in the first and last bytes, which may be outside these units, are copied.
    /// Drivers do not report memory that they cannot use (lavapipe accepts anything), so the mapping is checked here.
    /// - Throws: Why the device cannot import it.
    init(
        _ device: VulkanDevice, _ memory: UnsafeRawBufferPointer, isWritable: Bool
    ) throws(SessionError) {
        guard let base = memory.baseAddress, memory.count > 0 else {
            throw SessionError(.parameter, "the memory to import is empty")
        }
        guard device.description.importsHostMemory else {
            throw SessionError(
                .pixelTransferNotSupported, "\(device.description.name) cannot import host memory")
        }
        guard isWritable || device.readsReadOnlyPages == true else {
            throw SessionError(
                .pixelTransferNotSupported, "\(device.description.name) cannot import read-only pages")
        }
        let alignment = max(device.description.hostMemoryAlignment, Int(getpagesize()))
        let start = Int(bitPattern: base)
        let units = Self.wholeUnits(of: alignment, in: start..<start + memory.count, page: Int(getpagesize()))
        guard !units.isEmpty, Self.isMapped(units, writable: isWritable) else {
            throw SessionError(
                .pixelTransferNotSupported,
                "the memory to import is not mapped for reading\(isWritable ? " and writing" : "") "
                    + "in whole units of \(alignment) bytes")
        }
        guard let first = UnsafeMutableRawPointer(bitPattern: units.lowerBound) else {
            throw SessionError(.parameter, "the memory to import is at address 0")
        }
        key = base
        self.isWritable = isWritable
        buffer = try DeviceBuffer(
            device, importing: UnsafeMutableRawBufferPointer(start: first, count: units.count))
    }

    /// A plane's offset in the buffer; nil when it is elsewhere, or not aligned for shaders.
    func offset(of base: UnsafeRawPointer, stride: Int, _ plane: PlaneGeometry, isTarget: Bool) -> Int? {
        let start = Int(bitPattern: base) - Int(bitPattern: buffer.memory.baseAddress)
        let end = start + (plane.rows - 1) * stride + plane.rowBytes
        guard start >= 0, end <= buffer.memory.count, start % PlaneGeometry.rowAlignment == 0,
            stride % PlaneGeometry.rowAlignment == 0
        else { return nil }
        // Shaders write whole words, so a row that ends within a word would overwrite the bytes after it.
        return isTarget && (plane.rowBytes % 4 != 0 || !isWritable) ? nil : start
    }

    /// The whole units within the pages of a range.
    ///
    /// A page belongs to one mapping, even beyond the end of its file, but a larger unit may contain other memory.
    static func wholeUnits(of alignment: Int, in range: Range<Int>, page: Int) -> Range<Int> {
        let start = (range.lowerBound / page * page).roundedUp(to: alignment)
        return start..<max(start, range.upperBound.roundedUp(to: page) / alignment * alignment)
    }

    /// Whether every byte of a range is mapped for reading, and for writing, in /proc/self/maps.
    static func isMapped(_ range: Range<Int>, writable: Bool = true) -> Bool {
        guard let file = fopen("/proc/self/maps", "re") else { return false }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        var next = range.lowerBound
        while next < range.upperBound, getline(&line, &capacity, file) > 0, let line {
            // "start-end rw-s …", ascending.
            var rest: UnsafeMutablePointer<CChar>?
            let start = Int(bitPattern: strtoul(line, &rest, 16))
            guard let dash = rest, dash.pointee == CChar(UInt8(ascii: "-")) else { return false }
            let end = Int(bitPattern: strtoul(dash + 1, &rest, 16))
            if end <= next { continue }
            guard start <= next, let rest, rest[1] == CChar(UInt8(ascii: "r")),
                !writable || rest[2] == CChar(UInt8(ascii: "w"))
            else { return false }
            next = end
        }
        return next >= range.upperBound
    }
}
