// SPDX-License-Identifier: GPL-2.0-or-later

// A libFuzzer target over every parser of the HEVC module. Build and run:
//
//     swiftc -parse-as-library -sanitize=fuzzer,address Sources/Bitstream/HEVC/*.swift Tests/Fuzz/HEVCFuzz.swift -o hevc-fuzz
//     SWIFT_BACKTRACE=enable=no ./hevc-fuzz -max_total_time=30 CORPUS
//
// Parsers may throw but not trap. Accepted input must be writable, and parse to the same value again.

/// Feeds one input to every parser.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: size))
    if let record = try? DecoderConfigurationRecord(bytes: bytes) {
        check((try? DecoderConfigurationRecord(bytes: record.bytes())) == record)
        _ = try? DecoderConfigurationRecord(nalUnits: record.nalUnits)
    }
    var stream: [UInt8] = []
    for lengthSize in [1, 2, 4] {
        try? AnnexB.append(lengthPrefixed: bytes[...], lengthSize: lengthSize, to: &stream)
    }
    _ = try? AnnexB.lengthPrefixed(bytes[...])
    let rbsp = EmulationPrevention.remove(from: bytes[...])
    if rbsp.last != 0 {
        check(EmulationPrevention.remove(from: EmulationPrevention.insert(into: rbsp)[...]) == rbsp)
    }
    fuzzHDR(bytes)
    var walk = Walk()
    for nal in AnnexB.NALUnits(bytes) { walk.visit(nal) }
    return 0
}

/// Parses the bytes as the payload of each kind of HDR metadata; the RPU gets a CRC that matches.
private func fuzzHDR(_ data: some Sequence<UInt8>) {
    let bytes = Array(data)
    let crc = CRC32.mpeg2(bytes)
    let rbsp = [25] + bytes + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: crc >> $0) } + [0x80]
    if let rpu = try? DolbyVisionRPU(rbsp: rbsp) {
        check((try? rpu.rbsp()) == rbsp)
        let edited = try? rpu.edited(
            [.grade, .pad(RPUActiveArea(left: 8191))], measurement: .init(light: RPULight()))
        if let edited { check((try? DolbyVisionRPU(nal: edited.nalUnit())) == edited) }
    }
    if let configuration = try? DolbyVisionConfiguration(bytes: bytes) {
        check((try? DolbyVisionConfiguration(bytes: configuration.bytes())) == configuration)
    }
    for identifier in [HDR10PlusMetadata.identifier, ClosedCaptions.identifier] {
        let message = SEIMessage(payloadType: 4, payload: identifier + bytes)
        guard let content = try? message.interpreted() else { continue }
        check((try? SEIMessage(content)) == message)
    }
}

/// Parses a stream's NAL units in order.
struct Walk {
    var sets = ParameterSets()
    var detector = AccessUnitDetector()
    var counter = PictureOrderCount()

    mutating func visit(_ nal: ArraySlice<UInt8>) {
        _ = try? detector.startsAccessUnit(nal)
        if let vps = try? VideoParameterSet(nal: nal) {
            check((try? VideoParameterSet(nal: vps.nalUnit())) == vps)
            if let layers = try? vps.multilayerExtension(), layers.relations != nil {
                var copy = vps
                try? copy.setMultilayerExtension(layers)
                check((try? copy.multilayerExtension()) == layers)
            }
            sets.add(vps)
        }
        if let sps = try? SequenceParameterSet(nal: nal) {
            check((try? SequenceParameterSet(nal: sps.nalUnit())) == sps)
            _ = (sps.width, sps.height, sps.picSizeInCtbsY, sps.colourDescription)
            sets.add(sps)
        }
        if let pps = try? PictureParameterSet(nal: nal) {
            check((try? PictureParameterSet(nal: pps.nalUnit())) == pps)
            sets.add(pps)
        }
        if nal.first == 0x7C {
            // A hostile unit need not have its emulation prevention where the standard has it.
            if let rpu = try? DolbyVisionRPU(nal: nal) {
                let again = (try? rpu.nalUnit()).map { EmulationPrevention.remove(from: $0[...]) }
                check(again == EmulationPrevention.remove(from: nal))
            }
            fuzzHDR(EmulationPrevention.remove(from: nal.dropFirst(3)).dropLast(5))
        }
        if let sei = try? SEI(nal: nal) {
            check((try? SEI(nal: sei.nalUnit())) == sei)
            for message in sei.messages {
                guard let payload = try? message.interpreted() else { continue }
                check((try? SEIMessage(payload).interpreted()) == payload)
            }
        }
        if let slice = try? SliceSegment(nal: nal, parameterSets: sets) {
            let again = (try? slice.nalUnit(parameterSets: sets)).flatMap {
                try? SliceSegment(nal: $0, parameterSets: sets)
            }
            check(again?.sliceHeader == slice.sliceHeader && again?.data.elementsEqual(slice.data) == true)
            if let sps = try? sets.active(ppsId: slice.sliceHeader.slicePicParameterSetId).sps {
                _ = counter.next(slice.sliceHeader, sps: sps)
            }
        }
    }
}

/// Ends the process with the line that failed; a precondition prints nothing in an optimized build.
private func check(_ condition: Bool, line: UInt = #line) {
    if !condition { fatalError("line \(line) does not hold") }
}
