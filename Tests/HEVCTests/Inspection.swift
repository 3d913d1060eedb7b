// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDHEVC

/// The content of a stream, collected while each NAL unit is rewritten and compared.
struct Inspection {
    var counts: [NALUnitType: Int] = [:]
    var sliceTypes: Set<SliceType> = []
    /// Every syntax element of the parameter sets and slice headers, by NAL unit, with normalized names.
    var traces: [[SyntaxElement]] = []
    var messages: [SEIMessage] = []
    var headers: [SliceSegmentHeader] = []
    var parameterSets = ParameterSets()

    /// Parses and rewrites every NAL unit of the stream; a difference is a test failure.
    init(_ stream: [UInt8]) throws {
        for nal in AnnexB.NALUnits(stream) { try add(nal) }
    }

    private mutating func add(_ nal: ArraySlice<UInt8>) throws {
        var header = try NALUnitHeader(nal: nal)
        counts[header.nalUnitType, default: 0] += 1
        var rewritten = Array(nal)
        switch header.nalUnitType {
        case .vps:
            var (vps, reader) = (VideoParameterSet(), try tracing(nal, .vps, &header))
            try vps.code(&reader)
            record(reader, header)
            rewritten = try VideoParameterSet(nal: nal).nalUnit()
        case .sps:
            var (sps, reader) = (SequenceParameterSet(), try tracing(nal, .sps, &header))
            sps.header = header
            try sps.code(&reader)
            record(reader, header)
            rewritten = try SequenceParameterSet(nal: nal).nalUnit()
        case .pps:
            var (pps, reader) = (PictureParameterSet(), try tracing(nal, .pps, &header))
            try pps.code(&reader)
            record(reader, header)
            rewritten = try PictureParameterSet(nal: nal).nalUnit()
        case .prefixSEI, .suffixSEI:
            let sei = try SEI(nal: nal)
            rewritten = try sei.nalUnit()
            for message in sei.messages { #expect(try SEIMessage(try message.interpreted()) == message) }
            messages += sei.messages
        case let type where type.isSlice:
            var reader = BitReader([])
            reader.trace = []
            let slice = try SliceSegment(nal: nal, parameterSets, limit: nal.count, reader: &reader)
            #expect(try SliceSegment(nal: nal, parameterSets: parameterSets) == slice)
            record(reader, header)
            headers.append(slice.sliceHeader)
            sliceTypes.insert(slice.sliceHeader.sliceType)
            rewritten = try slice.nalUnit(parameterSets: parameterSets)
        default: break
        }
        #expect(rewritten == Array(nal), "a NAL unit of type \(header.nalUnitType) was rewritten differently")
        try parameterSets.add(nal: nal)
    }

    private func tracing(
        _ nal: ArraySlice<UInt8>, _ type: NALUnitType, _ header: inout NALUnitHeader
    ) throws -> BitReader {
        var reader = try BitReader(nal: nal, expecting: type, header: &header)
        reader.trace = []
        return reader
    }

    private mutating func record(_ reader: BitReader, _ header: NALUnitHeader) {
        let elements = (reader.trace ?? []).map { (name: $0.name, value: $0.value) }
        traces.append(Trace.normalized(elements, type: Int(header.nalUnitType.rawValue)))
    }
}

/// The syntax elements that ffmpeg's trace_headers filter reads from a stream, in comparable form.
enum Trace {
    /// The elements of each VPS, SPS, PPS and slice header in the stream.
    static func ffmpeg(_ stream: [UInt8]) throws -> [[SyntaxElement]] {
        let file = Clips.scratch("hevc")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(stream).write(to: file)
        let log = try Clips.run([
            "ffmpeg", "-hide_banner", "-f", "hevc", "-i", file.path, "-c", "copy", "-bsf:v", "trace_headers",
            "-f", "null", "-",
        ]).errors
        var units: [(type: Int, elements: [(name: String, value: Int)])] = []
        var inPackets = false
        for line in log.split(separator: "\n") where line.hasPrefix("[trace_headers") {
            guard let bracket = line.firstIndex(of: "]") else { continue }
            let fields = line[bracket...].dropFirst().split(separator: " ")
            if fields.first == "Packet:" { inPackets = true }
            guard inPackets, fields.count >= 4, Int(fields[0]) != nil, fields[fields.count - 2] == "=",
                let value = Int(fields[fields.count - 1])
            else { continue }
            let name = String(fields[1])
            if name == "forbidden_zero_bit" { units.append((0, [])) }
            guard !units.isEmpty else { continue }
            if name == "nal_unit_type" { units[units.count - 1].type = value }
            units[units.count - 1].elements.append((name, value))
        }
        return units.filter { $0.type <= 21 || (32...34).contains($0.type) }
            .map { normalized($0.elements, type: $0.type) }
    }

    /// Drops subscripts, the prefixes that ffmpeg and this module use differently, and elements outside of the
    /// headers.
    static func normalized(_ elements: [(name: String, value: Int)], type: Int) -> [SyntaxElement] {
        var result = [SyntaxElement(name: "nal_unit_type", value: type)]
        var inConstraints = false
        for (name, value) in elements {
            var name = String(name.prefix { $0 != "[" })
            for prefix in ["general_", "vps_", "sps_", "pps_", "slice_", "vui_", "nuh_", "sub_layer_"]
            where name.hasPrefix(prefix) { name.removeFirst(prefix.count) }
            for list in ["_l0", "_l1"] {
                if let range = name.range(of: list) { name.removeSubrange(range) }
            }
            // ffmpeg 5.1 spells these differently from the standard.
            if name == "chroma_offset" { name = "delta_chroma_offset" }
            if name == "scaling_list_delta_coeff" { name = "scaling_list_delta_coef" }
            let isHeader = ["forbidden_zero_bit", "nal_unit_type", "layer_id", "temporal_id_plus1"].contains(name)
            if isHeader || name.hasPrefix("rbsp_") || name.hasPrefix("alignment_bit") { continue }
            // This module reads the 44 bits whose names depend on the profile as one number.
            if name == "level_idc" { inConstraints = false }
            if !inConstraints { result.append(SyntaxElement(name: name, value: value)) }
            if name == "frame_only_constraint_flag" { inConstraints = true }
        }
        return result
    }
}
