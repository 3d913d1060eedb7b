// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient
import HWDModel
import HWDSystem
import HWDTransport
import HWDWire

/// `texts N`: clients whose texts hold control characters; none may reach another client.
func texts(count: Int, seed: UInt64) throws {
    let broker = try Broker(isShared: true)
    var random = Randomness(seed: seed)
    // C0, DEL, C1, line and paragraph separators, direction overrides; two spellings of each in JSON.
    let harmful: [UInt32] = [0x1b, 0x07, 0x0a, 0x7f, 0x9b, 0x85, 0x2028, 0x2029, 0x202e, 0x2066]
    try besideBystander(broker) {
        var leaks = 0
        var seen = 0
        for number in 0..<count {
            let code = harmful[random.below(harmful.count)]
            let escaped = String(code, radix: 16)
            let text = "\\u" + String(repeating: "0", count: 4 - escaped.count) + escaped + "[31mX"
            let member = number % 2 == 0 ? "pixel_format" : "codec"
            let other = number % 2 == 0 ? #""codec":"hevc""# : #""pixel_format":"NV12""#
            let call = """
                {"method":"\(CreateCompressionSession.method)","upgrade":true,"parameters":{"width":64,"height":64,\
                "time_base":{"numerator":1,"denominator":30},\(other),"\(member)":"\(text)"}}
                """
            let client = try UnixSocket.connect(to: broker.address)
            let deadline = MonotonicTime.now + .seconds(hang)
            try VarlinkConnection.send(Array(call.utf8), to: client.rawValue, deadline: deadline)
            // While the worker refuses it, the session is listed.
            let listed = try broker.sessions()
            var receiver = VarlinkConnection.replyReceiver()
            guard try VarlinkConnection.receive(from: client.rawValue, with: &receiver, deadline: deadline) != nil
            else {
                throw Finding("a Create call with harmful texts has no reply")
            }
            let texts = listed.flatMap { [$0.codec, $0.pixelFormat] }
            if texts.contains(where: { $0.contains("31mX") }) { seen += 1 }
            if texts.contains(where: { $0.unicodeScalars.contains { harmful.contains($0.value) } }) { leaks += 1 }
        }
        print("  \(seen) of \(count) texts were listed for another client, \(leaks) of them unchanged")
        guard leaks == 0 else { throw Finding("a client's text is not cleaned") }
    }
    try broker.stop()
}

/// `trace N`: N times, another process of the daemon's user reads what /proc has of the broker and its workers.
func tracing(count: Int, seed: UInt64) throws {
    let user = Users.isRoot ? Users.attacker : geteuid()
    let broker = try Broker(isShared: true, user: user)
    try besideBystander(broker) {
        let session = try Session(broker.address)
        for _ in 0..<count {
            for pid in [broker.pid] + broker.children {
                let output = try Helper(["reader", "\(pid)", "0"], user: user).finish()
                guard output.isEmpty else {
                    throw Finding("process \(pid): readable are \(String(decoding: output, as: UTF8.self))")
                }
            }
        }
        let own = try Helper(["reader", "0", "0"], user: user).finish()
        print(
            "  the broker and its \(broker.children.count) workers: 0 of their files in /proc can be opened;",
            "of another process of that user: \(String(decoding: own, as: UTF8.self).split(separator: "\n").count)")
        try session.finish()
    }
    try broker.stop()
}

/// `reader PID`: prints the private files of a process that can be opened; those of its own for 0.
func reader(_ pid: String, _: Int) {
    let target = pid == "0" ? "self" : pid
    for name in ["mem", "environ", "maps", "auxv", "fd"] {
        let number = open("/proc/\(target)/\(name)", O_RDONLY | O_CLOEXEC)
        if number >= 0 {
            // maps and environ can be opened by some kernels, and then read as empty.
            var byte: UInt8 = 0
            if name == "mem" || name == "fd" || read(number, &byte, 1) > 0 { print(name) }
            close(number)
        }
    }
}
