// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Decides for each path whether frames are sent through it now, and records the results.
struct Verifier {
    /// Why frames did not come back intact.
    struct Fault {
        var reason: String
        /// The known cause; nil for others.
        var cause: ProbeCause?

        /// Whether the device was merely in use, or at its limit.
        var isBusy: Bool { cause == .busy }

        init(reason: String, isBusy: Bool = false) { (self.reason, cause) = (reason, isBusy ? .busy : nil) }

        /// The fault of a decoder that returned an error.
        init(decoding error: ReferenceCodecError) {
            self.init(reason: "decoding failed: \(error.reason)", isBusy: error.isBusy)
            if error.isUnsupported { cause = .noDecoder }
        }
    }

    static let noDecoder = "there is no decoder to verify it with"
    static let notTried = "not verified: no frames were sent through it yet"

    private let verification: ProbeRequest.Verification
    private let known: ProbeRecord?
    private let key: ProbeRecord.Key
    private let reference: ProbeRecord.Reference?
    private let hasReference: Bool
    private var results: [ProbeRecord.Result] = []
    /// Ids of paths that are claimed and not verified.
    private(set) var untried: [String] = []

    /// Verifies as a request demands.
    ///
    /// - Parameter reference: decodes streams; without one, only results in the request's record count, and only if the
    ///   file of the library that decoded for them is unchanged.
    init(_ request: ProbeRequest, key: ProbeRecord.Key, reference: (any ReferenceCodec)?) {
        verification = request.verification
        self.key = key
        hasReference = reference != nil
        let before = request.known?.reference
        let isSame =
            if let reference {
                before?.name == reference.name
            } else {
                before.map { !$0.file.isEmpty && FileStamp(path: $0.file, stamp: $0.stamp).holds } ?? false
            }
        known = request.known?.key == key && isSame ? request.known : nil
        if let reference {
            let file = reference.file ?? ""
            self.reference = ProbeRecord.Reference(
                name: reference.name, file: file, stamp: FileStamp(now: file).stamp)
        } else {
            self.reference = known?.reference
        }
    }

    /// Verifies without a reference decoder: conversions are compared with their formulas.
    init(_ request: ProbeRequest, key: ProbeRecord.Key) {
        verification = request.verification
        self.key = key
        hasReference = true
        reference = nil
        known = request.known?.key == key ? request.known : nil
    }

    /// The library that decodes, or that decoded for what the record holds; nil if there is none.
    var referenceName: String? { reference?.name }

    /// That library's file; nil if it is unknown.
    var referenceFile: String? { reference?.file }

    /// Whether the request's record has a result of a path.
    func knows(_ id: String) -> Bool { known?.results.contains { $0.id == id } ?? false }

    /// Whether something failed because the device was busy.
    var isBusy: Bool { results.contains { $0.passing == .busy } }

    /// The results, for the next probe; nil if nothing was verified.
    var record: ProbeRecord? {
        results.isEmpty ? nil : ProbeRecord(key: key, results: results, reference: reference)
    }

    /// The record in case the process ends now: the results, and what is known about the remaining paths.
    var recordSoFar: ProbeRecord {
        let old = known?.results.filter { old in !results.contains { $0.id == old.id } } ?? []
        return ProbeRecord(key: key, results: results + (verification == .always ? [] : old), reference: reference)
    }

    /// Sets `verified` and `reason` of a path that is claimed.
    ///
    /// - Parameter trial: sends frames through the path; returns nil if they came back intact.
    mutating func verify(_ path: inout CodecPath, _ trial: (Verifier) -> Fault?) {
        let result = verify(path.id, trial)
        path.verified = result?.verified ?? false
        path.reason = result.map(\.reason) ?? Self.notTried
        path.cause = result?.cause
    }

    /// The result of something that is claimed; nil if it is neither tried now nor known.
    ///
    /// - Parameter trial: sends frames through it; returns nil if they came back intact.
    mutating func verify(_ id: String, _ trial: (Verifier) -> Fault?) -> ProbeRecord.Result? {
        result(of: id) { soFar in
            let fault = trial(soFar)
            return ProbeRecord.Result(
                id: id, verified: fault == nil, reason: fault?.reason, passing: fault?.isBusy == true ? .busy : nil,
                cause: fault?.cause)
        }
    }

    /// The known result of something, or else that of a trial; nil if it is neither tried now nor known.
    mutating func result(
        of id: String, _ trial: (Verifier) -> ProbeRecord.Result
    ) -> ProbeRecord.Result? {
        let result: ProbeRecord.Result
        if verification != .always, let known = known?.results.first(where: { $0.id == id }) {
            result = known
        } else if verification == .never || verification == .startup || !hasReference {
            untried.append(id)
            return nil
        } else {
            result = trial(self)
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
