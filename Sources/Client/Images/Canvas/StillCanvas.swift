// SPDX-License-Identifier: MIT
internal import Glibc
package import HWDHEIF
package import HWDModel

/// The picture that parts of decoded ones are copied to, turned as their items say.
package final class StillCanvas {
    /// `yu12`, `i010` or `yuva`.
    package let format: PixelFormat
    package let width: Int
    package let height: Int
    /// Where the planes are in `memory`.
    package let layout: FrameLayout
    private let pool: UnsafeMutableRawBufferPointer

    /// The most samples; larger pictures are decoded in parts.
    package static let maxSamples = 1 << 28

    /// Whether a canvas may have this size.
    package static func canHold(width: Int, height: Int) -> Bool {
        (1...1 << 16).contains(width) && (1...1 << 16).contains(height) && width * height <= maxSamples
    }

    /// A canvas whose samples are all 0, which is no color of its own; its pages cost memory when they are written.
    ///
    /// - Throws: `unsupported` for a canvas that is too large for memory.
    package init(_ format: PixelFormat, width: Int, height: Int) throws(ImageError) {
        let packed = FrameLayout.packed(format, width: width, height: height)
        guard Self.canHold(width: width, height: height), let base = calloc(packed.size, 1) else {
            throw ImageError(
                .unsupported,
                "a picture of \(width)x\(height) is too large to be held at once: decode a region of it")
        }
        (self.format, self.width, self.height, layout) = (format, width, height, packed.layout)
        pool = UnsafeMutableRawBufferPointer(start: base, count: packed.size)
    }

    deinit { free(pool.baseAddress) }

    /// The samples, valid as long as the canvas.
    package var memory: UnsafeRawBufferPointer { UnsafeRawBufferPointer(pool) }

    /// The planes, for writing; valid as long as the canvas.
    package var planes: [MutablePlaneView] {
        guard let base = pool.baseAddress else { return [] }
        return layout.mutablePlanes(at: base)
    }

    /// Copies a part of a picture in the canvas's format; alpha stays.
    /// - Parameter source: planes of Y', Cb and Cr, which hold the part.
    package func paint(_ source: [PlaneView], _ copy: DecodePlan.Copy) {
        guard source.count >= 3 else { return }
        let target = planes
        for plane in 0..<3 {
            paint(StillCopy(copy, isChroma: plane > 0), source[plane], target[plane])
        }
    }

    /// Copies the luma of a part of a picture of 8 bits to the canvas's alpha.
    package func paintAlpha(_ source: [PlaneView], _ copy: DecodePlan.Copy) {
        guard format == .yuva, let luma = source.first else { return }
        paint(StillCopy(copy, isChroma: false), luma, planes[3])
    }

    /// Sets the alpha of the whole canvas to opaque.
    package func makeOpaque() {
        guard format == .yuva else { return }
        let alpha = planes[3]
        for row in 0..<height { memset(alpha.base + row * alpha.stride, 255, width) }
    }

    /// The picture with an opaque alpha.
    /// - Throws: what making a canvas throws.
    package func withOpaqueAlpha() throws(ImageError) -> StillCanvas {
        guard format == .yu12 else {
            throw ImageError(.unsupported, "a picture of 10 bits cannot be written as yuva, which has 8")
        }
        let opaque = try StillCanvas(.yuva, width: width, height: height)
        for (plane, target) in opaque.planes.prefix(3).enumerated() {
            target.copyRows(
                of: PlaneView(base: UnsafeRawPointer(planes[plane].base), stride: planes[plane].stride),
                rowBytes: format.rowBytes(plane: plane, width: width),
                rows: format.rows(plane: plane, height: height))
        }
        opaque.makeOpaque()
        return opaque
    }

    /// The picture turned: mirrored, then in quarter turns counter-clockwise.
    package func turned(_ orientation: Orientation) throws(ImageError) -> StillCanvas {
        let isTransposed = orientation.turns % 2 == 1
        let target = try StillCanvas(
            format, width: isTransposed ? height : width, height: isTransposed ? width : height)
        let source = planes.map { PlaneView(base: UnsafeRawPointer($0.base), stride: $0.stride) }
        target.paint(
            source,
            DecodePlan.Copy(
                item: 0, source: PixelRect(width: width, height: height), orientation: orientation,
                destination: PixelRect(width: target.width, height: target.height)))
        return target
    }

    /// Sets chroma to gray.
    package func makeGray() {
        let gray = 1 << (format.bitDepth - 1)
        for plane in planes[1...2] {
            for row in 0..<format.rows(plane: 1, height: height) {
                let line = plane.base + row * plane.stride
                for column in 0..<(width + 1) / 2 {
                    if format.bytesPerSample == 2 {
                        line.storeBytes(of: UInt16(gray), toByteOffset: 2 * column, as: UInt16.self)
                    } else {
                        line.storeBytes(of: UInt8(gray), toByteOffset: column, as: UInt8.self)
                    }
                }
            }
        }
    }

    /// Copies a part of the picture, whose place is even; what is beyond its edges repeats the last samples.
    package func copyTile(_ part: PixelRect, to target: [MutablePlaneView]) {
        for (plane, source) in planes.prefix(3).enumerated() {
            let shift = plane > 0 ? 1 : 0
            let (columns, rows) = ((width + shift) >> shift, (height + shift) >> shift)
            let (x, y) = (part.x >> shift, part.y >> shift)
            let (across, down) = ((part.width + shift) >> shift, (part.height + shift) >> shift)
            let step = format.bytesPerSample
            let known = min(across, columns - x)
            for row in 0..<down {
                let from = source.base + min(y + row, rows - 1) * source.stride + x * step
                let line = target[plane].base + row * target[plane].stride
                line.copyMemory(from: from, byteCount: known * step)
                for column in known..<max(known, across) {
                    (line + column * step).copyMemory(from: line + (known - 1) * step, byteCount: step)
                }
            }
        }
    }

    private func paint(_ copy: StillCopy, _ source: PlaneView, _ target: MutablePlaneView) {
        if format.bytesPerSample == 2 {
            copy.run(UInt16.self, source, target)
        } else {
            copy.run(UInt8.self, source, target)
        }
    }

    /// Fills a rectangle with a color.
    /// - Parameter samples: Y', Cb and Cr in the canvas's bit depth.
    package func fill(_ rect: PixelRect, _ samples: [Int]) {
        let target = planes
        for (plane, sample) in samples.prefix(3).enumerated() {
            let shift = plane > 0 ? 1 : 0
            let (left, right) = (rect.x >> shift, (rect.maxX + shift) >> shift)
            for row in rect.y >> shift..<(rect.maxY + shift) >> shift {
                let line = target[plane].base + row * target[plane].stride
                for column in left..<right {
                    if format.bytesPerSample == 2 {
                        line.storeBytes(of: UInt16(sample), toByteOffset: 2 * column, as: UInt16.self)
                    } else {
                        line.storeBytes(of: UInt8(sample), toByteOffset: column, as: UInt8.self)
                    }
                }
            }
        }
    }
}

/// One plane of a copy: where its samples are, as functions of those they are copied to.
private struct StillCopy {
    /// Samples of the plane that are written.
    private let columns: Range<Int>
    private let rows: Range<Int>
    private let shift: Int
    private let copy: DecodePlan.Copy

    init(_ copy: DecodePlan.Copy, isChroma: Bool) {
        self.copy = copy
        shift = isChroma ? 1 : 0
        let target = copy.destination
        columns = target.x >> shift..<((target.maxX - 1) >> shift) + 1
        rows = target.y >> shift..<((target.maxY - 1) >> shift) + 1
    }

    /// The source sample of a sample of the target, by luma positions: chroma is that of the first luma sample.
    private func source(_ column: Int, _ row: Int) -> (x: Int, y: Int) {
        let (target, part) = (copy.destination, copy.source)
        let x = max(column << shift, target.x) - target.x
        let y = max(row << shift, target.y) - target.y
        var (across, down): (Int, Int) =
            switch copy.orientation.turns {
            case 1: (part.width - 1 - y, x)
            case 2: (part.width - 1 - x, part.height - 1 - y)
            case 3: (y, part.height - 1 - x)
            default: (x, y)
            }
        if copy.orientation.isMirrored { across = part.width - 1 - across }
        (across, down) = (part.x + across, part.y + down)
        return (across >> shift, down >> shift)
    }

    func run<Sample: FixedWidthInteger & BitwiseCopyable>(
        _ type: Sample.Type, _ from: PlaneView, _ to: MutablePlaneView
    ) {
        let step = MemoryLayout<Sample>.size
        let isStraight =
            copy.orientation == .upright && (copy.destination.x - copy.source.x) & shift == 0
            && copy.destination.x & shift == 0
        let acrossByColumn = columns.map { source($0, rows.lowerBound) }
        let isTransposed = copy.orientation.turns % 2 == 1
        for row in rows {
            let line = to.base + row * to.stride
            let first = source(columns.lowerBound, row)
            if isStraight {
                (line + columns.lowerBound * step).copyMemory(
                    from: from.base + first.y * from.stride + first.x * step, byteCount: columns.count * step)
                continue
            }
            for column in columns {
                // One coordinate depends on the column alone, the other one on the row alone.
                let known = acrossByColumn[column - columns.lowerBound]
                let (x, y) = isTransposed ? (first.x, known.y) : (known.x, first.y)
                let sample = (from.base + y * from.stride + x * step).loadUnaligned(as: Sample.self)
                (line + column * step).storeBytes(of: sample, as: Sample.self)
            }
        }
    }
}
