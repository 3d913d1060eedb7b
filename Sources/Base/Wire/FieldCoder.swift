// SPDX-License-Identifier: MIT
internal import HWDModel

/// A reader or a writer of a message's fields, so that one list of fields serves both.
///
/// A reader stores into the values, a writer appends them. Fields are little-endian, one after the other.
public protocol FieldCoder {
    /// The error for a payload that is refused; `Never` for a writer.
    associatedtype Failure: Error
    var isReading: Bool { get }
    /// Bytes of the payload so far.
    var position: Int { get }
    mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ value: inout T) throws(Failure)
    /// The next `count` bytes; nil for all up to the end.
    mutating func bytes(_ value: inout [UInt8], count: Int?) throws(Failure)
    /// UTF-8 up to the payload's end, at most `maxBytes` of it; U+FFFD stands for what is not UTF-8.
    mutating func text(_ value: inout String, maxBytes: Int)
    /// Refuses what was read if a condition is false; a writer sends any value.
    func check(_ isValid: @autoclosure () -> Bool, _ reason: @autoclosure () -> String) throws(Failure)
    /// Refuses bytes after the fields.
    func end() throws(Failure)
}

extension FieldCoder {
    /// The raw value of a type that accepts every number, such as an option set.
    mutating func number<T: RawRepresentable>(_ value: inout T) throws(Failure)
    where T.RawValue: FixedWidthInteger & BitwiseCopyable {
        var number = value.rawValue
        try integer(&number)
        value = T(rawValue: number) ?? value
    }

    mutating func double(_ value: inout Double) throws(Failure) {
        var pattern = value.bitPattern
        try integer(&pattern)
        value = Double(bitPattern: pattern)
    }

    /// A field of zeros, which later versions may give a meaning.
    mutating func reserved<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(Failure) {
        let offset = position
        var value: T = 0
        try integer(&value)
        try check(value == 0, "the reserved field at byte \(offset) of a message is not zero")
    }

    /// The planes of a layout, of which the caller has checked `count`, `FrameLayout.maxPlanes` at most.
    mutating func planes(_ layout: inout FrameLayout, count: Int) throws(Failure) {
        var planes: [FrameLayout.Plane] = []
        if isReading { planes.reserveCapacity(count) }
        for index in 0..<min(count, FrameLayout.maxPlanes) {
            var (offset, stride) = isReading ? (0, 0) : (layout.planes[index].offset, layout.planes[index].stride)
            try integer(&offset)
            try integer(&stride)
            try reserved(UInt32.self)
            if isReading { planes.append(FrameLayout.Plane(offset: offset, stride: stride)) }
        }
        if isReading { layout = FrameLayout(planes: planes) }
    }

    /// A color description, 5 bytes; returns the `full_range` byte, of which the caller may check the value.
    @discardableResult
    mutating func color(_ color: inout ColorDescription) throws(Failure) -> UInt8 {
        let noChromaLocation = UInt8.max
        var isFullRange: UInt8 = color.isFullRange ? 1 : 0
        var location = color.chromaLocation ?? noChromaLocation
        try integer(&color.primaries)
        try integer(&color.transfer)
        try integer(&color.matrix)
        try integer(&isFullRange)
        try integer(&location)
        color.isFullRange = isFullRange != 0
        color.chromaLocation = location == noChromaLocation ? nil : location
        return isFullRange
    }

    /// `has_color`, and the color description that follows it, without meaning for nil.
    mutating func color(_ color: inout ColorDescription?) throws(Failure) {
        var hasColor: UInt8 = color == nil ? 0 : 1
        var description = color ?? ColorDescription()
        try integer(&hasColor)
        let isFullRange = try self.color(&description)
        try check(hasColor <= 1 && isFullRange <= 1, "a frame's color has unknown flags")
        color = hasColor == 1 ? description : nil
    }

    /// Entries of side data, of which the caller has checked `count`: kind u32, size u32, bytes each.
    ///
    /// Refuses an unknown kind, a size that the kind does not have, and more than `FrameSideData.maxBytes`.
    mutating func sideData(_ entries: inout [FrameSideData], count: Int) throws(Failure) {
        var (read, total) = ([FrameSideData](), 0)
        for index in 0..<count {
            var (number, bytes) = isReading ? (0, []) : (entries[index].kind.rawValue, entries[index].bytes)
            var size = UInt32(bytes.count)
            try integer(&number)
            try integer(&size)
            let kind = FrameSideData.Kind(rawValue: number)
            try check(kind != nil, "side data are of unknown kind \(number)")
            total += Int(size)
            try check(
                Int(size) == kind?.size ?? Int(size) && total <= FrameSideData.maxBytes,
                "side data of kind \(number) have \(size) bytes")
            try self.bytes(&bytes, count: Int(size))
            if isReading, let kind { read.append(FrameSideData(kind, bytes)) }
        }
        if isReading { entries = read }
    }
}
