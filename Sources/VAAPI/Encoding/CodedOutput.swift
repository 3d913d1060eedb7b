// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDModel

/// A coded buffer while it is mapped: the driver's chain of segments, checked.
struct CodedOutput: ~Copyable {
    private let mapped: MappedBuffer
    /// The byte stream, in pieces.
    let pieces: [UnsafeRawBufferPointer]

    /// More segments than a picture has slices, and headers before them, are a chain without an end.
    private static let maxSegments = 2048

    /// - Parameter capacity: bytes the buffer was made for.
    /// - Throws: `VideoEncoderMalfunction` when the picture did not fit, is damaged or is not there.
    init(_ buffer: borrowing Buffer, capacity: Int) throws(SessionError) {
        let mapped: MappedBuffer
        do throws(VAError) {
            mapped = try buffer.map()
        } catch { throw SessionError(error) }
        pieces = try Self.pieces(mapped.base, capacity: capacity)
        self.mapped = mapped
    }

    private static func pieces(
        _ first: UnsafeMutableRawPointer, capacity: Int
    ) throws(SessionError) -> [UnsafeRawBufferPointer] {
        var pieces: [UnsafeRawBufferPointer] = []
        var next: UnsafeMutableRawPointer? = first
        var total = 0
        while let current = next {
            let segment = current.load(as: VACodedBufferSegment.self)
            guard pieces.count < maxSegments else {
                throw SessionError(.videoEncoderMalfunction, "the driver's coded buffer has no end")
            }
            let overflow = UInt32(VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK | VA_CODED_BUF_STATUS_FRAME_SIZE_OVERFLOW)
            guard segment.status & overflow == 0 else {
                throw SessionError(
                    .videoEncoderMalfunction, "the driver says that a picture is too large for its coded buffer")
            }
            guard segment.status & UInt32(VA_CODED_BUF_STATUS_BAD_BITSTREAM) == 0 else {
                throw SessionError(.videoEncoderMalfunction, "the driver says that what it coded is damaged")
            }
            if segment.size > 0 {
                total += Int(segment.size)
                guard let bytes = segment.buf, total <= capacity else {
                    throw SessionError(
                        .videoEncoderMalfunction, "the driver's coded buffer claims \(total) of \(capacity) bytes")
                }
                pieces.append(UnsafeRawBufferPointer(start: bytes, count: Int(segment.size)))
            }
            next = segment.next
        }
        guard total > 0 else {
            throw SessionError(.videoEncoderMalfunction, "the driver coded a picture to 0 bytes")
        }
        return pieces
    }

    /// Ends the mapping here, and no earlier.
    consuming func end() {}
}
