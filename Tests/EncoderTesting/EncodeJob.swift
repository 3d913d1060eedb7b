// SPDX-License-Identifier: GPL-2.0-or-later
public import Foundation
public import HWDCoding
public import HWDHEVC
public import HWDModel
public import HWDPolicy

/// A clip to encode and how to encode it, in this process or in another.
public struct EncodeJob: Codable, Sendable {
    /// The frames.
    public var clip: Clip
    /// The session's properties.
    public var properties: [String: PropertyValue]
    /// Frames to force to be key frames.
    public var forced: Set<Int>
    /// BaseFrameQP of frames.
    public var frameQPs: [Int: Int]
    /// Properties that change before a frame; null resets one.
    public var changes: [Int: [String: PropertyValue]] = [:]
    /// Frames before which the encoder is flushed.
    public var flushes: Set<Int> = []
    /// The number of frames after which the encoder is destroyed; nil finishes it.
    public var abandonAfter: Int?
    /// Whether dma-buf frames that cannot be imported are submitted first; the errors become notes.
    public var offersDMABufs = false
    /// Whether frames are imported as dma-bufs, for which files are used.
    public var importsFrames = false
    /// Whether the clip is encoded twice, as the color and as the alpha layer of a stream with alpha.
    public var hasAlpha = false

    /// A job with these values.
    public init(
        _ clip: Clip, _ properties: [String: PropertyValue] = [:], forced: Set<Int> = [],
        frameQPs: [Int: Int] = [:],
        abandonAfter: Int? = nil
    ) {
        self.clip = clip
        self.properties = properties
        self.forced = forced
        self.frameQPs = frameQPs
        self.abandonAfter = abandonAfter
    }

    /// The encoder's configuration, with 25 frames a second unless the properties set a rate.
    public func configuration(_ backend: PropertySpec.Backend) throws(SessionError) -> EncoderConfiguration {
        try session(backend).configuration
    }

    /// The configurations of the layers of a stream with alpha, color first.
    public func layers(_ backend: PropertySpec.Backend) throws -> [EncoderConfiguration] {
        let request = try CompressionRequest(
            codec: CompressionRequest.alphaCodec, width: clip.width, height: clip.height,
            pixelFormat: PixelFormat.yuva.rawValue, timeBase: Rational(1, 25) ?? Rational(1))
        var store = PropertyStore(backend: backend, hasAlpha: true)
        try store.set(["ExpectedFrameRate": .int(25)].merging(properties) { $1 }, isOpen: false)
        let configuration = try EncoderConfiguration(request: request, properties: store)
        return [configuration.baseLayer(clip.format), configuration.alphaLayer(clip.format)]
    }

    private func session(_ backend: PropertySpec.Backend) throws(SessionError) -> CompressionAdmission {
        let request = try CompressionRequest(
            codec: "hevc", width: clip.width, height: clip.height, pixelFormat: clip.fourcc,
            timeBase: Rational(1, 25) ?? Rational(1))
        return try CompressionAdmission(
            request: request, properties: PropertyStore(backend: backend),
            setting: ["ExpectedFrameRate": .int(25)].merging(properties) { $1 })
    }

    /// Encodes the clip as a session does, with `changes` and `flushes`.
    ///
    /// - Parameter open: opens the session's encoders.
    public func run(_ backend: PropertySpec.Backend, open: @escaping StreamEncoder.Open) throws -> EncodeResult {
        var session = try session(backend)
        guard let configuration = try session.prepare() else {
            throw SessionError(.invalidSession, "the session is open already")
        }
        let encoder = try StreamEncoder(configuration, open: open)
        var last = encoder.formatDescription
        var result = EncodeResult(formatDescription: last)
        func take(_ picture: EncodedPicture, _ span: RawSpan) throws(SessionError) {
            if encoder.formatDescription != last {
                last = encoder.formatDescription
                result.formatChanges[result.pictures.count] = last
            }
            result.pictures.append(CodedPicture(picture, span.withUnsafeBytes { Array($0) }))
        }
        for index in 0..<clip.frames {
            if flushes.contains(index) { try encoder.finish(take) }
            if let change = changes[index] {
                try session.setProperties(change)
                if let configuration = session.takeChange() { _ = try encoder.change(to: configuration) }
            }
            try submit(index, to: encoder, take)
        }
        try encoder.finish(take)
        result.notes = encoder.notes
        return result
    }

    private func submit(_ index: Int, to encoder: any Encoder, _ handler: EncodedPictureHandler) throws {
        let frame = clip.native(index)
        try frame.bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else {
                throw SessionError(.parameter, "the clip has no samples")
            }
            let planes = frame.layout.planes(at: base)
            try encoder.encode(
                InputPicture(
                    planes: planes, frameID: UInt64(index), pts: Int64(index),
                    forceKeyFrame: forced.contains(index), baseFrameQP: frameQPs[index]), handler)
        }
    }

    /// Encodes the clip.
    ///
    /// - Parameter feeding: submits a frame by its number; nil submits planes in memory.
    public func run(
        _ encoder: any Encoder, feeding: ((Int, EncodedPictureHandler) throws -> Void)? = nil
    ) throws -> EncodeResult {
        var result = EncodeResult(formatDescription: encoder.formatDescription)
        var held = 0
        func take(_ picture: EncodedPicture, _ span: RawSpan) throws(SessionError) {
            result.pictures.append(CodedPicture(picture, span.withUnsafeBytes { Array($0) }))
            held -= 1
        }
        for index in 0..<(abandonAfter ?? clip.frames) {
            held += 1
            if let feeding {
                try feeding(index, take)
                continue
            }
            try submit(index, to: encoder, take)
            result.maxHeld = max(result.maxHeld, held)
        }
        if abandonAfter == nil { try encoder.finish(take) }
        return result
    }
}

/// A coded picture with its bytes.
public struct CodedPicture: Codable, Sendable {
    /// The frame's number in the clip.
    public var frameID: UInt64
    /// Its presentation time.
    public var pts: Int64
    /// Its decoding time.
    public var dts: Int64
    /// `nal_unit_type`.
    public var nalUnitType: UInt8
    /// `TemporalId`.
    public var temporalLevel: UInt8
    /// Length-prefixed NAL units; `Data` is compact in JSON.
    public var data: Data

    /// Length-prefixed NAL units.
    public var bytes: [UInt8] { [UInt8](data) }

    /// An encoder's output.
    public init(_ picture: EncodedPicture, _ bytes: [UInt8]) {
        frameID = picture.frameID
        pts = picture.pts
        dts = picture.dts
        nalUnitType = picture.nalUnitType
        temporalLevel = picture.temporalLevel
        data = Data(bytes)
    }

    /// Whether decoding can start here.
    public var isSync: Bool { (16...23).contains(nalUnitType) }
}

/// The result of a job.
public struct EncodeResult: Codable, Sendable {
    /// The hvcC record.
    public var formatDescription: [UInt8]
    /// The coded pictures in coding order.
    public var pictures: [CodedPicture] = []
    /// The hvcC records that replace the first, by the index of the picture from which on each applies.
    public var formatChanges: [Int: [UInt8]] = [:]
    /// The most frames that were in the encoder after a call.
    public var maxHeld = 0
    /// The encoder's deviations from the request.
    public var notes: [String] = []
    /// Why it failed; nil if it did not.
    public var failure: String?
    /// The status of the failure.
    public var status: Int32 = 0
    /// Whether the failure is transient.
    public var isTransient = false
    /// What its sandbox forbade the encoder's process; nil for nothing, and without a sandbox.
    public var forbidden: String?

    /// A result without pictures.
    public init(formatDescription: [UInt8] = []) { self.formatDescription = formatDescription }

    /// The parsed hvcC record.
    public var record: DecoderConfigurationRecord {
        get throws { try DecoderConfigurationRecord(bytes: formatDescription) }
    }

    /// The parsed SPS.
    public var sps: SequenceParameterSet {
        get throws {
            var sets = ParameterSets()
            for unit in try record.nalUnits { try sets.add(nal: unit[...]) }
            guard let sps = sets.sequenceParameterSets.values.first else {
                throw BitstreamError(.missingParameterSet, "no SPS")
            }
            return sps
        }
    }

    /// An annex B stream of the pictures from `first` on, up to a temporal level.
    public func stream(from first: Int = 0, through level: UInt8 = .max) throws -> [UInt8] {
        var stream: [UInt8] = []
        for unit in try record.nalUnits { AnnexB.append(unit, to: &stream) }
        for (index, picture) in pictures.enumerated().dropFirst(first) where picture.temporalLevel <= level {
            for unit in try formatChanges[index].map({ try DecoderConfigurationRecord(bytes: $0) })?.nalUnits ?? []
            {
                AnnexB.append(unit, to: &stream)
            }
            try AnnexB.append(lengthPrefixed: picture.bytes[...], to: &stream)
        }
        return stream
    }

    /// The header of every picture's first slice, and its QP (H.265 7-54).
    public func slices() throws -> [(header: SliceSegmentHeader, qp: Int)] {
        var sets = ParameterSets()
        for unit in try record.nalUnits { try sets.add(nal: unit[...]) }
        var slices: [(SliceSegmentHeader, Int)] = []
        for picture in pictures {
            var units = try LengthPrefixedNALUnits(picture.bytes[...])
            while let unit = try units.next() {
                guard try NALUnitHeader(nal: unit).nalUnitType.isSlice else { continue }
                let header = try SliceSegment(nal: unit, parameterSets: sets).sliceHeader
                let pps = try sets.active(ppsId: header.slicePicParameterSetId).pps
                slices.append((header, 26 + pps.initQpMinus26 + header.sliceQpDelta))
                break
            }
        }
        return slices
    }
}
