// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
public import HWDColor
public import HWDModel

/// Measures the light of each picture of a stream, and where its shots start; one luma sample for each chroma sample.
///
/// A picture needs no allocation and less than a nanosecond for each of its pixels.
public final class LightMeter {
    /// Samples at each edge that are not measured (letterboxing).
    public struct Edges: Hashable, Sendable {
        public var left, right, top, bottom: Int

        public init(left: Int = 0, right: Int = 0, top: Int = 0, bottom: Int = 0) {
            (self.left, self.right, self.top, self.bottom) = (left, right, top, bottom)
        }
    }

    /// What was measured on a picture.
    public struct Reading: Hashable, Sendable {
        public var light: PictureLight
        /// Whether the picture is the first of a shot.
        public var startsShot: Bool
    }

    private let image: ImageDescription
    /// The offset of the first measured sample, in chroma samples.
    private let origin: (x: Int, y: Int)
    private var plan = hwd_light_plan()
    private let codes: UnsafeMutableBufferPointer<UInt16>
    private let counts: UnsafeMutableBufferPointer<UInt32>
    private var shots = ShotDetector()

    /// Computes the table, which takes a millisecond.
    ///
    /// Returns nil for pictures that are not Y'CbCr, or neither PQ nor HLG; edges that leave nothing are ignored.
    public init?(_ image: ImageDescription, edges: Edges = Edges()) {
        guard let measure = LightMeasure(image), image.width > 0, image.height > 0 else { return nil }
        self.image = image
        let (columns, rows) = ((image.width + 1) / 2, (image.height + 1) / 2)
        let (left, top) = (max(0, edges.left + 1) / 2, max(0, edges.top + 1) / 2)
        let (width, height) = (
            columns - left - max(0, edges.right + 1) / 2, rows - top - max(0, edges.bottom + 1) / 2
        )
        let isEmpty = width <= 0 || height <= 0
        origin = isEmpty ? (0, 0) : (left, top)
        plan.width = Int32(isEmpty ? columns : width)
        plan.height = Int32(isEmpty ? rows : height)
        plan.source = hwd_layout(image)
        plan.to_rgb = hwd_plan.rows(measure.toRGB)
        let indexing = measure.indexing
        (plan.scale, plan.gain, plan.offset) = (Float(indexing.scale), Float(indexing.gain), Float(indexing.offset))
        let table = measure.codeTable
        codes = .allocate(capacity: table.count)
        _ = codes.initialize(from: table)
        plan.top = Int32(LightMeasure.codes - 1)
        if let weights = measure.luminanceWeights {
            plan.codes = UnsafePointer(codes.baseAddress)
            plan.top = Int32(table.count - 1)
            plan.weights = (Float(weights.x), Float(weights.y), Float(weights.z))
            plan.least = Float(measure.leastLight)
        }
        counts = .allocate(capacity: 2 * LightMeasure.codes)
    }

    deinit {
        codes.deallocate()
        counts.deallocate()
    }

    /// Measures a picture; pictures are passed in output order.
    ///
    /// - Throws: `Parameter` for planes that are too few or too narrow.
    public func measure(_ planes: [PlaneView]) throws(SessionError) -> Reading {
        guard planes.count >= image.format.planeCount else {
            throw SessionError(.parameter, "a picture of \(planes.count) planes is not \(image.format.rawValue)")
        }
        for plane in 0..<image.format.planeCount
        where planes[plane].stride < image.format.rowBytes(plane: plane, width: image.width) {
            throw SessionError(.parameter, "plane \(plane) is too narrow for a row")
        }
        counts.update(repeating: 0)
        withUnsafeTemporaryAllocation(of: hwd_plane.self, capacity: 3) { places in
            for index in 0..<3 { places[index] = place(planes[min(index, planes.count - 1)], index) }
            hwd_measure_light(&plan, places.baseAddress, counts.baseAddress)
        }
        let found = UnsafeBufferPointer(rebasing: counts[..<LightMeasure.codes]).span
        return Reading(light: PictureLight(counts: found), startsShot: shots.startsShot(counts: found))
    }

    /// Where the measured part of a plane begins.
    private func place(_ plane: PlaneView, _ index: Int) -> hwd_plane {
        let (luma, size) = (index == 0, image.format.bytesPerSample)
        let columns = origin.x * (luma || image.format.isSemiPlanar ? 2 : 1)
        let offset = origin.y * (luma ? 2 : 1) * plane.stride + columns * size
        return hwd_plane(base: (plane.base + offset).assumingMemoryBound(to: UInt8.self), stride: plane.stride)
    }
}
