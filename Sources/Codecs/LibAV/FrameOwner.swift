// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
package import HWDModel

/// Owner of an AVFrame.
///
/// Sendable because threads that share a frame only release it; a frame is filled and read by one thread.
package final class FrameOwner: @unchecked Sendable {
    package let pointer: UnsafeMutablePointer<AVFrame>

    /// An empty frame; nil when memory ran out.
    package init?() {
        guard let pointer = av_frame_alloc() else { return nil }
        self.pointer = pointer
    }

    /// A further reference to the buffers of `source`; nil when memory ran out.
    init?(referringTo source: UnsafePointer<AVFrame>) {
        guard let pointer = av_frame_clone(source) else { return nil }
        self.pointer = pointer
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&frame)
    }
}

/// Owner of an AVPacket.
package final class PacketOwner {
    package let pointer: UnsafeMutablePointer<AVPacket>

    /// An empty packet; nil when memory ran out.
    package init?() {
        guard let pointer = av_packet_alloc() else { return nil }
        self.pointer = pointer
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&packet)
    }

    /// Copies `bytes` into a new buffer, which `av_packet_unref` frees; false when memory ran out.
    func fill(_ bytes: [UInt8]) -> Bool {
        guard av_new_packet(pointer, Int32(clamping: bytes.count)) >= 0, let data = pointer.pointee.data else {
            return false
        }
        UnsafeMutableRawPointer(data).copyMemory(from: bytes, byteCount: bytes.count)
        return true
    }
}

extension PlaneView {
    /// The planes of a picture in main memory, at most four, up to the first that is missing.
    package static func planes(of frame: UnsafePointer<AVFrame>) -> [PlaneView] {
        let picture = frame.pointee
        var planes: [PlaneView] = []
        planes.reserveCapacity(4)
        func append(_ start: UnsafeMutablePointer<UInt8>?, _ stride: Int32) -> Bool {
            guard let start else { return false }
            planes.append(PlaneView(base: UnsafeRawPointer(start), stride: Int(stride)))
            return true
        }
        let (data, strides) = (picture.data, picture.linesize)
        _ =
            append(data.0, strides.0) && append(data.1, strides.1) && append(data.2, strides.2)
            && append(data.3, strides.3)
        return planes
    }
}
