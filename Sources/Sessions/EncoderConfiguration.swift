// SPDX-License-Identifier: GPL-2.0-or-later
public import Model

/// A profile of H.265 (annex A.3) at whatever level the stream needs, by VideoToolbox's name.
public enum Profile: String, CaseIterable, Sendable {
    /// 8 bit 4:2:0.
    case main = "HEVC_Main_AutoLevel"
    /// Up to 10 bit 4:2:0.
    case main10 = "HEVC_Main10_AutoLevel"

    /// Bits of a coded sample.
    public var bitDepth: Int { self == .main ? 8 : 10 }

    /// The profile that holds samples of this depth.
    public init(holding bitDepth: Int) { self = bitDepth > 8 ? .main10 : .main }
}

/// How many bits a picture gets.
public enum RateControl: Hashable, Sendable {
    /// 0…1.
    case quality(Double)
    /// Bits a second.
    case averageBitRate(Int64)
    /// One quantisation parameter.
    case constantQP(Int)
}

/// What a compression session is created for: fixed for its life.
public struct CompressionRequest: Hashable, Sendable {
    /// Luma samples a row.
    public var width: Int
    /// Rows of luma samples.
    public var height: Int
    /// The frames' layout.
    public var pixelFormat: PixelFormat
    /// Seconds that one unit of pts, dts and duration stands for.
    public var timeBase: Rational

    /// Largest width and height, a little below what level 6.2 allows (H.265 A.4.1: sqrt(8 * MaxLumaPs) is 16888).
    public static let maxDimension = 16384

    /// Checks and keeps what was asked for.
    ///
    /// - Throws: `CouldNotFindVideoEncoder` for a codec we do not have, `Parameter` for an impossible size.
    public init(
        codec: String, width: Int, height: Int, pixelFormat: String, timeBase: Rational
    ) throws(SessionError) {
        guard codec == "hevc" else {
            throw SessionError(.couldNotFindVideoEncoder, "no encoder here writes \(codec); hevc is what there is")
        }
        guard let format = PixelFormat(rawValue: pixelFormat) else {
            let known = PixelFormat.allCases.map(\.rawValue).joined(separator: ", ")
            throw SessionError(.parameter, "pixel format \(pixelFormat) is not one of \(known)")
        }
        guard (1...Self.maxDimension).contains(width), (1...Self.maxDimension).contains(height) else {
            throw SessionError(.parameter, "a picture of \(width)x\(height) is outside what H.265 level 6.2 allows")
        }
        guard timeBase.numerator > 0 else {
            throw SessionError(.parameter, "the time base \(timeBase) is not positive")
        }
        self.width = width
        self.height = height
        self.pixelFormat = format
        self.timeBase = timeBase
    }
}

/// Everything an encoder needs to know to open, resolved from the request and the properties.
public struct EncoderConfiguration: Hashable, Sendable {
    /// Size, format, time base.
    public var request: CompressionRequest
    /// The profile.
    public var profile: Profile
    /// How many bits.
    public var rateControl: RateControl
    /// Most frames from a key frame to the next; nil leaves it to the encoder.
    public var maxKeyFrameInterval: Int?
    /// Whether B pictures may be used.
    public var allowFrameReordering: Bool
    /// Whether key frames may be CRA pictures.
    public var allowOpenGOP: Bool
    /// Whether latency counts more than anything.
    public var realTime: Bool
    /// Frames a second.
    public var frameRate: Rational
    /// For the VUI.
    public var color: ColorDescription
    /// x265's preset.
    public var x265Preset: String
    /// x265's options, passed through.
    public var x265Options: X265Options

    /// Resolves the properties.
    ///
    /// - Throws: `Parameter` when properties contradict each other or the request; the reason names them.
    public init(request: CompressionRequest, properties: PropertyStore) throws(SessionError) {
        self.request = request

        let wanted = properties.string(.profileLevel).flatMap(Profile.init(rawValue:))
        let depth = request.pixelFormat.bitDepth
        profile = wanted ?? Profile(holding: depth)
        guard profile.bitDepth >= depth else {
            throw SessionError(
                .parameter,
                "\(profile.rawValue) cannot hold the \(depth)-bit samples of \(request.pixelFormat.rawValue); "
                    + "use \(Profile(holding: depth).rawValue) or hand over 8-bit frames")
        }

        x265Options = try X265Options(parsing: properties.string(.x265Params) ?? "")
        var rates = [PropertyKey.averageBitRate, .quality, .qp].filter(properties.isSet).map(\.rawValue)
        if let option = x265Options.rateOption { rates.append("X265Params (\(option))") }
        guard rates.count <= 1 else {
            throw SessionError(
                .parameter, rates.joined(separator: " and ") + " contradict each other: set one")
        }
        if let bitRate = properties.integer(.averageBitRate) {
            rateControl = .averageBitRate(bitRate)
        } else if let qp = properties.integer(.qp) {
            rateControl = .constantQP(Int(qp))
        } else {
            rateControl = .quality(properties.number(.quality) ?? 0.5)
        }

        let interval = properties.integer(.maxKeyFrameInterval) ?? 0
        maxKeyFrameInterval = interval > 0 ? Int(interval) : nil
        realTime = properties.bool(.realTime) ?? false
        allowFrameReordering = properties.bool(.allowFrameReordering) ?? true
        if realTime, properties.isSet(.allowFrameReordering), allowFrameReordering {
            throw SessionError(
                .parameter, "RealTime and AllowFrameReordering contradict each other: reordering waits")
        }
        if realTime { allowFrameReordering = false }
        allowOpenGOP = properties.bool(.allowOpenGOP) ?? true
        frameRate = properties.value(.expectedFrameRate).flatMap(PropertySpec.frameRate) ?? Rational(30)

        color = ColorDescription(
            primaries: properties.codePoint(.colorPrimaries, ColorNames.primaries),
            transfer: properties.codePoint(.transferFunction, ColorNames.transfer),
            matrix: properties.codePoint(.yCbCrMatrix, ColorNames.matrix),
            isFullRange: properties.bool(.fullRangeVideo) ?? false,
            chromaLocation: properties.integer(.chromaLocation).map(UInt8.init(truncatingIfNeeded:)))
        x265Preset = properties.string(.x265Preset) ?? "medium"
    }
}
