// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A picture in dma-bufs, as a driver or a client describes it: nothing about it is believed until it was checked.
public struct DMABufPicture: Hashable, Sendable {
    /// Where a plane lies.
    public struct Plane: Hashable, Sendable {
        /// Which of the objects.
        public var object: Int
        /// Bytes from its start.
        public var offset: UInt64
        /// Bytes from a row to the next, as the modifier has it.
        public var pitch: UInt64
        /// DRM format modifier: the tiling, which only drivers understand; 0 is linear.
        public var modifier: UInt64

        /// A place.
        public init(object: Int, offset: UInt64, pitch: UInt64, modifier: UInt64) {
            self.object = object
            self.offset = offset
            self.pitch = pitch
            self.modifier = modifier
        }
    }

    /// DRM_FORMAT_MOD_INVALID: "ask the driver", which says nothing.
    static let invalidModifier: UInt64 = 0x00FF_FFFF_FFFF_FFFF

    /// How samples lie: semi-planar or RGB.
    public var format: PixelFormat
    /// Samples a row of the whole surface, of which the picture is the upper left part.
    public var width: Int
    /// Its rows.
    public var height: Int
    /// Descriptors of the dma-bufs, which stay the caller's.
    public var objects: [Int32]
    /// The planes, as the format has them.
    public var planes: [Plane]

    /// Describes a picture.
    public init(format: PixelFormat, width: Int, height: Int, objects: [Int32], planes: [Plane]) {
        self.format = format
        self.width = width
        self.height = height
        self.objects = objects
        self.planes = planes
    }

    /// Checks the description against the picture that is expected and the dma-bufs' true sizes.
    ///
    /// Bytes of planes with a modifier other than linear cannot be counted here, only that they start inside; what the
    /// driver says they need is compared when they are imported.
    /// - Parameter sizes: bytes of the objects, by asking the kernel.
    /// - Throws: `Parameter`, naming what is wrong.
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
            throw refuse("an object without a descriptor or without bytes")
        }
        guard planes.count == format.planeCount else {
            throw refuse("it has \(planes.count) planes, \(format.rawValue) has \(format.planeCount)")
        }
        for (index, plane) in planes.enumerated() {
            guard objects.indices.contains(plane.object) else {
                throw refuse("plane \(index) lies in object \(plane.object), which does not exist")
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
