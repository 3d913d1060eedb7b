// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel

/// Memory of this process that the device uses in place.
final class ImportedRegion {
    let buffer: DeviceBuffer
    /// The caller's own words for it.
    let key: UnsafeRawPointer
    /// Whether the device may write there.
    let isWritable: Bool

    /// Takes the pages that hold `memory`, of those the whole units that the device wants: its first and last bytes may
    /// be left out, and planes that lie there are copied.
    ///
    /// Drivers do not say what they cannot use (lavapipe takes anything), so the mapping is looked up here.
    /// - Throws: Why the device cannot use it.
    init(
        _ device: VulkanDevice, _ memory: UnsafeRawBufferPointer, isWritable: Bool
    ) throws(SessionError) {
        guard let base = memory.baseAddress, memory.count > 0 else {
            throw SessionError(.parameter, "there is no memory to import")
        }
        guard device.description.importsHostMemory else {
            throw SessionError(
                .pixelTransferNotSupported, "\(device.description.name) takes no memory of a process in place")
        }
        guard isWritable || device.readsReadOnlyPages == true else {
            throw SessionError(
                .pixelTransferNotSupported, "\(device.description.name) cannot read pages that cannot be written")
        }
        let alignment = max(device.description.hostMemoryAlignment, Int(getpagesize()))
        let start = Int(bitPattern: base)
        let units = Self.wholeUnits(of: alignment, in: start..<start + memory.count, page: Int(getpagesize()))
        guard !units.isEmpty, Self.isMapped(units, writable: isWritable) else {
            throw SessionError(
                .pixelTransferNotSupported,
                "memory to import is not mapped for reading\(isWritable ? " and writing" : "") "
                    + "in whole units of \(alignment) bytes")
        }
        guard let first = UnsafeMutableRawPointer(bitPattern: units.lowerBound) else {
            throw SessionError(.parameter, "there is no memory at 0")
        }
        key = base
        self.isWritable = isWritable
        buffer = try DeviceBuffer(
            device, importing: UnsafeMutableRawBufferPointer(start: first, count: units.count))
    }

    /// Where a plane lies in the buffer; nil when it lies elsewhere, or not as shaders read and write words.
    func offset(of base: UnsafeRawPointer, stride: Int, _ plane: PlaneGeometry, isTarget: Bool) -> Int? {
        let start = Int(bitPattern: base) - Int(bitPattern: buffer.memory.baseAddress)
        let end = start + (plane.rows - 1) * stride + plane.rowBytes
        guard start >= 0, end <= buffer.memory.count, start % PlaneGeometry.rowAlignment == 0,
            stride % PlaneGeometry.rowAlignment == 0
        else { return nil }
        // Words are written whole: a row that ends within one would change what lies behind it.
        return isTarget && (plane.rowBytes % 4 != 0 || !isWritable) ? nil : start
    }

    /// The whole units in the pages that hold a range: pages are the mapping's own, even behind the end of its file, but
    /// the rest of a larger unit might be other memory.
    static func wholeUnits(of alignment: Int, in range: Range<Int>, page: Int) -> Range<Int> {
        let start = (range.lowerBound / page * page).roundedUp(to: alignment)
        return start..<max(start, range.upperBound.roundedUp(to: page) / alignment * alignment)
    }

    /// Whether every byte of a range can be read, and written, by what the kernel says.
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
