// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDAlpha
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

@testable import HWDX265

/// Streams with an alpha layer, verified layer by layer with decoders of one layer.
@Suite struct AlphaTests {
    /// Moving color with a cut in the middle, and a mask with a soft edge that moves across it.
    struct Source {
        var width = 192
        var height = 128
        var frames = 40
        /// The alpha of all samples of a frame; nil for the mask.
        var flat: @Sendable (Int) -> UInt8? = { _ in nil }

        func luma(_ index: Int) -> [UInt8] {
            let scene = index < frames / 2 ? 0 : 90
            return plane(width, height) { x, y in 16 + (x * 3 + y * 2 + index * 5 + scene + (x * y) / 32) % 220 }
        }

        func chroma(_ index: Int, _ component: Int) -> [UInt8] {
            plane((width + 1) / 2, (height + 1) / 2) { x, y in 64 + (x + y * 2 + index + component * 50) % 128 }
        }

        func alpha(_ index: Int) -> [UInt8] {
            if let value = flat(index) { return Array(repeating: value, count: width * height) }
            let (cx, cy) = (width / 4 + index * 2, height / 2)
            return plane(width, height) { x, y in
                let distance = (Double((x - cx) * (x - cx) + (y - cy) * (y - cy))).squareRoot()
                return min(max(Int(255 - (distance - 24) * 8), 0), 255)
            }
        }

        private func plane(_ width: Int, _ height: Int, _ value: (Int, Int) -> Int) -> [UInt8] {
            var samples: [UInt8] = []
            for y in 0..<height { for x in 0..<width { samples.append(UInt8(value(x, y))) } }
            return samples
        }
    }

    struct Stream {
        var record: DecoderConfigurationRecord
        var pictures: [(EncodedPicture, [UInt8])] = []
        var maxHeld = 0

        /// One layer as a separate stream, with only `nuh_layer_id` changed in layer 1.
        func layer(_ id: Int) throws -> [UInt8] {
            var stream: [UInt8] = []
            func put(_ unit: ArraySlice<UInt8>) throws {
                let header = try NALUnitHeader(nal: unit)
                var unit = Array(unit)
                if header.nalUnitType == .vps {
                    var vps = try VideoParameterSet(nal: unit)
                    (vps.vpsMaxLayersMinus1, vps.vpsMaxLayerId, vps.layerIdIncludedFlag) = (0, 0, [])
                    vps.vpsExtension = nil
                    unit = try vps.nalUnit()
                }
                unit[1] &= 7
                if header.nuhLayerId == id || header.nalUnitType == .vps { AnnexB.append(unit, to: &stream) }
            }
            for unit in record.nalUnits { try put(unit[...]) }
            for (_, bytes) in pictures {
                var units = try LengthPrefixedNALUnits(bytes[...])
                while let unit = try units.next() { try put(unit) }
            }
            return stream
        }
    }

    static func encode(
        _ source: Source, _ properties: [String: PropertyValue] = [:], forced: Set<Int> = []
    ) throws -> Stream {
        let request = try CompressionRequest(
            codec: CompressionRequest.alphaCodec, width: source.width, height: source.height,
            pixelFormat: PixelFormat.yuva.rawValue, timeBase: try #require(Rational(1, 25)))
        var store = PropertyStore(backend: .x265, hasAlpha: true)
        try store.set(
            ["ExpectedFrameRate": .int(25), "X265Preset": .string("superfast")].merging(properties) { $1 },
            isOpen: false)
        let configuration = try EncoderConfiguration(request: request, properties: store)
        let settings = try #require(configuration.alpha)
        let base = try X265Encoder(leadingAlpha: configuration.baseLayer(.yu12))
        let encoder = try AlphaEncoder(
            base: base, alpha: try X265Encoder(alpha: configuration.alphaLayer(.yu12), following: base),
            splitter: PlanarSplitter(
                width: source.width, height: source.height, source: settings.sourceMode, target: settings.mode),
            mode: settings.mode, size: (source.width, source.height), followsBase: true,
            writesFlatAlpha: try base.startsSequencesOnRequest())
        var stream = Stream(record: try DecoderConfigurationRecord(bytes: encoder.formatDescription))
        var held = 0
        func take(_ picture: EncodedPicture, _ span: RawSpan) throws(SessionError) {
            stream.pictures.append((picture, span.withUnsafeBytes { Array($0) }))
            held -= 1
        }
        let (width, half) = (source.width, (source.width + 1) / 2)
        for index in 0..<source.frames {
            held += 1
            let planes = [
                source.luma(index), source.chroma(index, 0), source.chroma(index, 1), source.alpha(index),
            ]
            let joined = planes.flatMap { $0 }
            try joined.withUnsafeBytes { bytes in
                var start = try #require(bytes.baseAddress)
                var places: [PlaneView] = []
                for (plane, stride) in zip(planes, [width, half, half, width]) {
                    places.append(PlaneView(base: start, stride: stride))
                    start += plane.count
                }
                try encoder.encode(
                    InputPicture(
                        planes: places, frameID: UInt64(index), pts: Int64(index),
                        forceKeyFrame: forced.contains(index), baseFrameQP: nil), take)
            }
            stream.maxHeld = max(stream.maxHeld, held)
        }
        try encoder.finish(take)
        return stream
    }

    static let kinds: [(String, [String: PropertyValue])] = [
        ("defaults: open groups, a pyramid", ["MaxKeyFrameInterval": .int(14)]),
        ("closed groups", ["AllowOpenGOP": .bool(false), "MaxKeyFrameInterval": .int(9)]),
        ("no reordering", ["AllowFrameReordering": .bool(false)]),
        ("key frames alone", ["AllowTemporalCompression": .bool(false)]),
        ("live", ["RealTime": .bool(true)]),
        ("bit rate of the base", ["AverageBitRate": .int(200_000), "X265Params": .string("b-adapt=2:bframes=8")]),
        ("wavefronts", ["X265Params": .string("wpp=1:ctu=32:frame-threads=2")]),
        ("slices, more references", ["X265Params": .string("slices=3:ref=5:bframes=6:weightb=1")]),
        ("the alpha layer's own quality", ["TargetQualityForAlpha": .double(0.1), "QP": .int(35)]),
    ]

    @Test("both layers have the same structure and decode alone", arguments: sampled(kinds))
    func structure(name: String, properties: [String: PropertyValue]) throws {
        let source = Source()
        let stream = try Self.encode(source, properties, forced: [5, 27])
        #expect(stream.pictures.count == source.frames)
        #expect(Set(stream.pictures.map(\.0.pts)).count == source.frames)
        // The muxer compares the pictures; this checks that samples contain no other NAL units.
        for (_, bytes) in stream.pictures {
            var units = try LengthPrefixedNALUnits(bytes[...])
            var layers: [Int] = []
            while let unit = try units.next() {
                let header = try NALUnitHeader(nal: unit)
                #expect(header.nalUnitType.isVCL)
                layers.append(header.nuhLayerId)
            }
            #expect(layers == layers.sorted() && Set(layers) == [0, 1])
        }
        // yuvj420p is full range, so ffmpeg converts nothing.
        let alpha = try StreamDecoders.ffmpeg(try stream.layer(1), pixelFormat: "yuvj420p")
        let base = try StreamDecoders.ffmpeg(try stream.layer(0), pixelFormat: "yuv420p")
        let (luma, frame) = (source.width * source.height, source.width * source.height * 3 / 2)
        #expect(alpha.count == frame * source.frames && base.count == alpha.count)
        var worst = Double.infinity
        for index in 0..<source.frames {
            let decoded = alpha[(index * frame)..<((index + 1) * frame)]
            #expect(decoded.dropFirst(luma).allSatisfy { $0 == 128 }, "chroma is not neutral in picture \(index)")
            let error = zip(decoded, source.alpha(index)).reduce(0.0) { sum, pair in
                sum + Double((Int(pair.0) - Int(pair.1)) * (Int(pair.0) - Int(pair.1)))
            }
            worst = min(worst, 10 * log10(255 * 255 * Double(luma) / max(error, 1)))
        }
        print("\(name): alpha \(worst) dB at worst, held \(stream.maxHeld)")
        #expect(worst > (properties["TargetQualityForAlpha"] == nil ? 50 : 40))
        let types = stream.pictures.map(\.0.nalUnitType)
        if name == "closed groups" { #expect(!types.contains(21)) }
        if name.hasPrefix("defaults") { #expect(types.contains(21) && types.contains { (8...9).contains($0) }) }
    }

    @Test func alphaQualityDoesNotChangeTheBaseLayer() throws {
        let source = Source(frames: 20)
        let stream = try Self.encode(source, ["Quality": .double(0.4)])
        let better = try Self.encode(source, ["Quality": .double(0.4), "TargetQualityForAlpha": .double(1)])
        #expect(try stream.layer(0) == better.layer(0))
        #expect(try stream.layer(1).count < better.layer(1).count)
    }

    @Test("the record has the published form", arguments: sampled([("premultiplied", 1), ("straight", 0)]))
    func record(mode: String, useIdc: Int) throws {
        let stream = try Self.encode(
            Source(frames: 2), ["AlphaChannelMode": .string(mode), "SourceAlphaMode": .string("straight")])
        let record = stream.record
        #expect(record.arrays.map(\.nalUnitType) == [.vps, .sps, .pps, .prefixSEI])
        #expect(record.arrays.map(\.arrayCompleteness) == [true, true, true, false])
        #expect(record.arrays.map(\.nalUnits.count)[..<3] == [1, 2, 2])
        let sets = try ParameterSets(nalUnits: record.arrays[..<3].flatMap(\.nalUnits))
        #expect(sets.videoParameterSets[0]?.alphaLayerId == 1)
        #expect(
            sets.sequenceParameterSets[1]?.isFullRange == true
                && sets.sequenceParameterSets[0]?.isFullRange == false)
        #expect(sets.pictureParameterSets[1]?.ppsSeqParameterSetId == 1)
        let messages = try record.arrays[3].nalUnits.flatMap { try SEI(nal: $0).messages }
        let info = AlphaChannelInfo(alphaChannelUseIdc: useIdc)
        #expect(try messages.first?.interpreted() == .alphaChannelInfo(info))
    }

    @Test("sizes that are not whole blocks", arguments: sampled([(161, 91), (16, 16), (2, 2), (34, 50)]))
    func size(width: Int, height: Int) throws {
        let source = Source(width: width, height: height, frames: 6)
        let stream = try Self.encode(source)
        let sets = try ParameterSets(nalUnits: stream.record.nalUnits.filter { $0[0] >> 1 < 39 })
        let (base, alpha) = (
            try #require(sets.sequenceParameterSets[0]), try #require(sets.sequenceParameterSets[1])
        )
        #expect(RepFormat(base) == RepFormat(alpha))
        #expect(base.width == (width + 1) / 2 * 2 && base.height == (height + 1) / 2 * 2)
        let layers = try #require(try sets.videoParameterSets[0]?.multilayerExtension())
        #expect(layers.relations?.repFormats == [RepFormat(base)])
        #expect(
            try StreamDecoders.ffmpeg(try stream.layer(1), pixelFormat: "gray").count == base.width * base.height
                * 6)
    }

    @Test("frames are not held longer than allowed", arguments: sampled([0, 4, 12]))
    func delay(most: Int) throws {
        let stream = try Self.encode(Source(width: 64, height: 64), ["MaxFrameDelayCount": .int(Int64(most))])
        #expect(stream.pictures.count == 40)
        #expect(stream.maxHeld - 1 <= most, "\(stream.maxHeld - 1) frames were held")
    }

    @Test(
        "the error names the property that streams with alpha exclude",
        arguments: sampled([
            ("ProfileLevel", PropertyValue.string("HEVC_Main10_AutoLevel")), ("FullRangeVideo", .bool(true)),
        ]))
    func refusals(name: String, value: PropertyValue) {
        let error = #expect(throws: SessionError.self) { try Self.encode(Source(frames: 0), [name: value]) }
        #expect(error?.status == .parameter && error?.reason.contains(name) == true)
    }

    @Test func premultipliesAndDividesToTheNearestValue() throws {
        // A straight gray of 180 at every alpha: 16 + 164 * alpha / 255, and back where rounding allows.
        let source = Source(width: 16, height: 16, frames: 1)
        let alpha = SamplePlane(width: 16, height: 16)
        let ramp = (0..<256).map { UInt8($0) }
        let planes = [
            [UInt8](repeating: 180, count: 256), [UInt8](repeating: 228, count: 64),
            [UInt8](repeating: 28, count: 64), ramp,
        ]
        func split(
            _ planes: [[UInt8]], _ from: AlphaChannelMode, _ to: AlphaChannelMode, frame: AlphaChannelMode? = nil
        ) throws -> [[UInt8]] {
            let splitter = PlanarSplitter(width: source.width, height: source.height, source: from, target: to)
            let joined = planes.flatMap { $0 }
            return try joined.withUnsafeBytes { bytes in
                let base = try #require(bytes.baseAddress)
                let places = zip([0, 256, 320, 384], [16, 8, 8, 16]).map {
                    PlaneView(base: base + $0, stride: $1)
                }
                let picture = InputPicture(
                    planes: places, frameID: 0, pts: 0, forceKeyFrame: false, baseFrameQP: nil, alphaMode: frame)
                return try splitter.split(picture, alpha: alpha).enumerated().map { index, plane in
                    let side = index == 0 ? 16 : 8
                    return (0..<side).flatMap { row in
                        (0..<side).map { plane.base.load(fromByteOffset: row * plane.stride + $0, as: UInt8.self) }
                    }
                }
            }
        }
        let premultiplied = try split(planes, .straight, .premultiplied)
        for index in 0..<256 {
            #expect(Double(premultiplied[0][index]) == (16 + 164 * Double(index) / 255).rounded())
        }
        // The mean of 2x2 alphas, by row pairs: (32r + 2c) + 8.5, rounded up.
        let mean = 32 * 3 + 2 * 2 + 9
        #expect(Double(premultiplied[1][3 * 8 + 2]) == (128 + 100 * Double(mean) / 255).rounded())
        #expect(Double(premultiplied[2][3 * 8 + 2]) == (128 - 100 * Double(mean) / 255).rounded())
        let straight = try split(premultiplied + [ramp], .premultiplied, .straight)
        #expect(straight[0][0] == 16 && straight[0][255] == 180)
        for index in 128..<256 { #expect(abs(Int(straight[0][index]) - 180) <= 1) }
        #expect(try split(planes, .straight, .straight)[0] == planes[0])
        // A frame's own mode takes precedence.
        #expect(try split(planes, .premultiplied, .premultiplied, frame: .straight) == premultiplied)
        #expect(try split(planes, .straight, .premultiplied, frame: .premultiplied) == Array(planes[..<3]))
        #expect(try split(premultiplied + [ramp], .straight, .straight, frame: .premultiplied) == straight)
    }
}
