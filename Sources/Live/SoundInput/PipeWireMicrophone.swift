// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPipeWire
package import HWDCapturing
package import HWDControlCommands
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import Glibc
internal import Synchronization

/// Sound from PipeWire: a microphone, or what a sink plays.
package final class PipeWireMicrophone: CaptureSoundSource, @unchecked Sendable {
    /// What is recorded.
    package enum Node: Hashable, Sendable {
        /// The default microphone.
        case standard
        /// What the default sink plays.
        case monitor
        /// A node by its `node.name`; of a sink, what it plays.
        case named(String)

        /// Of the name that `--audio` takes: `default`, `monitor`, or a node's.
        package init(_ name: String) {
            self = name == "default" ? .standard : name == "monitor" ? .monitor : .named(name)
        }
    }

    package let format = CaptureSoundFormat(
        sampleRate: Int(HWD_SOUND_INPUT_RATE), channels: Int(HWD_SOUND_INPUT_CHANNELS))
    private let node: Node
    private let isMonitor: Bool
    /// What the reader's thread uses until it is joined.
    private let input: OpaquePointer
    private let isStopping = Atomic<Bool>(false)
    private let reader = Mutex<Thread?>(nil)

    /// - Throws: `noInput` for a node that does not exist; `unavailable` where PipeWire does not run.
    package init(_ node: Node) throws(CommandFailure) {
        var isMonitor = node == .monitor
        if case .named(let name) = node {
            guard let found = try Self.list().first(where: { $0.name == name }) else {
                throw CommandFailure(
                    .noInput,
                    "PipeWire has no sound from a node '\(FileName.printable(name))': hwctl capture --list has the names"
                )
            }
            isMonitor = found.isMonitor
        }
        guard let input = hwd_sound_input_create() else {
            throw CommandFailure(.unavailable, "PipeWire's library cannot be used")
        }
        (self.node, self.isMonitor, self.input) = (node, isMonitor, input)
    }

    deinit {
        stop()
        hwd_sound_input_destroy(input)
    }

    /// The nodes that sound is recorded from.
    /// - Throws: `unavailable` where PipeWire does not run.
    package static func list() throws(CommandFailure) -> [CaptureSoundListing] {
        var nodes: [CaptureSoundListing] = []
        let code = withUnsafeMutablePointer(to: &nodes) { nodes in
            hwd_sound_nodes(
                { context, node in
                    guard let context, let node = node?.pointee, let name = node.name, let text = node.description
                    else { return }
                    context.assumingMemoryBound(to: [CaptureSoundListing].self).pointee.append(
                        CaptureSoundListing(
                            name: String(cString: name), description: String(cString: text),
                            isMonitor: node.is_monitor))
                }, nodes)
        }
        guard code == 0 else { throw failure(code) }
        return nodes
    }

    /// - Throws: `unavailable` where PipeWire does not run or the node sends nothing in 5 s.
    package func start(_ sink: any CaptureSoundSink) throws(CommandFailure) {
        let name: String? = if case .named(let name) = node { name } else { nil }
        let code = hwd_sound_input_connect(input, name, isMonitor)
        guard code == 0 else {
            let reason = reason
            hwd_sound_input_stop(input)
            guard reason.isEmpty else { throw CommandFailure(.unavailable, "\(description): \(reason)") }
            if code == ETIMEDOUT { throw CommandFailure(.unavailable, "\(description) has sent nothing for 5 s") }
            throw Self.failure(code)
        }
        do throws(SystemError) {
            let thread = try Thread.spawn(name: "sound-input") { [unowned self] in read(sink) }
            reader.withLock { $0 = thread }
        } catch {
            hwd_sound_input_stop(input)
            throw CommandFailure(.software, "\(error)")
        }
    }

    package func stop() {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        hwd_sound_input_stop(input)
        let thread = reader.withLock { reader in
            defer { reader = nil }
            return reader
        }
        thread?.join()
    }

    private func read(_ sink: any CaptureSoundSink) {
        let memory = UnsafeMutablePointer<Float>.allocate(
            capacity: Int(HWD_SOUND_INPUT_FRAMES) * format.channels)
        defer { memory.deallocate() }
        while !isStopping.load(ordering: .sequentiallyConsistent) {
            var buffer = hwd_sound_buffer()
            switch hwd_sound_input_read(input, memory, &buffer, 1000) {
            case 1:
                sink.samples(
                    UnsafeBufferPointer(start: memory, count: Int(buffer.frames) * format.channels),
                    at: UInt64(clamping: buffer.time), isExact: buffer.is_exact)
            case 0: continue
            default:
                guard !isStopping.load(ordering: .sequentiallyConsistent) else { return }
                return sink.ended(.gone("\(description): \(reason)"))
            }
        }
    }

    /// What is recorded, at the start of a line.
    private var description: String {
        switch node {
        case .standard: "the default microphone"
        case .monitor: "the default sink's monitor"
        case .named(let name): "the sound node '\(FileName.printable(name))'"
        }
    }

    /// Why PipeWire ended the stream; empty where it has not.
    private var reason: String {
        var text = [CChar](repeating: 0, count: 256)
        hwd_sound_input_reason(input, &text, text.count)
        return FileName.printable(
            text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" })
    }

    private static func failure(_ code: Int32) -> CommandFailure {
        CommandFailure(
            .unavailable, "PipeWire cannot be reached: \(String(cString: strerror(code)))")
    }
}
