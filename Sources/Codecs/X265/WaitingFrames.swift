// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy

/// Copies of frames that wait for x265; the client may overwrite its own memory after each call.
final class WaitingFrames {
    private let request: CompressionRequest
    private let layout: FrameLayout
    private let size: Int
    private var waiting: [Int: FrameCopy] = [:]
    /// Memory of frames that were submitted, for reuse.
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
        for (index, plane) in layout.mutablePlanes(at: base).enumerated() {
            plane.copyRows(
                of: picture.planes[index],
                rowBytes: request.pixelFormat.rowBytes(plane: index, width: request.width),
                rows: request.pixelFormat.rows(plane: index, height: request.height))
        }
        var copy = picture
        copy.planes = layout.planes(at: base)
        waiting[number] = FrameCopy(picture: copy, base: base)
    }

    /// Removes a kept frame, whose memory is valid during the call of `body`.
    func take(
        _ number: Int, _ body: (InputPicture) throws(SessionError) -> Void
    ) throws(SessionError) {
        guard let copy = waiting.removeValue(forKey: number) else {
            throw SessionError(.videoEncoderMalfunction, "frame \(number) was not kept")
        }
        defer { idle.append(copy.base) }
        try body(copy.picture)
    }
}
