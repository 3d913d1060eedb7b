// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// What a compression session allows at which moment: a pure state machine.
///
/// The worker's I/O thread asks it before it acts; nothing here does I/O or knows an encoder.
public struct CompressionSession: Sendable {
    /// Where the session stands.
    public enum State: Hashable, Sendable {
        /// Properties may be set, pools added; the encoder is not open.
        case created
        /// The encoder is open (or opening) and frames are taken.
        case encoding
        /// Every frame was flushed out of the encoder: no frame is taken any more.
        case completed
    }

    /// Frames a client may have sent that were not released yet.
    public static let maxFramesInFlight = 32

    /// What the session was created for.
    public let request: CompressionRequest
    /// Its properties.
    public private(set) var properties: PropertyStore
    /// Where it stands.
    public private(set) var state = State.created

    private var encoderNotes: [String] = []

    private var inFlight: [UInt64: UInt32] = [:]
    private var lastPTS: Int64?
    private var keyFrames: KeyFrameClock

    /// A session just created.
    public init(request: CompressionRequest, properties: PropertyStore) {
        self.request = request
        self.properties = properties
        keyFrames = KeyFrameClock(seconds: nil, timeBase: request.timeBase)
    }

    /// Sets properties, all or none; what they resolve to must make sense together.
    ///
    /// - Throws: what `PropertyStore.set` and `EncoderConfiguration` throw.
    public mutating func setProperties(_ new: [String: PropertyValue]) throws(SessionError) {
        var changed = properties
        try changed.set(new, isOpen: state != .created)
        let configuration = try EncoderConfiguration(request: request, properties: changed)
        properties = changed
        tell(configuration)
    }

    /// Makes a read-only property tell `value`.
    public mutating func publish(_ key: PropertyKey, _ value: PropertyValue?) { properties.publish(key, value) }

    /// Opens the session for frames; called again it changes nothing.
    ///
    /// - Returns: what to open the encoder with, or nil when it is open.
    /// - Throws: `Parameter` when properties contradict each other.
    public mutating func prepare() throws(SessionError) -> EncoderConfiguration? {
        guard state == .created else { return nil }
        let configuration = try EncoderConfiguration(request: request, properties: properties)
        let levels = configuration.temporalLevels
        keyFrames = KeyFrameClock(
            seconds: properties.number(.maxKeyFrameIntervalDuration), timeBase: request.timeBase,
            levels: levels.count > 1 ? levels : nil)
        publish(.outputBitDepth, .int(Int64(configuration.profile.bitDepth)))
        tell(configuration)
        state = .encoding
        return configuration
    }

    /// Takes what the encoder does otherwise than asked, a sentence each, into `Notices`.
    ///
    /// - Throws: `Parameter` when properties contradict each other.
    public mutating func note(_ notes: [String]) throws(SessionError) {
        encoderNotes = notes
        tell(try EncoderConfiguration(request: request, properties: properties))
    }

    /// Publishes what the properties became.
    private mutating func tell(_ configuration: EncoderConfiguration) {
        publish(.numberOfTemporalLevels, .int(Int64(configuration.temporalLevels.count)))
        let notices = [configuration.temporalLevels.notice].compactMap { $0 } + encoderNotes
        publish(.notices, notices.isEmpty ? nil : .string(notices.joined(separator: "; ")))
    }

    /// Whether a frame in flight lies in a pool.
    public func isUsing(pool id: UInt32) -> Bool { inFlight.values.contains(id) }

    /// Takes a frame, after checking everything a client could get wrong about it.
    ///
    /// - Returns: the frame, with `forceKeyFrame` set where `MaxKeyFrameIntervalDuration` requires a key frame, and the
    ///   memory of its pool.
    /// - Throws: `InvalidSession` after `complete`, else `Parameter`; the session cannot go on after either, because
    ///   the client's idea of it has parted from ours.
    @discardableResult
    public mutating func admit<Memory>(
        _ frame: EncodeFrame, in pools: PoolLedger<Memory>
    ) throws(SessionError) -> (frame: EncodeFrame, memory: Memory) {
        guard state == .encoding else {
            throw SessionError(.invalidSession, "frame \(frame.frameID) came after the session was completed")
        }
        guard inFlight.count < Self.maxFramesInFlight else {
            throw SessionError(.parameter, "more than \(Self.maxFramesInFlight) frames in flight")
        }
        guard inFlight[frame.frameID] == nil else {
            throw SessionError(.parameter, "frame \(frame.frameID) is in flight already")
        }
        guard let pool = pools[frame.poolID] else {
            throw SessionError(
                .parameter, "frame \(frame.frameID) names pool \(frame.poolID), which does not exist")
        }
        if let lastPTS, frame.pts <= lastPTS {
            throw SessionError(
                .parameter, "frame \(frame.frameID) has pts \(frame.pts), not after the \(lastPTS) before it")
        }
        guard Ticks.isPossible(frame.pts), (0..<Ticks.bound).contains(frame.duration) else {
            throw SessionError(.parameter, "frame \(frame.frameID) has an impossible pts or duration")
        }
        guard (-1...51).contains(frame.baseFrameQP) else {
            throw SessionError(.parameter, "frame \(frame.frameID) has BaseFrameQP \(frame.baseFrameQP)")
        }
        try frame.layout.validate(
            request.pixelFormat, width: request.width, height: request.height, poolSize: pool.size)
        lastPTS = frame.pts
        inFlight[frame.frameID] = frame.poolID
        var admitted = frame
        let isForced = frame.flags.contains(.forceKeyFrame)
        if keyFrames.isDue(pts: frame.pts, isForced: isForced) {
            admitted.flags.insert(.forceKeyFrame)
        } else {
            admitted.flags.remove(.forceKeyFrame)
        }
        return (admitted, pool.memory)
    }

    /// The encoder has read the frame.
    public mutating func release(_ frameID: UInt64) { inFlight[frameID] = nil }

    /// The client wants every packet: no frame is taken any more.
    public mutating func complete() { state = .completed }
}
