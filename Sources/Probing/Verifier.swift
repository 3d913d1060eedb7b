// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Model
internal import Wire

/// Decides for each path whether frames are sent through it now, and remembers what came of it.
struct Verifier {
    private let verification: ProbeRequest.Verification
    private let known: ProbeRecord?
    private let key: ProbeRecord.Key
    private var results: [ProbeRecord.Result] = []

    /// Verifies as a request says.
    init(_ request: ProbeRequest, key: ProbeRecord.Key) {
        verification = request.verification
        self.key = key
        known = request.known?.key == key ? request.known : nil
    }

    /// What to remember; nil while nothing was verified.
    var record: ProbeRecord? { results.isEmpty ? nil : ProbeRecord(key: key, results: results) }

    /// Fills in `verified` and `reason` of a path that is claimed.
    ///
    /// - Parameter trial: sends frames through it; why they did not come back right, or nil.
    mutating func verify(_ path: inout CodecPath, _ trial: () -> String?) {
        let result: ProbeRecord.Result
        if verification != .always, let known = known?.results.first(where: { $0.id == path.id }) {
            result = known
        } else if verification == .never || verification == .startup {
            path.reason = CodecPath.notTried
            return
        } else {
            let reason = trial()
            result = ProbeRecord.Result(id: path.id, verified: reason == nil, reason: reason)
        }
        path.verified = result.verified
        path.reason = result.reason
        results.append(result)
    }

    /// The running kernel's release (uname(2)).
    static var kernel: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "unknown" }
        return withUnsafePointer(to: &names.release) {
            $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
                String(cString: $0)
            }
        }
    }
}
