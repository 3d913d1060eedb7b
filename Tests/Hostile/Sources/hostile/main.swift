// SPDX-License-Identifier: GPL-2.0-or-later
// Attacks a private daemon with thousands of hostile clients; scripts/check-hostile runs the campaigns.
import Glibc
import HWDTransport

ProcessControl.ignoreWriteSignals()
let arguments = CommandLine.arguments
let campaigns: [String: (Int, UInt64) throws -> Void] = [
    "mutations": mutations, "truncate": truncation, "slow-reader": slowReader, "nofile": fileLimit,
    "vanish": vanishing, "texts": texts, "hang": hangs, "kill-broker": brokerKills, "flood": flood,
    "lockout": lockout, "trace": tracing,
]
if arguments.count == 3, arguments[1] == "client" {
    do { try victim(arguments[2]) } catch { exit(1) }
}
// What `Helper` starts.
let helpers: [String: (String, Int) throws -> Void] = [
    "bystander": { try bystander($0, frames: $1) }, "caller": { try caller($0, count: $1) },
    "flooder": { try flooder($0, connections: $1) }, "idler": { try idler($0, connections: $1) },
    "hoarder": { try hoarder($0, sessions: $1) }, "reader": reader,
]
if arguments.count == 4, let helper = helpers[arguments[1]], let number = Int(arguments[3]) {
    do {
        try helper(arguments[2], number)
        exit(0)
    } catch {
        let line = "\(error)\n"
        _ = line.withCString { write(2, $0, strlen($0)) }
        exit(1)
    }
}
guard arguments.count == 3 || arguments.count == 4, let campaign = campaigns[arguments[1]],
    let count = Int(arguments[2]), count > 0
else {
    print("usage: hostile \(campaigns.keys.sorted().joined(separator: "|")) COUNT [SEED]")
    exit(64)
}
let seed = (arguments.count == 4 ? UInt64(arguments[3]) : nil) ?? UInt64(time(nil))
print("\(arguments[1]) \(count), seed \(seed)")
do {
    try campaign(count, seed)
    print("  ok")
} catch {
    print("  FOUND: \(error)")
    exit(1)
}
