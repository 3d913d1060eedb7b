// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("Calls to a broker", .serialized)
struct CallTests {
    @Test func describesItself() throws {
        let client = try BrokerHolder.shared.get().connect()
        let info = try client.ask("org.varlink.service.GetInfo")
        #expect(info["vendor"] == .string("HWDaemon"))
        #expect(info["interfaces"] == .array([.string("org.varlink.service"), .string("org.hwdaemon")]))
        for name in ["org.varlink.service", "org.hwdaemon"] {
            let text = try client.ask(
                "org.varlink.service.GetInterfaceDescription", "{\"interface\":\"\(name)\"}"
            )["description"]?.description
            #expect(text?.contains("\ninterface \(name)\n") == true)
        }
        let other = try client.ask(
            "org.varlink.service.GetInterfaceDescription", "{\"interface\":\"org.nobody\"}")
        #expect(other.error == "org.varlink.service.InterfaceNotFound")
        #expect(other["interface"] == .string("org.nobody"))
    }

    @Test(
        "Refuses invalid calls by name",
        arguments: [
            ("org.hwdaemon.Nothing", "{}", "MethodNotFound", "method", "org.hwdaemon.Nothing"),
            ("org.nobody.Probe", "{}", "InterfaceNotFound", "interface", "org.nobody"),
            ("nonsense", "{}", "InterfaceNotFound", "interface", "nonsense"),
            ("org.hwdaemon.GetSessionResult", "{}", "InvalidParameter", "parameter", "session"),
            ("org.hwdaemon.GetSessionResult", "{\"session\":7}", "InvalidParameter", "parameter", "session"),
            (
                "org.hwdaemon.GetSessionResult", "{\"session\":\"a\",\"timeout_ms\":10001}", "InvalidParameter",
                "parameter", "timeout_ms"
            ),
            (
                "org.hwdaemon.GetSessionResult", "{\"session\":\"a\",\"timeout_ms\":-1}", "InvalidParameter",
                "parameter", "timeout_ms"
            ),
            ("org.hwdaemon.Probe", "{\"device\":\"/dev/watchdog\"}", "InvalidParameter", "parameter", "device"),
            ("org.hwdaemon.CreateCompressionSession", "{}", "InvalidParameter", "parameter", "upgrade"),
        ])
    func refusesInvalidCalls(
        _ method: String, _ parameters: String, _ error: String, _ key: String, _ value: String
    ) throws {
        let reply = try BrokerHolder.shared.get().connect().ask(method, parameters)
        #expect(reply.error == "org.varlink.service.\(error)")
        #expect(reply[key] == .string(value))
    }

    @Test(
        "Names the invalid field of a Create call",
        arguments: [
            (",\"width\":\"wide\"", "width"),
            (",\"time_base\":{\"numerator\":1,\"denominator\":0}", "time_base.denominator"),
        ])
    func namesTheInvalidFieldOfACreateCall(_ change: String, _ field: String) throws {
        let client = try BrokerHolder.shared.get().connect()
        let head =
            change.hasPrefix(",\"width\"")
            ? "\"height\":1,\"time_base\":{\"numerator\":1,\"denominator\":1}" : "\"width\":1,\"height\":1"
        let reply = try client.ask(
            CreateCompressionSession.method, "{\"codec\":\"hevc\",\"pixel_format\":\"NV12\",\(head)\(change)}",
            extra: ",\"upgrade\":true")
        #expect(reply.error == "org.varlink.service.InvalidParameter")
        #expect(reply["parameter"] == .string(field))
        // The connection was not upgraded and still serves calls.
        #expect(try client.ask("org.varlink.service.GetInfo").error == nil)
    }

    /// A compression session's parameters.
    private static func compression(width: String = "64", numerator: String = "1", denominator: String = "30")
        -> String
    {
        """
        {"codec":"hevc","width":\(width),"height":64,"pixel_format":"NV12",\
        "time_base":{"numerator":\(numerator),"denominator":\(denominator)}}
        """
    }
    /// A decompression session's parameters; their format description is never read.
    private static let decompression = """
        {"codec":"hevc","format_description":"01","time_base":{"numerator":1,"denominator":30}
        """
    /// A pixel-transfer session's parameters but the source's and target's other members.
    private static func transfer(_ source: String, _ target: String, _ more: String = "") -> String {
        """
        {"width":64,"height":64,"source":{"pixel_format":"NV12"\(source)},\
        "target":{"pixel_format":"AR24"\(target)}\(more)}
        """
    }

    @Test(
        "Refuses members of Create calls that are unknown, out of range or do not apply, by name",
        arguments: [
            (CreateCompressionSession.method, TestClient.parameters(",\"propertys\":{}"), "propertys"),
            (CreateCompressionSession.method, compression(denominator: "30,\"x\":1"), "time_base.x"),
            (CreateCompressionSession.method, compression(denominator: "2147483648"), "time_base.denominator"),
            (CreateCompressionSession.method, compression(numerator: "1.5"), "time_base.numerator"),
            (CreateCompressionSession.method, compression(width: "160.5"), "width"),
            (CreateCompressionSession.method, compression(width: "1e30"), "width"),
            (CreateDecompressionSession.method, decompression + ",\"pixelformat\":\"NV12\"}", "pixelformat"),
            (CreateTransferSession.method, transfer(",\"alpha\":\"straight\"", ""), "source.alpha"),
            (CreateTransferSession.method, transfer("", ",\"matrix\":\"709\""), "target.matrix"),
            (CreateTransferSession.method, transfer("", "", ",\"options\":{\"sepya\":1}"), "options.sepya"),
            (CreateTransferSession.method, transfer("", "", ",\"options\":{\"sepia\":1e999}"), "options.sepia"),
            (CreateTransferSession.method, transfer(",\"color\":1", ""), "source.color"),
        ])
    func refusesMembersByName(_ method: String, _ parameters: String, _ member: String) throws {
        let client = try BrokerHolder.shared.get().connect()
        let reply = try client.ask(method, parameters, extra: ",\"upgrade\":true")
        #expect(reply.error == "org.varlink.service.InvalidParameter")
        #expect(reply["parameter"] == .string(member))
        #expect(try client.ask("org.varlink.service.GetInfo").error == nil)
    }

    @Test func listsTheProtocolsFeaturesAndLimits() throws {
        let reply = try BrokerHolder.shared.get().connect().ask(GetFeatures.method)
        guard case .array(let features)? = reply["features"], case .object(let limits)? = reply["limits"] else {
            Issue.record("\(reply)")
            return
        }
        let names = features.map(\.description)
        #expect(names == names.sorted() && names.contains("checked-members"))
        #expect(limits["max_payload_bytes"] == .int(65536))
        #expect(limits["timestamp_bound"] == .int(1 << 56))
        #expect(limits["max_dimension"] == .int(16384))
    }

    @Test func repliesToPipelinedCallsInOrder() throws {
        let client = try BrokerHolder.shared.get().connect()
        // The second takes longest, because it starts processes.
        try client.call("org.varlink.service.GetInfo")
        try client.call("org.hwdaemon.Probe")
        try client.call("org.hwdaemon.ListSessions")
        try client.call("org.hwdaemon.Nothing")
        #expect(try client.reply()["vendor"] != nil)
        #expect(try client.reply()["schema"] == .int(Int64(ProbeSnapshot.currentSchema)))
        #expect(try client.reply()["sessions"] != nil)
        #expect(try client.reply().error == "org.varlink.service.MethodNotFound")
    }

    @Test func repliesToManyPipelinedCallsOfASlowReader() throws {
        let client = try BrokerHolder.shared.get().connect()
        // About 2 MB of replies, which exceed socket buffers and the broker's limit.
        try client.send(String(repeating: TestClient.describe, count: 400))
        try client.waitUntilFull()
        for _ in 0..<400 { #expect(try client.reply()["description"] != nil) }
    }

    @Test func doesNotReplyToOnewayCalls() throws {
        let client = try BrokerHolder.shared.get().connect()
        try client.call("org.varlink.service.GetInfo", extra: ",\"oneway\":true")
        try client.call("org.hwdaemon.Nothing", extra: ",\"oneway\":true")
        #expect(try client.ask("org.hwdaemon.ListSessions")["sessions"] != nil)
    }

    @Test func assemblesACallFromPieces() throws {
        // Its own, so that no other test's calls count.
        let broker = try BrokerProcess()
        _ = try broker.connect().ask(ListEncoders.method)
        let client = try broker.connect()
        let before = broker.processorTicks
        for byte in Array("{\"method\":\"org.varlink.service.GetInfo\"".utf8) {
            try client.send([byte])
            usleep(1000)
        }
        usleep(500_000)
        // Bytes without a NUL must not keep the loop awake: 0.5 s of spinning would be 50 ticks.
        #expect(broker.processorTicks - before < 25)
        try client.send("}\0")
        #expect(try client.reply()["vendor"] == .string("HWDaemon"))
    }

    @Test func closesAfterFiveSecondsWithoutTheRestOfACall() throws {
        let broker = try BrokerProcess()
        let client = try broker.connect()
        let start = MonotonicTime.now
        try client.send("{\"method\":")
        #expect(try client.isClosed())
        #expect(MonotonicTime.now >= start + .seconds(5))
        #expect(broker.log.contains("a call was not complete within 5 s"))
    }

    @Test func limitsCallsTo64KiB() throws {
        let broker = try BrokerHolder.shared.get()
        let start = "{\"method\":\"org.varlink.service.GetInfo\",\"parameters\":{\"x\":\""
        let end = "\"}}"
        let fill = String(repeating: "a", count: 65536 - start.utf8.count - end.utf8.count)
        #expect(
            try {
                let c = try broker.connect(); try c.send(start + fill + end + "\0"); return try c.reply()
            }()["vendor"] != nil)
        let client = try broker.connect()
        _ = try? client.send(start + fill + "a" + end + "\0")
        #expect(try client.isClosed())
        #expect(broker.log.contains("more than 65536 bytes"))
    }

    /// Messages that are not calls.
    enum Garbage: String, CaseIterable {
        case nothing = ""
        case word = "hello"
        case noMethod = "{}"
        case list = "[1,2]"
        case wrongType = "{\"method\":7}"
        case null = "null"
        case controls = "\u{1}\u{2}\u{7f}"
        case deepList
        case deepObject

        var text: String {
            switch self {
            case .deepList: String(repeating: "[", count: 60000)
            case .deepObject:
                "{\"method\":\"a.b\",\"parameters\":" + String(repeating: "{\"a\":", count: 10000)
            default: rawValue
            }
        }
    }

    @Test("Closes only the connection that sends garbage", arguments: Garbage.allCases)
    func closesOnGarbage(_ garbage: Garbage) throws {
        let broker = try BrokerHolder.shared.get()
        let client = try broker.connect()
        try client.send(garbage.text + "\0")
        #expect(try client.isClosed())
        #expect(try broker.connect().ask("org.varlink.service.GetInfo").error == nil)
    }

    @Test func handlesDeeplyNestedParameters() throws {
        let broker = try BrokerHolder.shared.get()
        for depth in [100, 5000] {
            let client = try broker.connect()
            let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            try client.call(
                CreateCompressionSession.method, TestClient.parameters(",\"properties\":{\"X\":\(value)}"),
                extra: ",\"upgrade\":true")
            let reply = try client.receive()
            #expect(reply == nil || reply?.contains("\"error\"") == true)
        }
        #expect(try broker.connect().ask("org.varlink.service.GetInfo").error == nil)
    }

    @Test func closesOnInvalidUTF8() throws {
        let client = try BrokerHolder.shared.get().connect()
        try client.send([0x7b, 0xff, 0xfe, 0x22, 0xc0, 0x80, 0x7d, 0])
        #expect(try client.isClosed())
    }

    @Test(.enabled(if: getuid() == 0, "only root may count a daemon's descriptors"))
    func refusesFileDescriptorsBeforeTheUpgrade() throws {
        let broker = try BrokerHolder.shared.get()
        let files = broker.openFiles
        let python = """
            import socket,sys,array
            s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(\(hangLimit.components.seconds))
            s.sendmsg([b'{"method":"org.varlink.service.GetInfo"}\\0'],
                      [(socket.SOL_SOCKET,socket.SCM_RIGHTS,array.array('i',[0,1]))])
            sys.exit(0 if s.recv(100)==b'' else 1)
            """
        let other = try ChildProcess(spawning: "/usr/bin/env", arguments: ["python3", "-c", python, broker.socket])
        #expect(try other.waitForExit() == .exited(0))
        #expect(broker.log.contains("file descriptors came before"))
        try waitFor("the descriptors to be closed") { broker.openFiles <= files }
    }

    @Test func survivesClientsThatCloseEarly() throws {
        let broker = try BrokerHolder.shared.get()
        for _ in 0..<50 {
            let client = try broker.connect()
            try client.call("org.hwdaemon.Probe")
            try client.call("org.varlink.service.GetInfo")
        }
        #expect(try broker.connect().ask("org.varlink.service.GetInfo").error == nil)
    }

    @Test func repliesOnAHalfClosedConnection() throws {
        let client = try BrokerHolder.shared.get().connect()
        try client.call("org.hwdaemon.Probe")
        try client.call("org.varlink.service.GetInfo")
        shutdown(client.file.rawValue, Int32(SHUT_WR))
        #expect(try client.reply()["schema"] != nil)
        #expect(try client.reply()["vendor"] != nil)
        #expect(try client.receive() == nil)
    }
}

/// A broker shared by the tests that do not change its state.
final class BrokerHolder: @unchecked Sendable {
    static let shared = BrokerHolder()
    private let lock = NSLock()
    private var broker: BrokerProcess?

    func get() throws -> BrokerProcess {
        lock.lock()
        defer { lock.unlock() }
        if let broker { return broker }
        let new = try BrokerProcess()
        atexit { BrokerHolder.shared.end() }
        broker = new
        return new
    }

    private func end() { broker = nil }
}
