// SPDX-License-Identifier: GPL-2.0-or-later
// Attacks a private daemon with thousands of hostile clients; scripts/check-hostile runs the campaigns.
import Glibc
import HWDTransport

ProcessControl.ignoreBrokenPipes()
let arguments = CommandLine.arguments
let campaigns: [String: (Int, UInt64) throws -> Void] = [
    "mutations": mutations, "truncate": truncation, "slow-reader": slowReader, "nofile": fileLimit,
    "vanish": vanishing,
]
if arguments.count == 3, arguments[1] == "client" {
    do { try victim(arguments[2]) } catch { exit(1) }
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
