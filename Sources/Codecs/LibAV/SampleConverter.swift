// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
package import HWDModel

/// Converts pictures between the 4:2:0 pixel formats: chroma is interleaved or separated, and the bit depth changed.
///
/// Colors stay: 8 bits become 10 by a factor of 4, and 10 bits the nearest 8-bit value.
package struct SampleConverter {
    /// The format that is read.
    package let source: PixelFormat
    /// The format that is written.
    package let target: PixelFormat

    /// A converter from one format to another.
    package init(source: PixelFormat, target: PixelFormat) {
        self.source = source
        self.target = target
    }

    /// Converts a picture of `width`×`height` luma samples.
    package func convert(_ from: [PlaneView], into to: [MutablePlaneView], width: Int, height: Int) {
        let chroma = (width + 1) / 2
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: max(width, chroma)) { row in
            guard let values = row.baseAddress else { return }
            if Self.kind(source) == Self.kind(target) {
                to[0].copyRows(of: from[0], rowBytes: width * source.bytesPerSample, rows: height)
            } else {
                for line in 0..<height {
                    load(from[0].base + line * from[0].stride, step: 1, width, into: values)
                    store(values, to[0].base + line * to[0].stride, step: 1, width)
                }
            }
            for line in 0..<(height + 1) / 2 {
                for component in 0..<2 {
                    let (a, b) = (Chroma(component, source), Chroma(component, target))
                    let (read, written) = (from[a.plane], to[b.plane])
                    load(read.base + line * read.stride + a.offset, step: a.step, chroma, into: values)
                    store(values, written.base + line * written.stride + b.offset, step: b.step, chroma)
                }
            }
        }
    }

    private func load(
        _ row: UnsafeRawPointer, step: Int32, _ count: Int, into values: UnsafeMutablePointer<UInt16>
    ) {
        clibav_load(row, Self.kind(source), step, target.bitDepth > 8 ? 1 : 0, Int32(count), values)
    }

    private func store(
        _ values: UnsafePointer<UInt16>, _ row: UnsafeMutableRawPointer, step: Int32, _ count: Int
    ) {
        clibav_store(row, Self.kind(target), step, Int32(count), values)
    }

    /// The position of Cb (0) or Cr (1) in a format's planes.
    private struct Chroma {
        let plane: Int
        /// Bytes from the start of a row.
        let offset: Int
        /// Samples from one of the component to the next.
        let step: Int32

        init(_ component: Int, _ format: PixelFormat) {
            plane = format.isSemiPlanar ? 1 : 1 + component
            offset = format.isSemiPlanar ? component * format.bytesPerSample : 0
            step = format.isSemiPlanar ? 2 : 1
        }
    }

    private static func kind(_ format: PixelFormat) -> clibav_sample {
        switch format {
        case .nv12, .yu12, .yuva, .bgra8, .rgba8: CLIBAV_SAMPLE_8
        case .i010: CLIBAV_SAMPLE_LOW10
        case .p010, .rgba16f, .bgra10, .rgba10, .bgrx10, .rgbx10: CLIBAV_SAMPLE_HIGH10
        }
    }
}
