// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDPolicy

/// The immutable parameters of a decompression session.
public struct DecompressionRequest: Hashable, Sendable {
    /// The stream's initial format.
    public var format: StreamFormat
    /// The unit of pts and duration in seconds.
    public var timeBase: Rational
    /// The pictures' pixel format; nil for the decoder's format.
    public var pixelFormat: PixelFormat?

    /// The supported pixel formats of pictures.
    static let pixelFormats = PixelFormat.yCbCr + [.yuva] + PixelFormat.rgb

    /// Whether decoded pictures are converted to RGB.
    public var isConverted: Bool { pixelFormat.map { !$0.isYCbCr } ?? false }

    /// Whether the alpha layer is decoded, for pixel formats with alpha.
    ///
    /// For RGB only if the format description declares alpha, since decoding with alpha yields 8 bits.
    public var readsAlpha: Bool { pixelFormat == .yuva || isConverted && format.alpha != nil }

    /// The pixel format to request from the decoder; nil for its default.
    public var decodedFormat: PixelFormat? { readsAlpha ? .yuva : isConverted ? nil : pixelFormat }

    /// - Throws: `CouldNotFindVideoDecoder` for an unknown codec, the errors of `StreamFormat`, else `Parameter`.
    public init(
        codec: String, formatDescription: [UInt8], timeBase: Rational, pixelFormat: String?
    ) throws(SessionError) {
        guard codec == "hevc" else {
            throw SessionError(.couldNotFindVideoDecoder, "no decoder here supports \(codec); hevc is supported")
        }
        if let pixelFormat {
            guard let format = Self.pixelFormats.first(where: { $0.rawValue == pixelFormat }) else {
                let known = Self.pixelFormats.map(\.rawValue).joined(separator: ", ")
                throw SessionError(.parameter, "pixel format \(pixelFormat) is not one of \(known)")
            }
            self.pixelFormat = format
        }
        guard timeBase.numerator > 0 else {
            throw SessionError(.parameter, "the time base \(timeBase) is not positive")
        }
        self.timeBase = timeBase
        format = try StreamFormat(description: formatDescription)
    }
}

/// The rules of a decompression session: a pure state machine without I/O.
///
/// The worker's I/O thread consults it before it acts.
public struct DecompressionAdmission: Sendable {
    /// Limit of packets that the client has sent and the decoder has not released.
    public static let maxPacketsInFlight = 32
    /// Limit of pictures that the client may hold.
    public static let maxFramesInFlight = 8

    public let request: DecompressionRequest
    public private(set) var properties: PropertyStore
    /// Whether a packet was accepted, after which only `live` properties may change.
    public private(set) var isDecoding = false

    private var inFlight: [UInt64: UInt32] = [:]

    public init(request: DecompressionRequest, properties: PropertyStore) {
        self.request = request
        self.properties = properties
    }

    /// Sets properties, all or none.
    ///
    /// - Throws: what `PropertyStore.set` throws.
    public mutating func setProperties(_ new: [String: PropertyValue]) throws(SessionError) {
        try properties.set(new, isOpen: isDecoding)
    }

    /// Sets the value of a read-only property.
    public mutating func publish(_ key: PropertyKey, _ value: PropertyValue?) { properties.publish(key, value) }

    /// Adds a clause to `Notices`.
    public mutating func addNotice(_ notice: String) {
        publish(.notices, .string((properties.string(.notices).map { "\($0); " } ?? "") + notice))
    }

    /// Whether a pool holds a packet in flight.
    public func isUsing(pool id: UInt32) -> Bool { inFlight.values.contains(id) }

    /// Validates a packet and accepts it.
    ///
    /// - Returns: the memory of its pool.
    /// - Throws: `Parameter`, which is fatal, since the client's and the session's state differ.
    @discardableResult
    public mutating func admit<Memory>(
        _ packet: DecodeFrame, in pools: PoolLedger<Memory>
    ) throws(SessionError) -> Memory {
        guard inFlight.count < Self.maxPacketsInFlight else {
            throw SessionError(.parameter, "more than \(Self.maxPacketsInFlight) packets are in flight")
        }
        guard inFlight[packet.frameID] == nil else {
            throw SessionError(.parameter, "packet \(packet.frameID) is in flight already")
        }
        guard let pool = pools[packet.poolID] else {
            throw SessionError(
                .parameter, "packet \(packet.frameID) names pool \(packet.poolID), which does not exist")
        }
        guard packet.size <= DecodeFrame.maxSize else {
            throw SessionError(
                .parameter, "packet \(packet.frameID) has \(packet.size) bytes, more than any picture")
        }
        guard packet.offset <= pool.size, UInt64(packet.size) <= pool.size - packet.offset else {
            throw SessionError(.parameter, "packet \(packet.frameID) ends past the pool's \(pool.size) bytes")
        }
        guard packet.pts == DecodeFrame.noPTS || Ticks.isPossible(packet.pts),
            (0..<Ticks.bound).contains(packet.duration)
        else {
            throw SessionError(.parameter, "packet \(packet.frameID) has an impossible pts or duration")
        }
        isDecoding = true
        inFlight[packet.frameID] = packet.poolID
        return pool.memory
    }

    /// Reports that the decoder has read the packet.
    public mutating func release(_ frameID: UInt64) { inFlight[frameID] = nil }

    /// The `CleanAperture` property; nil when it is not set or exceeds the picture.
    public func cleanAperture(width: Int, height: Int) -> PictureRectangle? {
        guard let text = properties.string(.cleanAperture), let part = PropertyText.aperture(text),
            part.width > 0, part.height > 0, part.x + part.width <= width, part.y + part.height <= height
        else { return nil }
        return PictureRectangle(
            x: UInt32(part.x), y: UInt32(part.y), width: UInt32(part.width), height: UInt32(part.height))
    }

    /// The priority of the session's threads.
    public var priority: SessionPriority { SessionPriority(properties) }

    /// The settings for opening the decoder.
    public var options: (isRealTime: Bool, threads: Int) {
        (
            properties.bool(.realTime) ?? false,
            min(Int(properties.integer(.threadCount) ?? 0), PropertyTable.maxDecoderThreads)
        )
    }

    /// The highest temporal level to decode from the next packet on.
    public var maxTemporalLevel: Int {
        properties.integer(.maxTemporalLevel).map { Int($0) } ?? PropertyTable.highestTemporalLevel
    }

    /// Whether to multiply the colors of RGB pictures by alpha; nil for the stream's mode.
    public var destinationAlphaMode: AlphaChannelMode? {
        properties.string(.destinationAlphaMode).flatMap(AlphaChannelMode.init)
    }

    /// `DestinationColorPrimaries` and `DestinationTransferFunction` of RGB pictures.
    public var destinationColor: ColorDescription {
        ColorDescription(
            primaries: properties.codePoint(.destinationColorPrimaries, ColorNames.primaries),
            transfer: properties.codePoint(.destinationTransferFunction, ColorNames.transfer))
    }

    /// How and where pictures are converted to RGB.
    public var lightOptions: LightOptions { LightOptions(properties) }

    /// Whether pictures that are converted to RGB from the next packet on are mapped by their RPUs.
    public var appliesHDRMetadata: Bool {
        request.isConverted && properties.bool(.appliesHDRMetadata) ?? false
    }

    /// Whether pictures carry HDR metadata.
    public var carriesHDRMetadata: Bool { properties.bool(.propagateHDRMetadata) ?? true }
}
