// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel

/// A plane's size and its place in a staging buffer.
struct PlaneGeometry {
    /// Bytes of a row that count.
    let rowBytes: Int
    /// Rows of the whole plane.
    let rows: Int
    /// Picture rows to a row of the plane.
    let rowsPerRow: Int
    /// Where it begins in staging, and its stride there: whole words of every kind that shaders use.
    let offset: Int
    let stride: Int

    /// What storage bindings may need to be aligned to, at most (Vulkan's limits table).
    static let bindingAlignment = 256
    /// What rows are aligned to: four words, the most that an invocation reads beyond a row's end.
    static let rowAlignment = 16

    /// The planes of a picture one after the other, and the bytes of them all.
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

    /// The plane's rows that picture rows lie in, with `margin` more on both sides where there are any.
    func rows(of picture: Range<Int>, margin: Int) -> Range<Int> {
        let end = (picture.upperBound + rowsPerRow - 1) / rowsPerRow
        return max(picture.lowerBound / rowsPerRow - margin, 0)..<min(end + margin, rows)
    }
}

extension Int {
    /// The next multiple of a number.
    func roundedUp(to multiple: Int) -> Int { (self + multiple - 1) / multiple * multiple }
}
