// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDControlCommands
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Synchronization

/// The parameters of a Create call that older daemons refuse.
protocol SessionParameters {
    var maxWaitMs: Int? { get set }
    var frames: Int? { get set }
    /// Whether the session may convert frames: their number is for the choice of what converts.
    var mayConvert: Bool { get }
}

extension CreateCompressionSession.Parameters: SessionParameters {
    var mayConvert: Bool { source != nil || PixelFormat(rawValue: pixelFormat)?.isRGB == true }
}
extension CreateDecompressionSession.Parameters: SessionParameters {
    var mayConvert: Bool { pixelFormat.flatMap(PixelFormat.init(rawValue:))?.isRGB == true }
}
extension CreateTransferSession.Parameters: SessionParameters {
    var mayConvert: Bool { true }
}

/// How this process creates sessions, by the options `--priority`, `--wait` and `--max-wait`.
enum SessionRequest {
    private static let waitMilliseconds = Atomic<Int>(0)
    private static let background = Atomic<Bool>(false)
    /// Whether the last session was refused because this process should not wait for it.
    private static let isBlocked = Atomic<Bool>(false)

    /// How long a session may wait for a place.
    static var wait: Duration {
        get { .milliseconds(waitMilliseconds.load(ordering: .relaxed)) }
        set { waitMilliseconds.store(Int(newValue / .milliseconds(1)), ordering: .relaxed) }
    }

    /// Whether the sessions run in the background.
    static var isBackground: Bool {
        get { background.load(ordering: .relaxed) }
        set { background.store(newValue, ordering: .relaxed) }
    }

    /// The properties of every session.
    static var properties: [PropertyKey: PropertyValue] { isBackground ? [.priority: .string("background")] : [:] }

    /// How long a process that has a session waits for another one: were it longer, processes with one each could wait for each
    /// other.
    private static let waitWithSession = Duration.milliseconds(500)
    private static let pauses = 0.5...2.0

    /// Creates a session, which waits for a place if that is wanted.
    ///
    /// A daemon that has no queue, no free connection or no free hardware is asked again.
    /// - Parameter hasOthers: whether this process has a session already.
    static func create<Parameters: SessionParameters, Session>(
        _ daemon: Daemon, _ parameters: Parameters, hasOthers: Bool = false,
        _ body: (Parameters) throws(ClientError) -> Session
    ) throws(ClientError) -> Session {
        var parameters = parameters
        if !parameters.mayConvert { parameters.frames = nil }
        let asks = wait > .zero || parameters.frames != nil
        let features = asks ? (try? daemon.features())?.features ?? [] : []
        if !features.contains("frame-counts") { parameters.frames = nil }
        guard wait > .zero else { return try body(parameters) }
        let deadline = MonotonicTime.now + (hasOthers ? min(wait, waitWithSession) : wait)
        let hasQueue = features.contains("waiting-sessions")
        while true {
            let rest = Duration.nanoseconds(Int64(clamping: deadline.nanoseconds(since: .now)))
            parameters.maxWaitMs = hasQueue ? max(1, Int(rest / .milliseconds(1))) : nil
            do throws(ClientError) { return try body(parameters) } catch {
                let next = MonotonicTime.now + pause()
                guard error.exitStatus == .tryLater, next < deadline else {
                    if hasOthers, error.exitStatus == .tryLater { isBlocked.store(true, ordering: .relaxed) }
                    throw error
                }
                Console.detail("waiting for a place: \(error.reason)")
                sleep(until: next)
            }
        }
    }

    /// Does work again that needs several sessions and got some of them only, as long as it may wait.
    ///
    /// - Parameter canRepeat: whether its input can be read again.
    static func retrying(
        canRepeat: Bool, _ interruption: Interruption, _ body: () throws -> Void
    ) throws {
        let deadline = MonotonicTime.now + wait
        while true {
            isBlocked.store(false, ordering: .relaxed)
            do { return try body() } catch let error as ClientError {
                let next = MonotonicTime.now + pause()
                guard isBlocked.load(ordering: .relaxed), canRepeat, next < deadline else { throw error }
                if interruption.isSet { throw CommandFailure.interrupted }
                Console.detail("waiting for places of all sessions: \(error.reason)")
                sleep(until: next)
            }
        }
    }

    /// A random pause, so that processes that were refused at the same time do not ask at the same time again.
    private static func pause() -> Duration { .milliseconds(Int64(Double.random(in: pauses) * 1000)) }

    private static func sleep(until time: MonotonicTime) {
        usleep(UInt32(clamping: time.nanoseconds(since: .now) / 1000))
    }
}
