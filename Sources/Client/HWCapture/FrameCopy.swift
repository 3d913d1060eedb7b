// SPDX-License-Identifier: MIT
package import HWDModel

/// How a source's frames are copied into slots of a pool.
package struct FrameCopy: Sendable {
    /// The samples in the slot.
    package let format: PixelFormat
    package let width: Int
    package let height: Int
    /// The planes from a slot's first byte on, and the bytes of a slot.
    package let layout: FrameLayout
    package let slotSize: Int

    /// The copy for frames of a format; nil for one that is not recorded.
    package init?(_ captured: CaptureFormat) {
        guard case .raw(let name) = captured.content, captured.width > 0, captured.height > 0,
            max(captured.width, captured.height) <= 16384
        else { return nil }
        guard let format = PixelFormat(rawValue: name),
            PixelFormat.yCbCr.contains(format) || PixelFormat.rgb.contains(format)
        else { return nil }
        (self.format, width, height) = (format, captured.width, captured.height)
        (layout, slotSize) = FrameLayout.packed(format, width: width, height: height)
    }

    /// The planes' offsets in the pool for a slot.
    package func layout(at offset: Int) -> FrameLayout {
        FrameLayout(
            planes: layout.planes.map { FrameLayout.Plane(offset: $0.offset + UInt64(offset), stride: $0.stride) })
    }

    /// Whether the planes hold a whole frame.
    package func fits(_ planes: [CapturePlane]) -> Bool {
        guard planes.count == format.planeCount else { return false }
        return planes.indices.allSatisfy { number in
            Self.holds(
                planes[number], rowBytes: format.rowBytes(plane: number, width: width),
                rows: format.rows(plane: number, height: height))
        }
    }

    private static func holds(_ plane: CapturePlane, rowBytes: Int, rows: Int) -> Bool {
        guard plane.stride >= rowBytes else { return false }
        let (before, overflow) = (rows - 1).multipliedReportingOverflow(by: plane.stride)
        return !overflow && before <= plane.bytes.count - rowBytes
    }

    /// Copies a frame whose planes fit.
    package func copy(_ planes: [CapturePlane], to slot: UnsafeMutableRawBufferPointer) {
        for (number, plane) in planes.enumerated() {
            let target = layout.planes[number]
            let rowBytes = format.rowBytes(plane: number, width: width)
            for row in 0..<format.rows(plane: number, height: height) {
                let start = Int(target.offset) + row * Int(target.stride)
                UnsafeMutableRawBufferPointer(rebasing: slot[start..<start + rowBytes]).copyMemory(
                    from: UnsafeRawBufferPointer(
                        rebasing: plane.bytes[row * plane.stride..<row * plane.stride + rowBytes]))
            }
        }
    }
}
