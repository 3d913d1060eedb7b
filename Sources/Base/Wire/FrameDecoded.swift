// SPDX-License-Identifier: MIT
public import HWDModel

/// A decoded picture, in presentation order.
@dynamicMemberLookup
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
    /// Its packet's times; its size, cropped to the conformance window; HDR metadata as the stream has them.
    public var info: FrameInfo
    /// The arena that holds its samples.
    public var arenaID: UInt32
    public var flags: Flags = []
    /// Bits of a coded sample; `format` may hold more or fewer.
    public var codedBitDepth: UInt8
    /// The part of it to display.
    public var cleanAperture: PictureRectangle
    /// Width over height of a sample; 0/1 when unspecified.
    public var sampleAspectRatio = Rational(0)
    /// The planes' offsets in the arena, and their strides.
    public var layout: FrameLayout

    public init(
        _ info: FrameInfo, pictureID: UInt64, frameID: UInt64, arenaID: UInt32, layout: FrameLayout,
        codedBitDepth: UInt8, cleanAperture: PictureRectangle
    ) {
        self.info = info
        self.pictureID = pictureID
        self.frameID = frameID
        self.arenaID = arenaID
        self.layout = layout
        self.codedBitDepth = codedBitDepth
        self.cleanAperture = cleanAperture
    }

    /// Times, size, format, color and metadata.
    public subscript<Value>(dynamicMember member: WritableKeyPath<FrameInfo, Value>) -> Value {
        get { info[keyPath: member] }
        set { info[keyPath: member] = newValue }
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(
            FrameInfo(pts: 0, duration: 0, size: (0, 0), format: .nv12), pictureID: 0, frameID: 0, arenaID: 0,
            layout: FrameLayout(planes: []), codedBitDepth: 0,
            cleanAperture: PictureRectangle(x: 0, y: 0, width: 0, height: 0)
        ).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        var (fourcc, width, height) = (
            info.format.fourcc, UInt32(clamping: info.width), UInt32(clamping: info.height)
        )
        var (over, under) = (sampleAspectRatio.numerator, sampleAspectRatio.denominator)
        var planes = UInt8(clamping: layout.planes.count)
        var entries = UInt8(min(info.sideData.count, Self.maxEntries))
        try fields.integer(&pictureID)
        try fields.integer(&frameID)
        try fields.integer(&info.pts)
        try fields.integer(&info.duration)
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
        info.format = known ?? info.format
        (info.width, info.height) = (Int(width), Int(height))
        try fields.color(&info.color)
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
        try fields.sideData(&info.sideData, count: Int(entries))
    }

    /// The most side data entries that a message has.
    public static let maxEntries = FrameSideData.maxEntries
}
