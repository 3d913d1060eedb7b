// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// What a decompression session is created for: fixed for its life.
public struct DecompressionRequest: Hashable, Sendable {
    /// The stream's format to begin with.
    public var format: StreamFormat
    /// Seconds that one unit of pts and duration stands for.
    public var timeBase: Rational
    /// The pictures' layout; nil is what the decoder gives.
    public var pixelFormat: PixelFormat?

    /// The layouts that pictures are given in.
    static let pixelFormats = PixelFormat.yCbCr + [.yuva] + PixelFormat.rgb

    /// Whether decoded pictures are brought to RGB.
    public var isConverted: Bool { pixelFormat.map { !$0.isYCbCr } ?? false }

    /// Whether the alpha layer is decoded: for pictures that have a place for it.
    ///
    /// On the way to RGB only where the format description tells of one: pictures with alpha have 8 bits.
    public var readsAlpha: Bool { pixelFormat == .yuva || isConverted && format.alpha != nil }

    /// The layout that the decoder is to give; nil is what it gives.
    public var decodedFormat: PixelFormat? { readsAlpha ? .yuva : isConverted ? nil : pixelFormat }

    /// Checks and keeps what was asked for.
    ///
    /// - Throws: `CouldNotFindVideoDecoder` for a codec we do not have, what `StreamFormat` throws, else `Parameter`.
    public init(
        codec: String, formatDescription: [UInt8], timeBase: Rational, pixelFormat: String?
    ) throws(SessionError) {
        guard codec == "hevc" else {
            throw SessionError(.couldNotFindVideoDecoder, "no decoder here reads \(codec); hevc is what there is")
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

/// What a decompression session allows at which moment: a pure state machine.
///
/// The worker's I/O thread asks it before it acts; nothing here does I/O or knows a decoder.
public struct DecompressionSession: Sendable {
    /// Packets a client may have sent that were not released yet.
    public static let maxPacketsInFlight = 32
    /// Pictures a client may hold.
    public static let maxFramesInFlight = 8
    /// Bytes of one packet: more than a picture of level 6.2 has without compression to speak of.
    public static let maxPacketSize = 64 << 20

    /// What the session was created for.
    public let request: DecompressionRequest
    /// Its properties.
    public private(set) var properties: PropertyStore
    /// Whether a packet was taken, so that only `live` properties may change.
    public private(set) var isDecoding = false

    private var inFlight: [UInt64: UInt32] = [:]

    /// A session just created.
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

    /// Makes a read-only property tell `value`.
    public mutating func publish(_ key: PropertyKey, _ value: PropertyValue?) { properties.publish(key, value) }

    /// Whether a packet in flight lies in a pool.
    public func isUsing(pool id: UInt32) -> Bool { inFlight.values.contains(id) }

    /// Takes a packet, after checking everything a client could get wrong about it.
    ///
    /// - Returns: the memory of its pool.
    /// - Throws: `Parameter`; the session cannot go on, because the client's idea of it has parted from ours.
    @discardableResult
    public mutating func admit<Memory>(
        _ packet: DecodeFrame, in pools: PoolLedger<Memory>
    ) throws(SessionError) -> Memory {
        guard inFlight.count < Self.maxPacketsInFlight else {
            throw SessionError(.parameter, "more than \(Self.maxPacketsInFlight) packets in flight")
        }
        guard inFlight[packet.frameID] == nil else {
            throw SessionError(.parameter, "packet \(packet.frameID) is in flight already")
        }
        guard let pool = pools[packet.poolID] else {
            throw SessionError(
                .parameter, "packet \(packet.frameID) names pool \(packet.poolID), which does not exist")
        }
        guard packet.size <= Self.maxPacketSize else {
            throw SessionError(
                .parameter, "packet \(packet.frameID) has \(packet.size) bytes, which no picture has")
        }
        guard packet.offset <= pool.size, UInt64(packet.size) <= pool.size - packet.offset else {
            throw SessionError(.parameter, "packet \(packet.frameID) ends past the pool's \(pool.size) bytes")
        }
        guard packet.pts == DecodeFrame.noPTS || packet.pts.magnitude < 1 << 60,
            (0..<Ticks.bound).contains(packet.duration)
        else {
            throw SessionError(.parameter, "packet \(packet.frameID) has an impossible pts or duration")
        }
        isDecoding = true
        inFlight[packet.frameID] = packet.poolID
        return pool.memory
    }

    /// The decoder has read the packet.
    public mutating func release(_ frameID: UInt64) { inFlight[frameID] = nil }

    /// The part of a picture that the CleanAperture property names, where it lies inside.
    public func cleanAperture(width: Int, height: Int) -> PictureRectangle? {
        guard let text = properties.string(.cleanAperture), let part = PropertyText.aperture(text),
            part.width > 0, part.height > 0, part.x + part.width <= width, part.y + part.height <= height
        else { return nil }
        return PictureRectangle(
            x: UInt32(part.x), y: UInt32(part.y), width: UInt32(part.width), height: UInt32(part.height))
    }

    /// The decoder's properties as it is opened with them.
    public var options: (isRealTime: Bool, threads: Int) {
        (properties.bool(.realTime) ?? false, Int(properties.integer(.threadCount) ?? 0))
    }

    /// The highest temporal level that is wanted of the packets that come from now on.
    public var maxTemporalLevel: Int { properties.integer(.maxTemporalLevel).map { Int($0) } ?? LevelGate.highest }

    /// Whether colours of pictures in RGB are to be multiplied by alpha; nil as in the stream.
    public var destinationAlphaMode: AlphaChannelMode? {
        properties.string(.destinationAlphaMode).flatMap(AlphaChannelMode.init)
    }

    /// What `DestinationColorPrimaries` and `DestinationTransferFunction` say of pictures in RGB.
    public var destinationColor: ColorDescription {
        ColorDescription(
            primaries: properties.codePoint(.destinationColorPrimaries, ColorNames.primaries),
            transfer: properties.codePoint(.destinationTransferFunction, ColorNames.transfer))
    }

    /// How and where pictures are brought to RGB.
    public var lightOptions: LightOptions { LightOptions(properties) }

    /// Whether pictures carry HDR metadata.
    public var carriesHDRMetadata: Bool { properties.bool(.propagateHDRMetadata) ?? true }
}
