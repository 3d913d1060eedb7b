// SPDX-License-Identifier: MIT

/// The byte stream format of H.265 Annex B: NAL units with start codes.
public enum AnnexB {
    /// The NAL units of a byte stream, as slices of it, without start codes and trailing zeros.
    public struct NALUnits: Sequence, IteratorProtocol, Sendable {
        private let stream: ArraySlice<UInt8>
        /// Where the next NAL unit starts; nil at the end.
        private var start: Int?

        /// The NAL units of `stream`; bytes before the first start code are skipped.
        public init(_ stream: ArraySlice<UInt8>) {
            self.stream = stream
            start = AnnexB.startCode(in: stream, from: stream.startIndex).map { $0 + 3 }
        }

        /// The NAL units of `stream`; bytes before the first start code are skipped.
        public init(_ stream: [UInt8]) {
            self.init(stream[...])
        }

        /// The next non-empty NAL unit.
        public mutating func next() -> ArraySlice<UInt8>? {
            while let begin = start {
                let code = AnnexB.startCode(in: stream, from: begin)
                start = code.map { $0 + 3 }
                var end = code ?? stream.endIndex
                // trailing_zero_8bits and the zero_byte of a following four-byte start code.
                while end > begin, stream[end - 1] == 0 { end -= 1 }
                if end > begin { return stream[begin..<end] }
            }
            return nil
        }
    }

    /// The index of the next `00 00 01` at or after `from`.
    static func startCode(in stream: ArraySlice<UInt8>, from: Int) -> Int? {
        var index = from
        while index + 2 < stream.endIndex {
            let third = stream[index + 2]
            if third > 1 {
                index += 3
            } else if third == 1, stream[index] == 0, stream[index + 1] == 0 {
                return index
            } else {
                index += 1
            }
        }
        return nil
    }

    /// Appends a four-byte start code and a NAL unit.
    public static func append(_ nal: some Collection<UInt8>, to stream: inout [UInt8]) {
        stream.append(contentsOf: [0, 0, 0, 1])
        stream.append(contentsOf: nal)
    }

    /// Appends the NAL units of a length-prefixed sample to `stream`, each after a four-byte start code.
    ///
    /// `lengthSize` is the number of length bytes, 1, 2 or 4 (ISO/IEC 14496-15 8.3.3.1). When it throws, `stream`
    /// keeps the NAL units before the error.
    public static func append(
        lengthPrefixed sample: ArraySlice<UInt8>, lengthSize: Int = 4, to stream: inout [UInt8]
    ) throws(BitstreamError) {
        stream.reserveCapacity(stream.count + sample.count + 16)
        var reader = try LengthPrefixedNALUnits(sample, lengthSize: lengthSize)
        while let nal = try reader.next() { append(nal, to: &stream) }
    }

    /// The NAL units of `stream` as a sample, each after its length in `lengthSize` (1, 2 or 4) bytes.
    public static func lengthPrefixed(
        _ stream: ArraySlice<UInt8>, lengthSize: Int = 4
    ) throws(BitstreamError) -> [UInt8] {
        var sample: [UInt8] = []
        sample.reserveCapacity(stream.count + 16)
        for nal in NALUnits(stream) {
            try LengthPrefixedNALUnits.append(nal, lengthSize: lengthSize, to: &sample)
        }
        return sample
    }
}
