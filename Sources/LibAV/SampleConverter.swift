// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
package import HWDModel

/// Brings pictures from one of our pixel formats to another: planes joined or parted, depth changed when asked.
///
/// No colours change: 8 bits become 10 by a factor of 4, and back to the nearest value.
package struct SampleConverter {
    /// What is read.
    package let source: PixelFormat
    /// What is written.
    package let target: PixelFormat

    /// From one format to another.
    package init(source: PixelFormat, target: PixelFormat) {
        self.source = source
        self.target = target
    }

    /// A picture's planes, the caller's for the length of a call.
    package struct Planes {
        package var data: [UnsafeMutableRawPointer]
        package var strides: [Int]

        /// Planes by their first samples and the bytes from row to row.
        package init(data: [UnsafeMutableRawPointer], strides: [Int]) {
            self.data = data
            self.strides = strides
        }
    }

    /// Copies a picture of `width`×`height`.
    package func copy(_ from: Planes, to: Planes, width: Int, height: Int) {
        let chroma = (width + 1) / 2
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: max(width, chroma)) { row in
            guard let values = row.baseAddress else { return }
            for line in 0..<height {
                let (a, b) = (from.data[0] + line * from.strides[0], to.data[0] + line * to.strides[0])
                if Self.kind(source) == Self.kind(target) {
                    b.copyMemory(from: a, byteCount: width * source.bytesPerSample)
                } else {
                    move(a, 1, b, 1, width, values)
                }
            }
            for line in 0..<(height + 1) / 2 {
                for component in 0..<2 {
                    let (a, stepA) = Self.component(component, source, from, line)
                    let (b, stepB) = Self.component(component, target, to, line)
                    move(a, stepA, b, stepB, chroma, values)
                }
            }
        }
    }

    private func move(
        _ from: UnsafeMutableRawPointer, _ stepFrom: Int32, _ to: UnsafeMutableRawPointer, _ stepTo: Int32,
        _ count: Int, _ values: UnsafeMutablePointer<UInt16>
    ) {
        clibav_load(from, Self.kind(source), stepFrom, target.bitDepth > 8 ? 1 : 0, Int32(count), values)
        clibav_store(to, Self.kind(target), stepTo, Int32(count), values)
    }

    /// Where a row of Cb (0) or Cr (1) begins, and how far apart its samples are.
    private static func component(
        _ component: Int, _ format: PixelFormat, _ planes: Planes, _ line: Int
    ) -> (UnsafeMutableRawPointer, Int32) {
        let plane = format.isSemiPlanar ? 1 : 1 + component
        let row = planes.data[plane] + line * planes.strides[plane]
        return format.isSemiPlanar ? (row + component * format.bytesPerSample, 2) : (row, 1)
    }

    private static func kind(_ format: PixelFormat) -> clibav_sample {
        switch format {
        case .nv12, .yu12, .yuva, .bgra8, .rgba8: CLIBAV_SAMPLE_8
        case .i010: CLIBAV_SAMPLE_LOW10
        case .p010, .rgba16f: CLIBAV_SAMPLE_HIGH10
        }
    }
}
