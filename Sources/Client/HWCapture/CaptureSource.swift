// SPDX-License-Identifier: MIT

/// Why a source sends nothing more.
public enum CaptureEnd: Hashable, Sendable {
    /// It has sent all that it has.
    case finished
    /// It went away: unplugged, removed, or stopped by the person; the recording ends well, and says why in one line.
    case gone(String)
    /// It failed; the file so far is finished, and the program fails with the reason.
    case failed(String)

    /// The reason, as a line without its end.
    public var reason: String? {
        switch self {
        case .finished: nil
        case .gone(let reason), .failed(let reason): reason
        }
    }
}

/// What the frames of a source are.
public struct CaptureFormat: Hashable, Sendable {
    /// How frames are handed over.
    public enum Content: Hashable, Sendable {
        /// Planes of what compression sessions take, by its FourCC: NV12, YU12, P010, I010, AR24, AB24 and AB4H.
        case raw(pixelFormat: String)
        /// Access units of H.264 or HEVC in Annex B, in decoding order, without pictures that are reordered.
        case coded(CaptureCodec)
    }

    public var content: Content
    /// In pixels.
    public var width: Int
    public var height: Int
    /// Frames per second as a fraction; nil where frames come when something changes, as those of a screen.
    public var rate: CaptureRate?
    /// Code points of ITU-T H.273; nil where the source does not know them.
    public var primaries: Int?
    public var transfer: Int?
    public var matrix: Int?
    /// Whether samples of YCbCr use the whole range of their bits.
    public var isFullRange: Bool

    public init(
        _ content: Content, width: Int, height: Int, rate: CaptureRate?, primaries: Int? = nil,
        transfer: Int? = nil, matrix: Int? = nil, isFullRange: Bool = false
    ) {
        (self.content, self.width, self.height, self.rate) = (content, width, height, rate)
        (self.primaries, self.transfer, self.matrix, self.isFullRange) = (primaries, transfer, matrix, isFullRange)
    }
}

public enum CaptureCodec: String, Hashable, Sendable { case h264, hevc }

/// Frames per second.
public struct CaptureRate: Hashable, Sendable {
    public var numerator: Int
    public var denominator: Int

    /// - Precondition: both are above 0.
    public init(_ numerator: Int, _ denominator: Int = 1) {
        (self.numerator, self.denominator) = (numerator, denominator)
    }

    public var perSecond: Double { Double(numerator) / Double(denominator) }

    /// Whether both are above 0.
    var isValid: Bool { numerator > 0 && denominator > 0 }
}

/// A plane of a frame that lies in the source's memory.
public struct CapturePlane {
    public var bytes: UnsafeRawBufferPointer
    /// Bytes from a row to the next, at least the row's.
    public var stride: Int

    public init(_ bytes: UnsafeRawBufferPointer, stride: Int) { (self.bytes, self.stride) = (bytes, stride) }
}

/// A camera, a screen, or what else sends frames.
public protocol CaptureSource: AnyObject, Sendable {
    /// What frames have at first: known once the source is created.
    var format: CaptureFormat { get }

    /// Begins to call the sink from a thread of the source.
    /// - Throws: a failure of the source's own, before anything was sent.
    func start(_ sink: any CaptureSink) throws

    /// Ends the calls: none is under way or follows when this has returned. May be called twice, and without `start`.
    func stop()
}

/// Takes a source's frames, on the source's thread.
///
/// Every call returns at once: it copies, and waits for nothing.
public protocol CaptureSink: AnyObject, Sendable {
    /// A frame, copied before this returns. A frame whose planes are too short for the format is counted as damaged.
    ///
    /// - Parameters:
    ///   - planes: of the format, in its order.
    ///   - time: when the frame was taken, in nanoseconds of CLOCK_MONOTONIC.
    ///   - sequence: the source's number of the frame, where it counts; the sink finds what is missing between two.
    func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?)

    /// An access unit of a coded source, copied before this returns.
    func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?)

    /// Frames that the source knows to be lost or damaged and that no gap of sequence numbers shows.
    /// - Parameters:
    ///   - count: the number of frames.
    ///   - time: of the first, in nanoseconds of CLOCK_MONOTONIC.
    ///   - cause: a word for the receipt: "damaged", "no-buffer" and so on.
    func lost(_ count: Int, at time: UInt64, cause: String)

    /// The frames that follow have another format.
    func changed(_ format: CaptureFormat)

    /// The source was gone between two times of CLOCK_MONOTONIC, in nanoseconds, and is back; it counts its frames from 1 again.
    func interrupted(from begin: UInt64, to end: UInt64)

    /// No call follows, other than by another `start`.
    func ended(_ end: CaptureEnd)
}

extension CaptureSink {
    package func interrupted(from begin: UInt64, to end: UInt64) {}
}
