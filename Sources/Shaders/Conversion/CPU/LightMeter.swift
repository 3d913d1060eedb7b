// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
public import HWDColor
public import HWDModel

/// Measures the light of each picture of a stream, and where its shots start; one luma sample for each chroma sample.
///
/// A picture needs no allocation and about a nanosecond for each of its pixels.
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
    private let tables: [UnsafeMutableRawPointer]
    private let counts: UnsafeMutableBufferPointer<UInt32>
    private var shots = ShotDetector()

    /// Computes the tables, which takes a few milliseconds.
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
        plan.to_index = hwd_plan.rows(measure.toIndex)
        plan.top = Int32(LightMeasure.top)
        plan.first = LightMeasure.firstLuminance
        let codes = Self.table(measure.codeTable)
        var owned = [UnsafeMutableRawPointer(codes)]
        plan.codes = UnsafePointer(codes)
        if let weights = measure.luminanceWeights {
            let (light, largest) = (Self.table(measure.sceneLight), Self.table(measure.largestTerms))
            let luminance = Self.table(measure.luminanceTerms)
            (plan.light, plan.largest, plan.luminance) = (
                UnsafePointer(light), UnsafePointer(largest), UnsafePointer(luminance)
            )
            plan.weights = (Float(weights.x), Float(weights.y), Float(weights.z))
            owned += [
                UnsafeMutableRawPointer(light), UnsafeMutableRawPointer(largest),
                UnsafeMutableRawPointer(luminance),
            ]
        }
        tables = owned
        counts = .allocate(capacity: 2 * LightMeasure.codes)
    }

    deinit {
        for table in tables { table.deallocate() }
        counts.deallocate()
    }

    private static func table<Value: BitwiseCopyable>(_ values: [Value]) -> UnsafeMutablePointer<Value> {
        let table = UnsafeMutableBufferPointer<Value>.allocate(capacity: max(1, values.count))
        _ = table.initialize(from: values)
        // Of a capacity above 0, so that there is an address.
        return table.baseAddress.unsafelyUnwrapped
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
