// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import Logging

/// Probes the machine at the start, when device nodes come and go, and for clients; answers what probes have found.
final class ProbeService {
    /// A round may start processes, so clients that ask again and again share one round in every `pause`.
    private static let pause = Duration.milliseconds(100)
    /// Samples on a side of a still picture that can be asked about.
    private static let maxStillSide = 1 << 24

    /// What a Probe call asks for; equal calls share a round.
    private struct Subject: Hashable {
        var device: String?
        var verification: ProbeRequest.Verification
    }

    /// Runs the probes' processes.
    let prober: Prober
    private let context: BrokerContext
    private var replies = CachedReplies()
    /// Nil in private daemons, and once another daemon serves.
    private var nodeWatch: NodeWatch?
    /// Calls that wait for the next round.
    private var waiting: [Subject: [ClientConnection]] = [:]
    private var timer: EventLoop.Timer?
    /// When the latest round started or ended.
    private var latest: MonotonicTime?

    init(_ context: BrokerContext) {
        self.context = context
        let (configuration, settings) = (context.configuration, context.settings)
        prober = Prober(
            ProbeQueue(
                libexec: configuration.libexec, timeout: settings.probeTimeout, confinement: context.confinement,
                loop: context.loop),
            cache: ProbeCache(folder: ProbeCache.folder(isPrivate: configuration.isPrivate)),
            deviceList: Configuration.deviceList(settings), loop: context.loop, logger: context.logger)
        prober.forbade = { [weak context] in context?.metrics.forbade($0, "probe") }
        prober.refused = { [weak context] in context?.metrics.refused($0) }
    }

    // MARK: - Rounds

    /// Probes the machine in the background, so that a driver that hangs does not delay the start, and whenever a device node
    /// comes, goes or is replaced.
    func start() {
        // Before the probe, so that a node that comes meanwhile is noticed.
        watchNodes()
        probeAll()
    }

    /// Applies new settings.
    func reconfigure() {
        prober.reconfigure(
            timeout: context.settings.probeTimeout, confinement: context.confinement,
            deviceList: Configuration.deviceList(context.settings))
        nodeWatch?.refresh()
    }

    /// Probes everything again after new settings.
    func probeAgain() {
        // A round of probes in progress may still cover devices that the new configuration excludes.
        let wasProbing = !prober.isIdle
        run { [weak self] _ in
            if wasProbing { self?.run { _ in } }
            self?.verifyVulkan()
        }
    }

    /// Ignores device nodes from now on, because another daemon serves.
    func stopWatching() { nodeWatch = nil }

    /// Starts no more probes, and refuses the calls that wait for the next round.
    func stop() {
        for connection in takeWaiting().values.joined() {
            connection.reply(VarlinkError(Refusal.shuttingDown.error))
        }
        prober.stop()
    }

    private func watchNodes() {
        guard !context.isPrivate else { return }
        nodeWatch = NodeWatch(loop: context.loop) { [weak self] in
            self?.prober.nodes ?? []
        } onChange: { [weak self] names in
            guard let self, !context.isStopping else { return }
            let state = names.map { access($0, F_OK) == 0 ? "\($0) is there" : "\($0) is gone" }
            context.logger.notice("the device nodes have changed: \(state.joined(separator: ", "))")
            prober.forget(nodes: names)
            probeAll()
        }
        if nodeWatch == nil {
            context.logger.warning(
                "device nodes that come or go are noticed at SIGHUP only: inotify is not available")
        }
    }

    private func probeAll() {
        run { [weak self] _ in self?.verifyVulkan() }
    }

    /// Probes the machine, or one node, and counts the time it takes.
    private func run(
        device: String? = nil, _ verification: ProbeRequest.Verification = .startup,
        _ body: @escaping (ProbeSnapshot) -> Void
    ) {
        let start = MonotonicTime.now
        prober.probe(device: device, verification) { [weak context] snapshot in
            context?.metrics.probed(in: MonotonicTime.now.nanoseconds(since: start))
            body(snapshot)
        }
    }

    /// Verifies Vulkan's devices in the background, so that sessions avoid those that convert incorrectly and drivers
    /// that crash.
    private func verifyVulkan() {
        // Without a GPU, sessions use Vulkan only on request; private daemons skip this to start faster.
        guard !context.isPrivate, Devices.hasGPU(nodes: prober.nodes) else { return }
        prober.verifyInBackground(.vulkan)
    }

    // MARK: - Probe calls

    /// Probes the machine or one node for a client.
    func probe(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let parameters = try call.checkedParameters(Probe.Parameters.self)
        guard parameters.device.map({ Devices.mayProbe($0, nodes: prober.nodes) }) ?? true else {
            throw .invalidParameter("device")
        }
        guard !context.isStopping else { throw VarlinkError(Refusal.shuttingDown.error) }
        let verification: ProbeRequest.Verification =
            switch parameters.verify {
            case nil: .unlessKnown
            case true?: .always
            case false?: .never
            }
        waiting[Subject(device: parameters.device, verification: verification), default: []].append(connection)
        guard timer == nil else { return }
        let now = MonotonicTime.now
        guard let due = latest.map({ $0 + Self.pause }), due > now else { return startWaiting() }
        let delay = Duration.nanoseconds(Int64(clamping: due.nanoseconds(since: now)))
        timer = context.loop.after(delay) { [weak self] in self?.startWaiting() }
    }

    private func takeWaiting() -> [Subject: [ClientConnection]] {
        context.loop.cancel(timer)
        timer = nil
        defer { waiting = [:] }
        return waiting
    }

    private func startWaiting() {
        latest = .now
        for (subject, connections) in takeWaiting() {
            run(device: subject.device, subject.verification) { [weak self] snapshot in
                self?.latest = .now
                for connection in connections {
                    self?.reply(on: connection) { (replies) throws(SessionError) in try replies.probe(snapshot) }
                }
            }
        }
    }

    /// Sends a cached reply.
    private func reply(
        on connection: ClientConnection, _ encode: (inout CachedReplies) throws(SessionError) -> [UInt8]
    ) {
        do throws(SessionError) {
            connection.reply(try encode(&replies))
        } catch {
            connection.reply(VarlinkError(error))
        }
    }

    // MARK: - Questions about what was found

    /// Replies with the encoders that were found.
    func listEncoders(_ connection: ClientConnection) {
        prober.whenKnown { [weak self] snapshot in
            self?.reply(on: connection) { (replies) throws(SessionError) in try replies.encoders(snapshot) }
        }
    }

    /// Replies with the properties of an encoder's or decoder's sessions.
    func supportedProperties(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let codecID = try call.checkedParameters(GetSupportedProperties.Parameters.self).codecID
        prober.whenKnown { snapshot in
            do throws(SessionError) {
                connection.reply(try SupportedProperties.encodedReply(codecID: codecID, snapshot))
            } catch {
                connection.reply(VarlinkError(error))
            }
        }
    }

    /// Replies with the decoders that were found.
    func listDecoders(_ connection: ClientConnection) {
        prober.whenKnown { snapshot in
            connection.reply(with: ListDecoders.Reply(decoders: DecoderPolicy.list(snapshot)))
        }
    }

    /// Replies whether hardware encodes what the caller asks about, once hardware is verified.
    func isEncodeSupported(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        try answer(call, for: .compression) { question, snapshot, failures in
            let support = HardwareSupport(
                encoding: question.codec, bitDepth: question.bitDepth ?? 8, size: question.size, snapshot: snapshot,
                failures: failures)
            connection.reply(
                with: IsHardwareEncodeSupported.Reply(encoderID: support.codecID, reason: support.reason))
        }
    }

    /// Replies whether hardware decodes what the caller asks about, once hardware is verified.
    func isDecodeSupported(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        try answer(call, for: .decompression) { question, snapshot, failures in
            let support = HardwareSupport(
                decoding: question.codec, bitDepth: question.bitDepth ?? 8, size: question.size, snapshot: snapshot,
                failures: failures)
            connection.reply(
                with: IsHardwareDecodeSupported.Reply(decoderID: support.codecID, reason: support.reason))
        }
    }

    /// Replies whether a HEIC file can be written, once hardware is verified.
    func isStillEncodeSupported(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let question = try call.checkedParameters(StillQuestion.self)
        try HardwareQuestion(bitDepth: question.bitDepth).check()
        let sides = 1...Self.maxStillSide
        if let width = question.width, !sides.contains(width) { throw .invalidParameter("width") }
        if let height = question.height, !sides.contains(height) { throw .invalidParameter("height") }
        if (question.width == nil) != (question.height == nil) {
            throw .invalidParameter(question.width == nil ? "width" : "height")
        }
        let tiles = StillTiling.minSide...CompressionRequest.maxDimension
        if let tile = question.tile, tile != 0, !tiles.contains(tile) || tile % 2 != 0 {
            throw .invalidParameter("tile")
        }
        prober.whenVerified(for: .compression, isRequired: true) { [weak self] snapshot in
            guard let self else { return }
            let size = question.width.flatMap { width in
                question.height.map { PictureSize(width: width, height: $0) }
            }
            let support = StillSupport(
                bitDepth: question.bitDepth ?? 8, size: size, tile: question.tile, snapshot: snapshot,
                failures: prober.knowledge.failures(of: .compression, snapshot))
            connection.reply(
                with: IsStillEncodeSupported.Reply(
                    encoderID: support.codecID, isHardware: support.isHardware, tiling: support.tiling,
                    reason: support.reason))
        }
    }

    private func answer(
        _ call: VarlinkCall, for kind: SessionKind,
        _ reply: @escaping (HardwareQuestion, ProbeSnapshot, [CodecFailure]) -> Void
    ) throws(VarlinkError) {
        let question = try call.checkedParameters(HardwareQuestion.self)
        try question.check()
        prober.whenVerified(for: kind, isRequired: true) { [weak self] snapshot in
            guard let self else { return }
            reply(question, snapshot, prober.knowledge.failures(of: kind, snapshot))
        }
    }
}

extension HardwareQuestion {
    /// Nil where no size is given.
    fileprivate var size: PictureSize? {
        guard let width, let height else { return nil }
        return PictureSize(width: width, height: height)
    }

    fileprivate func check() throws(VarlinkError) {
        let dimensions = 1...CompressionRequest.maxDimension
        if let bitDepth, !(1...16 ~= bitDepth) { throw .invalidParameter("bit_depth") }
        if let width, !dimensions.contains(width) { throw .invalidParameter("width") }
        if let height, !dimensions.contains(height) { throw .invalidParameter("height") }
        if (width == nil) != (height == nil) { throw .invalidParameter(width == nil ? "width" : "height") }
    }
}
