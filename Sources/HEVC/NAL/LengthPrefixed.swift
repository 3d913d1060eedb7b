// SPDX-License-Identifier: GPL-2.0-or-later

/// The NAL units of a sample in ISO/IEC 14496-15 form, as slices of it: each behind its big-endian length.
public struct LengthPrefixedNALUnits: Sendable {
    private var rest: ArraySlice<UInt8>
    private let lengthSize: Int

    /// The NAL units of `sample`; throws `outOfRange` unless `lengthSize` is 1, 2 or 4.
    public init(_ sample: ArraySlice<UInt8>, lengthSize: Int = 4) throws(BitstreamError) {
        try Self.check(lengthSize)
        rest = sample
        self.lengthSize = lengthSize
    }

    /// The next NAL unit, which may be empty; nil at the end; throws `truncated` when a length leads outside.
    public mutating func next() throws(BitstreamError) -> ArraySlice<UInt8>? {
        if rest.isEmpty { return nil }
        guard rest.count >= lengthSize else {
            throw BitstreamError(.truncated, "The sample ends inside a NAL unit's length.")
        }
        let length = rest.prefix(lengthSize).reduce(0) { $0 << 8 | Int($1) }
        let body = rest.dropFirst(lengthSize)
        guard length <= body.count else {
            throw BitstreamError(
                .truncated, "A NAL unit of \(length) bytes does not fit in the \(body.count) that are left.")
        }
        rest = body.dropFirst(length)
        return body.prefix(length)
    }

    /// Appends one NAL unit behind its length; throws `outOfRange` when `lengthSize` bytes cannot hold it.
    public static func append(
        _ nal: some Collection<UInt8>, lengthSize: Int = 4, to sample: inout [UInt8]
    ) throws(BitstreamError) {
        try check(lengthSize)
        guard nal.count < 1 << (8 * lengthSize) else {
            throw BitstreamError(
                .outOfRange, "A NAL unit of \(nal.count) bytes does not fit a \(lengthSize)-byte length.")
        }
        for byte in (0..<lengthSize).reversed() {
            sample.append(UInt8(truncatingIfNeeded: nal.count >> (8 * byte)))
        }
        sample.append(contentsOf: nal)
    }

    private static func check(_ lengthSize: Int) throws(BitstreamError) {
        guard lengthSize == 1 || lengthSize == 2 || lengthSize == 4 else {
            throw BitstreamError(.outOfRange, "NAL unit lengths have 1, 2 or 4 bytes, not \(lengthSize).")
        }
    }
}
