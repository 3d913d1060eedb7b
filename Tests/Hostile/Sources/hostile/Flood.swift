// SPDX-License-Identifier: GPL-2.0-or-later
import CHostile
import Glibc
import HWClient
import HWDModel
import HWDSystem
import HWDTransport
import HWDWire

/// `flood N`: one user's 60 connections pipeline calls; another user's N calls must still be answered soon.
///
/// The goal is a p99 of 20 ms on a machine that does nothing else; `HOSTILE_CALL_P99` sets what fails.
func flood(count: Int, seed: UInt64) throws {
    guard Users.canSwitch(for: "one user's calls beside another's flood") else { return }
    let broker = try Broker(isShared: true)
    func latencies() throws -> String {
        let text = try Helper(["caller", broker.address, "\(count)"], user: Users.caller).finish(seconds: 300)
        return String(decoding: text, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
    }
    try besideBystander(broker) {
        print("  another user's calls alone:        \(try latencies())")
        let flooder = try Helper(["flooder", broker.address, "60"], user: Users.attacker)
        try flooder.waitForOutput()
        let beside = try latencies()
        print("  beside 60 connections of one user: \(beside)")
        print("  (goal: p99 20 ms at most, on a machine that does nothing else)")
        let answered = String(decoding: try flooder.finish(), as: UTF8.self).split(separator: "\n").last ?? ""
        print("  the flood: \(answered)")
        let p99 = beside.split(separator: " ").drop { $0 != "p99" }.dropFirst().first.flatMap { Double($0) }
        if let limit = Environment.value("HOSTILE_CALL_P99").flatMap(Double.init), p99 ?? .infinity > limit {
            throw Finding("one user's calls delay another's")
        }
    }
    try broker.stop()
}

/// `caller ADDRESS N`: makes N calls, each on its own connection, and prints their latencies, and by how much the machine
/// prolongs a sleep of 2 ms, which is no fault of the broker's.
func caller(_ address: String, count: Int) throws {
    let daemon = Daemon(address: address)
    var latencies: [Double] = []
    var delays: [Double] = []
    for number in 0..<count {
        let start = MonotonicTime.now
        if number % 2 == 0 {
            _ = try daemon.call(ListSessions.self, Empty())
        } else {
            _ = try daemon.call(ListEncoders.self, Empty())
        }
        latencies.append(milliseconds(since: start))
        let end = MonotonicTime.now
        usleep(2000)
        delays.append(milliseconds(since: end) - 2)
    }
    print(
        "p50 \(rounded(percentile(latencies, 0.5))) ms, p99 \(rounded(percentile(latencies, 0.99))) ms, most",
        "\(rounded(latencies.max() ?? 0)) ms (\(count) calls; the machine's own delays: p99",
        "\(rounded(percentile(delays, 0.99))) ms)")
}

/// `flooder ADDRESS N`: pipelines calls on N connections until standard input ends.
func flooder(_ address: String, connections: Int) throws {
    let calls = [
        #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"org.hwdaemon"}}"#,
        #"{"method":"org.hwdaemon.GetSupportedProperties"}"#,
        #"{"method":"org.hwdaemon.Probe","parameters":{"verify":false}}"#,
        #"{"method":"org.hwdaemon.ListSessions"}"#, #"{"method":"org.hwdaemon.GetMetrics"}"#,
        #"{"method":"org.varlink.service.GetInfo"}"#, #"{"method":"org.hwdaemon.GetFeatures"}"#,
    ]
    let batch = Array(calls.map { Array($0.utf8) + [0] }.joined())
    let files = try (0..<connections).map { _ in OwnedDescriptor(try UnixSocket.connect(to: address).take()) }
    // What is left of a batch that the socket took in part.
    var rests = [ArraySlice<UInt8>](repeating: batch[...], count: connections)
    var scratch = [UInt8](repeating: 0, count: 1 << 18)
    var received = 0
    var batches = 0
    write(1, "flooding\n", 9)
    while !inputHasEnded() {
        // It takes no processor time that is not spent on calls: any program could take that without a daemon.
        var entries = files.map { pollfd(fd: $0.number, events: Int16(POLLIN | POLLOUT), revents: 0) }
        poll(&entries, nfds_t(entries.count), 100)
        for (index, file) in files.enumerated() {
            while case let count = recv(file.number, &scratch, scratch.count, Int32(MSG_DONTWAIT)), count > 0 {
                received += count
            }
            let sent = rests[index].withUnsafeBytes { hostile_send(file.number, $0.baseAddress, $0.count, nil, 0) }
            if sent > 0 { rests[index] = rests[index].dropFirst(sent) }
            if rests[index].isEmpty {
                rests[index] = batch[...]
                batches += 1
            }
        }
    }
    print("\(batches * calls.count) calls, \(received >> 20) MiB of replies")
}
