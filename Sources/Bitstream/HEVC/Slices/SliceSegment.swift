// SPDX-License-Identifier: MIT

/// A coded slice segment: the parsed header and the unparsed data.
public struct SliceSegment: Hashable, Sendable {
    public var sliceHeader: SliceSegmentHeader
    /// `slice_segment_data()` and what follows it, in NAL unit form (emulation prevention in place).
    ///
    /// It starts at a byte boundary after a non-zero byte (`byte_alignment()` ends the header with a 1 bit). So its
    /// emulation prevention does not depend on the header, and entry points stay valid when the header changes.
    public var data: ArraySlice<UInt8>

    public init(sliceHeader: SliceSegmentHeader, data: ArraySlice<UInt8>) {
        self.sliceHeader = sliceHeader
        self.data = data
    }

    /// Bytes unescaped at first: nearly every header fits, and the data after it need no unescaping.
    private static let firstAttempt = 512

    /// Parses a whole NAL unit with the parameter sets seen before it.
    ///
    /// - Throws: `missingParameterSet`; `unsupported` for screen content and for NAL units that are not slices;
    ///   `truncated`, `malformed` or `outOfRange` for damaged bytes.
    public init(nal: ArraySlice<UInt8>, parameterSets: ParameterSets) throws(BitstreamError) {
        do {
            try self.init(nal: nal, parameterSets, limit: Self.firstAttempt)
        } catch {
            guard error.code == .truncated, nal.count > Self.firstAttempt else { throw error }
            try self.init(nal: nal, parameterSets, limit: nal.count)
        }
    }

    /// Parses a whole NAL unit with the parameter sets seen before it.
    public init(nal: [UInt8], parameterSets: ParameterSets) throws(BitstreamError) {
        try self.init(nal: nal[...], parameterSets: parameterSets)
    }

    private init(nal: ArraySlice<UInt8>, _ sets: ParameterSets, limit: Int) throws(BitstreamError) {
        var reader = BitReader([])
        try self.init(nal: nal, sets, limit: limit, reader: &reader)
    }

    /// As above; a trace in `reader` is continued and returned in it.
    init(
        nal: ArraySlice<UInt8>, _ sets: ParameterSets, limit: Int, reader: inout BitReader
    ) throws(BitstreamError) {
        let header = try NALUnitHeader(nal: nal)
        guard header.nalUnitType.isSlice else {
            throw BitstreamError(.unsupported, "a NAL unit of type \(header.nalUnitType) is not a slice segment")
        }
        let payload = nal.dropFirst(2)
        let (rbsp, removed) = EmulationPrevention.removeRecording(from: payload, limit: limit)
        let trace = reader.trace
        reader = BitReader(rbsp)
        reader.trace = trace
        sliceHeader = SliceSegmentHeader(header)
        try sliceHeader.code(&reader, sets)
        let headerBytes = reader.position / 8
        data = payload.dropFirst(headerBytes + removed.count { $0 < headerBytes })
    }

    /// The whole NAL unit, with the header written for the parameter sets it refers to; throws as parsing does.
    public func nalUnit(parameterSets: ParameterSets) throws(BitstreamError) -> [UInt8] {
        var (copy, writer) = (sliceHeader, BitWriter())
        try copy.code(&writer, parameterSets)
        var nal = try sliceHeader.header.nalUnit(rbsp: writer.bytes)
        nal.append(contentsOf: data)
        return nal
    }
}
