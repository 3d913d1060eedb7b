// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDSystem
import HWDTransport
import HWDWire
import Testing

/// How long a test waits for what must happen; only a hang takes that long, however slow the machine is.
let hangLimit = Duration.seconds(120)

extension ChildProcess {
    /// How the process ended; nil where it still runs after `hangLimit`.
    func waitForExit() throws(SystemError) -> Exit? { try wait(until: MonotonicTime.now + hangLimit) }
}

/// A real `hwdaemon` with its own socket, killed when the object is released.
final class BrokerProcess {
    let folder: String
    let child: ChildProcess
    var socket: String { "\(folder)/socket" }
    var logFile: String { "\(folder)/log" }

    /// The directory of the executables under test: that of the test bundle.
    static let products = Program.folder

    /// Starts a broker and waits until it listens.
    ///
    /// - Parameters:
    ///   - devices: the value of HWDAEMON_DEVICES; nil to leave it out.
    ///   - workers: shell scripts that replace the real workers, by name; that of `hwdaemon-probe` also replaces
    ///     `hwdaemon-verify`.
    ///   - prefix: a command that starts it, such as `prlimit`.
    ///   - environment: added to the test's own.
    ///   - program: a name in its folder for the program, which a test can then replace.
    ///   - configuration: its configuration file's text; `configure` replaces it.
    init(
        _ arguments: [String] = [], devices: String? = "", workers: [String: String] = [:], prefix: [String] = [],
        environment: [String: String] = [:], program: String? = nil,
        configuration: String? = nil
    ) throws {
        var template = Array("/tmp/hwdaemon-test-XXXXXX".utf8CString)
        folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        chmod(folder, 0o755)
        let executable = program.map { [folder] in "\(folder)/\($0)" } ?? "\(Self.products)/hwdaemon"
        if program != nil {
            try #require(link("\(Self.products)/hwdaemon", executable) == 0 || Self.copy(to: executable))
        }
        var command =
            prefix + [executable, "--socket", "\(folder)/socket", "--log-level", "debug"]
        // Never reads the machine's configuration. Spares would disturb tests that count processes.
        if !arguments.contains(where: { $0.contains("SpareWorkers") }) { command += ["--set", "SpareWorkers=0"] }
        mkdir("\(folder)/config", 0o755)
        try configuration?.write(
            toFile: "\(folder)/config/hwdaemon.conf", atomically: false, encoding: .utf8)
        command += arguments + (arguments.contains("--config") ? [] : ["--config", "\(folder)/config"])
        if !workers.isEmpty {
            for name in ["hwdaemon-encoder", "hwdaemon-probe", "hwdaemon-verify"] {
                let path = "\(folder)/\(name)"
                let standIn = name == "hwdaemon-verify" ? workers["hwdaemon-probe"] : nil
                let text = workers[name] ?? standIn ?? "#!/bin/sh\nexec \(Self.products)/\(name)\n"
                try text.write(toFile: path, atomically: false, encoding: .utf8)
                chmod(path, 0o755)
            }
            command += ["--libexec", folder]
        } else if program != nil {
            command += ["--libexec", Self.products]
        }
        let log = open("\(folder)/log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        defer { close(log) }
        child = try ChildProcess(
            spawning: command[0], arguments: Array(command.dropFirst()),
            // Loads no Vulkan driver, because software drivers take long.
            environment: [
                "STATE_DIRECTORY": folder, "VK_DRIVER_FILES": "/dev/null/none",
                "HWDAEMON_CAPABILITIES_DIR": "/dev/null/none",
            ]
            .merging(devices.map { ["HWDAEMON_DEVICES": $0] } ?? [:]) { $1 }
            .merging(environment) { $1 },
            files: [.init(log, as: 2)])
        try waitFor("the broker to listen") { (try? UnixSocket.connect(to: socket)) != nil }
    }

    deinit {
        // Scripts that stand for workers do not end with their broker.
        let scripts = (try? child.tryReap()) == nil ? Array(childStates.keys) : []
        try? child.kill(SIGKILL)
        _ = try? child.waitForExit()
        for script in scripts { Glibc.kill(script, SIGKILL) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Copies the program where a link is not possible, as between file systems.
    private static func copy(to path: String) -> Bool {
        (try? FileManager.default.copyItem(atPath: "\(products)/hwdaemon", toPath: path)) != nil
    }

    /// Writes a file of its configuration, which it reads at SIGHUP.
    func configure(_ text: String, name: String = "hwdaemon.conf") throws {
        try text.write(toFile: "\(folder)/config/\(name)", atomically: false, encoding: .utf8)
    }

    /// What it has logged so far.
    var log: String { (try? String(contentsOfFile: logFile, encoding: .utf8)) ?? "" }

    /// The number of its open descriptors.
    var openFiles: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(child.pid)/fd").count) ?? -1
    }

    /// Processor time it has used, in clock ticks (1/100 s).
    var processorTicks: Int {
        let text = (try? String(contentsOfFile: "/proc/\(child.pid)/stat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ")
        guard fields.count > 14 else { return -1 }
        return (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
    }

    /// The ids and states (`S`, `Z`, …) of its children.
    var childStates: [Int32: String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        var states: [Int32: String] = [:]
        for id in names.compactMap({ Int32($0) }) {
            guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[text.index(after: end)...].split(separator: " ")
            if fields.count > 1, fields[1] == "\(child.pid)" { states[id] = String(fields[0]) }
        }
        return states
    }

    /// Whether a process is one of its children and has not ended.
    func isRunning(_ pid: Int32) -> Bool { childStates[pid].map { $0 != "Z" } ?? false }

    /// The encoder process among its children, which may be a spare; waits until there is one.
    func encoderProcess() throws -> Int32 { try childProcess("hwdaemon-encoder") }

    /// A program's process among its children; waits until there is one.
    func childProcess(_ program: String) throws -> Int32 {
        var found: [Int32] = []
        try waitFor(program) {
            found = childProcesses(program)
            return !found.isEmpty
        }
        return found[0]
    }

    /// A program's processes among its children at present.
    func childProcesses(_ program: String) -> [Int32] {
        childStates.keys.filter { id in
            let name = try? String(contentsOfFile: "/proc/\(id)/comm", encoding: .utf8)
            // The kernel keeps 15 bytes.
            return name?.hasPrefix(program.prefix(15)) == true
        }
    }

    /// The states of its children.
    var children: [String] { Array(childStates.values) }

    func connect() throws -> TestClient { try TestClient(socket) }

    /// How a session ended; waits until it has.
    func result(_ session: String) throws -> GetSessionResult.Reply {
        var result: GetSessionResult.Reply?
        // The daemon waits at most 10 s before it replies that the session still runs.
        try waitFor("the session's end") {
            let client = try connect()
            try client.call(GetSessionResult.method, "{\"session\":\"\(session)\",\"timeout_ms\":10000}")
            let text = try #require(try client.receive(), "the broker closed the connection")
            result = try VarlinkReply.decode(GetSessionResult.Reply.self, from: Array(text.utf8))
            return result?.finished == true
        }
        return try #require(result)
    }
}

/// Polls until a condition holds.
func waitFor(_ what: String, _ condition: () throws -> Bool) throws {
    let deadline = MonotonicTime.now + hangLimit
    while !(try condition()) {
        try #require(MonotonicTime.now < deadline, "timed out waiting for \(what)")
        usleep(2000)
    }
}

/// A client that sends arbitrary bytes and calls.
final class TestClient {
    let file: OwnedFD
    private var receiver = VarlinkConnection.replyReceiver()

    init(_ path: String) throws { file = try UnixSocket.connect(to: path, timeout: hangLimit) }

    /// A client on a connection that exists already.
    init(_ connection: consuming OwnedFD) { file = connection }

    /// Sends bytes unchanged.
    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(file.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EAGAIN {
                usleep(1000)
                continue
            }
            // A broker that refuses a connection sends the reason and closes, perhaps before the call is sent.
            if count < 0, errno == EPIPE { return }
            try #require(count > 0, "send: errno \(errno)")
            rest = rest.dropFirst(count)
        }
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// A call with a long reply.
    static let describe =
        "{\"method\":\"org.varlink.service.GetInterfaceDescription\",\"parameters\":{\"interface\":\"org.hwdaemon\"}}\0"

    /// Sends a call.
    func call(_ method: String, _ parameters: String = "{}", extra: String = "") throws {
        try send("{\"method\":\"\(method)\",\"parameters\":\(parameters)\(extra)}\0")
    }

    /// The next reply's text; nil at the end.
    func receive() throws -> String? {
        try VarlinkConnection.receive(
            from: file.rawValue, with: &receiver, deadline: MonotonicTime.now + hangLimit
        ).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The next reply, decoded.
    func reply() throws -> Reply {
        let text = try #require(try receive(), "the broker closed the connection")
        return try JSON.decode(Reply.self, from: Array(text.utf8))
    }

    /// Sends a call and receives its reply.
    func ask(_ method: String, _ parameters: String = "{}", extra: String = "") throws -> Reply {
        try call(method, parameters, extra: extra)
        return try reply()
    }

    /// Whether the other end has not closed yet.
    var isOpen: Bool {
        var entry = pollfd(fd: file.rawValue, events: 0, revents: 0)
        return poll(&entry, 1, 0) == 0
    }

    /// Waits until the broker can send nothing more before this end reads: what can be read did not grow for 50 ms.
    ///
    /// If the broker pauses for longer, what follows is tested with fewer unread replies.
    func waitUntilFull() throws {
        var (last, equal) = (Int32(0), 0)
        try waitFor("full buffers") {
            usleep(5000)
            var count: Int32 = 0
            try #require(ioctl(file.rawValue, UInt(FIONREAD), &count) == 0)
            equal = count == last ? equal + 1 : 0
            last = count
            return count > 0 && equal >= 10
        }
    }

    /// Waits until the other end has closed, discarding what it sends; false where it stays open.
    func isClosed() throws -> Bool {
        let deadline = MonotonicTime.now + hangLimit
        var scratch = [UInt8](repeating: 0, count: 4096)
        while MonotonicTime.now < deadline {
            let count = recv(file.rawValue, &scratch, scratch.count, 0)
            if count == 0 || (count < 0 && errno == ECONNRESET) { return true }
            if count < 0 { usleep(500) }
        }
        return false
    }

    /// What still comes until the other end closes, as text; what is no UTF-8 is replaced.
    func rest() throws -> String {
        let deadline = MonotonicTime.now + hangLimit
        var bytes: [UInt8] = []
        var scratch = [UInt8](repeating: 0, count: 4096)
        while true {
            try #require(MonotonicTime.now < deadline, "the connection stays open")
            let count = recv(file.rawValue, &scratch, scratch.count, 0)
            if count == 0 || (count < 0 && errno == ECONNRESET) { return String(decoding: bytes, as: UTF8.self) }
            if count > 0 { bytes += scratch.prefix(count) } else { usleep(500) }
        }
    }

    /// Creates a session and returns its id.
    func create(_ changes: String = "") throws -> String {
        let reply = try ask(
            CreateCompressionSession.method, Self.parameters(changes), extra: ",\"upgrade\":true")
        return try #require(reply.parameters?["session"]?.description, "no session: \(reply)")
    }

    /// The parameters of a small session; `changes` override them.
    static func parameters(_ changes: String = "") -> String {
        """
        {"codec":"hevc","width":64,"height":64,"pixel_format":"NV12",\
        "time_base":{"numerator":1,"denominator":30}\(changes)}
        """
    }

    struct Reply: Decodable {
        var error: String?
        var parameters: [String: PropertyValue]?

        subscript(key: String) -> PropertyValue? { parameters?[key] }
    }
}
