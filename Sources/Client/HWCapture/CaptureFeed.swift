// SPDX-License-Identifier: MIT
public import HWClient
internal import HWDTransport
internal import Synchronization

/// A source whose frames the app sends, each when it has it.
///
/// Any thread may send, one at a time. Nothing waits: a frame is copied, or dropped and counted.
public final class CaptureFeed: CaptureSource {
    public let format: CaptureFormat
    /// Held while a frame is copied, so that no call is under way when `stop` has returned.
    private let sink = Mutex<(any CaptureSink)?>(nil)

    /// - Parameter format: of every frame, with its rate, or nil where frames come when something changes.
    public init(_ format: CaptureFormat) { self.format = format }

    /// The time of a frame that is taken now: nanoseconds of CLOCK_MONOTONIC.
    public static var now: UInt64 { MonotonicTime.now.nanoseconds }

    /// Sends a frame, which is copied before this returns.
    ///
    /// - Parameters:
    ///   - planes: of the format, in its order, each with its stride in bytes. Planes that are too short make the frame a damaged
    ///     one, which is counted and not recorded.
    ///   - time: when it was taken, in nanoseconds of CLOCK_MONOTONIC, 0.1 ms behind the frame before at least. A time more than
    ///     1 s ahead of the clock or 5 s behind it cannot be true, and the clock's is taken.
    ///   - sequence: the number of the frame, where the app counts: numbers that are missing are frames that the source lost.
    /// - Returns: false where no session takes frames: before it has begun, and after its end.
    @discardableResult
    public func send(_ planes: [CapturePlane], at time: UInt64 = CaptureFeed.now, sequence: UInt64? = nil) -> Bool {
        sink.withLock { sink in
            sink?.frame(planes, at: time, sequence: sequence)
            return sink != nil
        }
    }

    /// Sends the samples of a buffer, such as a decoder's picture; the same as `send` of its planes.
    @discardableResult
    public func send(_ buffer: PixelBuffer, at time: UInt64 = CaptureFeed.now, sequence: UInt64? = nil) -> Bool {
        // Another format's planes would be read as this one's.
        guard format.content == .raw(pixelFormat: buffer.format.rawValue), buffer.width == format.width,
            buffer.height == format.height
        else { return send([], at: time, sequence: sequence) }
        return buffer.withPlanes { planes in
            send(planes.map { CapturePlane($0.bytes, stride: $0.stride) }, at: time, sequence: sequence)
        }
    }

    /// States that frames were lost before they could be sent, for the receipt.
    ///
    /// - Parameters:
    ///   - count: the number of frames.
    ///   - time: of the first, in nanoseconds of CLOCK_MONOTONIC.
    ///   - cause: a word for the receipt.
    public func lose(_ count: Int, at time: UInt64 = CaptureFeed.now, cause: String) {
        sink.withLock { $0?.lost(count, at: time, cause: cause) }
    }

    /// Ends the recording, whose file is finished: no frame follows.
    public func finish(_ end: CaptureEnd = .finished) { sink.withLock { $0?.ended(end) } }

    public func start(_ sink: any CaptureSink) { self.sink.withLock { $0 = sink } }

    public func stop() { sink.withLock { $0 = nil } }
}
