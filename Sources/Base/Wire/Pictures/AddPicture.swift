// SPDX-License-Identifier: MIT
public import HWDModel

/// Registers a picture in dma-bufs, whose descriptors come with the message, as a pool.
public struct AddPicture: SessionPayload, Hashable {
    /// What the session does with the picture.
    public struct Uses: OptionSet, Hashable, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// Frames are read from it.
        public static let source = Uses(rawValue: 1)
        /// Frames are written to it.
        public static let target = Uses(rawValue: 2)
    }

    /// The position of a plane.
    public struct Plane: Hashable, Sendable {
        /// The index of its dma-buf among the descriptors.
        public var object: UInt32
        /// Bytes from a row to the next.
        public var stride: UInt32
        /// Bytes from the dma-buf's start.
        public var offset: UInt64

        public init(object: UInt32, offset: UInt64, stride: UInt32) {
            (self.object, self.offset, self.stride) = (object, offset, stride)
        }
    }

    public static let opcode = Opcode.addPicture
    /// Dma-bufs that a picture has at most.
    public static let maxObjects = 4
    /// DRM_FORMAT_MOD_LINEAR (drm_fourcc.h).
    public static let linear: UInt64 = 0
    /// The pixel formats that are DRM's as well, with the same fourcc (drm_fourcc.h).
    public static let formats: [PixelFormat] = [
        .nv12, .p010, .yu12, .bgra8, .rgba8, .bgra10, .rgba10, .bgrx10, .rgbx10, .rgba16f,
    ]

    /// The client's number for it, unique among its pools.
    public var poolID: UInt32
    /// DRM's fourcc.
    public var fourcc: UInt32
    /// In luma samples.
    public var width: UInt32
    /// In rows of luma samples.
    public var height: UInt32
    public var uses: Uses
    /// DRM's format modifier, the same for all planes.
    public var modifier: UInt64
    /// At most `FrameLayout.maxPlanes`.
    public var planes: [Plane]

    public init(
        poolID: UInt32, fourcc: UInt32, width: UInt32, height: UInt32, uses: Uses, modifier: UInt64 = linear,
        planes: [Plane]
    ) {
        (self.poolID, self.fourcc, self.width, self.height) = (poolID, fourcc, width, height)
        (self.uses, self.modifier, self.planes) = (uses, modifier, planes)
    }

    /// The planes as frames name them.
    public var layout: FrameLayout {
        FrameLayout(planes: planes.map { FrameLayout.Plane(offset: $0.offset, stride: $0.stride) })
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(poolID: 0, fourcc: 0, width: 0, height: 0, uses: [], planes: []).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        var count = UInt32(clamping: planes.count)
        try fields.integer(&poolID)
        try fields.integer(&fourcc)
        try fields.integer(&width)
        try fields.integer(&height)
        try fields.number(&uses)
        try fields.integer(&count)
        try fields.integer(&modifier)
        try fields.check(count <= FrameLayout.maxPlanes, "a picture has \(count) planes")
        var read: [Plane] = []
        for index in 0..<min(Int(count), FrameLayout.maxPlanes) {
            var plane = fields.isReading ? Plane(object: 0, offset: 0, stride: 0) : planes[index]
            try fields.integer(&plane.object)
            try fields.integer(&plane.stride)
            try fields.integer(&plane.offset)
            read.append(plane)
        }
        if fields.isReading { planes = read }
    }

    /// Checks the picture against its dma-bufs, whose sizes the kernel has said.
    ///
    /// - Returns: its pixel format.
    /// - Throws: `Parameter` with the fault; `PixelTransferNotSupported` for a format or modifier that sessions do not
    ///   import, with those that they do.
    public func validate(sizes: [Int]) throws(SessionError) -> PixelFormat {
        func fault(_ reason: String) -> SessionError { SessionError(.parameter, "picture \(poolID): \(reason)") }
        guard let format = PixelFormat(fourcc: fourcc), Self.formats.contains(format) else {
            throw refused("the format \(Self.text(fourcc))")
        }
        guard modifier == Self.linear else { throw refused("the modifier 0x\(String(modifier, radix: 16))") }
        guard !uses.isEmpty, uses.isSubset(of: [.source, .target]) else {
            throw fault("its uses are \(uses.rawValue)")
        }
        guard 1...Self.maxObjects ~= sizes.count else { throw fault("it has \(sizes.count) dma-bufs") }
        for (index, plane) in planes.enumerated() where plane.object >= sizes.count {
            throw fault("plane \(index) is in dma-buf \(plane.object) of \(sizes.count)")
        }
        for object in sizes.indices {
            guard planes.contains(where: { $0.object == object }) else {
                throw fault("no plane is in dma-buf \(object)")
            }
        }
        do throws(SessionError) {
            // Each plane against its own dma-buf: the check of all planes, with one size at a time.
            try layout.validate(format, width: Int(width), height: Int(height), poolSize: .max)
            for (index, plane) in planes.enumerated() {
                let rows = UInt64(format.rows(plane: index, height: Int(height)))
                let row = UInt64(format.rowBytes(plane: index, width: Int(width)))
                // Its sum did not overflow above.
                guard plane.offset + (rows - 1) * UInt64(plane.stride) + row <= sizes[Int(plane.object)] else {
                    throw fault("plane \(index) ends past its dma-buf's \(sizes[Int(plane.object)]) bytes")
                }
            }
        } catch { throw error.reason.hasPrefix("picture") ? error : fault(error.reason) }
        return format
    }

    private func refused(_ what: String) -> SessionError {
        let formats = Self.formats.map(\.rawValue).joined(separator: ", ")
        return SessionError(
            .pixelTransferNotSupported,
            "picture \(poolID): \(what) is not imported; formats are \(formats), the modifier 0x0 (linear)")
    }

    private static func text(_ fourcc: UInt32) -> String {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: fourcc >> (8 * $0)) }
        return bytes.allSatisfy { 0x20...0x7e ~= $0 }
            ? String(decoding: bytes, as: UTF8.self) : "0x\(String(fourcc, radix: 16))"
    }
}
