// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDRawPictures
package import HWDCapturing
package import HWDModel

/// How uncompressed pictures lie in a source's memory, and the format in which a sink gets them.
package struct RawFormat: Hashable, Sendable {
    package let layout: hwd_raw_layout
    package let pixelFormat: PixelFormat

    package init(_ layout: hwd_raw_layout, _ pixelFormat: PixelFormat) {
        (self.layout, self.pixelFormat) = (layout, pixelFormat)
    }

    package static func == (one: RawFormat, other: RawFormat) -> Bool {
        one.layout == other.layout && one.pixelFormat == other.pixelFormat
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(layout.rawValue)
        hasher.combine(pixelFormat)
    }

    /// Whether a sink can read the planes in the source's memory.
    fileprivate var isInPlace: Bool { ![HWD_RAW_YUYV, HWD_RAW_UYVY, HWD_RAW_RGBX].contains(layout) }
}

/// Sends pictures of one size to a sink.
///
/// Used by one thread at a time.
package final class RawPictures {
    private let format: RawFormat
    private let width: Int
    private let height: Int
    private let scratch: ScratchPicture?

    package init(_ format: RawFormat, width: Int, height: Int) {
        (self.format, self.width, self.height) = (format, width, height)
        scratch = format.isInPlace ? nil : ScratchPicture(format.pixelFormat, width: width, height: height)
    }

    /// Sends a picture whose planes lie one after the other.
    ///
    /// - Parameter stride: bytes of a row of the first plane; 0 for GstVideoInfo's layout.
    /// - Returns: false, without a call, where the bytes do not hold a picture.
    package func send(
        _ bytes: UnsafeRawBufferPointer, stride: UInt32, to sink: any CaptureSink, at time: UInt64,
        sequence: UInt64?
    ) -> Bool {
        var source = hwd_raw_source()
        guard
            hwd_raw_split(
                format.layout, UInt32(width), UInt32(height), bytes.baseAddress, UInt64(bytes.count), stride,
                &source)
        else { return false }
        return send(source, to: sink, at: time, sequence: sequence)
    }

    /// Sends a picture.
    ///
    /// - Returns: false, without a call, where a plane's bytes do not hold it.
    package func send(
        _ source: hwd_raw_source, to sink: any CaptureSink, at time: UInt64, sequence: UInt64?
    ) -> Bool {
        var source = source
        guard hwd_raw_fits(format.layout, UInt32(width), UInt32(height), &source) else { return false }
        if let scratch {
            var target = scratch.target
            hwd_raw_copy(format.layout, UInt32(width), UInt32(height), &source, &target)
            sink.frame(scratch.planes, at: time, sequence: sequence)
            return true
        }
        let bases = [source.base.0, source.base.1, source.base.2]
        let strides = [source.stride.0, source.stride.1, source.stride.2]
        let planes = (0..<format.pixelFormat.planeCount).map { plane in
            let size =
                (format.pixelFormat.rows(plane: plane, height: height) - 1) * Int(strides[plane])
                + format.pixelFormat.rowBytes(plane: plane, width: width)
            return CapturePlane(
                UnsafeRawBufferPointer(start: bases[plane], count: size), stride: Int(strides[plane]))
        }
        sink.frame(planes, at: time, sequence: sequence)
        return true
    }
}

/// Memory for a picture that is converted before a sink gets it.
///
/// Used by one thread at a time.
package final class ScratchPicture {
    private let memory: UnsafeMutableRawBufferPointer
    /// Where its planes are written.
    package let target: hwd_raw_target
    package let planes: [CapturePlane]

    package init(_ format: PixelFormat, width: Int, height: Int) {
        let (layout, size) = FrameLayout.packed(format, width: width, height: height)
        memory = .allocate(byteCount: size, alignment: 64)
        var target = hwd_raw_target()
        var planes: [CapturePlane] = []
        for (index, plane) in layout.planes.enumerated() {
            let start = Int(plane.offset)
            let end = start + Int(plane.stride) * format.rows(plane: index, height: height)
            let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[start..<end])
            planes.append(CapturePlane(UnsafeRawBufferPointer(bytes), stride: Int(plane.stride)))
            let base = bytes.bindMemory(to: UInt8.self).baseAddress
            switch index {
            case 0: (target.base.0, target.stride.0) = (base, plane.stride)
            case 1: (target.base.1, target.stride.1) = (base, plane.stride)
            default: (target.base.2, target.stride.2) = (base, plane.stride)
            }
        }
        (self.target, self.planes) = (target, planes)
    }

    deinit { memory.deallocate() }
}
