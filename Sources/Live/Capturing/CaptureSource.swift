// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands

/// Why a source sends nothing more.
package enum CaptureEnd: Hashable, Sendable {
    /// It has sent all that it has.
    case finished
    /// It went away: unplugged, removed, or stopped by the person; the recording ends well, and says why in one line.
    case gone(String)
    /// It failed; the file so far is finished, and the program fails with the reason.
    case failed(String)

    /// The reason, as a line without its end.
    package var reason: String? {
        switch self {
        case .finished: nil
        case .gone(let reason), .failed(let reason): reason
        }
    }
}

/// What the frames of a source are.
package struct CaptureFormat: Hashable, Sendable {
    /// How frames are handed over.
    package enum Content: Hashable, Sendable {
        /// Planes of what compression sessions take, by its FourCC: NV12, YU12, P010, I010, AR24, AB24 and AB4H.
        case raw(pixelFormat: String)
        /// Access units of H.264 or HEVC in Annex B, in decoding order, without pictures that are reordered.
        case coded(CaptureCodec)
    }

    package var content: Content
    /// In pixels.
    package var width: Int
    package var height: Int
    /// Frames per second as a fraction; nil where frames come when something changes, as those of a screen.
    package var rate: CaptureRate?
    /// Code points of ITU-T H.273; nil where the source does not know them.
    package var primaries: Int?
    package var transfer: Int?
    package var matrix: Int?
    /// Whether samples of YCbCr use the whole range of their bits.
    package var isFullRange: Bool

    package init(
        _ content: Content, width: Int, height: Int, rate: CaptureRate?, primaries: Int? = nil,
        transfer: Int? = nil, matrix: Int? = nil, isFullRange: Bool = false
    ) {
        (self.content, self.width, self.height, self.rate) = (content, width, height, rate)
        (self.primaries, self.transfer, self.matrix, self.isFullRange) = (primaries, transfer, matrix, isFullRange)
    }
}

package enum CaptureCodec: String, Hashable, Sendable { case h264, hevc }

/// Frames per second.
package struct CaptureRate: Hashable, Sendable {
    package var numerator: Int
    package var denominator: Int

    /// - Precondition: both are above 0.
    package init(_ numerator: Int, _ denominator: Int = 1) {
        (self.numerator, self.denominator) = (numerator, denominator)
    }

    package var perSecond: Double { Double(numerator) / Double(denominator) }
}

/// A plane of a frame that lies in the source's memory.
package struct CapturePlane {
    package var bytes: UnsafeRawBufferPointer
    /// Bytes from a row to the next, at least the row's.
    package var stride: Int

    package init(_ bytes: UnsafeRawBufferPointer, stride: Int) { (self.bytes, self.stride) = (bytes, stride) }
}

/// A camera, a screen, or what else sends frames.
package protocol CaptureSource: AnyObject, Sendable {
    /// What frames have at first: known once the source is created.
    var format: CaptureFormat { get }

    /// Begins to call the sink from a thread of the source.
    /// - Throws: a failure with the exit code of its cause, before anything was sent.
    func start(_ sink: any CaptureSink) throws(CommandFailure)

    /// Ends the calls: none is under way or follows when this has returned. May be called twice, and without `start`.
    func stop()
}

/// Takes a source's frames, on the source's thread.
///
/// Every call returns at once: it copies, and waits for nothing.
package protocol CaptureSink: AnyObject, Sendable {
    /// A frame, copied before this returns. A frame whose planes are too short for the format is counted as damaged.
    ///
    /// - Parameters:
    ///   - time: when the frame was taken, in nanoseconds of CLOCK_MONOTONIC.
    ///   - sequence: the source's number of the frame, where it counts; the sink finds what is missing between two.
    func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?)

    /// An access unit of a coded source, copied before this returns.
    func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?)

    /// Frames that the source knows to be lost or damaged and that no gap of sequence numbers shows.
    /// - Parameter cause: a word for the receipt: "damaged", "no-buffer" and so on.
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

/// What samples of sound are: interleaved 32-bit floats of the machine's byte order, ±1 at full scale.
package struct CaptureSoundFormat: Hashable, Sendable {
    /// Frames (a sample of each channel) per second.
    package var sampleRate: Int
    package var channels: Int

    package init(sampleRate: Int, channels: Int) { (self.sampleRate, self.channels) = (sampleRate, channels) }
}

/// A microphone, or what else sends sound.
package protocol CaptureSoundSource: AnyObject, Sendable {
    var format: CaptureSoundFormat { get }

    /// Begins to call the sink from a thread of the source.
    /// - Throws: a failure with the exit code of its cause, before anything was sent.
    func start(_ sink: any CaptureSoundSink) throws(CommandFailure)

    /// As that of `CaptureSource`.
    func stop()
}

/// Takes a source's sound, on the source's thread.
///
/// Every call returns at once.
package protocol CaptureSoundSink: AnyObject, Sendable {
    /// Samples, copied before this returns.
    /// - Parameters:
    ///   - samples: interleaved, a whole number of frames.
    ///   - time: when the first sample was taken, in nanoseconds of CLOCK_MONOTONIC.
    ///   - isExact: whether the time is of the device's own clock, and not that of the buffer's arrival: a step of such a
    ///     time is lost sound, and needs no guess.
    func samples(_ samples: UnsafeBufferPointer<Float>, at time: UInt64, isExact: Bool)

    /// No call follows. The recording continues with silence.
    func ended(_ end: CaptureEnd)
}
