// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDHEVC
import HWDModel
import Testing

/// The HDR metadata in the packets of a file.
struct CodedMetadata {
    /// A NAL unit that contains metadata, without its header.
    typealias Contents = [UInt8]

    /// Dolby Vision's RPUs by presentation time in seconds.
    private(set) var rpus: [Double: Contents] = [:]
    /// The same in the order of the packets, also of a stream without times.
    private(set) var all: [Contents] = []
    /// HDR10+ payloads by presentation time in seconds.
    private(set) var hdr10Plus: [Double: Contents] = [:]
    /// TemporalIds of RPUs that differ from their picture's, and RPUs that are not the last NAL unit.
    private(set) var misplaced = 0
    /// Packets in the file.
    private(set) var packets = 0

    init(_ path: String) throws {
        let stream = try CodedStream(path)
        for unit in stream.units {
            let time = Double(unit.pts ?? 0) * stream.timeBase.value
            packets += 1
            var (level, last) = (-1, UInt8(0))
            for nal in try Self.units(unit.bytes, stream.description.first == 1) {
                let header = try NALUnitHeader(nal: nal)
                last = header.nalUnitType.rawValue
                if header.nalUnitType.isSlice, header.nuhLayerId == 0 { level = header.temporalID }
                if header.nalUnitType == .unspec62 {
                    #expect(rpus[time] == nil || unit.pts == nil, "two RPUs at \(time) s")
                    all.append(Array(nal.dropFirst(2)))
                    rpus[time] = Array(nal.dropFirst(2))
                    if header.temporalID != level { misplaced += 1 }
                }
                guard header.nalUnitType == .prefixSEI else { continue }
                for message in try SEI(nal: nal).messages where message.payloadType == 4 {
                    #expect(level == -1, "HDR10+ behind a slice at \(time) s")
                    hdr10Plus[time] = message.payload
                }
            }
            if rpus[time] != nil, last != 62 { misplaced += 1 }
        }
    }

    private static func units(_ bytes: [UInt8], _ isFramed: Bool) throws -> [[UInt8]] {
        guard isFramed else { return AnnexB.NALUnits(bytes).map { Array($0) } }
        var units = try LengthPrefixedNALUnits(bytes[...])
        var result: [[UInt8]] = []
        while let unit = try units.next() { result.append(Array(unit)) }
        return result
    }
}

/// A box of a file's first HEVC sample entry.
struct SampleEntryBoxes {
    private let file: [UInt8]
    /// The types of the entry's boxes, in order.
    private(set) var types: [String] = []
    /// Their bodies.
    private(set) var bodies: [String: [UInt8]] = [:]
    /// Compatible brands of `ftyp`.
    private(set) var brands: [String] = []

    init(_ path: String) throws {
        file = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        func size(_ place: Int) -> Int { file[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
        func name(_ place: Int) -> String { String(decoding: file[place + 4..<place + 8], as: UTF8.self) }
        brands = stride(from: 16, to: size(0), by: 4).map { String(decoding: file[$0..<$0 + 4], as: UTF8.self) }
        let needle = Array("hvc1".utf8)
        let all = file.indices.dropLast(100).filter { Array(file[$0..<$0 + 4]) == needle && size($0 - 4) < 1 << 16 }
        let start = try #require(all.first { size($0 + 82) > 8 && name($0 + 82) == "hvcC" }) - 4
        var place = start + 86
        while place + 8 <= start + size(start) {
            types.append(name(place))
            bodies[name(place)] = Array(file[place + 8..<place + size(place)])
            place += size(place)
        }
    }
}
