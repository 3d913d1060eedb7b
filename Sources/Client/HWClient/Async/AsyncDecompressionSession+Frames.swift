// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
public import HWDWire
internal import Synchronization

extension AsyncDecompressionSession {
    /// A picture.
    public struct Frame: Sendable {
        /// Times, size, format, color, metadata.
        public let description: FrameDecoded
        /// The samples, in the decoder's memory, which returns to it with the last reference to the buffer.
        ///
        /// A session has `created.maxFramesInFlight` pictures: copy what is to be kept, or pass the buffer on.
        public let buffer: PixelBuffer

        init(_ frame: DecompressionSession.ReceivedFrame, _ released: ReleasedFrames) {
            description = frame.description
            buffer = PixelBuffer(
                description.format, width: Int(description.width), height: Int(description.height),
                in: frame.memory,
                description.layout
            ) { released.add(frame) }
        }

        /// The packet's presentation time, in units of the session's time base.
        public var pts: Int64 { description.pts }
        /// The packet's duration, in the same units.
        public var duration: Int64 { description.duration }
        /// Whether the picture, or one it refers to, is damaged: some of its samples are concealed.
        public var isDamaged: Bool { description.flags.contains(.damaged) }
        /// Whether the picture's alpha was decoded; without it a format with alpha is opaque.
        public var hasAlpha: Bool { description.flags.contains(.alpha) }
    }

    /// The pictures of a session, in presentation order.
    ///
    /// The sequence ends after `finish`, throws why the session failed, and throws `CancellationError` when its task is
    /// canceled. Each picture is returned once, whatever the number of iterators.
    public struct Frames: AsyncSequence, Sendable {
        public struct AsyncIterator: AsyncIteratorProtocol {
            let session: AsyncDecompressionSession
            public mutating func next() async throws -> Frame? { try await session.nextFrame() }
        }

        let session: AsyncDecompressionSession
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(session: session) }
    }

    /// The pictures, as the decoder returns them.
    public nonisolated var frames: Frames { Frames(session: self) }
}

/// Pictures that the app no longer refers to, until the session's thread returns them to the worker.
final class ReleasedFrames: Sendable {
    private let frames = Mutex<[DecompressionSession.ReceivedFrame]>([])
    private let thread: SessionThread

    init(_ thread: SessionThread) { self.thread = thread }

    func add(_ frame: DecompressionSession.ReceivedFrame) {
        frames.withLock { $0.append(frame) }
        thread.resumeWaiters()
    }

    func take() -> [DecompressionSession.ReceivedFrame] {
        frames.withLock { frames in
            defer { frames = [] }
            return frames
        }
    }
}
