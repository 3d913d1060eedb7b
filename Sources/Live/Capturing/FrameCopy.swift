// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDModel

/// How a source's frames are copied into slots of a pool.
package struct FrameCopy: Sendable {
    private enum Packing: Sendable { case planes, yuyv }

    /// The samples in the slot.
    package let format: PixelFormat
    let width: Int
    let height: Int
    /// The planes from a slot's first byte on, and the bytes of a slot.
    let layout: FrameLayout
    package let slotSize: Int
    private let packing: Packing

    /// The copy for frames of a format; nil for one that is not recorded.
    package init?(_ captured: CaptureFormat) {
        guard case .raw(let name) = captured.content, captured.width > 0, captured.height > 0,
            max(captured.width, captured.height) <= 16384
        else { return nil }
        let aliases: [String: PixelFormat] = ["YUY2": .nv12, "XR24": .bgra8, "XB24": .rgba8]
        guard let format = aliases[name] ?? PixelFormat(rawValue: name),
            PixelFormat.yCbCr.contains(format) || PixelFormat.rgb.contains(format)
        else { return nil }
        packing = name == "YUY2" ? .yuyv : .planes
        (self.format, width, height) = (format, captured.width, captured.height)
        (layout, slotSize) = FrameLayout.packed(format, width: width, height: height)
    }

    /// The planes' places in the pool for a slot.
    func layout(at offset: Int) -> FrameLayout {
        FrameLayout(
            planes: layout.planes.map { FrameLayout.Plane(offset: $0.offset + UInt64(offset), stride: $0.stride) })
    }

    /// Whether the planes hold a whole frame.
    func fits(_ planes: [CapturePlane]) -> Bool {
        if packing == .yuyv {
            guard let plane = planes.first else { return false }
            return Self.holds(plane, rowBytes: (width + 1) / 2 * 4, rows: height)
        }
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
    func copy(_ planes: [CapturePlane], to slot: UnsafeMutableRawBufferPointer) {
        guard packing == .planes else { return copyYUYV(planes[0], to: slot) }
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

    /// Writes 4:2:2 as 4:2:0: chroma of two rows is averaged.
    private func copyYUYV(_ plane: CapturePlane, to slot: UnsafeMutableRawBufferPointer) {
        let (luma, chroma) = (layout.planes[0], layout.planes[1])
        guard let source = plane.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            let target = slot.baseAddress?.assumingMemoryBound(to: UInt8.self)
        else { return }
        for row in 0..<height {
            let (from, to) = (source + row * plane.stride, target + Int(luma.offset) + row * Int(luma.stride))
            for column in 0..<width { to[column] = from[2 * column] }
        }
        for row in 0..<(height + 1) / 2 {
            let upper = source + 2 * row * plane.stride
            let lower = source + min(2 * row + 1, height - 1) * plane.stride
            let to = target + Int(chroma.offset) + row * Int(chroma.stride)
            for column in 0..<(width + 1) / 2 {
                for part in 0..<2 {
                    let place = 4 * column + 1 + 2 * part
                    to[2 * column + part] = UInt8((Int(upper[place]) + Int(lower[place]) + 1) / 2)
                }
            }
        }
    }
}
