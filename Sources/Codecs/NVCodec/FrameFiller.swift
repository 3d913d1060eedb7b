// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy

/// Copies a client's frames to NV12 or P010 of the coded size, and repeats the last column and row, in one pass.
struct FrameFiller {
    private let luma: hwd_filling
    private let chroma: hwd_filling

    init(_ settings: NVENCSettings) {
        let (request, format) = (settings.request, settings.request.pixelFormat)
        let change =
            switch (format.bytesPerSample, settings.bitDepth > 8) {
            case (1, false): HWD_KEEP_BYTES
            case (1, true): HWD_WIDEN
            default: format == .i010 ? HWD_RAISE : HWD_KEEP_WORDS
            }
        luma = hwd_filling(
            change: change, pairs: false, joins: false, width: Int32(request.width), height: Int32(request.height),
            full_width: Int32(settings.size.width), full_height: Int32(settings.size.height))
        chroma = hwd_filling(
            change: change, pairs: true, joins: !format.isSemiPlanar, width: (luma.width + 1) / 2,
            height: (luma.height + 1) / 2, full_width: luma.full_width / 2, full_height: luma.full_height / 2)
    }

    /// Fills a picture of two planes.
    func fill(_ planes: [PlaneView], luma target: MutablePlaneView, chroma second: MutablePlaneView) {
        let sources = planes.map {
            hwd_plane(base: $0.base.assumingMemoryBound(to: UInt8.self), stride: $0.stride)
        }
        fill(luma, sources[0], sources[0], target)
        fill(chroma, sources[1], sources[chroma.joins ? 2 : 1], second)
    }

    private func fill(_ how: hwd_filling, _ first: hwd_plane, _ second: hwd_plane, _ target: MutablePlaneView) {
        withUnsafePointer(to: how) {
            hwd_fill(
                $0, first, second,
                hwd_mutable_plane(base: target.base.assumingMemoryBound(to: UInt8.self), stride: target.stride))
        }
    }
}
