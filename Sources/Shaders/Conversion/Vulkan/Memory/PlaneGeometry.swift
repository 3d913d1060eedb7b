// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel

/// A plane's size and its position in a staging buffer.
struct PlaneGeometry {
    /// Bytes of samples in a row.
    let rowBytes: Int
    /// Rows of the whole plane.
    let rows: Int
    /// Picture rows for each row of the plane.
    let rowsPerRow: Int
    /// Offset and stride in staging, multiples of every word size that shaders use.
    let offset: Int
    let stride: Int

    /// The largest `minStorageBufferOffsetAlignment` (Vulkan 1.1, table "Required Limits").
    static let bindingAlignment = 256
    /// The alignment of rows: four words, the most that an invocation reads beyond a row's end.
    static let rowAlignment = 16

    /// The planes of a picture one after the other, and their total size.
    static func planes(of image: ImageDescription) -> (planes: [PlaneGeometry], size: Int) {
        var planes: [PlaneGeometry] = []
        var offset = 0
        for plane in 0..<image.format.planeCount {
            let rowBytes = image.format.rowBytes(plane: plane, width: image.width)
            let rows = image.format.rows(plane: plane, height: image.height)
            let stride = rowBytes.roundedUp(to: rowAlignment)
            planes.append(
                PlaneGeometry(
                    rowBytes: rowBytes, rows: rows, rowsPerRow: plane == 0 ? 1 : 2, offset: offset, stride: stride))
            offset += (rows * stride).roundedUp(to: bindingAlignment)
        }
        return (planes, offset)
    }

    /// The plane's rows for a range of picture rows, with up to `margin` more on both sides.
    func rows(of picture: Range<Int>, margin: Int) -> Range<Int> {
        let end = (picture.upperBound + rowsPerRow - 1) / rowsPerRow
        return max(picture.lowerBound / rowsPerRow - margin, 0)..<min(end + margin, rows)
    }
}

extension PlaneGeometry {
    /// Copies rows of a plane to its place in staging memory.
    func upload(_ rows: Range<Int>, of view: PlaneView, to memory: UnsafeMutableRawBufferPointer) {
        guard let start = memory.baseAddress else { return }
        for row in rows {
            (start + offset + row * stride).copyMemory(from: view.base + row * view.stride, byteCount: rowBytes)
        }
    }

    /// Copies rows from staging memory to a plane.
    func download(_ rows: Range<Int>, from memory: UnsafeMutableRawBufferPointer, to view: MutablePlaneView) {
        guard let start = memory.baseAddress else { return }
        for row in rows {
            (view.base + row * view.stride).copyMemory(from: start + offset + row * stride, byteCount: rowBytes)
        }
    }
}

extension VulkanDevice {
    /// A plane in the imported region that contains it; nil where it must be copied.
    ///
    /// - Parameter limit: the greatest size of a binding. Planes with so long strides that few rows fit are copied.
    func direct(
        _ plane: PlaneGeometry, _ base: UnsafeRawPointer, _ stride: Int, isTarget: Bool, limit: Int
    ) -> BoundPlane? {
        guard stride <= limit / 16 else { return nil }
        for region in regions {
            if let offset = region.offset(of: base, stride: stride, plane, isTarget: isTarget) {
                return BoundPlane(
                    geometry: plane, buffer: region.buffer.handle, size: region.buffer.memory.count, offset: offset,
                    stride: stride, isDirect: true)
            }
        }
        return nil
    }
}

extension Int {
    /// The next multiple of `multiple`.
    func roundedUp(to multiple: Int) -> Int { (self + multiple - 1) / multiple * multiple }
}
