// SPDX-License-Identifier: GPL-2.0-or-later

/// A coded slice segment: its header, interpreted, and its data, carried as they are.
public struct SliceSegment: Hashable, Sendable {
    /// The header.
    public var sliceHeader: SliceSegmentHeader
    /// `slice_segment_data()` and what follows it, in NAL unit form (emulation prevention in place).
    ///
    /// It starts at a byte boundary behind a byte that is not zero (`byte_alignment()` ends the header in a 1
    /// bit), so its emulation prevention does not depend on the header, and entry points hold whatever the
    /// header becomes.
    public var data: ArraySlice<UInt8>

    /// A header and data in NAL unit form.
    public init(sliceHeader: SliceSegmentHeader, data: ArraySlice<UInt8>) {
        self.sliceHeader = sliceHeader
        self.data = data
    }

    /// Header bytes unescaped at first; nearly every header fits, and the data behind need no unescaping.
    private static let firstAttempt = 512

    /// Parses a whole NAL unit with the parameter sets seen before it.
    ///
    /// Throws `missingParameterSet`, `unsupported` (screen content, other types than slices) or what the bytes
    /// deserve.
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

    /// As above; `reader` hands its trace in and out.
    init(
        nal: ArraySlice<UInt8>, _ sets: ParameterSets, limit: Int, reader: inout BitReader
    ) throws(BitstreamError) {
        let header = try NALUnitHeader(nal: nal)
        guard header.nalUnitType.isSlice else {
            throw BitstreamError(.unsupported, "A NAL unit of type \(header.nalUnitType) is not a slice segment.")
        }
        let payload = nal.dropFirst(2)
        let (rbsp, removed) = EmulationPrevention.removeNoting(from: payload, limit: limit)
        let trace = reader.trace
        reader = BitReader(rbsp)
        reader.trace = trace
        sliceHeader = SliceSegmentHeader(header)
        try sliceHeader.code(&reader, sets)
        let headerBytes = reader.position / 8
        data = payload.dropFirst(headerBytes + removed.count { $0 < headerBytes })
    }

    /// The whole NAL unit, its header written with the parameter sets it names; throws as for parsing.
    public func nalUnit(parameterSets: ParameterSets) throws(BitstreamError) -> [UInt8] {
        var (copy, writer) = (sliceHeader, BitWriter())
        try copy.code(&writer, parameterSets)
        var nal = try sliceHeader.header.nalUnit(rbsp: writer.bytes)
        nal.append(contentsOf: data)
        return nal
    }
}
