// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A frame in dma-bufs, as a client or a decoder describes it: nothing about it is believed until `validate`.
public struct DMABufFrame: Hashable, Sendable {
    /// One dma-buf.
    public struct Object: Hashable, Sendable {
        /// Its descriptor, which stays the caller's.
        public var file: Int32
        /// Its bytes.
        public var size: UInt32

        /// A dma-buf.
        public init(file: Int32, size: UInt32) {
            self.file = file
            self.size = size
        }
    }

    /// Where a plane lies.
    public struct Plane: Hashable, Sendable {
        /// Which of the objects.
        public var object: Int
        /// Bytes from its start.
        public var offset: UInt32
        /// Bytes from a row to the next.
        public var pitch: UInt32

        /// A place.
        public init(object: Int, offset: UInt32, pitch: UInt32) {
            self.object = object
            self.offset = offset
            self.pitch = pitch
        }
    }

    /// DRM fourcc of the whole.
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

    /// Describes a frame.
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

    /// DRM_FORMAT_MOD_INVALID: "ask the driver", which says nothing.
    static let invalidModifier: UInt64 = 0x00FF_FFFF_FFFF_FFFF

    /// Checks the description against what is encoded: NV12 or P010 of the coded size.
    ///
    /// Bytes of planes with a modifier other than linear cannot be counted here, only that they start inside.
    /// - Throws: `Parameter`, naming what is wrong.
    public func validate(_ format: PixelFormat, width: Int, height: Int) throws(SessionError) {
        func refuse(_ reason: String) -> SessionError { SessionError(.parameter, "dma-buf frame: \(reason)") }
        guard PixelFormat(fourcc: fourcc) == format, format.isSemiPlanar else {
            throw refuse("its format is not \(format.isSemiPlanar ? format.rawValue : "NV12 or P010")")
        }
        guard self.width == width, self.height == height else {
            throw refuse("it is \(self.width)x\(self.height); only \(width)x\(height) can be coded in place")
        }
        guard modifier != Self.invalidModifier else { throw refuse("its modifier is invalid") }
        guard 1...4 ~= objects.count else { throw refuse("it has \(objects.count) objects, not 1 to 4") }
        guard objects.allSatisfy({ $0.file >= 0 && $0.size > 0 }) else {
            throw refuse("an object without a descriptor or without bytes")
        }
        guard planes.count == format.planeCount else {
            throw refuse("it has \(planes.count) planes, \(format.rawValue) has \(format.planeCount)")
        }
        for (index, plane) in planes.enumerated() {
            guard objects.indices.contains(plane.object) else {
                throw refuse("plane \(index) lies in object \(plane.object), which does not exist")
            }
            let row = UInt64(format.rowBytes(plane: index, width: width))
            let rows = UInt64(format.rows(plane: index, height: height))
            guard UInt64(plane.pitch) >= row, plane.pitch % UInt32(format.bytesPerSample) == 0 else {
                throw refuse("plane \(index): a pitch of \(plane.pitch) cannot hold a row of \(row) bytes")
            }
            let needed = modifier == 0 ? (rows - 1) * UInt64(plane.pitch) + row : 1
            guard UInt64(plane.offset) + needed <= UInt64(objects[plane.object].size) else {
                throw refuse("plane \(index) ends past its object's \(objects[plane.object].size) bytes")
            }
        }
    }
}
