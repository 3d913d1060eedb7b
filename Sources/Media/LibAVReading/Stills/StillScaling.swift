// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
package import HWImages

extension StillCanvas {
    /// The picture in another size, by swscale's area average, which suits pictures that become small.
    /// - Throws: `unsupported` where swscale cannot scale it.
    package func scaled(width newWidth: Int, height newHeight: Int) throws(ImageError) -> StillCanvas {
        let target = try StillCanvas(format, width: newWidth, height: newHeight)
        let pixels = SampleFormats.libAV(format)
        guard
            let context = sws_getContext(
                Int32(width), Int32(height), pixels, Int32(newWidth), Int32(newHeight), pixels,
                Int32(SWS_AREA | SWS_ACCURATE_RND), nil, nil, nil)
        else { throw ImageError(.unsupported, "a picture of \(width)x\(height) cannot be scaled") }
        defer { sws_freeContext(context) }
        var sources = planes.map { UnsafePointer($0.base.assumingMemoryBound(to: UInt8.self)) as UnsafePointer? }
        var targets = target.planes.map { $0.base.assumingMemoryBound(to: UInt8.self) as UnsafeMutablePointer? }
        var (strides, targetStrides) = (planes.map { Int32($0.stride) }, target.planes.map { Int32($0.stride) })
        while sources.count < 4 {
            sources.append(nil)
            targets.append(nil)
            strides.append(0)
            targetStrides.append(0)
        }
        guard sws_scale(context, sources, strides, 0, Int32(height), targets, targetStrides) == Int32(newHeight)
        else {
            throw ImageError(.unsupported, "a picture of \(width)x\(height) cannot be scaled")
        }
        return target
    }
}
