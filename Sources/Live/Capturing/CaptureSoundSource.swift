// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands

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
