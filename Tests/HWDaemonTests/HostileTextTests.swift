// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

/// Characters that control a terminal: C0, DEL, C1, line separators and bidirectional controls.
private func controls(in text: String) -> [UInt32] {
    let ranges: [ClosedRange<UInt32>] = [0...0x1f, 0x7f...0x9f, 0x2028...0x202e, 0x2066...0x2069]
    return text.unicodeScalars.map(\.value).filter { value in ranges.contains { $0.contains(value) } }
}

@Suite("Texts of clients and workers that would control a terminal", .serialized)
struct HostileTextTests {
    /// JSON escapes of ESC, BEL, LF, DEL, CSI (C1), U+2028, U+2029, and embedding, override and isolate controls.
    private static let hostile =
        "\\u001b[2J\\u0007\\n\\u007f\\u009b31m\\u2028\\u2029\\u202a\\u202e\\u2066\\u2069"

    /// Every text in a value.
    private func texts(_ value: PropertyValue) -> [String] {
        switch value {
        case .string(let text): [text]
        case .array(let items): items.flatMap(texts)
        case .object(let members): members.flatMap { [$0.key] + texts($0.value) }
        default: []
        }
    }

    private func isClean(_ reply: TestClient.Reply) -> Bool {
        let found = (reply.parameters ?? [:]).flatMap { [$0.key] + texts($0.value) }
        return found.flatMap(controls).isEmpty
    }

    @Test(
        "A client's texts",
        arguments: [
            "\"pixel_format\":\"\(hostile)\"", "\"codec\":\"\(hostile)\"", "\"properties\":{\"\(hostile)\":1}",
        ])
    func cleansAListedSession(_ field: String) throws {
        let broker = try BrokerProcess(workers: ["hwdaemon-encoder": "#!/bin/sh\nexec sleep 60\n"])
        let client = try broker.connect()
        // The last of several members of one name counts in some parsers, the first in others: leave the rest out.
        let base = ["codec": "\"hevc\"", "pixel_format": "\"NV12\"", "properties": "{}"]
        let fields = base.filter { !field.hasPrefix("\"\($0.key)\"") }.map { "\"\($0.key)\":\($0.value)" }
        let parameters = ([field] + fields).joined(separator: ",")
        try client.call(
            CreateCompressionSession.method,
            "{\(parameters),\"width\":64,\"height\":64,\"time_base\":{\"numerator\":1,\"denominator\":30}}",
            extra: ",\"upgrade\":true")
        try waitFor("the session") { broker.log.contains("session started") }
        let reply = try broker.connect().ask(ListSessions.method)
        #expect(reply["sessions"]?.description.contains("hwdaemon") == false)
        #expect(reply["sessions"]?.description.contains("compression") == true)
        #expect(isClean(reply))
        #expect(broker.log.split(separator: "\n").flatMap { controls(in: String($0)) }.isEmpty)
    }

    @Test(
        "Names in error replies",
        arguments: [
            ("org.hwdaemon.\(hostile)", "{}"), ("\(hostile).Method", "{}"),
            (GetSupportedProperties.method, "{\"encoder_id\":\"\(hostile)\"}"),
            (CreateCompressionSession.method, "{\"properties\":{\"\(hostile)\":{\"\(hostile)\":null}}}"),
        ])
    func cleansErrorReplies(_ method: String, _ parameters: String) throws {
        let broker = try BrokerHolder.shared.get()
        let reply = try broker.connect().ask(method, parameters, extra: ",\"upgrade\":true")
        #expect(reply.error != nil)
        #expect(isClean(reply))
        #expect(broker.log.split(separator: "\n").flatMap { controls(in: String($0)) }.isEmpty)
    }

    /// A daemon of another version may not clean what it lists.
    @Test("hwctl sessions", arguments: [["--long"], ["--json"]])
    func hwctlCleansWhatItPrints(_ options: [String]) throws {
        let python = """
            import os,socket,sys
            s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
            while True:
                c,_=s.accept()
                if c.recv(4096): c.sendall(sys.argv[2].encode()+b'\\0'); c.recv(1)
            """
        let session = """
            {"session":"a","kind":"compression","pid":1,"uid":0,"codec":"hevc","width":64,"height":64,\
            "pixel_format":"\(Self.hostile)","codec_id":"\(Self.hostile)","using_hardware":false,"frames_in":0,\
            "frames_out":0,"bytes_out":0,"pending_frames":0,"age_ms":5}
            """
        let folder = FileManager.default.temporaryDirectory.path + "/hwd-text-\(getpid())\(options[0])"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try ChildProcess(
            spawning: "/usr/bin/env",
            arguments: ["python3", "-c", python, "\(folder)/s", "{\"parameters\":{\"sessions\":[\(session)]}}"])
        defer {
            try? server.kill(SIGKILL)
            _ = try? server.wait()
        }
        try waitFor("the server") { (try? UnixSocket.connect(to: "\(folder)/s")) != nil }
        let output = open("\(folder)/out", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(output) }
        let hwctl = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwctl", arguments: ["sessions"] + options,
            environment: ["HWDAEMON_SOCKET": "\(folder)/s"], files: [.init(output, as: 1)])
        #expect(try hwctl.waitForExit() == .exited(0))
        let text = try String(contentsOfFile: "\(folder)/out", encoding: .utf8)
        #expect(text.contains("31m"))
        #expect(text.split(separator: "\n").flatMap { controls(in: String($0)) }.isEmpty)
    }
}
