// SPDX-License-Identifier: MIT
public import HWDModel

/// A decoded picture, in presentation order.
public struct FrameDecoded: SessionPayload, Hashable {
    public static let opcode = Opcode.frameDecoded
    /// The limit of one picture's side data in bytes; data beyond it is omitted and flagged.
    public static let maxSideData = FrameSideData.maxBytes

    /// Bits of the `flags` field.
    public struct Flags: OptionSet, Hashable, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// Decoding can start at this picture.
        public static let sync = Flags(rawValue: 1)
        /// The picture, or one it refers to, is damaged: some of its samples are concealed.
        public static let damaged = Flags(rawValue: 2)
        /// It was decoded in hardware.
        public static let hardware = Flags(rawValue: 4)
        /// Side data did not fit the message.
        public static let sideDataLost = Flags(rawValue: 8)
        /// The picture's alpha was decoded; without this flag a format with alpha is opaque.
        public static let alpha = Flags(rawValue: 16)
        /// Its colors are multiplied by its alpha.
        public static let premultiplied = Flags(rawValue: 32)
        /// The stream has alpha, but none was decoded for this picture, which is opaque.
        public static let alphaMissing = Flags(rawValue: 64)
        /// Its HDR metadata (the mapping of Dolby Vision's RPU) are applied to its samples.
        public static let metadataApplied = Flags(rawValue: 128)
    }

    /// The worker's number for it, which `ReleaseFrame` names.
    public var pictureID: UInt64
    /// The packet it was decoded from.
    public var frameID: UInt64
    /// That packet's presentation time.
    public var pts: Int64
    /// That packet's duration.
    public var duration: Int64
    /// The arena that holds its samples.
    public var arenaID: UInt32
    public var flags: Flags
    public var format: PixelFormat
    /// Bits of a coded sample; `format` may hold more or fewer.
    public var codedBitDepth: UInt8
    /// Width in luma samples, cropped to the conformance window.
    public var width: UInt32
    /// Height in luma samples, cropped to the conformance window.
    public var height: UInt32
    /// The part of it to display.
    public var cleanAperture: PictureRectangle
    public var color: ColorDescription
    /// Width over height of a sample; 0/1 when unspecified.
    public var sampleAspectRatio: Rational
    /// The planes' offsets in the arena, and their strides.
    public var layout: FrameLayout
    /// HDR metadata of the picture, as the stream has it.
    public var sideData: [FrameSideData]

    public init(
        pictureID: UInt64, frameID: UInt64, pts: Int64, duration: Int64, arenaID: UInt32, flags: Flags,
        format: PixelFormat, codedBitDepth: UInt8, width: UInt32, height: UInt32, cleanAperture: PictureRectangle,
        color: ColorDescription, sampleAspectRatio: Rational, layout: FrameLayout, sideData: [FrameSideData]
    ) {
        self.pictureID = pictureID
        self.frameID = frameID
        self.pts = pts
        self.duration = duration
        self.arenaID = arenaID
        self.flags = flags
        self.format = format
        self.codedBitDepth = codedBitDepth
        self.width = width
        self.height = height
        self.cleanAperture = cleanAperture
        self.color = color
        self.sampleAspectRatio = sampleAspectRatio
        self.layout = layout
        self.sideData = sideData
    }

    public func encode(into writer: inout ByteWriter) {
        for number in [pictureID, frameID] { writer.write(number) }
        writer.write(pts)
        writer.write(duration)
        for number in [
            arenaID, flags.rawValue, format.fourcc, width, height, cleanAperture.x, cleanAperture.y,
            cleanAperture.width, cleanAperture.height,
        ] { writer.write(number) }
        for byte in [
            color.primaries, color.transfer, color.matrix, color.isFullRange ? 1 : 0,
            color.chromaLocation ?? ByteWriter.noChromaLocation, codedBitDepth, UInt8(layout.planes.count),
            UInt8(min(sideData.count, Self.maxEntries)),
        ] { writer.write(byte) }
        writer.write(sampleAspectRatio.numerator)
        writer.write(sampleAspectRatio.denominator)
        // Padding: the planes begin at a multiple of 8.
        writer.write(UInt32(0))
        writer.write(layout)
        writer.write(sideData)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        pictureID = try reader.read(UInt64.self, from: bytes)
        frameID = try reader.read(UInt64.self, from: bytes)
        pts = try reader.read(Int64.self, from: bytes)
        duration = try reader.read(Int64.self, from: bytes)
        var words: [UInt32] = []
        for _ in 0..<9 { words.append(try reader.read(UInt32.self, from: bytes)) }
        (arenaID, flags, width, height) = (words[0], Flags(rawValue: words[1]), words[3], words[4])
        guard let format = PixelFormat(fourcc: words[2]) else {
            throw SessionError(.parameter, "picture \(pictureID) has an unknown pixel format")
        }
        self.format = format
        cleanAperture = PictureRectangle(x: words[5], y: words[6], width: words[7], height: words[8])
        var small: [UInt8] = []
        for _ in 0..<8 { small.append(try reader.read(UInt8.self, from: bytes)) }
        color = ColorDescription(
            primaries: small[0], transfer: small[1], matrix: small[2], isFullRange: small[3] != 0,
            chromaLocation: small[4] == ByteWriter.noChromaLocation ? nil : small[4])
        codedBitDepth = small[5]
        let over = try reader.read(Int32.self, from: bytes)
        guard let aspect = Rational(over, try reader.read(Int32.self, from: bytes)) else {
            throw SessionError(.parameter, "picture \(pictureID) has an impossible aspect ratio")
        }
        sampleAspectRatio = aspect
        try reader.readReserved(UInt32.self, from: bytes)
        guard small[6] <= FrameLayout.maxPlanes, small[7] <= Self.maxEntries else {
            throw SessionError(.parameter, "picture \(pictureID) names \(small[6]) planes, \(small[7]) side data")
        }
        layout = FrameLayout(planes: try reader.readPlanes(Int(small[6]), from: bytes))
        sideData = try reader.readSideData(Int(small[7]), from: bytes)
        try reader.expectEnd(of: bytes)
    }

    /// The most side data entries that a message has.
    public static let maxEntries = FrameSideData.maxEntries
}
