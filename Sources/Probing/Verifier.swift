// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Decides for each path whether frames are sent through it now, and remembers what came of it.
struct Verifier {
    /// Why frames did not come back right.
    struct Fault {
        /// A sentence without its full stop.
        var reason: String
        /// Whether the device was only in use, or at its limit.
        var isBusy = false
    }

    static let notTried = "not verified: no frames were sent through it yet"

    private let verification: ProbeRequest.Verification
    private let known: ProbeRecord?
    private let key: ProbeRecord.Key
    private let judge: ProbeRecord.Judge?
    private let canJudge: Bool
    private var results: [ProbeRecord.Result] = []
    /// Names of paths that are claimed and that nothing is known of.
    private(set) var untried: [String] = []

    /// Verifies as a request says.
    ///
    /// - Parameter judge: who can; without one, only what is known counts, if who judged it then is still there.
    init(_ request: ProbeRequest, key: ProbeRecord.Key, judge: (any StreamJudge)?) {
        verification = request.verification
        self.key = key
        canJudge = judge != nil
        let before = request.known?.judge
        let isSame =
            if let judge {
                before?.name == judge.name
            } else {
                before.map { !$0.file.isEmpty && FileStamp(path: $0.file, stamp: $0.stamp).holds } ?? false
            }
        known = request.known?.key == key && isSame ? request.known : nil
        if let judge {
            let file = judge.file ?? ""
            self.judge = ProbeRecord.Judge(name: judge.name, file: file, stamp: FileStamp(now: file).stamp)
        } else {
            self.judge = known?.judge
        }
    }

    /// Verifies what needs no judge: a conversion is compared with its formulas.
    init(_ request: ProbeRequest, key: ProbeRecord.Key) {
        verification = request.verification
        self.key = key
        canJudge = true
        judge = nil
        known = request.known?.key == key ? request.known : nil
    }

    /// Who judges, or judged; nil where nobody did.
    var judgeName: String? { judge?.name }

    /// The judge's file, where it is known.
    var judgeFile: String? { judge?.file }

    /// Whether something is known of a path.
    func knows(_ id: String) -> Bool { known?.results.contains { $0.id == id } ?? false }

    /// Whether something failed for the moment only.
    var isBusy: Bool { results.contains { $0.passing == .busy } }

    /// What to remember; nil while nothing was verified.
    var record: ProbeRecord? { results.isEmpty ? nil : ProbeRecord(key: key, results: results, judge: judge) }

    /// What to remember if the process ends now: what was found, and what is known of the paths to come.
    var recordSoFar: ProbeRecord {
        let old = known?.results.filter { old in !results.contains { $0.id == old.id } } ?? []
        return ProbeRecord(key: key, results: results + (verification == .always ? [] : old), judge: judge)
    }

    /// Fills in `verified` and `reason` of a path that is claimed.
    ///
    /// - Parameter trial: sends frames through it; why they did not come back right, or nil.
    mutating func verify(_ path: inout CodecPath, _ trial: (Verifier) -> Fault?) {
        let result = verify(path.id, trial)
        path.verified = result?.verified ?? false
        path.reason = result.map(\.reason) ?? Self.notTried
    }

    /// What became of something that is claimed; nil where it is not tried now and was not before.
    ///
    /// - Parameter trial: sends frames through it; why they did not come back right, or nil.
    mutating func verify(_ id: String, _ trial: (Verifier) -> Fault?) -> ProbeRecord.Result? {
        let result: ProbeRecord.Result
        if verification != .always, let known = known?.results.first(where: { $0.id == id }) {
            result = known
        } else if verification == .never || verification == .startup || !canJudge {
            untried.append(id)
            return nil
        } else {
            let fault = trial(self)
            result = ProbeRecord.Result(
                id: id, verified: fault == nil, reason: fault?.reason, passing: fault?.isBusy == true ? .busy : nil)
        }
        results.append(result)
        return result
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
