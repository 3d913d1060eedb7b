// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWire

/// One round of probes, of the machine or of one node, and the callers that wait for it.
final class ProbeRound {
    /// nil for the whole machine.
    let device: String?
    let verification: ProbeRequest.Verification
    /// Whether no client asked for it.
    let isInBackground: Bool
    /// Probes that have not ended.
    var pendingCount: Int
    var completions: [(ProbeSnapshot) -> Void] = []
    /// How often a probe crashed or hung and was repeated without the path that it tried.
    var crashCount = 0

    init(
        device: String?, _ verification: ProbeRequest.Verification, probeCount: Int, isInBackground: Bool = false
    ) {
        self.device = device
        self.verification = verification
        self.isInBackground = isInBackground
        pendingCount = probeCount
    }
}

/// One request to a probe process, and the round that it belongs to.
struct ProbeJob {
    var request: ProbeRequest
    let round: ProbeRound
    /// Whether a probe without a decoder has run and could not answer.
    var needsReference = false
    /// How far failures were repeated.
    var repetition = RepeatedVerification.firstAttempt

    /// Whether frames may go through a node's hardware.
    var verifiesNode: Bool {
        guard case .node = request.subject else { return false }
        return request.verification == .unlessKnown || request.verification == .always
    }

    /// The executable to run: `hwdaemon-verify` only if a decoder is needed, because it loads more libraries.
    var program: String { usesReference ? "hwdaemon-verify" : "hwdaemon-probe" }

    private var usesReference: Bool {
        switch (request.subject, request.verification) {
        // Vulkan's results are compared with formulas: no decoder takes part.
        case (_, .startup), (.node, .never), (.vulkan, _): false
        case (_, .always): true
        // Everything may be known already.
        default: needsReference || request.known?.reference == nil
        }
    }

    /// Whether the answer lacks something that only a probe with a decoder can find out.
    func mustRepeatWithReference(after answer: ProbeAnswer) -> Bool {
        guard !usesReference, !answer.isWhole else { return false }
        switch (request.subject, request.verification) {
        case (_, .startup), (.node, .never): return false
        default: return true
        }
    }

    /// The subject, for the log.
    var subjectName: String {
        switch request.subject {
        case .software: "none, software"
        case .vulkan: "none, Vulkan"
        case .node(let node): node
        }
    }
}
