// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDHEVC
internal import HWDModel

/// Converts a driver's byte stream (H.265 annex B) to length-prefixed NAL units without parameter sets.
///
/// Its buffers are reused from picture to picture.
struct AccessUnitReader {
    /// Length-prefixed NAL units of the last access unit: no parameter sets, delimiters or filler data.
    private(set) var sample: [UInt8] = []
    /// Its parameter sets, in their order.
    private(set) var parameterSets: [[UInt8]] = []
    /// The header of its first slice.
    private(set) var slice: NALUnitHeader?
    private var joined: [UInt8] = []

    /// Reads an access unit.
    ///
    /// - Throws: `VideoEncoderMalfunction` when it has no slice or is not a byte stream.
    mutating func read(_ output: borrowing CodedOutput) throws(SessionError) {
        sample.removeAll(keepingCapacity: true)
        parameterSets.removeAll(keepingCapacity: true)
        slice = nil
        if output.pieces.count == 1 {
            try split(output.pieces[0])
        } else {
            // A NAL unit may extend across pieces.
            joined.removeAll(keepingCapacity: true)
            for piece in output.pieces { joined.append(contentsOf: piece) }
            let bytes = joined
            try bytes.span.withUnsafeBytes { (all) throws(SessionError) in try split(all) }
        }
        guard slice != nil else {
            throw SessionError(.videoEncoderMalfunction, "the driver coded a picture without a slice")
        }
    }

    private mutating func split(_ stream: UnsafeRawBufferPointer) throws(SessionError) {
        guard let bytes = stream.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        var start = hwd_start_code(bytes, 0, stream.count)
        while start < stream.count {
            let begin = start + 3
            start = hwd_start_code(bytes, begin, stream.count)
            var end = start
            // trailing_zero_8bits, and the zero_byte of a start code of four.
            while end > begin, stream[end - 1] == 0 { end -= 1 }
            if end > begin { try take(UnsafeRawBufferPointer(rebasing: stream[begin..<end])) }
        }
    }

    private mutating func take(_ unit: UnsafeRawBufferPointer) throws(SessionError) {
        let header: NALUnitHeader
        do throws(BitstreamError) {
            header = try NALUnitHeader(nal: Array(unit.prefix(2)))
        } catch {
            throw SessionError(.videoEncoderMalfunction, "the driver's output cannot be read: \(error.reason)")
        }
        switch header.nalUnitType {
        case .vps, .sps, .pps: parameterSets.append(Array(unit))
        // ISO/IEC 14496-15, 8.2.2: samples carry neither delimiters nor filler data.
        case .aud, .fd, .eos, .eob: break
        default:
            if header.nalUnitType.isSlice, slice == nil { slice = header }
            let count = UInt32(unit.count)
            for shift in [24, 16, 8, 0] as [UInt32] { sample.append(UInt8(truncatingIfNeeded: count >> shift)) }
            sample.append(contentsOf: unit)
        }
    }
}
