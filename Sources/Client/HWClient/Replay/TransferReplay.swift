// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// A pixel-transfer session that continues in another process where its own fails.
///
/// Frames without an answer are sent again. Sources stay in the app's memory until the answer, so nothing has to be
/// copied; but a frame that is converted in place, or onto another frame's source, may have lost its source with
/// the process.
final class TransferReplay {
    typealias Event = TransferSession.Event

    private enum Request {
        case frame(TransferFrame)
        case finish
        /// Set between other requests; those that follow depend on it.
        case properties([PropertyKey: PropertyValue])
    }

    private let sessions: SessionSuccession<TransferReceiver>
    private var pools: [(id: UInt32, memory: SharedMemory)] = []
    /// What the present process has not answered, in order, and properties that were set meanwhile.
    private var unanswered: [Request] = []
    /// Properties that were set before.
    private var properties: [PropertyKey: PropertyValue] = [:]
    /// Events that came before a failure.
    private var events: [Event] = []
    private var isInvalidated = false

    init(
        _ daemon: Daemon, _ parameters: CreateTransferSession.Parameters, timeout: Duration
    ) throws(ClientError) {
        sessions = try SessionSuccession(daemon, parameters, timeout: timeout)
    }

    var client: SessionClient<TransferReceiver> { sessions.client }
    var restartCount: Int { sessions.number }
    var fileDescriptor: Int32 { sessions.fileDescriptor }

    var framesInFlight: Int {
        client.receiver.framesInFlight.count + client.receiver.unfetchedCount
            + events.count { if case .frame = $0 { true } else { false } }
    }

    // MARK: - Requests

    @discardableResult
    func perform<Value>(_ body: () throws(ClientError) -> Value) throws(ClientError) -> Value {
        while true {
            do throws(ClientError) { return try body() } catch { try recover(from: error) }
        }
    }

    func addPool(_ memory: SharedMemory, id poolID: UInt32) throws(ClientError) {
        try perform { () throws(ClientError) in try client.addPool(memory, id: poolID) }
        pools.append((poolID, memory))
    }

    func removePool(id poolID: UInt32) throws(ClientError) {
        try perform { () throws(ClientError) in try client.removePool(id: poolID) }
        pools.removeAll { $0.id == poolID }
    }

    func setProperties(_ new: [PropertyKey: PropertyValue]) throws(ClientError) {
        try perform { () throws(ClientError) in try client.setProperties(new) }
        unanswered.append(.properties(new))
        settle()
    }

    /// Takes what was set before the oldest request without an answer.
    private func settle() {
        while case .properties(let oldest)? = unanswered.first {
            properties.merge(oldest) { _, new in new }
            unanswered.removeFirst()
        }
    }

    func transfer(_ frame: TransferFrame) throws(ClientError) {
        guard framesInFlight < client.created.maxFramesInFlight else {
            throw ClientError(
                SessionError(.parameter, "\(framesInFlight) frames are in flight; fetch events first"))
        }
        try request(.frame(frame))
    }

    func finishFrames() throws(ClientError) { try request(.finish) }

    private func request(_ request: Request) throws(ClientError) {
        // Recovery sends what is unanswered, this request among it.
        unanswered.append(request)
        do throws(ClientError) { try send(request) } catch { try recover(from: error) }
    }

    private func send(_ request: Request) throws(ClientError) {
        switch request {
        case .frame(let frame):
            try client.send(frame)
            client.receiver.framesInFlight.insert(frame.frameID)
        case .finish: client.finish(by: try client.send(.finishFrames))
        case .properties(let set): try client.setProperties(set)
        }
    }

    func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        let deadline = MonotonicTime.now + timeout
        while true {
            if !events.isEmpty { return events.removeFirst() }
            do throws(ClientError) {
                let rest = Duration.nanoseconds(deadline.nanoseconds(since: .now))
                let event = try client.nextEvent(timeout: rest)
                if let event { answered(event) }
                return event
            } catch { try recover(from: error) }
        }
    }

    private func answered(_ event: Event) {
        let index = unanswered.firstIndex { request in
            switch (request, event) {
            case (.frame(let frame), .frame(let result)): frame.frameID == result.frameID
            case (.finish, .finished): true
            default: false
            }
        }
        if let index { unanswered.remove(at: index) }
        settle()
    }

    func invalidate() {
        isInvalidated = true
        client.invalidate()
    }

    // MARK: - Failures

    /// Goes on in another process.
    ///
    /// - Throws: the error, if that is not possible.
    private func recover(from error: ClientError) throws(ClientError) {
        var failure = error
        while true {
            // The daemon knows whether it was a failure: VideoToolbox has no status of its own for it.
            guard !isInvalidated, sessions.mayContinue, failure.code == .session(.invalidSession) else {
                throw failure
            }
            while client.waitingEventCount > 0, let event = try client.nextEvent(timeout: .zero) {
                answered(event)
                events.append(event)
            }
            if let frame = overwritten() {
                throw ClientError(
                    failure.code,
                    "\(failure.reason); the session cannot go on: frame \(frame) may have overwritten a source")
            }
            try sessions.continueAfter(failure)
            do throws(ClientError) {
                for pool in pools { try client.addPool(pool.memory, id: pool.id) }
                if !properties.isEmpty { try client.setProperties(properties) }
                for request in unanswered { try send(request) }
                return
            } catch { failure = error }
        }
    }

    /// A frame in flight whose target is the source of one in flight.
    private func overwritten() -> UInt64? {
        let frames = unanswered.compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
        let parameters = sessions.parameters
        let (source, target) = (parameters.source.pixelFormat, parameters.target.pixelFormat)
        let sources = frames.compactMap { region($0.source, source, height: parameters.height) }
        return frames.first { frame in
            guard let written = region(frame.target, target, height: parameters.targetHeight ?? parameters.height)
            else { return true }
            return sources.contains { $0.memory === written.memory && $0.bytes.overlaps(written.bytes) }
        }?.frameID
    }

    /// The memory that one side of a frame takes; nil where it cannot be determined.
    private func region(
        _ place: TransferFrame.Place, _ pixelFormat: String, height: Int
    ) -> (memory: SharedMemory, bytes: Range<UInt64>)? {
        guard let memory = pools.first(where: { $0.id == place.poolID })?.memory,
            let format = PixelFormat(rawValue: pixelFormat), format.planeCount == place.layout.planes.count
        else { return nil }
        var (start, end) = (UInt64.max, UInt64(0))
        for (index, plane) in place.layout.planes.enumerated() {
            let rows = UInt64(format.rows(plane: index, height: height))
            start = min(start, plane.offset)
            // The last row as a whole stride: a few bytes too many at most.
            end = max(end, plane.offset &+ rows &* UInt64(plane.stride))
        }
        return start < end ? (memory, start..<end) : nil
    }
}
