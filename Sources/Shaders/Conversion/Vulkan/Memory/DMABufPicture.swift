// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A picture in dma-bufs as a driver or a client describes it; unchecked until `validate`.
public struct DMABufPicture: Hashable, Sendable {
    /// The position of a plane.
    public struct Plane: Hashable, Sendable {
        /// The index of its object.
        public var object: Int
        /// Bytes from the object's start.
        public var offset: UInt64
        /// Bytes from a row to the next, as the modifier defines them.
        public var pitch: UInt64
        /// The DRM format modifier, which defines the tiling; 0 is linear.
        public var modifier: UInt64

        /// A position.
        public init(object: Int, offset: UInt64, pitch: UInt64, modifier: UInt64) {
            self.object = object
            self.offset = offset
            self.pitch = pitch
            self.modifier = modifier
        }
    }

    /// DRM_FORMAT_MOD_INVALID (drm_fourcc.h): the layout is implicit, known to the driver alone.
    static let invalidModifier: UInt64 = 0x00FF_FFFF_FFFF_FFFF

    /// The pixel format: semi-planar or RGB.
    public var format: PixelFormat
    /// Samples a row of the whole surface; the picture is its upper left part.
    public var width: Int
    /// Rows of the whole surface.
    public var height: Int
    /// Descriptors of the dma-bufs, owned by the caller.
    public var objects: [Int32]
    /// The planes of the format, in order.
    public var planes: [Plane]

    /// A picture with these values.
    public init(format: PixelFormat, width: Int, height: Int, objects: [Int32], planes: [Plane]) {
        self.format = format
        self.width = width
        self.height = height
        self.objects = objects
        self.planes = planes
    }

    /// Checks the description against the expected picture and the dma-bufs' sizes.
    ///
    /// The extent of a plane with a modifier other than linear is unknown here, so only its start is checked; the import
    /// compares the driver's requirements.
    /// - Parameter sizes: the objects' sizes in bytes, from the kernel.
    /// - Throws: `Parameter` with the reason.
    func validate(
        _ format: PixelFormat, width: Int, height: Int, sizes: [UInt64]
    ) throws(SessionError) {
        func refuse(_ reason: String) -> SessionError { SessionError(.parameter, "dma-buf picture: \(reason)") }
        guard self.format == format, format.isSemiPlanar || !format.isYCbCr else {
            throw refuse(
                "\(self.format.rawValue) is not the \(format.rawValue) that is converted, or cannot be in images")
        }
        guard width > 0, height > 0, self.width >= width, self.height >= height,
            max(self.width, self.height) <= 1 << 16
        else {
            throw refuse("a surface of \(self.width)x\(self.height) cannot hold \(width)x\(height)")
        }
        guard 1...4 ~= objects.count, sizes.count == objects.count else {
            throw refuse("it has \(objects.count) objects, not 1 to 4")
        }
        guard objects.allSatisfy({ $0 >= 0 }), sizes.allSatisfy({ $0 > 0 }) else {
            throw refuse("an object has no descriptor or no bytes")
        }
        guard planes.count == format.planeCount else {
            throw refuse("it has \(planes.count) planes, \(format.rawValue) has \(format.planeCount)")
        }
        for (index, plane) in planes.enumerated() {
            guard objects.indices.contains(plane.object) else {
                throw refuse("plane \(index) is in object \(plane.object), which does not exist")
            }
            guard plane.modifier != Self.invalidModifier else {
                throw refuse("plane \(index): its modifier is invalid")
            }
            let row = UInt64(format.rowBytes(plane: index, width: self.width))
            let rows = UInt64(format.rows(plane: index, height: self.height))
            let sample = UInt64(format.bytesPerSample)
            guard plane.pitch >= row, plane.pitch <= UInt64(Int32.max), plane.pitch % sample == 0,
                plane.offset % sample == 0
            else { throw refuse("plane \(index): a pitch of \(plane.pitch) cannot hold a row of \(row) bytes") }
            let needed = plane.modifier == 0 ? (rows - 1) * plane.pitch + row : 1
            // rows < 2³² and pitch < 2³¹: the product cannot overflow, the sum with the offset can.
            let (end, overflow) = plane.offset.addingReportingOverflow(needed)
            guard !overflow, end <= sizes[plane.object] else {
                throw refuse("plane \(index) ends past its object's \(sizes[plane.object]) bytes")
            }
        }
    }
}
