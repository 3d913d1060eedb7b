// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWire

extension Prober {
    /// One look at the machine, or at one node, and who waits for it.
    final class Run {
        let device: String?
        let verification: ProbeRequest.Verification
        /// Nobody asked for it.
        let isInBackground: Bool
        var open: Int
        var waiting: [(ProbeSnapshot) -> Void] = []
        var crashes = 0

        init(
            device: String?, _ verification: ProbeRequest.Verification, requests: Int, isInBackground: Bool = false
        ) {
            self.device = device
            self.verification = verification
            self.isInBackground = isInBackground
            open = requests
        }
    }

    /// One question, and for whom.
    struct Job {
        var request: ProbeRequest
        var run: Run
        /// Whether a look without a decoder was not enough.
        var needsJudge = false

        var verifiesNode: Bool {
            guard case .node = request.subject else { return false }
            return request.verification == .unlessKnown || request.verification == .always
        }

        /// Whether it is enough to look, with fewer libraries to load: nothing is to be tried, or all may be known.
        var isLook: Bool {
            switch (request.subject, request.verification) {
            // What shaders give is compared with formulas: no decoder takes part.
            case (_, .startup), (.node, .never), (.vulkan, _): true
            case (_, .always): false
            default: !needsJudge && request.known?.judge != nil
            }
        }

        /// Whether an answer lacks something that a decoder would have told.
        func lacks(_ answer: ProbeAnswer) -> Bool {
            guard isLook, !answer.isWhole else { return false }
            switch (request.subject, request.verification) {
            case (_, .startup), (.node, .never): return false
            default: return true
            }
        }
    }
}
