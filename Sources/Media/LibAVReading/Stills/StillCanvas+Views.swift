// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
package import HWImages

extension StillCanvas {
    /// All of it.
    package func view() throws(SessionError) -> PictureView {
        try PictureView(
            memory: memory, layout: layout, format: format, width: width, height: height,
            part: PictureRectangle(x: 0, y: 0, width: UInt32(width), height: UInt32(height)))
    }

    /// Copies a picture of the same size and format.
    package func copy(_ picture: PictureView) {
        for (plane, target) in planes.enumerated() {
            guard let source = picture.plane(plane) else { return }
            target.copyRows(
                of: source, rowBytes: format.rowBytes(plane: plane, width: width),
                rows: format.rows(plane: plane, height: height))
        }
    }
}
