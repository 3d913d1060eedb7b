// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSessions

/// Frames that wait in front of x265, copied, because the client has its memory back after each call.
final class FrameCopies {
    private let request: CompressionRequest
    private let layout: FrameLayout
    private let size: Int
    private var waiting: [Int: FrameCopy] = [:]
    /// Memory of frames that went on.
    private var idle: [UnsafeMutableRawPointer] = []

    init(_ request: CompressionRequest) {
        self.request = request
        (layout, size) = FrameLayout.packed(request.pixelFormat, width: request.width, height: request.height)
    }

    deinit {
        for base in idle { base.deallocate() }
        for copy in waiting.values { copy.base.deallocate() }
    }

    private struct FrameCopy {
        var picture: InputPicture
        var base: UnsafeMutableRawPointer
    }

    /// Keeps a copy of a frame under a number.
    func keep(_ picture: InputPicture, as number: Int) {
        let base = idle.popLast() ?? .allocate(byteCount: size, alignment: FrameLayout.rowAlignment)
        var planes: [InputPicture.Plane] = []
        for (index, plane) in layout.planes.enumerated() {
            let (start, stride) = (base + Int(plane.offset), Int(plane.stride))
            let source = picture.planes[index]
            let row = request.pixelFormat.rowBytes(plane: index, width: request.width)
            for y in 0..<request.pixelFormat.rows(plane: index, height: request.height) {
                memcpy(start + y * stride, source.base + y * source.stride, row)
            }
            planes.append(InputPicture.Plane(base: UnsafeRawPointer(start), stride: stride))
        }
        let copy = InputPicture(
            planes: planes, frameID: picture.frameID, pts: picture.pts, forceKeyFrame: picture.forceKeyFrame,
            baseFrameQP: picture.baseFrameQP)
        waiting[number] = FrameCopy(picture: copy, base: base)
    }

    /// Hands a kept frame out for the length of a call, and forgets it.
    func take(
        _ number: Int, _ body: (InputPicture) throws(SessionError) -> Void
    ) throws(SessionError) {
        guard let copy = waiting.removeValue(forKey: number) else {
            throw SessionError(.videoEncoderMalfunction, "frame \(number) is not there any more")
        }
        defer { idle.append(copy.base) }
        try body(copy.picture)
    }
}
