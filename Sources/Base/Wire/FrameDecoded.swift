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

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(
            pictureID: 0, frameID: 0, pts: 0, duration: 0, arenaID: 0, flags: [], format: .nv12, codedBitDepth: 0,
            width: 0, height: 0, cleanAperture: PictureRectangle(x: 0, y: 0, width: 0, height: 0),
            color: ColorDescription(), sampleAspectRatio: Rational(0), layout: FrameLayout(planes: []), sideData: []
        ).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        var fourcc = format.fourcc
        var (over, under) = (sampleAspectRatio.numerator, sampleAspectRatio.denominator)
        var planes = UInt8(clamping: layout.planes.count)
        var entries = UInt8(min(sideData.count, Self.maxEntries))
        try fields.integer(&pictureID)
        try fields.integer(&frameID)
        try fields.integer(&pts)
        try fields.integer(&duration)
        try fields.integer(&arenaID)
        try fields.number(&flags)
        try fields.integer(&fourcc)
        try fields.integer(&width)
        try fields.integer(&height)
        try fields.integer(&cleanAperture.x)
        try fields.integer(&cleanAperture.y)
        try fields.integer(&cleanAperture.width)
        try fields.integer(&cleanAperture.height)
        let known = PixelFormat(fourcc: fourcc)
        try fields.check(known != nil, "picture \(pictureID) has an unknown pixel format")
        format = known ?? format
        try fields.color(&color)
        try fields.integer(&codedBitDepth)
        try fields.integer(&planes)
        try fields.integer(&entries)
        try fields.integer(&over)
        try fields.integer(&under)
        let aspect = Rational(over, under)
        try fields.check(aspect != nil, "picture \(pictureID) has an impossible aspect ratio")
        sampleAspectRatio = aspect ?? sampleAspectRatio
        // Padding: the planes begin at a multiple of 8.
        try fields.reserved(UInt32.self)
        try fields.check(
            planes <= FrameLayout.maxPlanes && entries <= Self.maxEntries,
            "picture \(pictureID) names \(planes) planes, \(entries) side data")
        try fields.planes(&layout, count: Int(planes))
        try fields.sideData(&sideData, count: Int(entries))
    }

    /// The most side data entries that a message has.
    public static let maxEntries = FrameSideData.maxEntries
}
