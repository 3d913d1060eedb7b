// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import Logging

/// What the broker's parts share: how the daemon was started, its settings, the stage of its shutdown, its metrics, and its event
/// loop.
final class BrokerContext {
    /// The stages of a shutdown.
    enum Phase {
        case serving
        /// Another daemon serves in its place; sessions and the calls that it has received are finished.
        case relieved
        /// Running sessions may finish; new ones are refused.
        case draining
        /// Workers are asked to end, then killed.
        case ending
    }

    static let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))

    let configuration: Configuration
    let loop: EventLoop
    let logger: Logger
    var settings: Settings
    var phase = Phase.serving
    var metrics = Metrics(now: .now)
    private let driverCache: DriverCache

    init(_ configuration: Configuration, _ settings: Settings, logger: Logger) throws(SystemError) {
        self.configuration = configuration
        self.settings = settings
        self.logger = logger
        driverCache = DriverCache(isPrivate: configuration.isPrivate)
        loop = try EventLoop()
    }

    var isPrivate: Bool { configuration.isPrivate }
    var isStopping: Bool { phase == .draining || phase == .ending }
    var confinement: Confinement { Confinement(settings, cache: driverCache) }

    /// The log of a session.
    func logger(of id: String, _ facts: SessionFacts, uid: UInt32) -> Logger {
        var log = logger
        log[metadataKey: "session"] = "\(id)"
        log[metadataKey: "uid"] = "\(uid)"
        log[metadataKey: "kind"] = "\(facts.kind.rawValue)"
        log[metadataKey: "codec"] = "\(facts.codec)"
        if facts.kind.declaresSize { log[metadataKey: "size"] = "\(facts.width)x\(facts.height)" }
        return log
    }
}
