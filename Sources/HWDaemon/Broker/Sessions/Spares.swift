// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The processes that wait for sessions, at most one of each kind.
final class Spares {
    private let context: BrokerContext
    private let spares: [SessionKind: SpareWorker]

    init(_ context: BrokerContext) {
        self.context = context
        let (configuration, settings) = (context.configuration, context.settings)
        let kinds = SessionKind.allCases.filter { $0.sparePolicy != .never }
        spares = Dictionary(
            uniqueKeysWithValues: kinds.map { kind in
                let spare = SpareWorker(
                    executable: configuration.executable(kind.program), isEnabled: settings.spareWorkers > 0,
                    sandbox: settings.sandbox, givesSamples: kind == .compression,
                    refills: !configuration.isPrivate, delay: kind.spareDelay, loop: context.loop)
                return (kind, spare)
            })
    }

    /// Starts the spare of the expected session, else those that do not wait for a first session of their kind.
    func prepare() {
        if let expected = context.configuration.expected {
            spares[expected]?.prepare()
        } else {
            for (kind, spare) in spares where kind.sparePolicy == .always { spare.prepare() }
        }
    }

    /// A spare of the kind if there is one of this program with this sandbox, else a process started now.
    func process(
        _ kind: SessionKind, _ program: String, _ sandbox: SandboxRequest.Mode, mayBeSpare: Bool
    ) throws(SystemError) -> WorkerProcess {
        guard mayBeSpare, program == kind.program, let spare = spares[kind], sandbox == context.settings.sandbox
        else {
            return try WorkerProcess(
                context.configuration.executable(program), sandbox: sandbox, givesSamples: kind == .compression)
        }
        return try spare.take()
    }

    /// Applies the settings.
    func change() {
        let settings = context.settings
        for spare in spares.values { spare.change(isEnabled: settings.spareWorkers > 0, sandbox: settings.sandbox) }
        prepare()
    }

    /// Ends them and starts no more.
    func stop() {
        for spare in spares.values { spare.stop() }
    }
}

/// One worker started ahead of the next session, which need not wait for a process to start.
///
/// It has no client and no data until then. A private daemon starts only the first, because it serves one command.
private final class SpareWorker {
    /// Whether spares are started (`SpareWorkers`).
    private var isEnabled: Bool
    private var sandbox: SandboxRequest.Mode
    private let executable: String
    private let givesSamples: Bool
    private let refills: Bool
    private let delay: Duration
    private let loop: EventLoop
    private var spare: (process: WorkerProcess, watch: EventLoop.Watch)?
    private var refill: EventLoop.Timer?
    private var isStopped = false

    /// - Parameters:
    ///   - refills: whether another one follows each that is taken.
    ///   - delay: the time until then.
    init(
        executable: String, isEnabled: Bool, sandbox: SandboxRequest.Mode, givesSamples: Bool, refills: Bool,
        delay: Duration, loop: EventLoop
    ) {
        self.givesSamples = givesSamples
        self.isEnabled = isEnabled
        self.sandbox = sandbox
        self.executable = executable
        self.refills = refills
        self.delay = delay
        self.loop = loop
    }

    /// Starts a spare; if that fails there is none, and the next session's own start reports why.
    func prepare() {
        guard isEnabled, spare == nil, !isStopped,
            let process = try? start()
        else { return }
        do {
            let watch = try loop.watch(process.child.fileDescriptor, .readable) { [weak self] _ in self?.drop() }
            spare = (process, watch)
        } catch {
            process.discard()
        }
    }

    /// The spare, or a process started now; starts another spare a little later.
    func take() throws(SystemError) -> WorkerProcess {
        if isEnabled, refills, refill == nil, !isStopped {
            refill = loop.after(delay) { [weak self] in
                self?.refill = nil
                self?.prepare()
            }
        }
        guard let (process, watch) = spare else { return try start() }
        spare = nil
        loop.remove(watch)
        // It may have died so recently that the loop has not seen its end yet.
        return try process.child.tryReap() == nil ? process : try start()
    }

    private func start() throws(SystemError) -> WorkerProcess {
        try WorkerProcess(executable, sandbox: sandbox, givesSamples: givesSamples)
    }

    /// Enables or disables spares and sets their sandbox; a present one that does not fit ends.
    func change(isEnabled: Bool, sandbox: SandboxRequest.Mode) {
        if !isEnabled || sandbox != self.sandbox { drop() }
        (self.isEnabled, self.sandbox) = (isEnabled, sandbox)
    }

    /// Ends the spare and starts no more.
    func stop() {
        isStopped = true
        drop()
    }

    /// Reaps or ends the present spare.
    private func drop() {
        guard let (process, watch) = spare else { return }
        spare = nil
        loop.remove(watch)
        process.discard()
    }
}
