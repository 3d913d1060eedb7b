// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDPolicy

/// The rules of a compression session: a pure state machine without I/O.
///
/// The worker's I/O thread consults it before it acts.
public struct CompressionAdmission: Sendable {
    public enum State: Hashable, Sendable {
        /// Properties may be set, pools added; the encoder is not open.
        case created
        /// The encoder is open (or opening) and frames are accepted.
        case encoding
    }

    /// Limit of frames that the client has sent and the encoder has not released.
    public static let maxFramesInFlight = 32

    public let request: CompressionRequest
    public private(set) var properties: PropertyStore
    /// What the properties describe.
    public private(set) var configuration: EncoderConfiguration
    public private(set) var state = State.created

    private let processNotices: [String]
    private var encoderNotices: [String] = []
    /// The configuration that the encoder opened with; nil before.
    private var opened: EncoderConfiguration?
    /// The configuration of the last change; nil before one.
    private var latest: EncoderConfiguration?
    /// The configuration from the next frame on, where properties have changed since the last.
    private var change: EncoderConfiguration?
    /// Whether the rate has changed while the encoder was open.
    private var hasChangedRate = false

    private var inFlight: [UInt64: UInt32] = [:]
    private var lastPTS: Int64?
    private var keyFrames: KeyFrameClock

    /// - Parameters:
    ///   - initial: properties to set at once, all or none.
    ///   - notices: what the client should know about the session's process, a clause each.
    /// - Throws: what `PropertyStore.set` and `EncoderConfiguration` throw.
    public init(
        request: CompressionRequest, properties: PropertyStore, setting initial: [String: PropertyValue] = [:],
        notices: [String] = []
    ) throws(SessionError) {
        processNotices = notices
        self.request = request
        self.properties = properties
        try self.properties.set(initial, isOpen: false)
        configuration = try EncoderConfiguration(request: request, properties: self.properties)
        keyFrames = KeyFrameClock(seconds: nil, timeBase: request.timeBase)
        publishResults()
    }

    /// Sets properties, all or none, after checking that they are consistent.
    ///
    /// While the encoder is open they take effect with the next frame (`takeChange`).
    /// - Throws: what `PropertyStore.set`, `EncoderConfiguration` and `EncoderConfiguration.continuing` throw.
    public mutating func setProperties(_ new: [String: PropertyValue]) throws(SessionError) {
        var changed = properties
        try changed.set(new, isOpen: state != .created)
        let configuration = try EncoderConfiguration(request: request, properties: changed)
        if let opened {
            var next = try configuration.continuing(opened)
            if try beginsPass(next, after: opened) {
                lastPTS = nil
                keyFrames = clock(configuration)
            }
            hasChangedRate = hasChangedRate || next.rateControl != opened.rateControl
            next.limitsPeak = hasChangedRate
            if next != latest ?? opened { (change, latest) = (next, next) }
            keyFrames.change(configuration.temporalLevels)
        }
        (properties, self.configuration) = (changed, configuration)
        publishResults()
    }

    /// Whether a changed configuration begins the final pass; only that may change in a session of two passes.
    private func beginsPass(
        _ next: EncoderConfiguration, after opened: EncoderConfiguration
    ) throws(SessionError) -> Bool {
        let current = properties.string(.multiPassStorage).flatMap(CodingPass.init)
        guard next.pass != nil || current != nil else { return false }
        var expected = opened
        expected.pass = next.pass
        guard next == expected else {
            throw SessionError(.parameter, "with MultiPassStorage no other property changes in an open session")
        }
        switch (current, next.pass) {
        case (.first, .first), (.final, .final): return false
        case (.first, .final):
            guard inFlight.isEmpty else {
                throw SessionError(
                    .parameter, "MultiPassStorage: the first pass has frames in flight; complete it first")
            }
            return true
        default:
            throw SessionError(
                .parameter, "MultiPassStorage changes in an open session from FirstPass to FinalPass only")
        }
    }

    /// The configuration that applies from the frame that was just admitted on; nil if it is that of the frame before.
    public mutating func takeChange() -> EncoderConfiguration? {
        defer { change = nil }
        return change
    }

    /// Sets the value of a read-only property.
    public mutating func publish(_ key: PropertyKey, _ value: PropertyValue?) { properties.publish(key, value) }

    /// Starts to accept frames; a second call has no effect.
    ///
    /// - Returns: the configuration for opening the encoder; nil when it is already open.
    /// - Throws: `Parameter` where the final of two passes comes first.
    public mutating func prepare() throws(SessionError) -> EncoderConfiguration? {
        guard state == .created else { return nil }
        guard configuration.pass != .final else {
            throw SessionError(.parameter, "MultiPassStorage: a session begins with FirstPass")
        }
        keyFrames = clock(configuration)
        publish(.outputBitDepth, .int(Int64(configuration.profile.bitDepth)))
        publishResults()
        state = .encoding
        opened = configuration
        return configuration
    }

    private func clock(_ configuration: EncoderConfiguration) -> KeyFrameClock {
        let levels = configuration.temporalLevels
        return KeyFrameClock(
            seconds: properties.number(.maxKeyFrameIntervalDuration), timeBase: request.timeBase,
            levels: levels.count > 1 ? levels : nil)
    }

    /// Replaces the encoder's deviations from the settings, a clause each, in `Notices`.
    public mutating func setEncoderNotices(_ notices: [String]) {
        encoderNotices = notices
        publishResults()
    }

    /// Publishes the read-only properties that depend on the configuration.
    private mutating func publishResults() {
        publish(.numberOfTemporalLevels, .int(Int64(configuration.temporalLevels.count)))
        var notices = [configuration.temporalLevels.notice].compactMap { $0 } + encoderNotices + processNotices
        if let opened, !opened.allowFrameReordering, configuration.allowFrameReordering {
            notices.append("frames are not reordered, because the stream began without reordering")
        }
        publish(.notices, notices.isEmpty ? nil : .string(notices.joined(separator: "; ")))
    }

    /// Whether a pool holds a frame in flight.
    public func isUsing(pool id: UInt32) -> Bool { inFlight.values.contains(id) }

    /// Validates a frame and accepts it.
    ///
    /// - Returns: the frame, with `forceKeyFrame` set if `MaxKeyFrameIntervalDuration` requires a key frame, and the
    ///   memory of its pool.
    /// - Throws: `InvalidSession` before `prepare`, otherwise `Parameter`; both are fatal, since the client's and the
    ///   session's state differ.
    @discardableResult
    public mutating func admit<Memory>(
        _ frame: EncodeFrame, in pools: PoolLedger<Memory>
    ) throws(SessionError) -> (frame: EncodeFrame, memory: Memory) {
        guard state == .encoding else {
            throw SessionError(.invalidSession, "frame \(frame.frameID) was sent before the encoder was opened")
        }
        guard inFlight.count < Self.maxFramesInFlight else {
            throw SessionError(.parameter, "more than \(Self.maxFramesInFlight) frames are in flight")
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
            throw SessionError(
                .parameter, "frame \(frame.frameID) has BaseFrameQP \(frame.baseFrameQP), not -1 to 51")
        }
        try checkAlphaMode(frame)
        try checkColor(frame)
        let size = request.frameSize
        try frame.layout.validate(
            request.pixelFormat, width: size.width, height: size.height, poolSize: pool.size)
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

    private func checkAlphaMode(_ frame: EncodeFrame) throws(SessionError) {
        let modes = frame.flags.intersection([.premultipliedSource, .straightSource])
        guard !modes.isEmpty else { return }
        guard request.hasAlpha else {
            throw SessionError(
                .parameter, "frame \(frame.frameID) has a SourceAlphaMode, but the session codes no alpha")
        }
        guard modes != [.premultipliedSource, .straightSource] else {
            throw SessionError(.parameter, "frame \(frame.frameID) is both premultiplied and straight")
        }
    }

    /// Refuses a Y'CbCr frame of another color than the stream's, which would be shown wrong; RGB frames are converted.
    private func checkColor(_ frame: EncodeFrame) throws(SessionError) {
        guard request.pixelFormat.isYCbCr, let color = frame.metadata?.color, let stream = opened?.color else {
            return
        }
        func differs(_ point: UInt8, _ streamPoint: UInt8) -> Bool {
            streamPoint != ColorDescription.unspecified && point != streamPoint
        }
        guard !differs(color.primaries, stream.primaries), !differs(color.transfer, stream.transfer),
            !differs(color.matrix, stream.matrix), color.isFullRange == stream.isFullRange
        else {
            throw SessionError(
                .parameter, "frame \(frame.frameID) has the color \(color.text), and the stream has \(stream.text)")
        }
    }

    /// Reports that the encoder has read the frame.
    public mutating func release(_ frameID: UInt64) { inFlight[frameID] = nil }
}

extension ColorDescription {
    /// Primaries, transfer function and matrix, as in `9/18/9`, and the range.
    fileprivate var text: String { "\(primaries)/\(transfer)/\(matrix) \(isFullRange ? "full" : "video") range" }
}
