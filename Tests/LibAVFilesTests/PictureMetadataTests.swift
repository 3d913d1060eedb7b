// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDHEVC
import HWDModel
import Testing

@testable import HWDLibAVReading
@testable import HWDLibAVWriting
@testable import HWDMetadata

/// Metadata of single pictures as they are read for an encode.
@Suite struct PictureMetadataTests {
    /// A byte stream of a clip with a message before the first slice of each picture.
    private static func stream(_ clip: String, _ messages: [SEIMessage], _ scratch: Scratch) throws -> String {
        let path = scratch.file("in.hevc")
        let bytes = try run(
            "ffmpeg", "-v", "error", "-i", Clips.path(clip), "-map", "0:v:0", "-c", "copy", "-f", "hevc", "-")
        var stream: [UInt8] = []
        for unit in AnnexB.NALUnits([UInt8](bytes)) {
            if unit[unit.startIndex] >> 1 < 32, unit[unit.startIndex + 2] >= 0x80 {
                for message in messages { AnnexB.append(try SEI(messages: [message]).nalUnit(), to: &stream) }
            }
            AnnexB.append(Array(unit), to: &stream)
        }
        try Data(stream).write(to: URL(filePath: path))
        return path
    }

    /// Every part of the syntax, with values that differ.
    private static let everything: HDR10PlusMetadata = {
        var metadata = HDR10PlusMetadata()
        var window = HDR10PlusMetadata.Window()
        (window.corners, window.center, window.axes) = ([1, 2, 300, 400], [150, 200], [10, 20, 15])
        (window.rotationAngle, window.overlapProcessOption) = (45, true)
        metadata.windows = [window]
        metadata.targetMaxLuminance = 400
        metadata.targetPeaks = [[1, 2, 3], [4, 5, 15]]
        metadata.masteringPeaks = [[7, 8], [9, 10], [11, 12]]
        metadata.light = (0..<2).map { number in
            var light = HDR10PlusMetadata.Light()
            light.maxSCL = [100_000 - number, 54_321, 1]
            light.averageMaxRGB = 7777 + number
            light.distribution = [1, 50, 99].map { percentage in
                var point = HDR10PlusMetadata.Percentile()
                (point.percentage, point.value) = (percentage, 1001 * percentage)
                return point
            }
            light.fractionBrightPixels = 999
            return light
        }
        var (curve, tone) = (HDR10PlusMetadata.Curve(), HDR10PlusMetadata.Tone())
        (curve.kneePoint, curve.anchors) = ([4095, 17], [1, 511, 1023])
        (tone.curve, tone.saturationWeight) = (curve, 63)
        metadata.tones = [tone, HDR10PlusMetadata.Tone()]
        return metadata
    }()

    private func entries(_ path: String) throws -> (entries: [[FrameSideData]], report: DecodeReport) {
        let reader = try MediaReader(path: path)
        var entries: [[FrameSideData]] = []
        while let item = try reader.next() {
            if case .frame(let frame) = item { entries.append(frame.sideData) }
        }
        return (entries, reader.report)
    }

    /// libavcodec's parser is independent of the one that made the payload.
    @Test func writesHDR10PlusFromParsedValues() throws {
        let scratch = try Scratch()
        for metadata in [Self.everything, HDR10PlusMetadata()] {
            let payload = try metadata.payload()
            let message = SEIMessage(payloadType: 4, payload: payload)
            let (entries, report) = try entries(try Self.stream("pq.mov", [message], scratch))
            #expect(entries.count > 3 && report.incompleteMetadata == 0)
            #expect(entries.allSatisfy { $0 == [FrameSideData(.hdr10Plus, payload)] }, "\(entries.first ?? [])")
        }
    }

    /// libavcodec 5.1 does not return HDR10+ of these codecs: it comes from metadata OBUs and Matroska's block additions.
    @Test(arguments: ["hdr10plus/av1.ivf", "hdr10plus/vp9.webm"])
    func readsHDR10PlusOfPackets(_ clip: String) throws {
        let (entries, report) = try entries(Clips.path(clip))
        let expected = try (0..<5).map { number in
            var metadata = HDR10PlusMetadata()
            metadata.targetMaxLuminance = 100 + number
            return [FrameSideData(.hdr10Plus, try metadata.payload())]
        }
        #expect(entries == expected && report.incompleteMetadata == 0)
    }

    /// Units of any length and type are read without a trap.
    @Test func readsDamagedAV1() throws {
        let scratch = try Scratch()
        let whole = [UInt8](try Data(contentsOf: URL(filePath: Clips.path("hdr10plus/av1.ivf"))))
        // From the first frame's OBUs on, behind the headers of the file and the frame.
        for place in stride(from: 44, to: 124, by: 2) {
            var damaged = whole
            damaged[place] ^= 0xFF
            try Data(damaged).write(to: URL(filePath: scratch.file("damaged.ivf")))
            let found = (try? entries(scratch.file("damaged.ivf")).entries) ?? []
            #expect(found.count <= 8 && found.joined().allSatisfy { $0.kind == .hdr10Plus })
        }
    }

    @Test func readsCaptionsOfDecodedPictures() throws {
        let scratch = try Scratch()
        let captions = ClosedCaptions(
            constructs: (0..<31).map { .init(type: $0 % 4, bytes: [UInt8($0) | 0x80, 0x41]) })
        let message = try SEIMessage(.closedCaptions(captions))
        let path = try Self.stream("pq.mov", [message], scratch)
        let decoded = try entries(path)
        #expect(decoded.report.incompleteMetadata == 0 && decoded.entries.count > 3)
        for entry in decoded.entries {
            let payload = try #require(entry.first).bytes
            #expect(try entry.count == 1 && ClosedCaptions(payload: payload).constructs == captions.constructs)
        }
    }

    /// The reader of a session's packets, in both framings.
    @Test func readsCaptionsOfPackets() throws {
        let scratch = try Scratch()
        let message = try SEIMessage(.closedCaptions(ClosedCaptions(constructs: [.init(bytes: [0x94, 0x2C])])))
        let other = SEIMessage(payloadType: 4, payload: try HDR10PlusMetadata().payload())
        let raw = try Self.stream("pq.mov", [other, message], scratch)
        try run("ffmpeg", "-v", "error", "-i", raw, "-c", "copy", "-tag:v", "hvc1", scratch.file("a.mov"))
        for path in [raw, scratch.file("a.mov"), try Clips.path("pq.mov")] {
            var options = MediaReader.Options()
            options.decoding = .disabled
            let reader = try MediaReader(path: path, options: options)
            let captions = CaptionReader(reader.video.codecConfiguration)
            var pictures = 0
            while case .packet(let packet)? = try reader.next() {
                pictures += 1
                let expected = path.hasSuffix("pq.mov") ? nil : FrameSideData(.closedCaptions, message.payload)
                #expect(packet.withBytes { captions.captions(in: $0) } == expected, "\(path), packet \(pictures)")
            }
            #expect(pictures > 3)
        }
    }

    /// Any bytes of a packet are read without a trap.
    @Test func readsCaptionsOfDamagedPackets() throws {
        let message = try SEIMessage(.closedCaptions(ClosedCaptions(constructs: [.init()])))
        let unit = try SEI(messages: [message]).nalUnit()
        var framed: [UInt8] = []
        try LengthPrefixedNALUnits.append(unit, to: &framed)
        var found = 0
        for record in [[UInt8](), [1] + [UInt8](repeating: 3, count: 22)] {
            let reader = CaptionReader(record)
            for whole in [framed, [0, 0, 1] + unit] {
                for count in 0...whole.count {
                    for place in 0..<count {
                        var damaged = Array(whole.prefix(count))
                        damaged[place] ^= 0xFF
                        // It must not trap, and gives what is left.
                        if damaged.withUnsafeBytes({ reader.captions(in: $0) }) != nil { found += 1 }
                    }
                }
            }
        }
        #expect(found > 0)
    }

    /// A record of further layers, or a VPS that declares a second view.
    @Test func namesASecondView() throws {
        #expect(OtherLayers.name([], hasLayeredRecord: false) == nil)
        #expect(OtherLayers.name([], hasLayeredRecord: true) == "second view or layer (lhvC)")
        let reader = try MediaReader(path: Clips.path("bbb_alpha.mov"))
        let units = HEVCConfiguration(reader.video.codecConfiguration).nalUnits
        #expect(OtherLayers.name(units, hasLayeredRecord: false) == nil)
        var vps = try #require(units.lazy.compactMap { try? VideoParameterSet(nal: $0) }.first)
        var layers = try #require(try vps.multilayerExtension())
        layers.scalabilityMaskFlag = (0..<16).map { $0 == ScalabilityType.view.rawValue }
        layers.dimensionIdLenMinus1 = [0]
        for index in layers.layers.indices { layers.layers[index].dimensionId = [index] }
        try vps.setMultilayerExtension(layers)
        #expect(OtherLayers.name([try vps.nalUnit()], hasLayeredRecord: true) == "second view (MV-HEVC)")
    }

    @Test func warnsOfASecondViewUnlessItIsCopied() throws {
        let scratch = try Scratch()
        let path = scratch.file("in.mov")
        try FileManager.default.copyItem(atPath: Clips.path("hlg.mov"), toPath: path)
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        try MovieFile.finish(descriptor) { movie throws(BoxError) in
            try movie.edit(["trak", "mdia", "minf", "stbl", "stsd", "hvc1"]) { (entry) throws(BoxError) in
                // A record of one array with an SPS of layer 1, of three bytes.
                let record: [UInt8] = [1, 0xF0, 0, 0xFC, 0xCB, 1, 0xA1, 0, 1, 0, 3, 0x42, 0x09, 0x01]
                entry.children.append(Box("lhvC", record))
            }
        }
        #expect(try MediaReader(path: path).warnings.contains { $0.contains("second view") })
        var options = MediaReader.Options()
        options.decoding = .disabled
        #expect(try !MediaReader(path: path, options: options).warnings.contains { $0.contains("second view") })
        let (_, notes) = try remux(path, to: scratch.file("o.hevc"))
        #expect(notes.contains { $0.contains("lhvC") }, "\(notes)")
        #expect(try remux(path, to: scratch.file("o.mov")) { $0.isCopy = true }.notes == [])
        // Each record is there once, as it was.
        let boxes = { (path: String) in
            try #require(try LevelTests.table(path).first("stsd")?.children.first).children
                .filter { ["hvcC", "lhvC"].contains($0.type) }
        }
        #expect(try boxes(scratch.file("o.mov")).sorted { $0.type.rawValue < $1.type.rawValue } == boxes(path))
    }

    /// A usage box with a flat projection (`rect`), as of a spatial video, is no sphere.
    @Test func aFlatProjectionIsNoSphere() throws {
        let scratch = try Scratch()
        let path = scratch.file("in.mov")
        try FileManager.default.copyItem(atPath: Clips.path("hlg.mov"), toPath: path)
        let usage = Box("vexu", Box("proj", Box("prji", [0, 0, 0, 0] + Array("rect".utf8)).bytes).bytes)
        try MovieFileTests.finish(path) { movie throws(BoxError) in
            try movie.edit(["trak", "mdia", "minf", "stbl", "stsd", "hvc1"]) { (entry) throws(BoxError) in
                entry.children.append(usage)
            }
        }
        let reader = try MediaReader(path: path)
        #expect(reader.video.projection.isEmpty && reader.video.stereoMode == nil)
        try remux(path, to: scratch.file("o.mov")) { $0.isCopy = true }
        let copy = try #require(try LevelTests.table(scratch.file("o.mov")).first("stsd")?.children.first)
        #expect(copy.children.filter { ["vexu", "sv3d", "st3d"].contains($0.type) } == [usage])
    }

    /// Older muxers write profile 8 in `dvcC`.
    @Test func aCopyKeepsOneDolbyVisionBox() throws {
        let scratch = try Scratch()
        let path = scratch.file("in.mov")
        try FileManager.default.copyItem(atPath: Clips.path("dolby_vision_84.mov"), toPath: path)
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        try MovieFile.finish(descriptor) { movie throws(BoxError) in
            try movie.edit(["trak", "mdia", "minf", "stbl", "stsd", "hvc1"]) { (entry) throws(BoxError) in
                for index in entry.children.indices where entry.children[index].type == "dvvC" {
                    entry.children[index].type = "dvcC"
                }
            }
        }
        var options = MediaReader.Options()
        options.decoding = .disabled
        let reader = try MediaReader(path: path, options: options)
        let writer = try MediaWriter(path: scratch.file("o.mov"), source: reader)
        var track = VideoTrack(reader.video, hvcC: reader.video.codecConfiguration)
        track.isCopy = true
        try writer.start(track)
        [0, 0, 0, 3, 0x28, 1, 0x80].withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
            try? writer.write(bytes, pts: 0, dts: 0, duration: 1, isSync: true)
        }
        try writer.finish()
        let walk = try BoxWalk(scratch.file("o.mov"))
        #expect(try walk.entry("dvcC") == BoxWalk(path).entry("dvcC") && walk.entry("dvvC") == nil)
    }
}
