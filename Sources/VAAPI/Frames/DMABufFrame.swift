// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A frame in dma-bufs as a client or a decoder describes it; unchecked until `validate`.
public struct DMABufFrame: Hashable, Sendable {
    /// One dma-buf.
    public struct Object: Hashable, Sendable {
        /// Its descriptor, owned by the caller.
        public var file: Int32
        /// Its size in bytes.
        public var size: UInt32

        /// A dma-buf.
        public init(file: Int32, size: UInt32) {
            self.file = file
            self.size = size
        }
    }

    /// The position of a plane.
    public struct Plane: Hashable, Sendable {
        /// The index of its object.
        public var object: Int
        /// Bytes from the object's start.
        public var offset: UInt32
        /// Bytes from a row to the next.
        public var pitch: UInt32

        /// A position.
        public init(object: Int, offset: UInt32, pitch: UInt32) {
            self.object = object
            self.offset = offset
            self.pitch = pitch
        }
    }

    /// The DRM fourcc of the frame.
    public var fourcc: UInt32
    /// Luma samples a row.
    public var width: Int
    /// Rows of luma samples.
    public var height: Int
    /// DRM format modifier: the tiling, which only the driver understands; 0 is linear.
    public var modifier: UInt64
    /// The dma-bufs.
    public var objects: [Object]
    /// The planes: luma, then Cb and Cr interleaved.
    public var planes: [Plane]

    /// A frame with these values.
    public init(
        fourcc: UInt32, width: Int, height: Int, modifier: UInt64, objects: [Object], planes: [Plane]
    ) {
        self.fourcc = fourcc
        self.width = width
        self.height = height
        self.modifier = modifier
        self.objects = objects
        self.planes = planes
    }

    /// DRM_FORMAT_MOD_LINEAR (drm_fourcc.h): rows one after the other.
    static let linearModifier: UInt64 = 0

    /// DRM_FORMAT_MOD_INVALID (drm_fourcc.h): the layout is implicit, known to the driver alone.
    static let invalidModifier: UInt64 = 0x00FF_FFFF_FFFF_FFFF

    /// Checks that the frame is NV12 or P010 of the coded size and lies within its objects.
    ///
    /// The extent of a plane with a modifier other than linear is unknown; only its start is checked.
    /// - Throws: `Parameter` with the reason.
    public func validate(_ format: PixelFormat, width: Int, height: Int) throws(SessionError) {
        func refuse(_ reason: String) -> SessionError { Self.error(reason) }
        guard PixelFormat(fourcc: fourcc) == format, format.isSemiPlanar else {
            throw refuse("its format is not \(format.isSemiPlanar ? format.rawValue : "NV12 or P010")")
        }
        guard self.width == width, self.height == height else {
            throw refuse("it is \(self.width)x\(self.height); only \(width)x\(height) can be coded in place")
        }
        guard modifier != Self.invalidModifier else { throw refuse("its modifier is invalid") }
        guard 1...4 ~= objects.count else { throw refuse("it has \(objects.count) objects, not 1 to 4") }
        guard objects.allSatisfy({ $0.file >= 0 && $0.size > 0 }) else {
            throw refuse("an object has no descriptor or no bytes")
        }
        guard planes.count == format.planeCount else {
            throw refuse("it has \(planes.count) planes, \(format.rawValue) has \(format.planeCount)")
        }
        for (index, plane) in planes.enumerated() { try validate(plane, index, format) }
    }

    private func validate(_ plane: Plane, _ index: Int, _ format: PixelFormat) throws(SessionError) {
        func refuse(_ reason: String) -> SessionError { Self.error("plane \(index) \(reason)") }
        guard objects.indices.contains(plane.object) else {
            throw refuse("is in object \(plane.object), which does not exist")
        }
        let row = UInt64(format.rowBytes(plane: index, width: width))
        let rows = UInt64(format.rows(plane: index, height: height))
        guard UInt64(plane.pitch) >= row, plane.pitch % UInt32(format.bytesPerSample) == 0 else {
            throw refuse("has a pitch of \(plane.pitch), which cannot hold a row of \(row) bytes")
        }
        let needed = modifier == Self.linearModifier ? (rows - 1) * UInt64(plane.pitch) + row : 1
        guard UInt64(plane.offset) + needed <= UInt64(objects[plane.object].size) else {
            throw refuse("ends past its object's \(objects[plane.object].size) bytes")
        }
    }

    private static func error(_ reason: String) -> SessionError {
        SessionError(.parameter, "dma-buf frame: \(reason)")
    }
}
