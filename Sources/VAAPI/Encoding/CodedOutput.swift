// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDModel

/// A mapped coded buffer, whose chain of segments was checked.
struct CodedOutput: ~Copyable {
    private let mapped: MappedBuffer
    /// The segments' bytes, which together are a byte stream.
    let pieces: [UnsafeRawBufferPointer]

    /// More segments than any picture has slices and headers: a longer chain is circular.
    private static let maxSegments = 2048

    /// - Parameters:
    ///   - capacity: the buffer's size in bytes.
    ///   - hasStatus: whether the driver sets the segments' status.
    /// - Throws: `VideoEncoderMalfunction` when the picture did not fit, is damaged or is missing.
    init(_ buffer: borrowing Buffer, capacity: Int, hasStatus: Bool) throws(SessionError) {
        let mapped: MappedBuffer
        do throws(VAError) {
            mapped = try buffer.map()
        } catch { throw SessionError(error) }
        pieces = try Self.pieces(mapped.base, capacity: capacity, hasStatus: hasStatus)
        self.mapped = mapped
    }

    private static func pieces(
        _ first: UnsafeMutableRawPointer, capacity: Int, hasStatus: Bool
    ) throws(SessionError) -> [UnsafeRawBufferPointer] {
        var pieces: [UnsafeRawBufferPointer] = []
        var next: UnsafeMutableRawPointer? = first
        var total = 0
        while let current = next {
            let segment = current.load(as: VACodedBufferSegment.self)
            guard pieces.count < maxSegments else {
                throw SessionError(.videoEncoderMalfunction, "the driver's coded buffer has no end")
            }
            if hasStatus { try check(segment.status) }
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

    /// Checks `VA_CODED_BUF_STATUS_…` bits.
    private static func check(_ status: UInt32) throws(SessionError) {
        let overflow = UInt32(VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK | VA_CODED_BUF_STATUS_FRAME_SIZE_OVERFLOW)
        guard status & overflow == 0 else {
            throw SessionError(
                .videoEncoderMalfunction, "the driver reports a picture that is too large for its coded buffer")
        }
        guard status & UInt32(VA_CODED_BUF_STATUS_BAD_BITSTREAM) == 0 else {
            throw SessionError(.videoEncoderMalfunction, "the driver reports a damaged bitstream")
        }
    }

    /// Unmaps the buffer here; a value that is not consumed may be destroyed directly after its last use.
    consuming func end() {}
}
