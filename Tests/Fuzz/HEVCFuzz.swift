// SPDX-License-Identifier: GPL-2.0-or-later

// A libFuzzer target over every parser of the HEVC module. Build and run:
//
//     swiftc -parse-as-library -sanitize=fuzzer,address Sources/HEVC/*.swift Tests/Fuzz/HEVCFuzz.swift -o hevc-fuzz
//     SWIFT_BACKTRACE=enable=no ./hevc-fuzz -max_total_time=30 CORPUS
//
// Parsers may throw but not trap. Accepted input must be writable, and parse to the same value again.

/// Feeds one input to every parser.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: size))
    if let record = try? DecoderConfigurationRecord(bytes: bytes) {
        precondition((try? DecoderConfigurationRecord(bytes: record.bytes())) == record)
        _ = try? DecoderConfigurationRecord(nalUnits: record.nalUnits)
    }
    var stream: [UInt8] = []
    for lengthSize in [1, 2, 4] {
        try? AnnexB.append(lengthPrefixed: bytes[...], lengthSize: lengthSize, to: &stream)
    }
    _ = try? AnnexB.lengthPrefixed(bytes[...])
    let rbsp = EmulationPrevention.remove(from: bytes[...])
    if rbsp.last != 0 {
        precondition(EmulationPrevention.remove(from: EmulationPrevention.insert(into: rbsp)[...]) == rbsp)
    }
    var walk = Walk()
    for nal in AnnexB.NALUnits(bytes) { walk.visit(nal) }
    return 0
}

/// Parses a stream's NAL units in order.
struct Walk {
    var sets = ParameterSets()
    var detector = AccessUnitDetector()
    var counter = PictureOrderCount()

    mutating func visit(_ nal: ArraySlice<UInt8>) {
        _ = try? detector.startsAccessUnit(nal)
        if let vps = try? VideoParameterSet(nal: nal) {
            precondition((try? VideoParameterSet(nal: vps.nalUnit())) == vps)
            if let layers = try? vps.multilayerExtension(), layers.relations != nil {
                var copy = vps
                try? copy.setMultilayerExtension(layers)
                precondition((try? copy.multilayerExtension()) == layers)
            }
            sets.add(vps)
        }
        if let sps = try? SequenceParameterSet(nal: nal) {
            precondition((try? SequenceParameterSet(nal: sps.nalUnit())) == sps)
            _ = (sps.width, sps.height, sps.picSizeInCtbsY, sps.colourDescription)
            sets.add(sps)
        }
        if let pps = try? PictureParameterSet(nal: nal) {
            precondition((try? PictureParameterSet(nal: pps.nalUnit())) == pps)
            sets.add(pps)
        }
        if let sei = try? SEI(nal: nal) {
            precondition((try? SEI(nal: sei.nalUnit())) == sei)
            for message in sei.messages {
                guard let payload = try? message.interpreted() else { continue }
                precondition((try? SEIMessage(payload).interpreted()) == payload)
            }
        }
        if let slice = try? SliceSegment(nal: nal, parameterSets: sets) {
            let again = (try? slice.nalUnit(parameterSets: sets)).flatMap {
                try? SliceSegment(nal: $0, parameterSets: sets)
            }
            precondition(again?.sliceHeader == slice.sliceHeader && again?.data.elementsEqual(slice.data) == true)
            if let sps = try? sets.active(ppsId: slice.sliceHeader.slicePicParameterSetId).sps {
                _ = counter.next(slice.sliceHeader, sps: sps)
            }
        }
    }
}
