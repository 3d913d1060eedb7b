// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import Testing

@testable import HWDAlpha
@testable import HWDX265

/// Flat alpha, which is written without an encoder, according to two decoders.
@Suite struct FlatAlphaTests {
    /// The frames of the alpha layer as decoded: 8-bit 4:2:0.
    private func planes(_ stream: AlphaTests.Stream, usesLibde265: Bool = true) throws -> [UInt8] {
        let layer = try stream.layer(1)
        let planes = try StreamDecoders.ffmpeg(layer, pixelFormat: "yuvj420p")
        // libde265 1.0.11 decodes leading pictures of open groups wrongly.
        if usesLibde265, !stream.pictures.contains(where: { $0.0.nalUnitType == 21 }) {
            #expect(try StreamDecoders.libde265(layer) == planes, "libde265 and ffmpeg differ")
        }
        return planes
    }

    /// Whether the slices of a picture's alpha layer were written without an encoder: one merge candidate.
    private func isFlat(_ bytes: [UInt8], _ sets: ParameterSets, limit: Int) throws -> Bool {
        var units = try LengthPrefixedNALUnits(bytes[...])
        var found: [Bool] = []
        while let unit = try units.next() {
            guard try NALUnitHeader(nal: unit).nuhLayerId == 1 else { continue }
            let header = try SliceSegment(nal: unit, parameterSets: sets).sliceHeader
            found.append(header.sliceType == .i ? unit.count < limit : header.fiveMinusMaxNumMergeCand == 4)
        }
        return found == [true]
    }

    /// Encodes a source and checks every frame: flat ones exactly, the mask by its error.
    ///
    /// - Returns: the frames whose alpha was written without an encoder, and the key frames.
    private func check(
        _ source: AlphaTests.Source, _ properties: [String: PropertyValue] = [:], forced: Set<Int> = []
    ) throws -> (flat: Set<Int>, keys: Set<Int>) {
        let stream = try AlphaTests.encode(source, properties, forced: forced)
        try #require(stream.pictures.count == source.frames)
        let sets = try ParameterSets(nalUnits: stream.record.nalUnits.filter { $0[0] >> 1 < 39 })
        let size = (width: (source.width + 1) / 2 * 2, height: (source.height + 1) / 2 * 2)
        let frame = size.width * size.height * 3 / 2
        let planes = try planes(stream)
        try #require(planes.count == frame * source.frames)
        for index in 0..<source.frames {
            let picture = planes[(index * frame)..<((index + 1) * frame)]
            #expect(picture.dropFirst(size.width * size.height).allSatisfy { $0 == 128 }, "chroma of \(index)")
            if let value = source.flat(index) {
                let isExact = picture.prefix(size.width * size.height).allSatisfy { abs(Int($0) - Int(value)) <= 1 }
                #expect(isExact, "frame \(index)")
            } else {
                let alpha = source.alpha(index)
                var error = 0
                for y in 0..<source.height {
                    for x in 0..<source.width {
                        let difference =
                            Int(picture[picture.startIndex + y * size.width + x]) - Int(alpha[y * source.width + x])
                        error += difference * difference
                    }
                }
                #expect(error < 3 * source.width * source.height, "frame \(index)")
            }
        }
        var flat: Set<Int> = []
        for (picture, bytes) in stream.pictures where try isFlat(bytes, sets, limit: 64 + frame / 3000) {
            let index = Int(picture.pts)
            flat.insert(index)
            let value = try #require(source.flat(index))
            let isExact = planes[(index * frame)...].prefix(size.width * size.height).allSatisfy { $0 == value }
            #expect(isExact, "frame \(index) is not exactly \(value)")
        }
        return (flat, Set(stream.pictures.filter(\.0.isSync).map { Int($0.0.pts) }))
    }

    @Test("opaque streams need no encoder of alpha", arguments: sampled(AlphaTests.kinds, oneIn: 4))
    func opaque(name: String, properties: [String: PropertyValue]) throws {
        let source = AlphaTests.Source(width: 96, height: 64, flat: { _ in 255 })
        let result = try check(source, properties, forced: [5, 27])
        #expect(result.flat.count == source.frames)
    }

    @Test(
        "every value is exact",
        arguments: sampled([0, 1, 2, 64, 126, 127, 128, 129, 130, 131, 137, 200, 254, 255], oneIn: 4))
    func values(value: UInt8) throws {
        let result = try check(AlphaTests.Source(width: 72, height: 40, frames: 6, flat: { _ in value }))
        #expect(result.flat.count == 6)
    }

    @Test(
        "sizes that are not whole blocks",
        arguments: sampled(
            pairs(
                [(161, 91), (16, 16), (2, 2), (34, 50), (64, 64), (200, 24), (24, 200), (130, 66)], [1, 0]),
            oneIn: 5))
    func size(size: (Int, Int), wavefronts: Int) throws {
        let source = AlphaTests.Source(width: size.0, height: size.1, frames: 6, flat: { _ in 77 })
        let result = try check(source, ["X265Params": .string("wpp=\(wavefronts)")])
        #expect(result.flat.count == 6)
    }

    @Test("large pictures have entry points", arguments: [true, false])
    func large(wavefronts: Bool) throws {
        let source = AlphaTests.Source(width: 1300, height: 420, frames: 3, flat: { _ in 255 })
        let result = try check(source, ["X265Params": .string("wpp=\(wavefronts ? 1 : 0)")])
        #expect(result.flat.count == 3)
    }

    static let changes: [(String, [String: PropertyValue])] =
        AlphaTests.kinds + [
            ("four levels", ["BaseLayerFrameRate": .int(30), "ExpectedFrameRate": .int(240)]),
            (
                "four levels, keys",
                [
                    "BaseLayerFrameRate": .int(30), "ExpectedFrameRate": .int(240), "MaxKeyFrameInterval": .int(17),
                ]
            ),
            (
                "two levels, closed",
                [
                    "BaseLayerFrameRate": .int(30), "ExpectedFrameRate": .int(60), "AllowOpenGOP": .bool(false),
                ]
            ),
        ]

    @Test("alpha begins, ends and changes, with forced key frames", arguments: sampled(changes, oneIn: 3))
    func change(name: String, properties: [String: PropertyValue]) throws {
        // The first change is further from both key frames before it than any encoder here looks ahead.
        // Less than 100 frames: libde265 reports the 100th.
        let source = AlphaTests.Source(frames: 98) { index in index < 70 ? 255 : index < 74 ? nil : 40 }
        let result = try check(source, properties, forced: [10, 88])
        #expect(result.flat.isSuperset(of: 0..<70))
        #expect(result.flat.isSuperset(of: 88..<98))
        #expect(result.flat.isDisjoint(with: 70..<74))
        #expect(result.keys.isSuperset(of: [0, 10, 70, 88]))
    }

    @Test("a plan: flat until it changes, encoded until an established key frame")
    func plan() {
        var plan = FlatAlphaPlan()
        func frame(_ value: UInt8?, key: Bool = false, idr: Bool = false) -> (Bool, FlatAlphaPlan.Coding) {
            (plan.add(value: value, forceKeyFrame: key), plan.next(isIDR: idr))
        }
        #expect(frame(255, idr: true) == (false, .flat(255)))
        #expect(frame(255, idr: true) == (false, .flat(255)))
        #expect(frame(254) == (true, .encoded))
        // A fade: each frame is flat, and no further key frame is forced.
        for value in 100..<120 { #expect(frame(UInt8(value)) == (false, .encoded)) }
        #expect(frame(50, idr: true) == (false, .encoded))
        for _ in 0..<7 { #expect(frame(50) == (false, .encoded)) }
        #expect(frame(50, idr: true) == (false, .flat(50)))
        #expect(frame(nil) == (true, .encoded))
    }

    @Test("a plan that looks ahead encodes short sequences")
    func planAhead() {
        var plan = FlatAlphaPlan()
        for index in 0..<6 { #expect(plan.add(value: index < 3 ? 255 : nil, forceKeyFrame: false) == false) }
        for index in 0..<6 { #expect(plan.next(isIDR: index == 0) == .encoded) }
    }
}
