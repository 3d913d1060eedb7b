// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
internal import HWDLibAV
package import HWDModel
internal import Synchronization

/// Owner of an AVFrame with memory for one picture, padded as swscale's vector code needs it.
package final class ScratchFrame {
    package let pointer: UnsafeMutablePointer<AVFrame>

    /// nil when memory runs out.
    package init?(_ format: AVPixelFormat, width: Int, height: Int) {
        guard let frame = av_frame_alloc() else { return nil }
        pointer = frame
        frame.pointee.format = format.rawValue
        frame.pointee.width = Int32(clamping: width)
        frame.pointee.height = Int32(clamping: height)
        guard av_frame_get_buffer(frame, 0) >= 0 else { return nil }
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&frame)
    }

    /// Its planes, for writing.
    package var planes: [MutablePlaneView] {
        PlaneView.planes(of: pointer).map {
            MutablePlaneView(base: UnsafeMutableRawPointer(mutating: $0.base), stride: $0.stride)
        }
    }
}

/// Scales pictures and passes them to another converter, which keeps their format.
final class ScalingConverter: PictureConverter {
    private let scaler: FrameConverter
    private let next: any PictureConverter
    // Safe to share: it is used under `lock` only, one picture at a time.
    private nonisolated(unsafe) let scratch: ScratchFrame
    private let lock = Mutex(())

    /// A converter of pictures of `size`, followed by `next` for `width`×`height`; nil when swscale does not support the
    /// format, or when memory runs out.
    init?(
        _ conversion: SampleConversion, from size: (width: Int, height: Int), width: Int, height: Int,
        next: any PictureConverter
    ) {
        let geometry = FrameConverter.Geometry(from: size, to: (width, height), keepsRange: true)
        guard let scaler = FrameConverter(conversion, geometry, to: SampleFormats.withoutRange(conversion.source)),
            let scratch = ScratchFrame(conversion.source, width: width, height: height)
        else { return nil }
        (self.scaler, self.scratch, self.next) = (scaler, scratch, next)
    }

    func convert(_ frame: UnsafeMutablePointer<AVFrame>, to target: PlaneTarget) -> Bool {
        lock.withLock { _ in
            scaler.convert(frame, to: scratch.planes) && next.convert(scratch.pointer, to: target)
        }
    }
}
